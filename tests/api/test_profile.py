"""`kb.profile()`: what was chosen for each part of a program and why; and what `check` expects of it."""

from __future__ import annotations

import pytest

import tidalog
from tidalog.api.update import Update
from tidalog.engine.functions import is_native
from tidalog.maintain.choose import Options, choose
from tidalog.maintain.default_strategy import default_strategies
from tidalog.plan.compile import compile

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
degree(?x, #count(?y)) :- edge(?x, ?y) .
far(?x, #count(?y)) :- path(?x, ?y), ~edge(?x, ?y) .
either(?x) :- far(?x, _) .
either(?x) :- degree(?x, _) .
unlike(?x, #max(?y)) :- path(?x, ?y) .
unlike(?x, 0) :- degree(?x, 7) .
loop: :- path(?x, ?x) .
edge(a, b). edge(b, c). edge(c, d).
"""


@pytest.fixture
def kb() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(PROGRAM)
    return kb


def test_every_part_is_there_with_its_last_choice(kb: tidalog.KnowledgeBase) -> None:
    parts = {part.name: part for part in kb.profile()}
    assert {"path", "degree", "far", "either", "unlike", "constraint loop"} <= set(parts)
    assert all(part.strategy is None and part.reason == "no update has reached it" for part in parts.values())
    assert parts["path"].rules == ("r1", "r2")
    assert parts["path"].recursive
    assert parts["path"].facts == 6
    kb.apply(Update(deletions={"edge": [("b", "c")]}, label=4))
    kb.apply(Update(insertions={"other": [("b", "c")]}, label=5))
    parts = {part.name: part for part in kb.profile()}
    assert parts["path"].strategy == "ranked"
    assert parts["path"].reason == "its ids are ranks"
    assert parts["path"].update == 4
    assert dict(parts["path"].times) == {"ranked": 1}
    assert parts["degree"].strategy == "groups"


def test_it_follows_the_rules(kb: tidalog.KnowledgeBase) -> None:
    kb.apply(Update(deletions={"edge": [("b", "c")]}))
    kb.rules.remove("r2")
    kb.rules.add("near: near(?x) :- edge(a, ?x)")
    parts = {part.name: part for part in kb.profile()}
    assert parts["path"].rules == ("r1",)
    assert not parts["path"].recursive
    assert parts["near"].strategy is not None


def test_it_prints_as_a_table_and_goes_into_json(kb: tidalog.KnowledgeBase) -> None:
    kb.apply(Update(deletions={"edge": [("b", "c")]}))
    lines = repr(kb.profile()).splitlines()
    assert lines[0].split() == ["part", "rules", "facts", "strategy", "why", "updates"]
    assert any("ranked     its ids are ranks" in line for line in lines)
    assert kb.profile().to_json()[0]["name"] == kb.profile()[0].name
    assert repr(tidalog.open().profile()) == "no rules"


def test_what_check_expects_is_what_is_chosen_for_a_deletion_of_nothing(kb: tidalog.KnowledgeBase) -> None:
    kb.load(f"long(?x) :- {', '.join(f'edge(?x, {n})' for n in range(70))} .")
    kb.apply(Update())
    assert kb._open().maintenance is not None
    nodes = kb._open().maintenance.maintainer.components
    chosen = {name: (choose(n, Options(), 0).name, n.reason) for n in nodes for name in n.predicates}
    usual = default_strategies(compile(kb.analysis, is_native))
    assert {"path", "degree", "far", "either", "unlike", "long"} == {
        name for one in usual for name in one.predicates
    }
    for one in usual:
        for name in one.predicates:
            assert (one.strategy, one.reason) == chosen[name], name
