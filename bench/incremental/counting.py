"""Counts against one-step proofs, in components without recursion: few and many derivations, facts that are
affected once and again and again.  Every shape is a row: a stream of deletions that are taken back."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.incremental.driver import Kept, Rows, as_rows
from tidalog.maintain.choose import Options
from tidalog.model.update import EncodedUpdate

PROGRAM = "q(?x, ?z) :- e(?x, ?y), f(?y, ?z) .\n"
STRATEGIES = ("ranked", "counting")


@dataclass(frozen=True)
class Shape:
    """`e(x, y)` for a number of x and of y per x, `f(y, z)` for a share of the y, into a number of z."""

    sources: int
    fan: int
    middles: int
    share: float
    targets: int
    batch: int
    """Facts of `e` that an update deletes; the next one inserts them again."""
    hot: int
    """Sources that updates are about; few of them are affected again and again."""

    def facts(self) -> dict[str, Rows]:
        draw = random.Random(5)
        e = [(x, -1 - y) for x in range(self.sources) for y in draw.sample(range(self.middles), self.fan)]
        kept = draw.sample(range(self.middles), int(self.share * self.middles))
        f = [(-1 - y, 10**6 + y % self.targets) for y in kept]
        return {"e": as_rows(e), "f": as_rows(f)}

    def updates(self, kept: Kept, facts: Mapping[str, Rows], count: int) -> list[EncodedUpdate]:
        draw = np.random.default_rng(6)
        e = facts["e"][facts["e"][:, 0] < self.hot]
        updates: list[EncodedUpdate] = []
        for _ in range(count):
            rows = e[draw.choice(len(e), self.batch, replace=False)]
            updates += [kept.update("e", deleted=rows), kept.update("e", inserted=rows)]
        return updates


SHAPES = {
    "one derivation each, met once": Shape(20_000, 5, 50_000, 1.0, 10**6, 20, 20_000),
    "one derivation each, again and again": Shape(20_000, 5, 50_000, 1.0, 10**6, 20, 40),
    "five each, met once": Shape(20_000, 10, 1000, 1.0, 2, 20, 20_000),
    "five each, again and again": Shape(20_000, 10, 1000, 1.0, 2, 20, 40),
    "two hundred each, met once": Shape(2000, 200, 1000, 1.0, 1, 20, 2000),
    "two hundred each, again and again": Shape(2000, 200, 1000, 1.0, 1, 20, 40),
    "two in two hundred, met once": Shape(2000, 200, 1000, 0.01, 1, 20, 2000),
    "two in two hundred, again and again": Shape(2000, 200, 1000, 0.01, 1, 20, 40),
    "one derivation each, a thousand at a time": Shape(20_000, 5, 50_000, 1.0, 10**6, 1000, 20_000),
    "five each, a thousand at a time": Shape(20_000, 10, 1000, 1.0, 2, 1000, 20_000),
    "two hundred each, a thousand at a time": Shape(2000, 200, 1000, 1.0, 1, 1000, 2000),
}


def run(pairs: int, repeat: int, shapes: Sequence[str] = tuple(SHAPES)) -> dict[str, dict[str, float]]:
    """CPU milliseconds per pair of updates, by shape and strategy; the best of several runs, taking turns."""
    found: dict[str, dict[str, float]] = {}
    for name in shapes:
        shape = SHAPES[name]
        facts = shape.facts()
        best: dict[str, float] = {}
        for _ in range(repeat):
            for strategy in STRATEGIES:
                kept = Kept(PROGRAM, facts, Options(strategy, "none", look_ahead=0))
                updates = shape.updates(kept, facts, pairs + 1)
                kept.prepare()
                for update in updates[:2]:
                    kept.timed(update)
                seconds = sum(kept.timed(update)[1] for update in updates[2:])
                best[strategy] = min(best.get(strategy, seconds), seconds)
        found[name] = {strategy: 1000 * seconds / pairs for strategy, seconds in best.items()}
    return found
