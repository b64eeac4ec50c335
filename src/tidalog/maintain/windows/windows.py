"""`Windows`: the streams of a program, their windows and their time.

An update with a time becomes one without: facts that enter windows are inserted, facts that are deleted or
too old are deleted.  `plan` changes nothing that can be seen; `commit` follows once the database has applied
what was planned.

Invariant.  Time never goes back.  Within `late` of it, the state does not depend on the order in which
updates come: a deletion is remembered for that long, and an insertion that is older than it has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from tidalog.maintain.windows.contents import (
    NO_ROWS,
    Arrivals,
    Contents,
    CountContents,
    Lives,
    TimeContents,
    WindowPlan,
)
from tidalog.maintain.windows.stream_rows import StreamRows, Times
from tidalog.model.facts import Facts, Ids
from tidalog.model.lifetimes import Lifetimes
from tidalog.model.program import Window
from tidalog.model.undo_journal import UndoJournal
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import NEVER, START

_UNUSED: Final = 1 << 16
"""Rows that may be in no window, however small the windows are."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    arrivals: Arrivals
    plans: Sequence[WindowPlan]
    of_source: WindowPlan | None
    """What changes in the source, if it has no window of its own: it holds what one of its windows holds."""


@dataclass(frozen=True)
class TimedPlan:
    """An update and the slide of all windows that comes with it."""

    time: int
    now: int
    update: EncodedUpdate
    """The same without time and windows."""
    expired: Sequence[Facts]
    """Those of its deletions that are too old."""
    streams: Mapping[str, StreamPlan]
    lives: Sequence[tuple[Facts, Times]] = ()
    """Facts that leave at another time than before, or at once, and when."""


class Stream:
    """One predicate whose facts come with times, and its windows."""

    def __init__(self, source: str, windows: Sequence[Window], arity: int) -> None:
        self.source, self.rows = source, StreamRows(arity)
        self.contents: list[Contents] = [
            CountContents(w, self.rows) if w.kind == "count" else TimeContents(w, self.rows) for w in windows
        ]
        self._has_own = any(w.name == source for w in windows)
        self._kept = 0
        """Rows that were in use when all were last looked at."""

    def plan(
        self,
        time: int,
        now: int,
        deletions: Sequence[Facts],
        insertions: Sequence[Facts],
        times: Times | None = None,
        *,
        slides: bool,
    ) -> StreamPlan:
        """`times` are those of the insertions, if they have times of their own."""
        rows = self.rows
        arrived, gone = self._numbers(insertions), rows.once(self._numbers(deletions))
        inserted = rows.once(arrived)
        if times is None:
            times, came = np.full(len(arrived), time, np.int64), np.full(len(inserted), time, np.int64)
        else:
            order = np.argsort(times, kind="stable")
            arrived, times = arrived[order], times[order]
            order = np.argsort(arrived, kind="stable")  # each row has one time
            came = times[order[np.searchsorted(arrived, inserted, sorter=order)]]
        valid = rows.deleted[inserted] <= came
        inserted, came = inserted[valid], came[valid]
        deleted = rows.without(gone[rows.came[gone] <= time], inserted)
        arrivals = Arrivals(time, now, arrived, times, inserted, came, deleted, slides)
        plans = [content.plan(arrivals) for content in self.contents]
        return StreamPlan(arrivals, plans, None if self._has_own else self._of_source(plans))

    def _numbers(self, batches: Sequence[Facts]) -> Ids:
        parts = [self.rows.numbers(facts) for facts in batches]
        return np.concatenate(parts) if parts else NO_ROWS

    def _of_source(self, plans: Sequence[WindowPlan]) -> WindowPlan:
        """A source is what its windows are together."""
        touched = [rows for plan in plans for rows in (plan.inserted, plan.deleted, plan.expired)]
        rows = self.rows.once(np.concatenate(touched))
        before, after = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        deleted = np.zeros(len(rows), np.bool_)
        for content, plan in zip(self.contents, plans, strict=True):
            held = content.is_in(rows)
            before |= held
            left = np.isin(rows, np.concatenate([plan.deleted, plan.expired]))
            after |= (held & ~left) | np.isin(rows, plan.inserted)
            deleted |= np.isin(rows, plan.deleted)
        gone = before & ~after
        return WindowPlan(
            rows[after & ~before], rows[gone & deleted], rows[gone & ~deleted], self._last(plans)
        )

    def _last(self, plans: Sequence[WindowPlan]) -> Lives | None:
        """When facts of the source leave the last of its windows that has them."""
        if not self.is_timed:
            return None
        parts = [plan.lives for plan in plans if plan.lives is not None]
        rows = np.unique(np.concatenate([part[0] for part in parts]))
        times = np.full(len(rows), -NEVER, np.int64)
        for content, (changed, when) in zip(self._timed, parts, strict=True):
            own = content.expiry[rows]
            own[np.searchsorted(rows, changed)] = when
            np.maximum(times, own, out=times)
        return rows, times

    @property
    def is_timed(self) -> bool:
        """Whether all of its windows say when a fact leaves."""
        return len(self._timed) == len(self.contents)

    @property
    def _timed(self) -> list[TimeContents]:
        return [content for content in self.contents if isinstance(content, TimeContents)]

    def lives(self, predicate: str) -> list[tuple[Facts, Times]]:
        """The facts of a window, or of the source, and when they leave."""
        named = [content for content in self._timed if content.window.name == predicate]
        if not named and not self._has_own and predicate == self.source and self.is_timed:
            named = self._timed
        if not named:
            return []
        if len(named) == 1:
            rows, times = named[0].lives()
            return [(self.rows.facts(predicate, rows), times)]
        rows, times = self._leave(named)
        return [(self.rows.facts(predicate, rows), times)]

    def _leave(self, contents: Sequence[TimeContents]) -> Lives:
        """The rows that one of some windows has, and when they leave the last of these."""
        rows = np.arange(len(self.rows), dtype=np.int32)
        times = np.full(len(rows), -NEVER, np.int64)
        for content in contents:
            content.is_in(rows)
            np.maximum(times, content.expiry[: len(rows)], out=times)
        kept = np.flatnonzero(times > contents[0].now).astype(np.int32)
        return kept, times[kept]

    def expiries(self, predicate: str) -> list[tuple[Facts, Times]]:
        """`lives`, and when facts of the source go that have only windows by time, beside others by count."""
        if predicate != self.source or self._has_own or self.is_timed or not self._timed:
            return self.lives(predicate)
        rows, times = self._leave(self._timed)
        for content in self.contents:
            if content not in self._timed:
                times[content.is_in(rows)] = NEVER
        return [(self.rows.facts(predicate, rows), times)]

    def changes(self, plan: StreamPlan) -> list[tuple[str, WindowPlan]]:
        """What a plan changes, by predicate."""
        named = [(c.window.name, part) for c, part in zip(self.contents, plan.plans, strict=True)]
        return named if plan.of_source is None else [(self.source, plan.of_source), *named]

    def changed_lives(self, plan: StreamPlan) -> list[tuple[Facts, Times]]:
        return [
            (self.rows.facts(predicate, part.lives[0]), part.lives[1])
            for predicate, part in self.changes(plan)
            if part.lives is not None and len(part.lives[0])
        ]

    def commit(self, plan: StreamPlan, deletions: Ids, journal: UndoJournal) -> None:
        for content, part in zip(self.contents, plan.plans, strict=True):
            content.commit(plan.arrivals, part, journal)
        rows, arrived = self.rows, plan.arrivals.rows
        deletions = rows.without(deletions, plan.arrivals.inserted)
        came, deleted = rows.came[arrived], rows.deleted[deletions]
        rows.came[arrived] = np.maximum(came, plan.arrivals.times)
        rows.deleted[deletions] = np.maximum(deleted, plan.arrivals.time)

        def restore() -> None:
            rows.came[arrived], rows.deleted[deletions] = came, deleted

        journal.on_rollback(restore)

    def start(self, time: int, journal: UndoJournal) -> None:
        """The first time is known: it is that of all that has come so far."""
        rows = self.rows
        before = rows.came, rows.deleted
        rows.came, rows.deleted = (np.where(times == START, time, times) for times in before)
        for content in self.contents:
            content.start(time, journal)

        def restore() -> None:
            rows.came, rows.deleted = before

        journal.on_rollback(restore)

    def compact(self, remembered: int) -> None:
        """Drops the numbers of rows that are in no window and did not change since a time, if most are."""
        count = len(self.rows)
        if count < 2 * self._kept + _UNUSED:
            return  # looking at all rows costs little per row that came since
        everything = np.arange(count, dtype=np.int32)
        kept = np.maximum(self.rows.came[:count], self.rows.deleted[:count]) >= remembered
        for content in self.contents:
            kept |= content.is_in(everything)
            for rows in content.referenced():
                kept[rows] = True
        self._kept = int(np.count_nonzero(kept))
        if 2 * self._kept > count:
            return
        numbers = np.full(count, -1, np.int32)
        numbers[kept] = np.arange(np.count_nonzero(kept), dtype=np.int32)
        for content in self.contents:
            content.renumber(numbers)
        self.rows.renumber(everything[kept])


def _has_facts(stream: Stream) -> bool:
    everything = np.arange(len(stream.rows), dtype=np.int32)
    return any(content.is_in(everything).any() for content in stream.contents)


@dataclass
class Windows:
    windows: tuple[Window, ...] = ()
    late: int = 0
    """How long after a time older updates are still taken."""
    now: int = START
    """The latest time of any update."""
    by_arrival: bool | None = None
    """Whether times are those of arrival; None before the first."""
    streams: dict[str, Stream] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.windows)

    def of_source(self, predicate: str) -> list[Window]:
        return [window for window in self.windows if window.source == predicate]

    @property
    def names(self) -> set[str]:
        """Predicates that only windows fill."""
        return {window.name for window in self.windows if window.name != window.source}

    @property
    def started(self) -> bool:
        """Whether a time is known."""
        return self.now != START

    def is_too_late(self, time: int) -> bool:
        return self.started and time < self.now - self.late

    def expiries(self, after: int, until: int) -> set[int]:
        """The times, later than one and not later than another, at which facts may expire."""
        contents = (content for stream in self.streams.values() for content in stream.contents)
        return {time for content in contents for time in content.expiries(after, until)}

    @property
    def next_expiry(self) -> int:
        """When a fact may leave next because it is too old; `NEVER` if none will."""
        times = (content.next_expiry for stream in self.streams.values() for content in stream.contents)
        return min(times, default=NEVER)

    def concerns(self, update: EncodedUpdate) -> bool:
        """Whether an update changes a stream."""
        sources = {window.source for window in self.windows}
        return any(facts.predicate in sources for facts in (*update.insertions, *update.deletions))

    def plan(self, update: EncodedUpdate) -> TimedPlan:
        """What an update does.  Its time is not too late."""
        time = self.now if update.time is None else update.time
        now = max(self.now, time)
        sources = {window.source for window in self.windows}
        insertions: list[Facts] = [f for f in update.insertions if f.predicate not in sources]
        deletions: list[Facts] = [f for f in update.deletions if f.predicate not in sources]
        expired: list[Facts] = []
        plans: dict[str, StreamPlan] = {}
        for source in sorted(sources):
            gone, come = (
                [f for f in part if f.predicate == source] for part in (update.deletions, update.insertions)
            )
            stream = self._stream(source, (gone, come))
            if stream is None:
                continue
            times = None if update.times is None else update.times.get(source)
            plan = plans[source] = stream.plan(time, now, gone, come, times, slides=self.started)
            for predicate, change in stream.changes(plan):
                for numbers, target in (
                    (change.inserted, insertions),
                    (change.deleted, deletions),
                    (change.expired, expired),
                ):
                    if len(numbers):
                        target.append(stream.rows.facts(predicate, numbers))
        plain = replace(
            update,
            deletions=[*deletions, *expired],
            insertions=insertions,
            time=None,
            times=None,
            routed=None,
        )
        lives = [part for source, plan in plans.items() for part in self.streams[source].changed_lives(plan)]
        return TimedPlan(time, now, plain, expired, plans, lives)

    def lifetimes(self, now: int, lives: Sequence[tuple[Facts, Times]]) -> Lifetimes | None:
        """What an update says about expiries; None before the first time."""
        if now == START or (not self.started and any(map(_has_facts, self.streams.values()))):
            return None  # the first time becomes that of earlier facts, when the update is over
        kinds: dict[str, set[str]] = {window.name: {window.kind} for window in self.windows}
        for window in self.windows:
            if window.source not in self._own:
                kinds.setdefault(window.source, set()).add(window.kind)
        counted = frozenset(name for name, of in kinds.items() if "count" in of)
        timed = frozenset(name for name, of in kinds.items() if of <= {"range", "tumbling"})
        return Lifetimes(now, lives, self.lives_of, timed, counted)

    @property
    def _own(self) -> set[str]:
        return {window.name for window in self.windows}

    def lives_of(self, predicate: str) -> list[tuple[Facts, Times]]:
        """The facts of a window by time that are in it, and when they leave."""
        sources = {window.source for window in self.windows if predicate in (window.name, window.source)}
        return [
            part
            for source in sources
            if source in self.streams
            for part in self.streams[source].lives(predicate)
        ]

    def expiries_of(self, predicate: str) -> list[tuple[Facts, Times]]:
        """The facts of a window or a stream that go by time alone, and when."""
        return [part for stream in self.streams.values() for part in stream.expiries(predicate)]

    def _stream(self, source: str, batches: Sequence[Sequence[Facts]]) -> Stream | None:
        stream = self.streams.get(source)
        arities = {len(facts.columns) for part in batches for facts in part if facts.count}
        if stream is None and arities:
            stream = self.streams[source] = Stream(source, self.of_source(source), arities.pop())
        return stream

    def commit(self, plan: TimedPlan, update: EncodedUpdate, journal: UndoJournal | None = None) -> None:
        """The update of a plan was applied; the journal can roll it back."""
        journal = UndoJournal() if journal is None else journal
        before = self.now, self.by_arrival
        if not self.started and plan.now != START:
            for stream in self.streams.values():
                stream.start(plan.now, journal)
        self.now = plan.now
        if update.time is not None and self.by_arrival is None:
            self.by_arrival = update.arrived
        for source, part in plan.streams.items():
            stream = self.streams[source]
            gone = [stream.rows.numbers(f) for f in update.deletions if f.predicate == source]
            stream.commit(part, np.unique(np.concatenate(gone)) if gone else NO_ROWS, journal)

        def restore() -> None:
            self.now, self.by_arrival = before

        journal.on_rollback(restore)

    def compact(self) -> None:
        """Drops what is in no window, if that is most; no commit can be rolled back afterwards."""
        for stream in self.streams.values():
            stream.compact(self.now - self.late)
