"""A rule edit compiles the plans of its own rules; those of the other rules of the component stay."""

from __future__ import annotations

from collections import Counter

import pytest

import tidalog
from tidalog.engine.plan_compiler import compile_plan
from tidalog.maintain import component_plans
from tidalog.maintain.component import MaintainedComponent

RULES = 60
PROGRAMS = {
    "one head": "\n".join(f"r{i}: hub(?x) :- e{i}(?x), ~not(?x) ." for i in range(RULES)),
    "one loop": "\n".join(f"r{i}: hub(?x) :- hub(?y), e{i}(?y, ?x) ." for i in range(RULES))
    + "start: hub(?x) :- begin(?x) .",
    "a Python function": "\n".join(f"r{i}: hub(TWICE(?x)) :- e{i}(?x) ." for i in range(RULES)),
}
ADDED = {
    "one head": "new: hub(?x) :- z(?x), ~not(?x) .",
    "one loop": "new: hub(?x) :- hub(?y), z(?y, ?x) .",
    "a Python function": "new: hub(TWICE(?x)) :- z(?x) .",
}
FACTS = {
    "one head": "e1(a) . e2(a) . e2(b) . z(b) . z(c) .",
    "one loop": "begin(a) . e1(a, b) . z(b, c) . e2(c, d) . e3(a, d) .",
    "a Python function": "e1(a) . e2(a) . e2(b) . z(b) . z(c) .",
}


@pytest.fixture(params=PROGRAMS)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def empty() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.register("twice", lambda text: 2 * text)
    return kb


def opened(shape: str) -> tidalog.KnowledgeBase:
    kb = empty()
    kb.load(PROGRAMS[shape] + FACTS[shape])
    kb.materialise()
    return kb


def check(kb: tidalog.KnowledgeBase) -> None:
    """It has the facts that a fresh one derives."""
    fresh = empty()
    fresh.load(kb.program)
    for name in kb.predicates:
        explicit = kb.facts(name, True).to_terms()
        if explicit:
            fresh.insert(name, explicit)
    assert set(fresh.facts("hub").to_terms()) == set(kb.facts("hub").to_terms())


def test_an_edit_compiles_the_plans_of_its_rules_alone(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = opened(shape)
    for _ in range(2):  # every kind of plan is compiled once
        kb.rules.add(ADDED[shape])
        kb.rules.remove("new")
    compiled: Counter[str] = Counter()

    def counted(plan, *others, **options):  # type: ignore[no-untyped-def]
        compiled[plan.rule.name] += 1
        return compile_plan(plan, *others, **options)

    monkeypatch.setattr(component_plans, "compile_plan", counted)
    kb.rules.add(ADDED[shape])
    check(kb)
    kb.rules.remove("new")
    check(kb)
    assert set(compiled) == {"new"}
    kb.rules.remove("r2")
    check(kb)
    assert set(compiled) <= {"new", "r2"}


def test_plans_that_were_dropped_do_not_pile_up(shape: str) -> None:
    kb = opened(shape)
    sizes = set()
    for _ in range(2 * RULES):
        kb.rules.add(ADDED[shape])
        kb.rules.remove("new")
        sizes.add(max(len(plans.code.starts) for plans in hub(kb).plans._sets.values()))
    assert max(sizes) < 6 * RULES
    check(kb)


def test_after_a_failed_edit_the_rules_before_are_in_force(shape: str) -> None:
    kb = opened(shape)
    kb.rules.add(ADDED[shape])
    kb.rules.remove("new")
    before = set(kb.facts("hub").to_terms())
    edit = tidalog.Update(
        add_rules=["hub(?x) :- wrong(?x) .", ":- hub(?x), wrong(?x) ."], insertions={"wrong": [(1,)]}
    )
    with pytest.raises(tidalog.RunError):
        kb.apply(edit)
    assert set(kb.facts("hub").to_terms()) == before
    kb.rules.remove("r1")
    check(kb)


def hub(kb: tidalog.KnowledgeBase) -> MaintainedComponent:
    maintenance = kb._open().maintenance
    assert maintenance is not None
    return next(c for c in maintenance.maintainer.components if c.predicates == {"hub"})
