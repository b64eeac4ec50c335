"""Background written as `ex:p(a, b)` are triples for queries over streams, whether or not anything has
`triple`."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase

PREFIX = "@prefix ex: <http://e/> . "
FACTS = "ex:isIn(ex:b, ex:c) . ex:City(ex:c) . "
RULE = "ex:isIn(?x, ?z) :- ex:isIn(?x, ?y), ex:isIn(?y, ?z) . "
OF_STREAM = """PREFIX ex: <http://e/>
SELECT ?x ?y FROM STREAM <http://e/s> [RANGE 10s] WHERE { ?x ex:isIn ?y }"""
OF_BACKGROUND = "PREFIX ex: <http://e/> SELECT ?x ?y WHERE { ?x ex:isIn ?y . ?y a ex:City }"


def named(*names: str) -> list[str]:
    return [f"<http://e/{name}>" for name in names]


def arrive(kb: KnowledgeBase, time: float, *names: str) -> None:
    with kb.update(time=time) as u:
        u.insert("<http://e/s>", [named(*names)], formats=["any"] * 3)


def answers(kb: KnowledgeBase) -> set[tuple[str, ...]]:
    rows = kb.queries["q"].result().to_rows()
    return {tuple(str(value)[10:-1] for value in row) for row in rows}


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
@pytest.mark.parametrize("materialise", [False, True], ids=["on demand", "maintained"])
def test_a_query_sees_background_in_shorthand(tmp_path: Path, materialise: bool, stored: bool) -> None:
    kb = tidalog.open(tmp_path / "store", fsync="off") if stored else tidalog.open()
    kb.load(PREFIX + FACTS + RULE)
    kb.register("q", OF_STREAM, materialise=materialise)
    arrive(kb, 1, "a", "isIn", "b")
    assert answers(kb) == {("a", "b"), ("b", "c"), ("a", "c")}
    if stored:
        kb.close()
        kb = tidalog.open(tmp_path / "store", fsync="off")
    kb.insert("<http://e/isIn>", [named("d", "b")], formats=["any"] * 2)
    assert answers(kb) == {("a", "b"), ("b", "c"), ("a", "c"), ("d", "b"), ("d", "c")}
    with kb.update(time=5) as u:
        u.delete("<http://e/isIn>", [named("b", "c")], formats=["any"] * 2)
    assert answers(kb) == {("a", "b"), ("d", "b")}
    kb.close()


@pytest.mark.parametrize("materialise", [False, True], ids=["on demand", "maintained"])
def test_a_query_without_streams_sees_background_in_shorthand(materialise: bool) -> None:
    kb = tidalog.open()
    kb.load(PREFIX + FACTS + RULE)
    kb.register("q", OF_BACKGROUND, materialise=materialise)
    assert answers(kb) == {("b", "c")}


def test_once_no_query_reads_triples_predicates_are_as_they_were() -> None:
    kb = tidalog.open()
    kb.load(PREFIX + FACTS + RULE)
    before = {name: kb.facts(name).to_rows() for name in kb.predicates}
    kb.register("q", OF_BACKGROUND)
    kb.rules.add("far(?x) :- ex:isIn(?x, ?y)")
    assert set(kb.predicates) == {"triple", "far"}
    assert answers(kb) == {("b", "c")}
    kb.rules.remove("r2")
    kb.queries["q"].drop()
    assert {name: kb.facts(name).to_rows() for name in kb.predicates if name != "far"} == before


@pytest.mark.parametrize("derived", [False, True], ids=["nothing derived", "derived"])
def test_rules_that_negate_what_a_window_changes_have_the_background(derived: bool) -> None:
    kb = tidalog.open()
    kb.load(PREFIX + "ex:isIn(ex:b, ex:c) . ex:isIn(?x, ?x) :- ex:isIn(?x, ?y), ~ex:left(?x, ?y) .")
    if derived:
        kb.materialise()
    kb.register("q", OF_STREAM)
    assert answers(kb) == {("b", "c"), ("b", "b")}
    arrive(kb, 1, "b", "left", "c")
    assert answers(kb) == {("b", "c")}
    kb.insert("<http://e/isIn>", [named("d", "c")], formats=["any"] * 2)
    assert answers(kb) == {("b", "c"), ("d", "c"), ("d", "d")}
    kb.advance(30)
    assert answers(kb) == {("b", "c"), ("b", "b"), ("d", "c"), ("d", "d")}
