"""Laws of rules that come and go, on generated programs and streams; see `rule_streams`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from maintained import Maintained
from rule_streams import (
    RuleScenario,
    chained_rule_scenarios,
    check_rule_scenario,
    layered_rule_scenarios,
    named,
    state_of,
    tangled_rule_scenarios,
)
from streams import HURRIED, UNUSED, configurations

import tidalog
from tidalog.analysis import analyse
from tidalog.lang import parse
from tidalog.maintain.choose import STRATEGIES, Options


@settings(HURRIED, max_examples=110)
@given(tangled_rule_scenarios(), configurations(), UNUSED)
def test_every_strategy_is_right_when_rules_of_tangled_programs_come_and_go(
    scenario: RuleScenario, options: list[Options], unused: int
) -> None:
    check_rule_scenario(scenario, options, unused)


@settings(HURRIED, max_examples=75)
@given(layered_rule_scenarios(), configurations(), UNUSED)
def test_every_strategy_is_right_when_rules_of_any_kind_come_and_go(
    scenario: RuleScenario, options: list[Options], unused: int
) -> None:
    check_rule_scenario(scenario, options, unused)


@settings(HURRIED, max_examples=60)
@given(chained_rule_scenarios(), configurations(), UNUSED)
def test_every_strategy_is_right_when_rules_come_and_go_with_what_they_read(
    scenario: RuleScenario, options: list[Options], unused: int
) -> None:
    check_rule_scenario(scenario, options, unused)


CHAINED = "q(?x) :- p(?x). w(?x) :- q(?x). w(?x) :- s(?x). q(?x) :- s(?x). w(?x) :- q(?x), w(?x)."


@pytest.mark.parametrize("gone", [{1}, {1, 4}, {0, 1}, {1, 3}, {0, 1, 3, 4}, {2, 3}])
@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s != "recompute"])
def test_a_rule_goes_together_with_a_derived_fact_that_it_has_read(strategy: str, gone: set[int]) -> None:
    program = named(parse(f"{CHAINED} p(c). p(e). s(d). s(e)."))
    rules = frozenset(range(len(program.rules)))
    deleted = tuple((fact.predicate, fact.arguments) for fact in program.facts[:1])
    steps = (((deleted, ()), rules - gone), (((), deleted), rules - gone), ((deleted, ()), rules))
    check_rule_scenario(RuleScenario(program, rules, steps), [Options(strategy)])


MERGED = {
    "two components": "p(?x) :- a(?x). p(?x) :- q(?x). q(?x) :- b(?x). q(?x) :- p(?x). a(1). b(1).",
    "a predicate without rules": "p(?x) :- a(?x). p(?x) :- q(?x). q(?x) :- p(?x). a(1). q(1).",
}


@pytest.mark.parametrize("kind", MERGED)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_fact_may_be_older_than_what_proves_it_when_a_rule_closes_a_cycle(strategy: str, kind: str) -> None:
    program = named(parse(MERGED[kind]))
    first, second = ((fact.predicate, fact.arguments) for fact in program.facts)
    every = frozenset(range(len(program.rules)))
    open_cycle = every - {max(every)}
    steps = (
        (((), (second,)), open_cycle),
        (((first,), ()), open_cycle),  # p(1), which was there first, now follows from q(1)
        (((), ()), every),
        (((second,), ()), every),
    )
    given = RuleScenario(replace(program, facts=program.facts[:1]), open_cycle, steps)
    check_rule_scenario(given, [Options(strategy)])


def test_a_part_of_a_component_has_its_own_facts_without_ranks_alone() -> None:
    kb = tidalog.open()
    kb.load("p(?x) :- q(?x). back: q(?x) :- p(?x). p(?x) :- a(?x). p(?x) :- c(?x). q(?x) :- b(?x).")
    kb.load("a(1). c(1). b(2).")
    kb.materialise()
    list(kb.stream([tidalog.Update(deletions={"a": [(1,)]})], strategy="bf"))
    kb.rules.remove("back")
    assert kb.facts("p").to_rows() == [(1,), (2,)]
    assert kb.facts("q").to_rows() == [(2,)]


@settings(HURRIED, max_examples=30)
@given(layered_rule_scenarios(length=1), configurations())
def test_to_add_a_rule_and_to_remove_it_is_nothing(scenario: RuleScenario, options: list[Options]) -> None:
    explicit = {(fact.predicate, fact.arguments) for fact in scenario.program.facts}
    before = state_of(scenario, scenario.first, explicit)
    for chosen in options[:4]:
        kept = Maintained(scenario.with_rules(scenario.first), chosen)
        for number in range(len(scenario.program.rules)):
            other = analyse(scenario.with_rules(scenario.first ^ {number}))
            kept.apply(((), ()), analysis=other)
            kept.apply(((), ()), analysis=analyse(scenario.with_rules(scenario.first)))
            kept.check_state(before)
