"""Laws of the knowledge base: what order, repetition, errors and questions may not change."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import tidalog
from tidalog.model.errors import TidalogError
from tidalog.model.program import Program

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
degree(?x, #count(?y)) :- edge(?x, ?y) .
lonely(?x) :- node(?x), ~edge(?x, _) .
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("b", 7), (7, 2.5)]
FACTS = "edge(a, b). node(a). node(z). flag()."


def state(kb: tidalog.KnowledgeBase) -> dict[str, object]:
    """Everything that a user can see."""
    return {
        **{name: frozenset(kb.facts(name).to_terms()) for name in kb.predicates},
        **{f"{name}, explicit": frozenset(kb.facts(name, True).to_terms()) for name in kb.predicates},
        "program": kb.program,
        "warnings": [warning.render() for warning in kb.warnings],
    }


def filled() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(RULES + FACTS)
    kb.insert("edge", EDGES)
    return kb


def test_loading_twice_is_loading_once() -> None:
    once, twice = filled(), filled()
    twice.load(RULES + FACTS)
    assert state(twice) == state(once)


def test_inserting_twice_is_inserting_once() -> None:
    kb = filled()
    before = state(kb)
    assert kb.insert("edge", EDGES) == 0
    assert state(kb) == before


def test_the_order_of_insertions_and_loads_does_not_matter() -> None:
    steps: list[Callable[[tidalog.KnowledgeBase], object]] = [
        lambda kb: kb.load(RULES),
        lambda kb: kb.load("node(a). node(z)."),
        lambda kb: kb.insert("edge", EDGES[:3]),
        lambda kb: kb.insert("edge", EDGES[3:]),
        lambda kb: kb.materialise(),
    ]
    seen = []
    for seed in range(6):
        random.Random(seed).shuffle(steps)
        kb = tidalog.open()
        for step in steps:
            step(kb)
        seen.append({name: frozenset(kb.facts(name).to_terms()) for name in kb.predicates})
    assert all(facts == seen[0] for facts in seen)
    assert len(seen[0]["path"]) == 21


def test_facts_in_small_pieces_are_the_same_as_all_at_once() -> None:
    kb = filled()
    by_piece = tidalog.open()
    by_piece.load(RULES + FACTS)
    for edge in EDGES:
        by_piece.insert("edge", [edge])
        by_piece.count("path")
    assert state(by_piece) == state(kb)


@pytest.mark.parametrize(
    ("number", "mistake"),
    [
        ("T012", lambda kb, _: kb.load("edge(x, y). far(?z) :- edge(?x, _) .")),
        ("T001", lambda kb, _: kb.load("edge(x, y). edge(((.")),
        ("T010", lambda kb, _: kb.load("edge(x, y). edge(x).")),
        ("T020", lambda kb, _: kb.load("edge(x, y). node(?x) :- path(?x, _), ~lonely(?x) .")),
        ("T030", lambda kb, _: kb.load('edge(x, y). @import node :- csv{resource = "nowhere.csv"} .')),
        ("T018", lambda kb, _: kb.load("edge(x, y). new(NOSUCH(?x)) :- edge(?x, _) .")),
        ("T022", lambda kb, _: kb.load("edge(x, y). new(?x) :- edge(?x, _), ?x != $nosuch .")),
        ("T071", lambda kb, folder: kb.load(folder / "nowhere.rls")),
        ("T071", lambda kb, _: kb.load("nowhere.rls")),
        ("T072", lambda kb, folder: kb.load(folder)),
        ("T072", lambda kb, folder: kb.load(folder / "latin.rls")),
        ("T073", lambda kb, _: kb.load("p(a).", dialect="prolog")),
        ("T030", lambda kb, folder: kb.insert("edge", folder / "nowhere.csv")),
        ("T034", lambda kb, _: kb.insert("edge", {"one": [1], "two": [2], "three": [3]})),
        ("T035", lambda kb, _: kb.insert("edge", [("x", "y"), ("x",)])),
        ("T036", lambda kb, _: kb.insert("edge", [("x", object())])),
        ("T048", lambda kb, _: kb.insert("edge", 17)),
        ("T076", lambda kb, _: kb.insert("not a name", [("x",)])),
        ("T076", lambda kb, _: kb.load("p(a).", parameters={"limit": object()})),
        ("T074", lambda kb, _: kb.register("CONCAT", str)),
        ("T074", lambda kb, _: kb.register("two words", str)),
        ("T074", lambda kb, _: kb.register("keyword", lambda *, key: key)),
        ("T070", lambda kb, _: kb.facts("pth")),
        ("T070", lambda kb, _: kb.count("pth")),
        ("T070", lambda kb, _: kb.query("pth(?x)")),
        ("T001", lambda kb, _: kb.query("path(?x")),
        ("T012", lambda kb, _: kb.query("?y :- node(?x)")),
        ("T010", lambda kb, _: kb.query("path(?x)")),
    ],
)
def test_a_mistake_is_a_numbered_error_and_changes_nothing(
    number: str, mistake: Callable[[tidalog.KnowledgeBase, Path], object], tmp_path: Path
) -> None:
    (tmp_path / "latin.rls").write_bytes("p(é).".encode("latin-1"))
    kb = filled()
    before = state(kb)
    with pytest.raises(TidalogError) as raised:
        mistake(kb, tmp_path)
    assert raised.value.diagnostics[0].number == number
    assert state(kb) == before


def contents(kb: tidalog.KnowledgeBase) -> dict[str, list[list[int]]]:
    """What the engine holds, hidden relations too."""
    engine = kb._open().engine
    return {name: [column.tolist() for column in engine.columns(name)] for name in engine.names}


@pytest.mark.parametrize(
    "query",
    [
        "path(?x, ?y)",
        "?x, #count(?y), #max(?n) :- path(?x, ?y), degree(?x, ?n)",
        "?m :- degree(_, ?n), ?m = ?n * 17",
        '?s :- node(?x), ?s = CONCAT(STR(?x), "!")',
        "node(?x), ~edge(?x, _)",
        "path(a, b)",
        "path(b, a)",
        "flag()",
    ],
)
def test_a_query_leaves_nothing_behind(query: str) -> None:
    kb = filled()
    kb.materialise()
    before = contents(kb)
    first = kb.query(query)
    assert contents(kb) == before
    assert kb.query(query).to_terms() == first.to_terms()


def test_nothing_is_computed_again_if_nothing_changed() -> None:
    kb = filled()
    run = kb.materialise()
    kb.facts("path"), kb.count("path"), kb.query("path(?x, _)"), kb.stats()
    assert kb.materialise() is run
    kb.load("@output path .")
    assert kb.materialise() is run
    before = kb.count("path")
    kb.insert("edge", [("z", "a")])
    assert kb.materialise() is run  # the materialisation was kept right
    assert kb.count("path") > before
    kb.load("edge(y, z).")
    assert kb.materialise() is not run


def test_explicit_and_implicit_facts_are_all_facts() -> None:
    kb = filled()
    kb.insert("path", [("a", "c"), ("q", "r")])
    explicit, implicit = (set(kb.facts("path", kind).to_terms()) for kind in (True, False))
    assert len(explicit) == 2
    assert not explicit & implicit
    assert explicit | implicit == set(kb.facts("path").to_terms())


def test_a_run_that_is_stopped_derives_nothing_and_keeps_the_facts() -> None:
    kb = tidalog.open()
    kb.load("n(0). up: n(?m) :- n(?k), ?m = ?k + 1 .")
    with pytest.raises(tidalog.RunError, match=r"T050.*rule up") as raised:
        kb.materialise(max_facts=1_000)
    assert raised.value.diagnostics[0].number == "T050"
    assert kb.facts("n", explicit=True).to_rows() == [(0,)]
    with pytest.raises(tidalog.RunError, match="T050"):
        kb.materialise(max_facts=1_000)


def test_a_limit_that_stops_a_run_before_its_first_rule_names_no_rule() -> None:
    kb = tidalog.open(max_facts=5)
    with pytest.raises(tidalog.RunError, match="stopped at 5 facts\n"):
        kb.insert("n", [(number,) for number in range(10)])


def test_what_violates_a_constraint_does_not_come_into_a_materialisation() -> None:
    kb = tidalog.open()
    kb.load("twice: :- owner(?x, ?a), owner(?x, ?b), ?a != ?b .")
    kb.insert("owner", [("car", "ann")])
    assert kb.count("owner") == 1
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.insert("owner", [("car", "bob")])
    assert kb.facts("owner").to_rows() == [("car", "ann")]


def test_strict_asks_again_what_was_passed_over() -> None:
    kb = tidalog.open()
    kb.load("n(0). n(2). half(?h) :- n(?n), ?h = 1 / ?n .")
    assert kb.facts("half").to_rows() == [(0.5,)]
    assert sum(kb.stats().uncomputed.values()) == 1
    with pytest.raises(tidalog.RunError, match="T054"):
        kb.materialise(strict=True)


def test_a_closed_knowledge_base_says_so() -> None:
    with filled() as kb:
        result = kb.facts("path")
    with pytest.raises(tidalog.UsageError, match="T075"):
        kb.facts("path")
    assert len(result) == 21


def test_a_program_can_be_given_as_it_is() -> None:
    kb, from_text = tidalog.open(), filled()
    kb.load(Program(rules=from_text.program.rules))
    kb.insert("edge", EDGES)
    assert set(kb.facts("path")) == set(from_text.facts("path"))
