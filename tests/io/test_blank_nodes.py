"""Blank nodes of files: those of different files differ, and reading a file again gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidalog

TEXTS = {
    "nt": '_:b <http://e/p> "1" .\n',
    "nq": '_:b <http://e/p> "1" <http://e/g> .\n_:b <http://e/p> "2" .\n',
    "ttl": '@prefix e: <http://e/> . [] e:p [ e:q "1" ] . _:b e:p "2" . (1 2) e:p _:b .',
    "trig": '@prefix e: <http://e/> . e:g { [] e:p [ e:q "1" ] }',
    "jsonld": '{"@context": {"p": "http://e/p"}, "p": {"p": "1"}}',
    "rdf": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"><r:Description>'
    '<e:p r:nodeID="b"/></r:Description></r:RDF>',
}


@pytest.mark.parametrize("ending", TEXTS)
def test_what_a_file_inserted_it_deletes(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_text(TEXTS[ending])
    kb = tidalog.open()
    count = kb.read_rdf(path)
    assert kb.read_rdf(path) == 0
    path.rename(tmp_path / f"b.{ending}")
    assert kb.delete("triple", tmp_path / f"b.{ending}") == count
    assert kb.count("triple") == 0


def test_two_files_share_no_node(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text('_:b <http://e/p> "1" .\n')
    (tmp_path / "b.nt").write_text('_:b <http://e/p> "2" .\n')
    kb = tidalog.open()
    kb.read_rdf(tmp_path)
    assert len({subject for subject, *_ in kb.facts("triple")}) == 2


def test_nodes_of_one_file_meet_in_all_its_statements(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text('_:b <http://e/p> "1" .\n<http://e/a> <http://e/q> _:b . # slow\n')
    kb = tidalog.open()
    kb.read_rdf(path)
    kb.load("both(?x) :- triple(?x, <http://e/p>, _), triple(_, <http://e/q>, ?x) .")
    assert kb.count("both") == 1


def test_exported_nodes_are_read_as_themselves(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text(TEXTS["ttl"])
    kb = tidalog.open()
    count = kb.read_rdf(path)
    for ending in ("nt", "ttl", "rdf", "jsonld", "trig"):
        written = kb.write_rdf(tmp_path / f"out.{ending}")
        assert kb.read_rdf(written) == 0
        assert kb.delete("triple", written) == count == kb.read_rdf(written)
