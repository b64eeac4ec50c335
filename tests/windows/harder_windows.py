"""Generated windows with what is rare: times before 1970 and of any zone, odd steps, facts of the program,
facts that come again, updates without a time, windows that are added to a stream, and expiries.

The programs, the updates and the checks are those of `generated_windows`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from generated_windows import MILLISECOND, Given, Pair, Run, _numbers, _terms, some_window

import tidalog
from tidalog.model.program import Window
from tidalog.model.terms import Term
from tidalog.model.window_times import NEVER, expiry_of
from tidalog.reference.windows import Operation, WindowOracle

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ODD = (
    "range 1us",
    "range 7s step 3s",
    "range 2s step 9s",
    "range 5s step 1d",
    "range 36500d step 9999d",
    "range 3s step 300ms",
    "tumbling 1us",
    "tumbling 700ms",
    "tumbling 1d",
    "count 1",
    "count 1000000",
)


def odd_window(draw: random.Random, name: str, source: str) -> str:
    if draw.random() < 0.5:
        return some_window(draw, name, source)
    text = draw.choice(ODD)
    return f"@window {name} :- {text} ." if name == source else f"@window {name} :- {source}, {text} ."


@dataclass
class MixedOracle(WindowOracle):
    """Windows that came at different times: each knows the operations since, and what was held then."""

    base: dict[str, list[Operation]] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)

    def add(self, window: Window) -> None:
        others = [one for one in self.windows if one.source == window.source]
        held = set[tuple[Term, ...]]().union(*map(self.content, others))
        own = [one for one in self.operations if one.predicate == window.source]
        last = {one.row: one for one in sorted(own, key=lambda one: (one.time, one.number))}
        self.base[window.name] = [one for one in last.values() if not one.inserts or one.row in held]
        self.since[window.name] = len(self.operations)
        self.windows = [*self.windows, window]

    def operations_of(self, window: Window) -> list[Operation]:
        known = self.base.get(window.name, [])
        return [*known, *self.operations[self.since.get(window.name, 0) :]]

    def content(self, window: Window) -> set[tuple[Term, ...]]:
        return WindowOracle([window], self.late, self.now, self.operations_of(window)).content(window)

    def leaves(self, window: Window) -> dict[Pair, int]:
        """When each fact of a window leaves it."""
        content, came = self.content(window), dict[Pair, int]()
        for one in sorted(self.operations_of(window), key=lambda one: (one.time, one.number)):
            if one.inserts and one.predicate == window.source and one.row in content:
                came[_numbers(one.row)] = one.time
        return {row: expiry_of(window, time) for row, time in came.items()}


class HarderRun(Run):
    """Times are in milliseconds, and may be negative."""

    oracle: MixedOracle

    def __post_init__(self) -> None:
        self.first = list[Pair]()
        self.added = 0
        super().__post_init__()
        self.windows = {
            name: odd_window(self.draw, name, "road" if name == "road" else "edge") for name in self.windows
        }
        self.kb.close()
        if self.folder is not None:
            self.folder = self.folder / "odd"
        self.program = self._parsed()
        self.oracle = MixedOracle(self.program.windows, self.late * MILLISECOND)
        pairs = [(self.draw.randrange(3), self.draw.randrange(3)) for _ in range(self.draw.choice((0, 0, 2)))]
        self.first = list(dict.fromkeys(pairs))
        self.time = self.draw.choice((-100_000, -3000, 0, 500, -86_400_000 * 40_000, 4_102_444_800_000))
        self.kb = self._opened()
        facts = [f"edge({x}, {y}) ." for x, y in self.first]
        self.kb.load("\n".join([*self.windows.values(), *self._texts(), *facts]))
        self.state = self._facts()

    def step(self) -> None:
        draw = self.draw
        self.time += draw.choice((0, 0, 1, 500, 999, 1000, 1000, 2000, 5000, 30_000))
        what = draw.random()
        if what < 0.1:
            self._advance()
        elif what < 0.2 and self.folder is not None:
            self._restart()
        elif what < 0.23 and self.oracle.now is not None and self.added < 2 and self.folder is None:
            self._add_window()
        else:
            self._update(self.time - draw.choice((0, 0, 0, 0, 1, 500, 1000, 3000, 9000)))
        self._check_expiries()

    def _update(self, at: int) -> None:
        self._start(at)
        super()._update(at)

    def _advance(self) -> None:
        now = self.oracle.now
        if now is None or self.time * MILLISECOND > now:
            self._start(self.time)
            self.oracle.update(self.time * MILLISECOND, [], [])
            self._check(self.kb.advance(self._spelled(self.time)), "time alone")

    def _start(self, at: int) -> None:
        """What came before the first time has that time."""
        if self.oracle.now is None and self.first:
            self.oracle.update(at * MILLISECOND, [], [("edge", _terms(row)) for row in self.first])

    def _spelled(self, at: int) -> object:
        """One of the ways to write a time."""
        moment = EPOCH + timedelta(milliseconds=at)
        zone = timezone(timedelta(minutes=30 * self.draw.choice((-22, -7, 0, 11, 27))))
        how = self.draw.randrange(4)
        if how == 0:
            return at / 1000
        if how == 1:
            return moment.astimezone(zone)
        if how == 2:
            return moment.replace(tzinfo=None)
        return moment.astimezone(zone).isoformat()

    def _as_update(
        self, at: int, deletions: Sequence[Given], insertions: Sequence[Given], changed: str | None
    ) -> tidalog.Update:
        update = super()._as_update(at, deletions, insertions, changed)
        now = self.oracle.now if self.kb.now is not None else None
        update.time = None if now is not None and at * MILLISECOND == now else self._micros(at)
        return update

    def _micros(self, at: int) -> int | None:
        return tidalog.Update(time=self._spelled(at)).time

    def _some_fact(self, *, known: bool = False) -> Given:
        if not known and self.recent and self.draw.random() < 0.25:
            self.shown["refreshes"] += 1
            return self.draw.choice(self.recent)
        return super()._some_fact(known=known)

    def _add_window(self) -> None:
        """A new window has what the others hold, with the times at which it came."""
        name = f"more{self.added + 1}"
        text = odd_window(self.draw, name, "edge")
        if "count" in text:  # in which order facts of one time came is not known any more
            return
        self.added += 1
        self.windows[name] = text
        self.program = self._parsed()
        (new,) = [window for window in self.program.windows if window.name == name]
        self.oracle.add(new)
        self.kb.load(text)
        self.kb.materialise()
        self.state = self._expected()
        assert self._facts() == self.state, self._where()
        self.shown["added windows"] += 1

    # --- expiries

    def _check_expiries(self) -> None:
        if self.oracle.now is None or self.draw.random() > 0.3:
            return
        derived = {head.predicate for rule in self.program.rules for head in rule.heads}
        for name in {window.name for window in self.program.windows} | self.sources:
            if name in derived or name not in self.kb.predicates:
                continue
            own = [w for w in self.oracle.windows if w.name == name] or [
                w for w in self.oracle.windows if w.source == name
            ]
            expected: dict[Pair, int] = {}
            for window in own:
                for row, time in self.oracle.leaves(window).items():
                    expected[row] = max(expected.get(row, time), time)
            found = {
                (x, y): NEVER if at is None else _micros(at)
                for x, y, at in self.kb.facts(name, expiry=True).to_rows()
            }
            assert found == expected, f"{name}\n{self._where()}\n{found}\n{expected}"
            self.shown["expiries"] += 1
        self._check_derived(derived)

    def _check_derived(self, derived: set[str]) -> None:
        known: dict[int, list[tuple[str, Pair]]] = {}
        for name in derived & set(self.kb.predicates):
            for x, y, at in self.kb.facts(name, expiry=True).to_rows():
                if at is not None:
                    known.setdefault(_micros(at), []).append((name, (x, y)))
        now = self.oracle.now
        for moment, facts in sorted(known.items())[:3]:
            for time, holds in ((moment - 1, True), (moment, False)):
                self.oracle.now = max(time, now)
                model = self._expected()
                for name, row in facts:
                    assert (row in model.get(name, set())) == holds, f"{name}{row} {moment}\n{self._where()}"
            self.shown["derived expiries"] += 1
        self.oracle.now = now


def _micros(at: object) -> int:
    if isinstance(at, datetime):
        moment = at if at.tzinfo else at.replace(tzinfo=UTC)
    else:
        moment = datetime.fromisoformat(str(getattr(at, "lexical", at)).replace("Z", "+00:00"))
    return (moment - EPOCH) // timedelta(microseconds=1)


def run(seed: int, steps: int, folder: Path | None = None) -> Counter[str]:
    one = HarderRun(seed, folder)
    for _ in range(steps):
        one.step()
    one.kb.close()
    return one.shown
