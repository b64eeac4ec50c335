"""Laws of rules that come and go, on generated programs and streams; see `rule_streams`."""

from __future__ import annotations

from hypothesis import given, settings
from maintained import Maintained
from rule_streams import (
    RuleScenario,
    check_rule_scenario,
    layered_rule_scenarios,
    state_of,
    tangled_rule_scenarios,
)
from streams import HURRIED, UNUSED, configurations

from tidalog.analysis import analyse
from tidalog.maintain.strategy import Options


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
