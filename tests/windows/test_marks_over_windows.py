"""Marks for what windows lose next: they may save work, and change nothing that an update does."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from window_streams import RULES, SECOND, WINDOWS, Checked, Rows

import tidalog
from tidalog.maintain.choose import MARKINGS
from tidalog.model.terms import Integer

STRATEGIES = ("auto", "expire", "ranked", "bf", "fbf", "dred", "counting", "recompute")


class Stream(Checked):
    """Updates that are applied one by one, or as a stream that looks ahead."""

    def applied(self, updates: list[tuple[int, Rows, Rows]], draw: random.Random) -> None:
        """Whatever was announced, another update may come."""
        encoded = [self.update(*one) for one in updates]
        for number, (time, deletions, insertions) in enumerate(updates):
            sides = [
                [(p, (Integer(x), Integer(y))) for p, (x, y) in part if p in self.sources]
                for part in (deletions, insertions)
            ]
            self.oracle.update(time * SECOND, sides[0], sides[1])
            for part, inserts in ((deletions, False), (insertions, True)):
                for predicate, (x, y) in part:
                    if predicate not in self.sources:
                        fact = predicate, (Integer(x), Integer(y))
                        (self.plain.add if inserts else self.plain.discard)(fact)
            before, following = self.facts(), encoded[number + 1 : number + 4]
            if draw.random() < 0.3:
                following = following[1:]
            database = self.kb._open()
            given = [self.kb._prepared(one) for one in (encoded[number], *following)]
            outcome = database.apply(given[:1], given[1:], options=self.kb._changes.options)
            self.check(before, self.kb._changes.publish(outcome))

    @staticmethod
    def update(time: int, deletions: Rows, insertions: Rows) -> tidalog.Update:
        found = tidalog.Update(time=time)
        for part, take in ((deletions, found.delete), (insertions, found.insert)):
            for predicate, row in part:
                take(predicate, [row])
        return found


@pytest.mark.parametrize("marking", [m for m in MARKINGS if m != "auto"])
@pytest.mark.parametrize("look_ahead", [0, 1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_content_and_deltas_are_right_whatever_was_foreseen(marking: str, look_ahead: int, seed: int) -> None:
    draw = random.Random(f"{marking} {look_ahead} {seed}")
    rules, windows = draw.choice(sorted(RULES)), draw.choice(sorted(WINDOWS))
    strategy = STRATEGIES[seed % len(STRATEGIES)]
    checked = Stream(f"{WINDOWS[windows]} {RULES[rules]}", 0, strategy, marking)
    options = checked.kb._changes.options
    checked.kb._changes.options = type(options)(strategy, marking, "ours", max(1, look_ahead))
    nodes, time, pace = draw.choice([3, 5, 8]), 10, draw.choice([1, 2, 4, 10])

    def facts(most: int) -> Rows:
        return [
            (draw.choice(["edge", "edge", "road"]), (draw.randrange(nodes), draw.randrange(nodes)))
            for _ in range(draw.randrange(most + 1))
        ]

    updates: list[tuple[int, Rows, Rows]] = []
    for _ in range(16):
        time += draw.choice([pace, pace, pace, pace, 0, 1, 3 * pace])
        updates.append((time, facts(2) if draw.random() < 0.4 else [], facts(4)))
    if look_ahead:
        checked.applied(updates, draw)
    else:
        for one in updates:
            checked.step(*one)


CLOSURE = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."


def slides(window: str, strategy: str, marking: str) -> list[tidalog.Delta]:
    """Facts that come once each, at a steady pace, without look-ahead."""
    kb = tidalog.open(strategy=strategy, marking=marking)
    kb.load(f"@window edge :- {window} . {CLOSURE}")
    edges = [[(3 * time + n, 3 * time + n + 1) for n in range(3)] for time in range(1, 20)]
    return [kb.apply(tidalog.Update(time=t, insertions={"edge": rows})) for t, rows in enumerate(edges, 1)]


@pytest.mark.parametrize("marking", ["paper", "linked"])
@pytest.mark.parametrize("strategy", ["bf", "fbf", "ranked"])
@pytest.mark.parametrize("window", ["range 1s", "range 4s", "range 6s step 2s", "tumbling 5s"])
def test_at_a_steady_pace_what_is_foreseen_expires(window: str, strategy: str, marking: str) -> None:
    deltas = slides(window, strategy, marking)
    for delta, following in pairwise(deltas[1:]):
        assert delta.counters.marks_explicit == len(following["edge"].expired)
    if marking == "linked" or window == "range 1s":
        assert any(delta.counters.marks_implicit for delta in deltas)


@pytest.mark.parametrize("strategy", ["bf", "fbf", "ranked"])
def test_what_lives_for_one_step_leaves_without_joins(strategy: str) -> None:
    with_marks, without = (slides("range 1s", strategy, marking)[5:] for marking in ("complete", "none"))
    cost, before = (sum(d.counters.derivations for d in deltas) for deltas in (with_marks, without))
    assert 2 * cost <= before
    assert all(len(delta["path"].expired) == 6 for delta in with_marks)
    longer = slides("range 3s", strategy, "complete")
    assert not any(delta.counters.marks_explicit for delta in longer), "nothing is recorded for later"


@pytest.mark.parametrize("strategy", ["auto", "expire", "dred", "counting", "recompute"])
def test_nothing_is_foreseen_where_that_saves_no_time(strategy: str) -> None:
    for marking in ("complete", "paper", "linked"):
        assert not any(delta.counters.marks_explicit for delta in slides("range 1s", strategy, marking))


def test_the_profile_has_the_marks() -> None:
    kb = tidalog.open(strategy="ranked", marking="complete")
    kb.load(f"@window edge :- range 1s . {CLOSURE}")
    for time in (1, 2):
        rows = [(10 * time, 10 * time + 1), (10 * time + 1, 10 * time + 2)]
        kb.apply(tidalog.Update(time=time, insertions={"edge": rows}))
    assert [part.marked for part in kb.profile()] == [3]
    assert "marked" in repr(kb.profile())
    kb.advance(10)
    assert [part.marked for part in kb.profile()] == [0]
    assert "marked" not in repr(kb.profile())


def test_an_announced_update_is_what_it_does_at_its_time() -> None:
    """DRed keeps its marks only if the next update is the announced one: with what expires by then."""
    kb = tidalog.open(strategy="dred", marking="paper")
    kb.load(f"@window edge :- range 1s . {CLOSURE}")
    updates = [tidalog.Update(time=t, insertions={"edge": [(t, t + 1), (t, t + 2)]}) for t in range(1, 9)]
    deltas = list(kb.stream(updates))[2:]
    assert all(delta["path"].expired for delta in deltas)
    assert not any(delta.counters.deletions for delta in deltas), "all had been marked"
