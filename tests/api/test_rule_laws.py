"""Laws of knowledge bases whose rules come and go with facts, on generated programs and streams."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_streams import RuleScenario, layered_rule_scenarios, tangled_rule_scenarios
from ruled import check_whole, digest, state, update_for
from streams import HURRIED

import tidalog


def opened(scenario: RuleScenario, strategy: str = "auto") -> tidalog.KnowledgeBase:
    kb = tidalog.open(strategy=strategy)
    kb.load(scenario.with_rules(scenario.first))
    return kb


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
