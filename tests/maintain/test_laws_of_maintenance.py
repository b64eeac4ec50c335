"""Laws of maintenance on generated programs and streams.  What is checked after every update stands in
`maintained`; what streams are made of, in `streams`."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Maintained, Oracle, Scenario, check_scenario
from streams import (
    FLEETING_CONFIGURATIONS,
    HURRIED,
    UNUSED,
    configurations,
    fleeting_scenarios,
    layered_scenarios,
    positive_scenarios,
    tangled_scenarios,
)

from generators import SHUFFLES
from tidalog.maintain.choose import Options


@settings(HURRIED, max_examples=100)
@given(tangled_scenarios(), configurations(), UNUSED)
def test_every_strategy_is_right_after_every_update_of_tangled_programs(
    given_scenario: Scenario, options: list[Options], unused: int
) -> None:
    check_scenario(given_scenario, options, unused)


@settings(HURRIED, max_examples=25)
@given(positive_scenarios(), configurations())
def test_every_strategy_is_right_after_every_update_of_positive_programs(
    given_scenario: Scenario, options: list[Options]
) -> None:
    check_scenario(given_scenario, options)


@settings(HURRIED, max_examples=40)
@given(fleeting_scenarios(), UNUSED)
def test_what_is_on_record_is_right_where_every_fact_soon_goes(given_scenario: Scenario, unused: int) -> None:
    check_scenario(given_scenario, FLEETING_CONFIGURATIONS, unused)


@settings(HURRIED, max_examples=35)
@given(layered_scenarios(), configurations(), UNUSED)
def test_every_strategy_is_right_with_negation_aggregates_and_functions(
    given_scenario: Scenario, options: list[Options], unused: int
) -> None:
    check_scenario(given_scenario, options, unused)


@settings(HURRIED, max_examples=30)
@given(positive_scenarios(), configurations())
def test_one_batch_is_its_singletons(given_scenario: Scenario, options: list[Options]) -> None:
    """Deletions first, then insertions, each in an update of its own."""
    for chosen in options:
        whole, single = Maintained(given_scenario.program, chosen), Maintained(given_scenario.program, chosen)
        for deletions, insertions in given_scenario.updates:
            whole.apply((deletions, insertions))
            for fact in deletions:
                single.apply(((fact,), ()))
            for fact in insertions:
                single.apply(((), (fact,)))
            assert whole.facts == single.facts
            assert whole.explicit == single.explicit


@settings(HURRIED, max_examples=30)
@given(positive_scenarios(), configurations())
def test_an_update_and_its_inverse_are_nothing(given_scenario: Scenario, options: list[Options]) -> None:
    oracle = Oracle(given_scenario.program)
    for chosen in options:
        kept = Maintained(given_scenario.program, chosen)
        for deletions, insertions in given_scenario.updates:
            explicit = oracle.state.explicit
            gone = tuple(dict.fromkeys(f for f in deletions if f in explicit and f not in insertions))
            new = tuple(dict.fromkeys(f for f in insertions if f not in explicit))
            kept.apply((gone, new), [(new, gone)])
            kept.apply((new, gone))
            kept.check_state(oracle.state)


@settings(HURRIED, max_examples=20)
@given(positive_scenarios(), configurations(), st.integers(0, 2**32), st.data())
@pytest.mark.parametrize(
    "shuffle", [one for one in SHUFFLES if one != "declarations"]
)  # those are checked above
def test_the_order_of_rules_and_facts_and_the_names_of_variables_change_nothing(
    shuffle: str, given_scenario: Scenario, options: list[Options], number: int, data: st.DataObject
) -> None:
    program = given_scenario.program
    other = SHUFFLES[shuffle](program, random.Random(number))
    updates = tuple(
        (tuple(data.draw(st.permutations(deletions))), tuple(data.draw(st.permutations(insertions))))
        for deletions, insertions in given_scenario.updates
    )
    check_scenario(replace(given_scenario, program=other, updates=updates), options[:3])
