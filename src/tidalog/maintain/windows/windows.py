"""`Windows`: the streams of a program, their windows and their time.

An update with a time becomes one without: facts that enter windows are inserted, facts that are deleted or
too old are deleted.  `plan` changes nothing that can be seen; `commit` follows once the database has applied
what was planned.

Invariant.  Time never goes back.  Within `late` of it, the state does not depend on the order in which
updates come: a deletion is remembered for that long, and an insertion that is older than it has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from tidalog.maintain.windows.contents import Arrivals, Contents, CountContents, TimeContents
from tidalog.maintain.windows.planned import Lives, PlannedUpdate, WindowPlan, change_of, planned
from tidalog.maintain.windows.stream_rows import Flags, StreamRows, Times
from tidalog.model.facts import Facts, Ids
from tidalog.model.lifetimes import Lifetimes
from tidalog.model.program import Window
from tidalog.model.undo_journal import UndoJournal
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import NEVER, START


@dataclass(frozen=True, slots=True)
class StreamPlan:
    arrivals: Arrivals
    plans: Sequence[WindowPlan]
    changes: Sequence[tuple[str, WindowPlan]]
    """By predicate: the windows, and the source if it has no window of its own; it holds what one of its
    windows holds."""


@dataclass(frozen=True)
class TimedPlan(PlannedUpdate[StreamPlan]):
    """An update without time and windows, and the slide of all windows that comes with it."""

    time: int
    now: int
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
        arrived, gone = rows.numbers_of(insertions), rows.numbers_of(deletions)
        if times is None:
            times = np.full(len(arrived), time, np.int64)
            order = _NO_ORDER
        else:
            order = np.argsort(times, kind="stable")
            arrived, times = arrived[order], times[order]
            order = np.argsort(arrived, kind="stable")

        def come_at(found: Ids) -> Times:
            if not len(order):
                return np.full(len(found), time, np.int64)
            last = np.searchsorted(arrived, found, side="right", sorter=order) - 1
            at: Times = times[order[last]]
            return at

        inserted, deleted = rows.effective(arrived, gone, lambda _: time, come_at)
        arrivals = Arrivals(time, now, arrived, times, inserted, come_at(inserted), deleted, slides)
        plans = [content.plan(arrivals) for content in self.contents]
        changes = [(content.window.name, plan) for content, plan in zip(self.contents, plans, strict=True)]
        if not self._has_own:
            changes.insert(0, (self.source, self._of_source(plans)))
        return StreamPlan(arrivals, plans, changes)

    def _of_source(self, plans: Sequence[WindowPlan]) -> WindowPlan:
        """A source is what its windows are together."""
        touched = [rows for plan in plans for rows in (plan.inserted, plan.deleted, plan.expired)]
        rows = self.rows.once(np.concatenate(touched))
        before, after = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        for content, plan in zip(self.contents, plans, strict=True):
            held = content.is_in(rows)
            before |= held
            left = np.isin(rows, np.concatenate([plan.deleted, plan.expired]))
            after |= (held & ~left) | np.isin(rows, plan.inserted)
        deleted = np.concatenate([plan.deleted for plan in plans])
        return change_of(rows, before, after, deleted, self._last(plans))

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

    def changed_lives(self, plan: StreamPlan) -> list[tuple[Facts, Times]]:
        return [
            (self.rows.facts(predicate, part.lives[0]), part.lives[1])
            for predicate, part in plan.changes
            if part.lives is not None and len(part.lives[0])
        ]

    def commit(self, plan: StreamPlan, deletions: Ids, journal: UndoJournal) -> None:
        for content, part in zip(self.contents, plan.plans, strict=True):
            content.commit(plan.arrivals, part, journal)
        rows, arrived = self.rows, plan.arrivals.rows
        came = rows.came[arrived]
        rows.came[arrived] = np.maximum(came, plan.arrivals.times)
        journal.on_rollback(lambda: rows.came.__setitem__(arrived, came))
        if len(deletions):
            deletions = rows.without(np.unique(deletions), plan.arrivals.inserted)
            deleted = rows.deleted[deletions]
            rows.deleted[deletions] = np.maximum(deleted, plan.arrivals.time)
            journal.on_rollback(lambda: rows.deleted.__setitem__(deletions, deleted))

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
        numbers = self.rows.compact(remembered, self._in_use)
        if numbers is not None:
            for content in self.contents:
                content.renumber(numbers)

    def _in_use(self, rows: Ids) -> Flags:
        used = np.zeros(len(rows), np.bool_)
        for content in self.contents:
            used |= content.is_in(rows)
            for referenced in content.referenced():
                used[referenced] = True
        return used


_NO_ORDER: Final = np.empty(0, np.int64)


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

    @cached_property
    def sources(self) -> frozenset[str]:
        """The predicates that facts come in."""
        return frozenset(window.source for window in self.windows)

    @cached_property
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
        return any(facts.predicate in self.sources for facts in (*update.insertions, *update.deletions))

    def start(self, update: EncodedUpdate, journal: UndoJournal) -> None:
        """The first time, which an update has, is that of all that has come before."""
        if not self.started and update.time is not None:
            for stream in self.streams.values():
                stream.start(update.time, journal)

    def plan(self, update: EncodedUpdate, journal: UndoJournal | None = None) -> TimedPlan:
        """What an update does.  Its time is not too late; the journal can undo that it is the first."""
        self.start(update, UndoJournal() if journal is None else journal)
        time = self.now if update.time is None else update.time
        now = max(self.now, time)
        own = update.times or {}
        plan = planned(
            update,
            self.sources,
            self.streams,
            lambda source, arity: Stream(source, self.of_source(source), arity),
            lambda stream, gone, came: stream.plan(
                time, now, gone, came, own.get(stream.source), slides=self.started
            ),
        )
        plan.update.time = plan.update.times = None
        lives = [part for name, own in plan.streams.items() for part in self.streams[name].changed_lives(own)]
        return TimedPlan(plan.update, plan.expired, plan.streams, time, now, lives)

    def lifetimes(self, now: int, lives: Sequence[tuple[Facts, Times]]) -> Lifetimes | None:
        """What an update says about expiries; None before the first time, and without windows."""
        if not self.windows or now == START:
            return None
        timed, counted = self._timed_and_counted
        return Lifetimes(now, lives, self.lives_of, timed, counted)

    @cached_property
    def _timed_and_counted(self) -> tuple[frozenset[str], frozenset[str]]:
        """Windows and streams whose facts all expire, and those where arrivals are counted."""
        kinds: dict[str, set[str]] = {window.name: {window.kind} for window in self.windows}
        for window in self.windows:
            if window.source not in self._own:
                kinds.setdefault(window.source, set()).add(window.kind)
        counted = frozenset(name for name, of in kinds.items() if "count" in of)
        timed = frozenset(name for name, of in kinds.items() if of <= {"range", "tumbling"})
        return timed, counted

    def restarted(self, update: EncodedUpdate) -> EncodedUpdate:
        """An update after which the facts of windows have the expiries that these say."""
        lifetimes = self.lifetimes(self.now, ())
        if lifetimes is None:
            return update
        names = frozenset(name for window in self.windows for name in (window.name, window.source))
        return replace(update, lifetimes=replace(lifetimes, restarted=names))

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

    def commit(self, plan: TimedPlan, update: EncodedUpdate, journal: UndoJournal | None = None) -> None:
        """The update of a plan was applied; the journal can roll it back."""
        journal = UndoJournal() if journal is None else journal
        before = self.now, self.by_arrival
        self.now = plan.now
        if update.time is not None and self.by_arrival is None:
            self.by_arrival = update.arrived
        for source, part in plan.streams.items():
            stream = self.streams[source]
            gone = stream.rows.numbers_of(f for f in update.deletions if f.predicate == source)
            stream.commit(part, gone, journal)

        def restore() -> None:
            self.now, self.by_arrival = before

        journal.on_rollback(restore)

    def compact(self) -> None:
        """Drops what is in no window, if that is most; no commit can be rolled back afterwards."""
        for stream in self.streams.values():
            stream.compact(self.now - self.late)
