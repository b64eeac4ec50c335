"""Aggregates and functions under updates: results follow the facts that change, exactly."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Maintained, Oracle, Scenario, check_scenario, scenario
from streams import HURRIED, UNUSED, configurations, layered_scenarios

from tidalog.builtins.aggregates import total
from tidalog.engine.dictionary import Dictionary
from tidalog.lang import parse
from tidalog.maintain import aggregates, component
from tidalog.maintain.choose import Options
from tidalog.maintain.running_sums import RunningSum
from tidalog.model.terms import XSD, Double, Integer, Literal, String, Term, integer


@contextmanager
def large_from(facts: int) -> Iterator[None]:
    """Groups with at least `facts` facts are large."""
    before = aggregates.LARGE
    aggregates.LARGE = facts
    try:
        yield
    finally:
        aggregates.LARGE = before


@contextmanager
def few_questions() -> Iterator[None]:
    """No answer is kept just because there are not many."""
    before = component.MANY_QUESTIONS
    component.MANY_QUESTIONS = 0
    try:
        yield
    finally:
        component.MANY_QUESTIONS = before


@settings(HURRIED, max_examples=25)
@given(layered_scenarios(), configurations(), UNUSED)
def test_results_of_large_groups_are_carried_on_rightly(
    given_scenario: Scenario, options: list[Options], unused: int
) -> None:
    with large_from(1):
        check_scenario(given_scenario, options[:3], unused)


@settings(HURRIED, max_examples=15)
@given(layered_scenarios(), configurations())
def test_answers_that_nobody_wants_are_forgotten_rightly(
    given_scenario: Scenario, options: list[Options]
) -> None:
    with few_questions():
        check_scenario(given_scenario, options[:3])


ALL_AGGREGATES = """
result(?g, #count(?v, ?i), #sum(?v, ?i), #min(?v, ?i), #max(?v, ?i), #avg(?v, ?i), #median(?v, ?i)) :-
    value(?g, ?i, ?v).
whole(#count(?v, ?i), #sum(?v, ?i), #avg(?v, ?i)) :- value(?g, ?i, ?v).
most(#max(?n)) :- whole(?n, ?s, ?a).
"""
NUMBERS: tuple[Term, ...] = (
    *map(Integer, (0, 1, -7, 2**40, -(2**62), 2**62)),
    *map(Double, (0.1, -0.1, 1e300, -1e300, 5e-324, 1e16, 3.5, math.inf)),
)
EXACT: tuple[Term, ...] = (
    *map(integer, (0, 1, -7, 2**62, 2**63 - 1, 10**25, -(10**25))),
    *(Literal(text, XSD + "decimal") for text in ("0.1", "-0.1", "2.5", "10000000000000000000000.01")),
)
DURATIONS: tuple[Term, ...] = (
    *(Literal(text, XSD + "dayTimeDuration") for text in ("P1D", "-PT36H", "PT0.000001S", "PT7S")),
    *(Literal(text, XSD + "yearMonthDuration") for text in ("P1M", "P14M")),
)
MIXTURES = (
    NUMBERS,
    EXACT,
    (*EXACT[7:], *NUMBERS[6:9]),
    DURATIONS[:4],
    (*DURATIONS, *EXACT[:1], *EXACT[-1:], String("a")),
)


@pytest.mark.parametrize("values", MIXTURES)
@pytest.mark.parametrize("large", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_aggregate_is_right_after_every_update(seed: int, large: int, values: tuple[Term, ...]) -> None:
    rng = random.Random(seed)
    program = parse(ALL_AGGREGATES)
    kept, oracle = Maintained(program), Oracle(program)
    facts: list[tuple[str, tuple[Term, ...]]] = []
    with large_from(large):
        for step in range(25):
            new = tuple(
                ("value", (Integer(rng.randrange(2)), Integer(100 * step + i), rng.choice(values)))
                for i in range(rng.randrange(4))
            )
            gone = tuple(rng.sample(facts, min(len(facts), rng.randrange(4))))
            before, oracle.state = oracle.state, oracle.after((gone, new))
            outcome = kept.apply((gone, new))
            kept.check_outcome(outcome, before, oracle.state, (gone, new))
            kept.check_state(oracle.state)
            facts = [f for f in facts if f not in gone] + list(new)


def test_a_thousand_updates_and_their_inverses_give_the_first_sum_again() -> None:
    rng = random.Random(5)
    kept = Maintained(parse("total(#sum(?v, ?i), #avg(?v, ?i)) :- value(?i, ?v)."))
    base = tuple(
        ("value", (Integer(-i), Double(rng.uniform(-1, 1) * 10.0 ** rng.randrange(20)))) for i in range(1, 9)
    )
    kept.apply(((), base))
    with large_from(4):
        first = {fact for fact in kept.facts if fact[0] == "total"}
        updates = [
            (("value", (Integer(n), Double(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-20, 20)))),)
            for n in range(1000)
        ]
        for update in updates:
            kept.apply(((), update))
        for update in rng.sample(updates, len(updates)):
            kept.apply((update, ()))
        assert {fact for fact in kept.facts if fact[0] == "total"} == first


@settings(HURRIED, max_examples=200)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1, max_size=20), st.data()
)
def test_a_running_sum_is_the_correctly_rounded_sum(values: list[float], data: st.DataObject) -> None:
    dictionary = Dictionary()
    ids = np.array([dictionary.id_of(Double(v)) for v in values], np.int32)
    taken_out = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    running = RunningSum()
    running.add(dictionary, ids, 1)
    running.add(dictionary, ids[taken_out], -1)
    left = [v for v, out in zip(values, taken_out.tolist(), strict=True) if not out]
    found = running.result(False)
    if found is not None:
        assert found == total(left)  # where partial sums overflow, `fsum` has no answer
    elif left and any(left):
        with suppress(OverflowError):
            assert math.fsum(left) == 0.0


def test_only_new_values_are_asked_of_python() -> None:
    check_scenario(
        scenario(
            'label(?x, ?l) :- name(?x, ?n), ?l = CONCAT(?n, "!").\nname(a, "A"). name(b, "B").',
            '+name(c, "A").\ncommit.\n-name(a, "A").\ncommit.\n-name(c, "A").\n+name(d, "D").\ncommit.\n',
        )
    )


NUMBER_OR_TIME: tuple[Term, ...] = (
    *EXACT,
    *DURATIONS,
    Double(0.5),
    Literal("2024-05-01T10:00:00Z", XSD + "dateTime"),
    Literal("2024-01-31", XSD + "date"),
    String("a"),
)


@pytest.mark.parametrize("seed", range(4))
def test_expressions_of_all_types_are_right_after_every_update(seed: int) -> None:
    """Python answers in the middle of insertions, deletions and proofs."""
    rng = random.Random(seed)
    program = parse("""
    sum(?x, ?s) :- value(?x, ?a), step(?b), ?s = ?a + ?b .
    less(?x, ?y) :- value(?x, ?a), value(?y, ?b), ?a < ?b, ?a * 2 != ?b .
    reach(?x, ?y) :- less(?x, ?y) .
    reach(?x, ?z) :- reach(?x, ?y), less(?y, ?z), value(?x, ?a), value(?z, ?b), MAX(?a, ?b) = ?b .
    """)
    for strategy in ("auto", "ranked", "bf", "counting", "dred"):
        options = Options(strategy=strategy)
        kept, oracle = Maintained(program, options), Oracle(program)
        facts: list[tuple[str, tuple[Term, ...]]] = []
        for number in range(12):
            new: list[tuple[str, tuple[Term, ...]]] = [
                ("value", (Integer(10 * number + i), rng.choice(NUMBER_OR_TIME)))
                for i in range(rng.randrange(4))
            ]
            new += [("step", (rng.choice(NUMBER_OR_TIME),))] * rng.randrange(2)
            gone = tuple(rng.sample(facts, min(len(facts), rng.randrange(4))))
            update = (gone, tuple(fact for fact in dict.fromkeys(new) if fact not in facts))
            before, oracle.state = oracle.state, oracle.after(update)
            outcome = kept.apply(update)
            kept.check_outcome(outcome, before, oracle.state, update)
            kept.check_state(oracle.state)
            facts = [f for f in facts if f not in gone] + list(update[1])
