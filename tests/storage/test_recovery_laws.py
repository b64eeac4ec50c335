"""Laws of recovery: a store that was closed and opened is the one that never was, and goes on like it."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored import NO_CIRCLE, edges, reopened, state

import tidalog


def test_facts_that_were_only_taken_in_come_back(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE)
    many = [(n, n + 1) for n in range(2000)]
    assert kb.insert("edge", many) == 2000
    kb = reopened(kb)
    assert kb.delete("edge", many[1:]) == 1999
    kb = reopened(kb)
    assert kb.facts("path").to_rows() == [(0, 1)]
    assert kb.insert("edge", [(1, 2)]) == 1
    kb = reopened(kb)
    assert kb.count("path") == 3
    kb.close()


def test_a_refused_update_is_refused_for_good(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE + "edge(a, b).")
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.apply(edges("ba"))
    kb.apply(edges("ab", delete=True))
    kb = reopened(kb)
    assert kb.count("path") == 0, "b to a is right now, and was not then"
    kb.close()


def test_updates_that_were_applied_as_one_are_one_again(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE + "edge(a, b).")
    circle, broken = edges("ba"), edges("ab", delete=True)
    (delta,) = kb.stream([circle, broken], latest_only=True)
    assert delta.updates == 2
    kb = reopened(kb)
    assert [tuple(map(str, row)) for row in kb.facts("edge").to_rows()] == [("b", "a")]
    kb.close()


def test_a_program_stands_alone_once_it_is_loaded(tmp_path: Path) -> None:
    data, rules = tmp_path / "edges.csv", tmp_path / "rules.rls"
    data.write_text("a,b\nb,c\n")
    rules.write_text(
        '@import edge :- csv{resource = "edges.csv"} .\n@export path :- csv{resource = "out.csv"} .\n'
        + "@parameter $far = 3 .\nfar(?x) :- edge(?x, _), ?x != $far .\n"
        + NO_CIRCLE
        + 'edge(c, d). note("two words", 2.5, true).\n'
    )
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(rules, parameters={"far": "a"})
    before, program = state(kb), kb.program
    data.unlink()
    kb = reopened(kb)
    assert state(kb) == before
    assert kb.program == program
    assert kb.write_exports() == [tmp_path / "out.csv"]
    kb.load(rules, parameters={"far": "a"})
    assert state(kb) == before
    kb.close()


def test_loads_add_up_until_facts_change(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load("p(a).")
    kb = reopened(kb)
    kb.load("q(?x) :- p(?x) .")
    kb.load("p(a).")
    assert kb.count("q") == 1
    kb.delete("p", [("a",)])
    kb = reopened(kb)
    kb.load("p(a).")
    assert kb.count("p") == 0, "what was loaded before is not loaded again"
    with pytest.raises(tidalog.StoreError, match="T096"):
        kb.load("p(b).")
    kb.close()


def test_functions_are_given_when_a_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    functions = {"twice": lambda value: 2 * value}
    with tidalog.open(path, functions=functions) as kb:
        kb.load("p(1). q(TWICE(?x)) :- p(?x) .")
        kb.insert("p", [(5,)])
        before = state(kb)
    with pytest.raises(tidalog.StoreError, match="T099"):
        tidalog.open(path)
    with tidalog.open(path, functions=functions) as kb:
        assert state(kb) == before
