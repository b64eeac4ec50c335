"""Laws of knowledge bases whose rules come and go with facts, on generated programs and streams."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_streams import RuleScenario, layered_rule_scenarios, state_of, tangled_rule_scenarios
from ruled import check_delta, check_whole, digest, state, update_for
from streams import HURRIED

import tidalog
from tidalog.maintain.choose import STRATEGIES

KINDS = st.sampled_from(STRATEGIES)


def opened(scenario: RuleScenario, strategy: str = "auto") -> tidalog.KnowledgeBase:
    kb = tidalog.open(strategy=strategy)
    kb.load(scenario.with_rules(scenario.first))
    return kb


def check_stream(scenario: RuleScenario, strategy: str, look_ahead: int) -> None:
    """After every step the state is the oracle's, and the delta is the difference to the one before."""
    kb = opened(scenario, strategy)
    explicit = {(fact.predicate, fact.arguments) for fact in scenario.program.facts}
    before = state_of(scenario, scenario.first, explicit)
    told = [update_for(kb, scenario, facts, rules) for facts, rules in scenario.steps]
    for number, (facts, rules) in enumerate(scenario.steps):
        update = update_for(kb, scenario, facts, rules)
        delta = kb.apply(update, told[number + 1 : number + 1 + look_ahead])
        explicit = explicit - set(facts[0]) | set(facts[1])
        after = state_of(scenario, rules, explicit)
        now = state(kb)
        assert now.facts == after.facts
        assert now.explicit == after.explicit
        check_delta(delta, before, after)
        check_whole(kb)
        assert list(kb.rules) == [str(rule.name) for rule in kb.program.rules] or not kb.rules
        before = after


@settings(HURRIED, max_examples=40)
@given(tangled_rule_scenarios(length=5), KINDS, st.integers(0, 2))
def test_states_and_deltas_are_right_for_tangled_programs(
    scenario: RuleScenario, strategy: str, look_ahead: int
) -> None:
    check_stream(scenario, strategy, look_ahead)


@settings(HURRIED, max_examples=30)
@given(layered_rule_scenarios(length=4), KINDS, st.integers(0, 2))
def test_states_and_deltas_are_right_with_negation_aggregates_and_functions(
    scenario: RuleScenario, strategy: str, look_ahead: int
) -> None:
    check_stream(scenario, strategy, look_ahead)


@settings(HURRIED, max_examples=20)
@given(layered_rule_scenarios(length=1))
def test_to_add_a_rule_and_to_remove_it_is_nothing(scenario: RuleScenario) -> None:
    kb = opened(scenario)
    before, rules = state(kb), dict(kb.rules)
    for rule in scenario.program.rules:
        if rule.name in kb.rules:
            text = kb.rules[str(rule.name)]
            kb.rules.remove(str(rule.name))
            delta = kb.rules.add(text)
        else:
            delta = kb.apply(
                update_for(kb, scenario, ((), ()), scenario.first | {int(str(rule.name)[1:]) - 1})
            )
            if delta.rules.added:
                kb.rules.remove(*delta.rules.added)
        assert state(kb) == before
        assert dict(kb.rules) == rules


@settings(HURRIED, max_examples=20)
@given(layered_rule_scenarios(length=1), st.randoms(use_true_random=False))
def test_the_order_in_which_rules_were_added_does_not_matter(scenario: RuleScenario, chance: object) -> None:
    every = frozenset(range(len(scenario.program.rules)))
    whole = opened(scenario)
    whole.apply(update_for(whole, scenario, ((), ()), every))
    kb = tidalog.open()
    kb.load(scenario.with_rules(frozenset()))
    kb.materialise()
    numbers = list(every)
    chance.shuffle(numbers)  # type: ignore[attr-defined]
    for count in range(1, len(numbers) + 1):
        kb.apply(update_for(kb, scenario, ((), ()), frozenset(numbers[:count])))
    assert state(kb) == state(whole)


@settings(HURRIED, max_examples=15)
@given(tangled_rule_scenarios(length=6))
def test_updates_that_wait_may_be_applied_as_one_where_no_rule_changes(scenario: RuleScenario) -> None:
    """`latest_only` gives the state that one by one gives; an update with rules stays one of its own."""
    kb, other = opened(scenario), opened(scenario)
    updates = []
    for facts, rules in scenario.steps:
        updates.append(update_for(other, scenario, facts, rules))
        other.apply(updates[-1])
    deltas = list(kb.stream(updates, latest_only=True))
    assert sum(delta.updates for delta in deltas) == len(updates)
    assert all(delta.updates == 1 for delta in deltas if delta.rules)
    assert state(kb) == state(other)
    assert dict(kb.rules) == dict(other.rules)


REFUSED = {
    "T012": "x(?a) :- p(?b, ?c)",
    "T010": "x(?a) :- p(?a)",
    "T020": "p(?a, ?b) :- e(?a, ?b), ~p(?a, ?b)",
    "T021": "p(?a, #count(?b)) :- p(?a, ?b)",
    "T130": None,
    "T001": "x(?a) :- p(?a ?b)",
    "T018": "x(NOWHERE(?a)) :- p(?a, _)",
}


@pytest.mark.parametrize("number", REFUSED)
@settings(HURRIED, max_examples=4)
@given(scenario=tangled_rule_scenarios(length=2))
def test_a_refused_rule_leaves_everything_as_it_was(number: str, scenario: RuleScenario) -> None:
    """Facts, program, names, analysis, components and the engine's arrays; and work goes on."""
    kb = opened(scenario)
    kb.rules.add("wanted: p(?a, ?b) :- e(?a, ?b), f(?a)")
    kb.apply(update_for(kb, scenario, ((), ()), scenario.first))
    kb.rules.add("wanted: p(?a, ?b) :- e(?a, ?b), f(?a)")
    update = tidalog.Update(
        insertions={"e": [("a", "b"), (0, 1)], "quite_new": [(1,)]}, add_rules="y(?a) :- q(?a)"
    )
    text = REFUSED[number]
    if text is None:
        update.remove_rule("nobody")
    else:
        update.add_rule(text)
    before = digest(kb)
    with pytest.raises(tidalog.ProgramError, match=number):
        kb.apply(update)
    assert digest(kb) == before
    for facts, rules in scenario.steps:
        kb.apply(update_for(kb, scenario, facts, rules))
    check_whole(kb)
