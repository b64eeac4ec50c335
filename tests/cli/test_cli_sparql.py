"""`tidalog sparql`, and updates in files of requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command

RULES = """@prefix : <http://e/> .
triple(?x, :anc, ?y) :- triple(?x, :par, ?y) .
triple(?x, :anc, ?z) :- triple(?x, :anc, ?y), triple(?y, :par, ?z) .
"""
DATA = "<http://e/a> <http://e/par> <http://e/b> . <http://e/b> <http://e/par> <http://e/c> ."


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text(RULES)
    (tmp_path / "d.ttl").write_text(DATA)
    (tmp_path / "q.rq").write_text("CONSTRUCT { ?y <http://e/of> ?x } { ?x <http://e/par> ?y }")
    (tmp_path / "u.ru").write_text(
        "PREFIX : <http://e/> INSERT DATA { :c :par :d } ;"
        " DELETE { ?x :par ?y } WHERE { ?x :par ?y . ?y :par :d }"
    )


def test_a_program_with_data(tidalog: Command) -> None:
    out = tidalog("sparql", "p.rls", "d.ttl", "SELECT ?x ?y { ?x :anc ?y } ORDER BY DESC(?x) ?y").out
    assert [line.split() for line in out.splitlines()[2:]] == [
        [":b", ":c"],
        [":a", ":b"],
        [":a", ":c"],
        ["3", "rows"],
    ]
    shown = tidalog("sparql", "p.rls", "d.ttl", "--rows", "1", "SELECT ?x { ?x :anc ?y }").out
    assert shown.endswith("3 rows, 2 not shown\n")


def test_data_alone_and_every_format(tidalog: Command) -> None:
    assert tidalog("sparql", "d.ttl", "ASK { ?x ?p <http://e/c> }").out == "true\n"
    select = "SELECT ?y { <http://e/a> <http://e/par>+ ?y } ORDER BY ?y"
    assert tidalog("sparql", "d.ttl", select, "--format", "csv").out.split() == [
        "y",
        "http://e/b",
        "http://e/c",
    ]
    assert json.loads(tidalog("sparql", "d.ttl", select, "--format", "json").out)["head"] == {"vars": ["y"]}
    assert tidalog("sparql", "d.ttl", "-f", "q.rq", "--format", "nt").out.count("<http://e/of>") == 2
    assert tidalog("sparql", "d.ttl", select, "--json").json["count"] == 2
    assert tidalog("sparql", "d.ttl", "ASK {}", "--json").json["answer"] is True


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (("SELECT * {}",), "T077"),
        (("d.ttl",), "T077"),
        (("d.ttl", "SELEC"), "T001"),
        (("d.ttl", "INSERT DATA {}"), "T222"),
        (("d.ttl", "-f", "none.rq"), "T031"),
        (("d.ttl", "ASK {}", "--format", "yaml"), "T076"),
        (("d.ttl", "-f", "q.rq", "--format", "csv"), "T076"),
        (("d.ttl", "ASK {}", "--format", "ttl"), "T076"),
    ],
)
def test_mistakes(tidalog: Command, arguments: tuple[str, ...], number: str) -> None:
    outcome = tidalog("sparql", *arguments)
    assert outcome.code != 0 and f"[{number}]" in outcome.err, outcome.err


def test_a_store_is_asked_and_stays_as_it_is(tidalog: Command) -> None:
    assert tidalog("apply", "p.rls", "u.ru", "-f", "triple=d.ttl", "--store", "kb").code == 0
    ask = ("sparql", "kb", "SELECT ?x ?y { ?x :par ?y } ORDER BY ?x", "--format", "tsv")
    expected = "?x\t?y\n<http://e/a>\t<http://e/b>\n<http://e/c>\t<http://e/d>\n"
    assert tidalog(*ask).out == expected == tidalog(*ask).out
    assert "T077" in tidalog("sparql", "kb", "d.ttl", "ASK {}").err


def test_requests_are_applied_in_order_and_alone(tidalog: Command) -> None:
    outcome = tidalog("apply", "p.rls", "u.ru", "-f", "triple=d.ttl", "--json")
    (update,) = outcome.json["updates"]
    assert update["update"] == "u.ru"
    Path("more.upd").write_text("+ p(a).")
    assert "T077" in tidalog("apply", "p.rls", "u.ru", "more.upd").err


def test_a_request_may_bring_the_first_quad_into_a_change_feed(tidalog: Command, tmp_path: Path) -> None:
    request = "INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> <http://e/c> } }"
    (tmp_path / "quad.ru").write_text(request)
    tidalog("apply", "p.rls", "quad.ru", "--out", "out")
    lines = (tmp_path / "out" / "changes.csv").read_text().splitlines()
    assert "arg4" in lines[0]
    assert any(",quad," in line and "<http://e/g>" in line for line in lines[1:])
