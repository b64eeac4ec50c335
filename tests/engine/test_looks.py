"""Figures and looks of a run are what they say."""

from __future__ import annotations

from itertools import pairwise

from engine_harness import loaded
from tidalog.analysis import analyse
from tidalog.lang import parse
from tidalog.maintain.materialise import materialise
from tidalog.reference import evaluate

CLOSURE = """e(1, 2). e(2, 3). e(3, 4). name("a").
    p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- e(?x, ?y), p(?y, ?z).
    name(?u) :- name(?n), ?u = UCASE(?n). c(?x, #count(?y)) :- p(?x, ?y), ?x != ?y."""


def test_a_rule_without_a_join_is_looked_at_as_often_as_any_other() -> None:
    """One number at a time: neither a full block nor a probe ever gives the machine a reason to come back."""
    seen: list[int] = []
    program = parse("n(0). n(?m) :- n(?k), ?m = ?k + 1, ?k < 700000.", "program")
    engine = loaded(analyse(program))
    materialise(engine, analyse(program), progress=lambda step: seen.append(step.facts))
    assert max(later - earlier for earlier, later in pairwise(seen)) <= 150_000


def test_figures_count_the_facts_of_the_program() -> None:
    program = parse(CLOSURE, "program")
    engine = loaded(analyse(program))
    stats = materialise(engine, analyse(program))
    assert stats.facts == sum(map(len, evaluate(program).values()))
