"""An update that fails, wherever it does, leaves everything as it was; the stream goes on and stays right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from consistency import check_store, live_facts
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import PLAIN_CONFIGURATIONS, Maintained, Oracle, Scenario, scenario, updates_of
from rule_streams import RuleScenario, layered_rule_scenarios, state_of, tangled_rule_scenarios
from streams import HURRIED, configurations, layered_scenarios, tangled_scenarios

from tidalog.analysis import analyse
from tidalog.engine.bits import RECORDED
from tidalog.engine.fact_kernels import ARITY, COUNT, DEAD, FACTS, GARBAGE, USED
from tidalog.engine.limits import Limits, Progress
from tidalog.lang import parse
from tidalog.maintain import runner as run
from tidalog.maintain.choose import Options
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.maintainer import Maintainer
from tidalog.maintain.marks import Marks
from tidalog.maintain.marks.linked import Links
from tidalog.maintain.marks.next_update import Named
from tidalog.maintain.runner import Runner
from tidalog.model.errors import RunError


class Thrown(Exception):
    """What a test throws into a run."""


CACHES = {
    MaintainedComponent: {"_plans", "_size", "large_groups", "incremental", "countable", "joins"},
    Marks: {"_coming", "_at_risk", "_deleted_next", "_proved", "_begin", "_inserted_next", "_carried"}
    | {"_carried_count", "_next", "_deleted", "_txn"}
    | {"_windows", "_announced_count", "_recording", "_incomplete"},
    Maintainer: {"_workspace"},
}
"""Fields that an update which fails may change: compiled plans, what `begin` sets for every update, what the
derivation log had.  Every other field is compared, whatever fields there will be."""


def digest(kept: Maintained) -> dict[str, object]:
    """Everything that an update may change, bit for bit, but for what `engine.savepoint` lists as work that
    is saved: what is on record, how far table and indexes have caught up, bounds of ids."""
    engine, maintainer = kept.engine, kept.maintainer
    check_store(engine)
    for number in range(len(engine.indexes)):
        engine.indexes.catch_up(number, engine.store)
    check_store(engine)
    facts, end, predicates = engine.store.arrays, len(engine.store), len(engine.names)
    return {
        "facts": live_facts(engine),
        "rows": facts.arguments[: engine.store.used].tolist(),
        "offsets": facts.offset[:end].tolist(),
        "status": (facts.status[:end] & ~RECORDED).tolist(),
        "sizes": facts.state[[FACTS, USED, DEAD, GARBAGE]].tolist(),
        "extents": facts.extent[:predicates, [COUNT, ARITY]].tolist(),
        "predicates": list(zip(engine.names, engine.arities, strict=True)),
        "numbers": dict(engine._numbers),
        "terms": [engine.dictionary.term(n) for n in range(len(engine.dictionary))],
        "indexes": dict(engine.indexes._numbers),
        "counts": engine.counts.of(np.arange(end + 100, dtype=np.int32)).tolist(),
        "owner of counts": id(engine.counts),
        "logged": engine.log.arrays.counts.tolist(),
        "run": (engine.derived, id(engine.executed), dict(engine.derivations), engine.open_savepoint),
        "components": [fields_of(one, CACHES[MaintainedComponent]) for one in maintainer.components],
        "marks": (id(maintainer.marks), fields_of(maintainer.marks, CACHES[Marks])),
        "maintainer": fields_of(maintainer, CACHES[Maintainer]),
    }


def fields_of(owner: object, caches: set[str]) -> dict[str, object]:
    return {name: comparable(value) for name, value in sorted(vars(owner).items()) if name not in caches}


def comparable(value: object) -> object:
    """Values that a test can compare, deep down; an object that it knows nothing about is the same or not."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if isinstance(value, tuple | list):
        return [comparable(one) for one in value]
    if isinstance(value, dict):
        return [(comparable(key), comparable(one)) for key, one in value.items()]
    if isinstance(value, str | int | float | frozenset | set | None):
        return value
    if isinstance(value, Links | Named):
        return fields_of(value, set())
    return id(value)


@contextmanager
def failing_at(look: int, error: Callable[[], BaseException]) -> Iterator[list[int]]:
    """The n-th safe point throws; how many there were is in the list."""
    original, looks = Runner.look, [0]

    def look_or_throw(self: Runner, rounds: int = 0) -> None:
        looks[0] += 1
        if looks[0] == look:
            raise error()
        original(self, rounds)

    Runner.look = look_or_throw  # type: ignore[method-assign]
    try:
        yield looks
    finally:
        Runner.look = original  # type: ignore[method-assign]


@contextmanager
def pausing_after(steps: int) -> Iterator[None]:
    """Kernels come to a safe point after `steps` steps."""
    original = run._SLICE, run._SEARCH_SLICE
    run._SLICE = run._SEARCH_SLICE = steps
    try:
        yield
    finally:
        run._SLICE, run._SEARCH_SLICE = original


def check_failures(
    given_scenario: Scenario, options: Options, points: Sequence[int], error: type[BaseException]
) -> None:
    """Every update fails at each of some safe points, until it has no more of them, and is then applied."""
    oracle = Oracle(given_scenario.program)
    kept = Maintained(given_scenario.program, options)
    for number, update in enumerate(given_scenario.updates):
        upcoming = given_scenario.upcoming(number)
        kept.encoded(update)
        for later in upcoming[: options.look_ahead]:
            kept.encoded(later)
        before = digest(kept)
        for point in points:
            with failing_at(point, error) as looks:
                try:
                    outcome = kept.apply(update, upcoming)
                except (Thrown, RunError):
                    outcome = None
            assert (outcome is None) == (looks[0] >= point)
            if outcome is not None:
                break
            assert digest(kept) == before
        else:
            outcome = kept.apply(update, upcoming)
        state = oracle.after(update)
        kept.check_outcome(outcome, oracle.state, state, update)
        oracle.state = state
        kept.check_state(state)


@settings(HURRIED, max_examples=25)
@given(st.one_of(tangled_scenarios(4), layered_scenarios(length=3)), configurations(), st.booleans())
def test_a_failure_at_any_safe_point_changes_nothing(
    given_scenario: Scenario, options: list[Options], by_keyboard: bool
) -> None:
    for chosen in options:
        check_failures(given_scenario, chosen, range(1, 5), KeyboardInterrupt if by_keyboard else Thrown)


@settings(HURRIED, max_examples=15)
@given(tangled_scenarios(3), configurations(), st.integers(1, 6))
def test_a_failure_inside_a_search_or_a_join_changes_nothing(
    given_scenario: Scenario, options: list[Options], steps: int
) -> None:
    with pausing_after(steps):
        for chosen in options:
            check_failures(given_scenario, chosen, (1, 3, 6, 10, 16, 30, 60), Thrown)


@settings(HURRIED, max_examples=12)
@given(st.one_of(tangled_rule_scenarios(4), layered_rule_scenarios(length=3)), configurations())
def test_an_edit_of_rules_that_fails_at_any_safe_point_changes_nothing(
    given_scenario: RuleScenario, options: list[Options]
) -> None:
    """Marks, counts, components and constraints are those of before, and the next edit finds them right."""
    for chosen in options:
        with pausing_after(3):
            check_failing_edits(given_scenario, chosen)


def check_failing_edits(given_scenario: RuleScenario, options: Options) -> None:
    kept = Maintained(given_scenario.with_rules(given_scenario.first), options)
    explicit = {(fact.predicate, fact.arguments) for fact in given_scenario.program.facts}
    for number, (update, rules) in enumerate(given_scenario.steps):
        upcoming = [later for later, _ in given_scenario.steps[number + 1 :]]
        for one in (update, *upcoming[: options.look_ahead]):
            kept.encoded(one)
        analysis = analyse(given_scenario.with_rules(rules))
        before = digest(kept)
        for point in (1, 2, 4, 8, 16, 0):
            with failing_at(point, Thrown):
                try:
                    kept.apply(update, upcoming, analysis=analysis)
                    break
                except Thrown:
                    assert digest(kept) == before
        explicit = explicit - set(update[0]) | set(update[1])
        kept.check_state(state_of(given_scenario, rules, explicit))


PATHS = """
    path(?x, ?y) :- edge(?x, ?y).
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
    far(?n, ?m) :- path(?n, ?k), ?m = ?k + 100.
    edge(1, 2). edge(2, 3). edge(3, 1). edge(3, 4).
"""
GROWING = "+edge(4, 5). +edge(5, 6). -edge(1, 2). +new(a). +edge(77, 78)."


def stop_by_progress(progress: Progress) -> None:
    raise Thrown


FAILURES: dict[str, dict[str, Any]] = {
    "max_facts": {"limits": Limits(max_facts=5)},
    "max_seconds": {"limits": Limits(max_seconds=0)},
    "max_memory": {"limits": Limits(max_memory=1)},
    "progress": {"progress": stop_by_progress},
}


@pytest.mark.parametrize("options", PLAIN_CONFIGURATIONS, ids=lambda o: f"{o.strategy}, {o.order}")
@pytest.mark.parametrize("failure", FAILURES)
def test_limits_and_progress_stop_an_update_and_nothing_has_happened(failure: str, options: Options) -> None:
    kept = Maintained(parse(PATHS), options)
    (update,) = updates_of(GROWING)
    kept.encoded(update)
    before = digest(kept)
    with pytest.raises((RunError, Thrown)):
        kept.apply(update, **FAILURES[failure])
    assert digest(kept) == before
    oracle = Oracle(parse(PATHS))
    kept.apply(update)
    kept.check_state(oracle.after(update))


@pytest.mark.parametrize("options", PLAIN_CONFIGURATIONS, ids=lambda o: f"{o.strategy}, {o.order}")
def test_a_violated_constraint_undoes_the_update_that_violates_it(options: Options) -> None:
    given_scenario = scenario(
        f"{PATHS} :- path(?x, ?x), ~allowed(?x). allowed(1). allowed(2). allowed(3).",
        """
        +edge(4, 4). +unknown(a, b). commit.
        -edge(3, 1). +edge(4, 5). commit.
        +edge(5, 4). -edge(1, 2). commit.
        +edge(5, 4). +allowed(4). +allowed(5). commit.
        -allowed(4). commit.
        -edge(5, 4). -allowed(4). commit.
        """,
    )
    violating = (True, False, True, False, True, False)
    oracle, kept = Oracle(given_scenario.program), Maintained(given_scenario.program, options)
    for update, fails in zip(given_scenario.updates, violating, strict=True):
        kept.encoded(update)
        before = digest(kept)
        if fails:
            with pytest.raises(RunError, match="constraint"):
                kept.apply(update)
            assert digest(kept) == before
        else:
            kept.apply(update)
            oracle.state = oracle.after(update)
        kept.check_state(oracle.state)


def test_an_index_that_was_behind_keeps_facts_that_a_failed_update_moved() -> None:
    """The update deletes a fact and derives it again, an index catches up past it, then all is undone."""
    given_scenario = scenario(
        "p(?x, ?y) :- e(?x, ?y), ~g(?x). q(?x) :- h(?y), p(?x, ?y). e(a, b). e(c, b). h(d).",
        "+h(b). commit. -h(b). commit. +e(f, b). commit. +g(a). +h(b). commit. -g(a). commit.",
    )
    for options in PLAIN_CONFIGURATIONS:
        check_failures(given_scenario, options, range(1, 9), Thrown)


def test_an_update_with_the_wrong_number_of_arguments_changes_nothing() -> None:
    kept = Maintained(parse(PATHS))
    (update,) = updates_of("+other(a). +edge(1, 2, 3).")
    kept.encoded(update)
    before = digest(kept)
    with pytest.raises(ValueError, match="edge has 2 arguments"):
        kept.apply(update)
    assert digest(kept) == before


def test_an_update_that_ends_within_max_facts_is_carried_out() -> None:
    kept = Maintained(parse("p(?x) :- e(?x). e(1). e(2)."))
    kept.apply(updates_of("-e(1). +e(3).")[0], limits=Limits(max_facts=4))
    kept.check_state(Oracle(parse("p(?x) :- e(?x). e(2). e(3).")).state)


def test_facts_that_no_rule_reads_count_for_max_facts() -> None:
    kept = Maintained(parse("p(?x) :- e(?x). e(1). e(2)."))
    with pytest.raises(RunError):
        kept.apply(updates_of("+f(1). +f(2).")[0], limits=Limits(max_facts=4))
