"""Marks for what windows lose next: they may save work, and change nothing that an update does."""

from __future__ import annotations

import random

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
def test_content_and_deltas_are_right_whatever_was_foreseen(
    marking: str, look_ahead: int, seed: int
) -> None:
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
