"""Counts: what is known is exact, whichever strategy ran in between; nothing is counted unless asked."""

from __future__ import annotations

import numpy as np
import pytest
from consistency import check_counts
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Maintained, Oracle, Scenario, scenario, unused_at_most, updates_of
from streams import HURRIED, UNUSED, layered_scenarios, tangled_scenarios

from tidalog.engine.derivation_counts import NO_DERIVATION, UNKNOWN
from tidalog.lang import parse
from tidalog.maintain.choose import STRATEGIES, Options
from tidalog.maintain.kernels.counting import MOST_COUNTED

COUNTING = Options("counting")
STEPS = "q(?x) :- e(?x, ?y), f(?y). q(?x) :- g(?x). r(?x) :- q(?x), h(?x)."


def number_of(kept: Maintained, text: str) -> int:
    """What is known about a fact."""
    ((_, facts),) = updates_of(f"+{text}.")
    (batch,) = kept._batches(facts)
    number = kept.engine.predicate(batch.predicate)
    wanted = [int(column[0]) for column in batch.columns]
    ids = kept.engine.store.ids(number)
    rows = np.stack([kept.engine.store.column(ids, c) for c in range(len(wanted))], axis=1)
    (fact,) = ids[(rows == wanted).all(axis=1)]
    return int(kept.engine.counts.of(np.array([fact], np.int32))[0])


@settings(HURRIED, max_examples=60)
@given(
    st.one_of(tangled_scenarios(8), layered_scenarios(length=6)),
    st.lists(st.sampled_from(("counting", "counting", *STRATEGIES)), min_size=8, max_size=8),
    UNUSED,
)
def test_counts_stay_exact_when_strategies_take_turns(
    given_scenario: Scenario, strategies: list[str], unused: int
) -> None:
    oracle, kept = Oracle(given_scenario.program), Maintained(given_scenario.program, COUNTING)
    with unused_at_most(unused):
        for number, (update, strategy) in enumerate(
            zip(given_scenario.updates, strategies[: len(given_scenario.updates)], strict=True)
        ):
            kept.maintainer.use(Options(strategy))
            outcome = kept.apply(update, given_scenario.upcoming(number))
            state = oracle.after(update)
            kept.check_outcome(outcome, oracle.state, state, update)
            oracle.state = state
            kept.check_state(state)


def test_nothing_is_counted_from_scratch_and_an_update_counts_what_it_meets() -> None:
    kept = Maintained(parse(f"{STEPS} e(a, 1). e(a, 2). e(b, 1). f(1). f(2). h(a). h(b)."), COUNTING)
    assert kept.engine.counts.nbytes(len(kept.engine.store)) == 0
    kept.apply(updates_of("-e(a, 2).")[0])
    assert number_of(kept, "q(a)") == NO_DERIVATION + 1
    assert number_of(kept, "q(b)") == number_of(kept, "r(a)") == UNKNOWN
    kept.apply(updates_of("+g(a). +e(c, 1). +e(c, 2). +q(d).")[0])
    assert number_of(kept, "q(a)") == number_of(kept, "q(c)") == NO_DERIVATION + 2
    assert number_of(kept, "q(d)") == NO_DERIVATION
    assert check_counts(kept.maintainer) == 3


def test_a_counted_fact_is_not_looked_at_again() -> None:
    kept = Maintained(parse(f"{STEPS} e(a, 1). e(a, 2). e(a, 3). f(1). f(2). f(3). f(4)."), COUNTING)
    outcomes = [
        kept.apply(update)
        for update in updates_of("-e(a, 1). commit. -e(a, 2). commit. -f(3). +e(a, 4). commit. -f(4).")
    ]
    assert [outcome.counters.checked for outcome in outcomes] == [1, 0, 0, 0]
    assert [outcome.counters.backward for outcome in outcomes] == [2, 0, 0, 0]
    assert [set(outcome.delta) for outcome in outcomes] == [{"e"}, {"e"}, {"e", "f"}, {"f", "q"}]


def test_a_fact_with_many_derivations_stays_without_a_count() -> None:
    facts = "".join(f"e(a, {i}). f({i}). " for i in range(MOST_COUNTED + 20))
    kept = Maintained(parse(f"{STEPS} {facts}"), COUNTING)
    oracle = Oracle(kept.program)
    for number, update in enumerate(updates_of("".join(f"-f({i}). commit. " for i in range(40)))):
        kept.apply(update)
        oracle.state = oracle.after(update)
        kept.check_state(oracle.state)
        left = MOST_COUNTED + 20 - number - 1
        assert number_of(kept, "q(a)") == (UNKNOWN if left > MOST_COUNTED else NO_DERIVATION + left)


def test_a_recursive_component_is_ranked_instead() -> None:
    kept = Maintained(
        parse("p(?x) :- e(?x). p(?y) :- p(?x), d(?x, ?y). q(?x) :- p(?x). e(a). d(a, b)."), COUNTING
    )
    outcome = kept.apply(updates_of("-e(a).")[0])
    assert outcome.chosen == {"p": "ranked", "q": "counting"}
    assert "recursive" in kept.maintainer.components[0].reason


@pytest.mark.parametrize("marking", ["none", "complete"])
def test_what_is_on_record_is_affected_and_counted_anew(marking: str) -> None:
    """The two facts of an instance are both on record, and go together."""
    given_scenario = scenario(
        "p(?x) :- e(?x, ?y), f(?y). p(?x) :- g(?x). g(a).",
        "+e(a, 1). +f(1). +e(b, 1). commit. -e(a, 1). -f(1). commit. +f(1). commit.",
    )
    kept, oracle = (
        Maintained(given_scenario.program, Options("counting", marking)),
        Oracle(given_scenario.program),
    )
    for number, update in enumerate(given_scenario.updates):
        outcome = kept.apply(update, given_scenario.upcoming(number))
        assert (outcome.counters.recorded > 0) == (number == 1 and marking == "complete")
        oracle.state = oracle.after(update)
        kept.check_state(oracle.state)
