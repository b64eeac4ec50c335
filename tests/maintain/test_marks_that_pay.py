"""What marks save, and where `auto` makes none because they would save nothing."""

from __future__ import annotations

import pytest
from bench.papers.programs import P_SEQ, P_TRANS
from bench.papers.short_lived import short_lived_edges

import tidalog
from tidalog.maintain.counters import Counters


def followed(program: str, size: int, **options: str) -> tuple[Counters, list[list[tuple[int, ...]]]]:
    """A stream of short-lived edges: what it took, and the paths or last names after each update."""
    stream = short_lived_edges(size, updates=12, nodes=4 * size)
    updates = [
        tidalog.Update(deletions={"edge": list(u.deleted)}, insertions={"edge": list(u.inserted)})
        for u in stream.updates
    ]
    counters, states = Counters(), []
    last = "path" if program is P_TRANS else "edge4"
    with tidalog.open(**options) as kb:
        kb.load(program)
        for delta in kb.stream(updates, look_ahead=3):
            counters.add(delta.counters)
            states.append(sorted(kb.query(f"{last}(?x, ?y)")))
    return counters, states


@pytest.mark.parametrize("strategy", ["ranked", "dred", "bf"])
def test_what_has_no_instance_left_on_record_is_deleted_without_a_search(strategy: str) -> None:
    without, expected = followed(P_SEQ, 20, strategy=strategy, marking="none")
    marked, states = followed(P_SEQ, 20, strategy=strategy, marking="complete")
    assert states == expected
    assert without.deletions > 0
    assert (marked.deletions, marked.checked, marked.backward) == (0, 0, 0)
    assert marked.recorded == without.deletions


def test_without_a_join_auto_puts_nothing_on_record() -> None:
    marked, states = followed(P_SEQ, 20, strategy="ranked", marking="auto")
    _, expected = followed(P_SEQ, 20, strategy="ranked", marking="none")
    assert states == expected
    assert (marked.recorded, marked.marks_explicit) == (0, 0)


def test_auto_goes_on_where_joins_are_saved_and_stops_where_none_are() -> None:
    many, expected = followed(P_TRANS, 80, strategy="ranked", marking="complete")
    auto, states = followed(P_TRANS, 80, strategy="ranked", marking="auto")
    assert states == expected
    assert auto.recorded == many.recorded > 0
    few = followed(P_TRANS, 5, strategy="ranked", marking="complete")[0]
    assert followed(P_TRANS, 5, strategy="ranked", marking="auto")[0].recorded < few.recorded


@pytest.mark.parametrize("marking", ["paper", "linked"])
def test_what_a_rule_has_derived_that_is_about_to_go_is_marked(marking: str) -> None:
    updates = [
        tidalog.Update(insertions={"edge": [(1, 2), (2, 3)]}),
        tidalog.Update(insertions={"edge": [(3, 4)]}),
        tidalog.Update(remove_rules=["twice"]),
    ]
    with tidalog.open(strategy="bf", marking=marking) as kb:
        kb.load("twice: two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .")
        deltas = list(kb.stream(updates))
        assert [delta.counters.marks_implicit for delta in deltas] == [0, 1, 0]


@pytest.mark.parametrize("marking", ["paper", "linked"])
def test_what_a_coming_fact_forbids_is_marked(marking: str) -> None:
    updates = [
        tidalog.Update(insertions={"node": [1, 2]}),
        tidalog.Update(insertions={"node": [3]}),
        tidalog.Update(insertions={"busy": [3]}),
    ]
    with tidalog.open(strategy="bf", marking=marking) as kb:
        kb.load("free(?x) :- node(?x), ~busy(?x) .")
        deltas = list(kb.stream(updates))
        assert [delta.counters.marks_implicit for delta in deltas] == [0, 1, 0]
        assert sorted(kb.query("free(?x)")) == [(1,), (2,)]
