"""RDF on the command line: data files beside programs, RDF files as output, updates of RDF."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command_line import Command

RULES = "triple(?y, <http://e/q>, ?x) :- triple(?x, <http://e/p>, ?y) .\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.rls").write_text(RULES)
    Path("a.nt.gz").write_bytes(gzip.compress(b"<http://e/a> <http://e/p> <http://e/b> .\n"))
    Path("more").mkdir()
    Path("more/b.ttl").write_text("@prefix ex: <http://e/> . ex:b ex:p ex:c .")


def test_data_stands_beside_programs(tidalog: Command) -> None:
    found = tidalog("run", "rules.rls", "a.nt.gz", "more", "-o", "triple")
    assert "triple  4 facts" in found.out and "ex:b   ex:p   ex:c" in found.out


@pytest.mark.parametrize(("option", "lines"), [(None, 4), ("--explicit-only", 2), ("--inferred-only", 2)])
def test_output_is_what_is_asked_for(tidalog: Command, option: str | None, lines: int) -> None:
    options = [option] if option else []
    assert tidalog("run", "rules.rls", "a.nt.gz", "more/*.ttl", "-o", "out.nt", *options).code == 0
    written = Path("out.nt").read_text().splitlines()
    assert len(written) == lines
    assert all(("http://e/q" in line) == (option == "--inferred-only") for line in written) or lines == 4


@pytest.mark.parametrize(
    "ending", ["nt", "ttl", "rdf", "jsonld", "nq", "trig", "nq.gz", "ttl.zst", "rdf.bz2"]
)
def test_output_is_input_again(tidalog: Command, ending: str) -> None:
    tidalog("run", "rules.rls", "a.nt.gz", "-o", f"out.{ending}")
    assert "triple/3        2" in tidalog("run", f"out.{ending}").out


def test_an_option_needs_its_file(tidalog: Command) -> None:
    found = tidalog("run", "rules.rls", "a.nt.gz", "--inferred-only")
    assert found.code == 2 and "T076" in found.err
    assert tidalog("run", "rules.rls", "-o", "x.nt", "--inferred-only", "--explicit-only").code == 2


def test_two_files_are_one_update(tidalog: Command) -> None:
    Path("rules.rls").write_text('@import triple :- ntriples{resource = "a.nt.gz"} .\n' + RULES)
    Path("new.nt").write_text("<http://e/b> <http://e/p> <http://e/c> .\n")
    found = tidalog("apply", "rules.rls", "--delete", "a.nt.gz", "--insert", "new.nt")
    assert "1 update · +2 −2 facts" in found.out
    assert tidalog("apply", "rules.rls").code == 2


def test_patches_are_updates(tidalog: Command) -> None:
    Path("day.rdfp").write_text("TX .\nA <http://e/a> <http://e/p> <http://e/c> .\nTC .\nTX .\nTA .\n")
    assert "1 update · +2 −0 facts" in tidalog("apply", "rules.rls", "day.rdfp").out


def test_check_shows_the_union_of_graphs(tidalog: Command) -> None:
    Path("graphs.rls").write_text("in(?g) :- quad(_, _, _, ?g) .\n")
    assert "quads" in tidalog("check", "graphs.rls").out
