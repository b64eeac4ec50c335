"""Positive marks of Backward/Forward: what blinks comes back by the instances that went with it."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_programs import SEQ, facts, from_scratch, program
from test_maintenance_laws import RELAXED, STARTS, TANGLED_POOL, tangled_rules

from tidalog.model.program import Program, Rule
from tidalog.reference import Fact, PositiveMarking, Update

NO_FACTS: set[Fact] = set()
EDGE = facts("edge(a, b).")
CLOSURE = program("p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z).")
PATH = facts("e(a, b). e(b, c). e(c, d). e(b, d).")


def test_a_fact_that_blinks_comes_back_without_a_rule_being_matched() -> None:
    algorithm = PositiveMarking(SEQ, EDGE, first_update_alone=False)
    algorithm.apply((EDGE, NO_FACTS), [(NO_FACTS, EDGE)])
    assert algorithm.materialisation == NO_FACTS
    assert algorithm.counters["marks_positive"] == 1
    algorithm.apply((NO_FACTS, EDGE))
    assert algorithm.counters["revived"] == algorithm.counters["insertions"] == 4
    assert algorithm.materialisation == from_scratch(SEQ, EDGE)


@pytest.mark.parametrize(
    "second",
    [
        (NO_FACTS, facts("e(b, c).")),
        (facts("e(c, d)."), facts("e(b, c).")),
        (NO_FACTS, facts("e(a, b).")),
        (facts("e(b, d)."), facts("e(a, b). e(b, c).")),
    ],
)
def test_half_of_it_may_come_back_and_other_facts_may_go(second: Update) -> None:
    algorithm = PositiveMarking(CLOSURE, PATH, first_update_alone=False)
    gone = facts("e(a, b). e(b, c).")
    algorithm.apply((gone, NO_FACTS), [(NO_FACTS, gone)])
    algorithm.apply(second)
    assert algorithm.materialisation == from_scratch(CLOSURE, PATH - gone - second[0] | second[1])
    assert algorithm.counters["revived"] == algorithm.counters["insertions"] > 0


def test_what_the_next_update_deletes_first_comes_back_with_the_returning_fact() -> None:
    """The second update deletes `some` and all that reads it before the returning fact derives it again:
    `known(c)` then follows by an instance that the first update did not touch."""
    rules = program("some :- e(?x, ?x). known(?x) :- e(?x, ?y), some.")
    start, gone, other = facts("e(a, a). e(b, b). e(c, d)."), facts("e(a, a)."), facts("e(b, b).")
    algorithm = PositiveMarking(rules, start, first_update_alone=False)
    algorithm.apply((gone, NO_FACTS), [(other, gone)])
    algorithm.apply((other, gone))
    assert algorithm.materialisation == from_scratch(rules, start - other)


@pytest.mark.parametrize("new_in_first", [True, False])
def test_a_fact_that_was_not_there_before_has_rules_matched(new_in_first: bool) -> None:
    algorithm = PositiveMarking(CLOSURE, PATH, first_update_alone=False)
    gone, new = facts("e(a, b)."), facts("e(d, f).")
    stream: list[Update] = [
        (gone, new if new_in_first else NO_FACTS),
        (NO_FACTS, gone if new_in_first else gone | new),
    ]
    algorithm.apply(stream[0], stream[1:])
    algorithm.apply(stream[1])
    assert algorithm.counters["revived"] == 0
    assert algorithm.materialisation == from_scratch(CLOSURE, PATH | new)


@st.composite
def blinking(draw: st.DrawFn, start: list[Fact]) -> list[Update]:
    """Facts go and most come back with the next update; now and then others come or go meanwhile."""
    explicit, result = set(start), list[Update]()
    for _ in range(3):
        gone = draw(st.sets(st.sampled_from(sorted(explicit, key=repr)), max_size=3)) if explicit else set()
        back = {F for F in sorted(gone, key=repr) if draw(st.integers(0, 4))}
        more: set[Fact] = draw(st.sets(st.sampled_from(TANGLED_POOL), min_size=1, max_size=2))
        kind = draw(st.sampled_from(("alone", "alone", "deleted", "new first", "new second")))
        result.append((gone, more if kind == "new first" else NO_FACTS))
        result.append(
            (more - back if kind == "deleted" else NO_FACTS, back | more if kind == "new second" else back)
        )
        for deletions, insertions in result[-2:]:
            explicit = explicit - set(deletions) | set(insertions)
    return result


def check_blinking(rules: list[Rule], data: st.DataObject) -> Counter[str]:
    wanted, start = Program(rules=tuple(rules)), data.draw(STARTS)
    stream, explicit = data.draw(blinking(start)), set(start)
    algorithm = PositiveMarking(wanted, start, first_update_alone=False)
    for number, update in enumerate(stream):
        algorithm.apply(update, stream[number + 1 : number + 2])
        explicit = explicit - set(update[0]) | set(update[1])
        assert algorithm.materialisation == from_scratch(wanted, explicit)
    return Counter(algorithm.totals)


@settings(RELAXED, max_examples=200)
@given(st.lists(tangled_rules(), min_size=1, max_size=5), st.data())
def test_streams_in_which_facts_blink_are_right_after_every_update(
    rules: list[Rule], data: st.DataObject
) -> None:
    check_blinking(rules, data)


def test_blinking_streams_revive_facts() -> None:
    """Guards the generator."""
    seen = Counter[str]()

    @settings(RELAXED, max_examples=100, derandomize=True, database=None)
    @given(st.lists(tangled_rules(), min_size=1, max_size=5), st.data())
    def look(rules: list[Rule], data: st.DataObject) -> None:
        seen.update(check_blinking(rules, data))

    look()
    assert min(seen["marks_positive"], seen["revived"]) >= 20, seen
    assert seen["insertions"] - seen["revived"] >= 5, "no stream has rules matched in the end"
