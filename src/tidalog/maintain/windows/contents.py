"""The content of one window of a stream: which rows are in it, and which leave when.

`plan` says what an update would change and changes nothing; `commit` makes it so, and notes in a journal how
that is undone.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Protocol

import numpy as np

from tidalog.maintain.windows.planned import Lives, WindowPlan
from tidalog.maintain.windows.stream_rows import Flags, StreamRows, Times, expiries_of, grown
from tidalog.model.facts import Ids
from tidalog.model.program import Window
from tidalog.model.undo_journal import UndoJournal
from tidalog.model.window_times import NEVER, START, expiry_of

NO_ROWS: Ids = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What an update brings to a stream, by the numbers of rows."""

    time: int
    """That of deletions."""
    now: int
    """The time after the update: no less than before."""
    rows: Ids
    """Every arrival, in the order of their times; rows may occur more than once."""
    times: Times
    """The time of each arrival."""
    inserted: Ids
    """Rows that come in: each once, and none that a later deletion has made void."""
    came: Times
    """When each of these came."""
    deleted: Ids
    """Rows that are deleted and do not come in: each once."""
    slides: bool = True
    """Whether time was known before: if not, nothing is too old."""


class Contents(Protocol):
    window: Window

    @property
    def next_expiry(self) -> int:
        """No row leaves before because it is too old; `NEVER` if time does not matter."""

    def plan(self, arrivals: Arrivals) -> WindowPlan: ...

    def commit(self, arrivals: Arrivals, plan: WindowPlan, journal: UndoJournal) -> None: ...

    def is_in(self, rows: Ids) -> Flags: ...

    def expiries(self, after: int, until: int) -> Sequence[int]:
        """Times, later than one and not later than another, at which rows may expire."""

    def start(self, time: int, journal: UndoJournal) -> None:
        """All that has come so far came at this time, which is the first."""

    def referenced(self) -> list[Ids]:
        """Rows that must keep a number, beside those that are in it."""

    def renumber(self, numbers: Ids) -> None:
        """`numbers`: the new number of each row, or -1."""


@dataclass
class TimeContents:
    """A window by time.  Invariant: a row is in it exactly if its expiry lies beyond now.

    Rows are listed under each expiry that they have had; the list of an expiry is read when that time comes,
    and rows that have a later one by then are passed over.
    """

    window: Window
    rows: StreamRows
    expiry: Times = field(default_factory=lambda: np.empty(0, np.int64))
    """-NEVER for a row that never came, or was deleted."""
    now: int = START
    _listed: dict[int, list[Ids]] = field(default_factory=dict)
    _expiries: list[int] = field(default_factory=list)
    """The keys of `_listed`, ascending."""

    def is_in(self, rows: Ids) -> Flags:
        self.expiry = grown(self.expiry, len(self.rows), -NEVER)
        return self.expiry[rows] > self.now

    def start(self, time: int, journal: UndoJournal) -> None:
        before = self.expiry.copy(), self.now, dict(self._listed), list(self._expiries)
        rows = np.flatnonzero(self.is_in(np.arange(len(self.rows), dtype=np.int32))).astype(np.int32)
        self.expiry[rows] = expiry_of(self.window, time)
        self._listed.clear()
        self._expiries.clear()
        self.now = time
        self._list(rows, self.expiry[rows])

        def undo() -> None:
            self.expiry, self.now, self._listed, self._expiries = before

        journal.on_rollback(undo)

    def expiries(self, after: int, until: int) -> Sequence[int]:
        return self._expiries[bisect_right(self._expiries, after) : bisect_right(self._expiries, until)]

    @property
    def next_expiry(self) -> int:
        return self._expiries[0] if self._expiries else NEVER

    def expect(self, expiry: Times, now: int) -> None:
        """Rows have these expiries, at this time."""
        self.is_in(NO_ROWS)
        self.expiry[: len(expiry)], self.now = expiry, now
        self._list(np.arange(len(expiry), dtype=np.int32), expiry)

    def referenced(self) -> list[Ids]:
        return []

    def plan(self, arrivals: Arrivals) -> WindowPlan:
        self.expiry = grown(self.expiry, len(self.rows), -NEVER)
        staying, expiry = arrivals.inserted, expiries_of(self.window, arrivals.came)
        if len(staying) and not (stays := expiry > arrivals.now).all():
            staying, expiry = staying[stays], expiry[stays]
        before = self.expiry[staying]
        enters, longer = before <= self.now, before < expiry
        inserted = staying[enters]
        deleted = arrivals.deleted
        if len(deleted):
            deleted = deleted[self.is_in(deleted)]
        expired = self._expired(arrivals, staying)
        rows = np.concatenate([staying[longer], deleted, expired])
        times = np.full(len(rows), -NEVER, np.int64)
        times[: len(rows) - len(deleted) - len(expired)] = expiry[longer]
        return WindowPlan(inserted, deleted, expired, (rows, times))

    def lives(self) -> Lives:
        """The rows that are in it, and when they leave."""
        rows = np.flatnonzero(self.is_in(np.arange(len(self.rows), dtype=np.int32))).astype(np.int32)
        return rows, self.expiry[rows]

    def _expired(self, arrivals: Arrivals, staying: Ids) -> Ids:
        if not arrivals.slides or not self._expiries or self._expiries[0] > arrivals.now:
            return NO_ROWS
        times = self._expiries[: bisect_right(self._expiries, arrivals.now)]
        due = [rows for time in times for rows in self._listed[time]]
        rows = due[0] if len(due) == 1 else self.rows.once(np.concatenate(due))
        when = self.expiry[rows]
        rows = rows[(when > self.now) & (when <= arrivals.now)]
        return self.rows.without(self.rows.without(rows, arrivals.deleted), staying)

    def commit(self, arrivals: Arrivals, plan: WindowPlan, journal: UndoJournal) -> None:
        assert plan.lives is not None
        rows, expiry = plan.lives
        now, before = self.now, self.expiry[rows]
        self.expiry[rows] = expiry
        self.now = arrivals.now
        listed = self._list(rows, expiry)
        past = self._expiries[: bisect_right(self._expiries, self.now)]
        lists = [self._listed.pop(time) for time in past]
        del self._expiries[: len(past)]

        def undo() -> None:
            self._expiries[:0] = past
            self._listed.update(zip(past, lists, strict=True))
            for time in reversed(listed):
                self._unlist(time)
            self.expiry[rows], self.now = before, now

        journal.on_rollback(undo)

    def _list(self, rows: Ids, expiry: Times) -> list[int]:
        """Lists rows that will leave; returns the times under which they are listed now."""
        due = (self.now < expiry) & (expiry < NEVER)
        times = list[int]()
        for time, part in by_time(expiry[due], rows[due]):
            if time not in self._listed:
                insort(self._expiries, time)
            self._listed.setdefault(time, []).append(part)
            times.append(time)
        return times

    def _unlist(self, expiry: int) -> None:
        """Takes the last rows out of a list."""
        rows = self._listed[expiry]
        rows.pop()
        if not rows:
            del self._listed[expiry]
            self._expiries.remove(expiry)

    def renumber(self, numbers: Ids) -> None:
        kept = np.flatnonzero(numbers >= 0)
        expiry = np.full(len(kept), -NEVER, np.int64)
        expiry[numbers[kept]] = grown(self.expiry, len(numbers), -NEVER)[kept]
        self.expiry = expiry
        for lists in self._listed.values():
            lists[:] = [moved[moved >= 0] for moved in (numbers[rows] for rows in lists)]


@dataclass
class CountContents:
    """A window of the last n arrivals, by time and among those of one time by arrival.

    Invariant: a row is in it exactly if its last arrival is held and it was not deleted since.
    """

    window: Window
    rows: StreamRows
    present: Flags = field(default_factory=lambda: np.empty(0, np.bool_))
    last: Times = field(default_factory=lambda: np.empty(0, np.int64))
    """The number of each row's last arrival."""
    updates: deque[tuple[int, int, Ids]] = field(default_factory=deque)
    """The arrivals that are held, by update: time, number of the first arrival, rows; in order of time."""
    held: int = 0
    next: int = 0
    """The number of the next arrival."""

    @property
    def next_expiry(self) -> int:
        return NEVER

    def is_in(self, rows: Ids) -> Flags:
        self.present = grown(self.present, len(self.rows), 0)
        self.last = grown(self.last, len(self.rows), -1)
        return self.present[rows]

    def start(self, time: int, journal: UndoJournal) -> None:
        before = self.updates
        self.updates = deque((time, first, rows) for _, first, rows in before)

        def undo() -> None:
            self.updates = before

        journal.on_rollback(undo)

    def expiries(self, after: int, until: int) -> Sequence[int]:
        return ()

    def referenced(self) -> list[Ids]:
        """The rows of all arrivals that are held."""
        return [rows for _, _, rows in self.updates]

    def plan(self, arrivals: Arrivals) -> WindowPlan:
        self.is_in(NO_ROWS)
        before = self.last[arrivals.rows]
        self._number(arrivals)
        gone = [part[self.last[part] == numbers] for part, numbers in self._dropped(arrivals)]
        comes_last = self.last[arrivals.inserted] >= self.next  # a late arrival may be older than another
        self.last[arrivals.rows] = before
        left = np.unique(np.concatenate(gone)) if gone else NO_ROWS
        inserted = arrivals.inserted[comes_last & ~self.present[arrivals.inserted]]
        inserted = inserted[~np.isin(inserted, left)]
        deleted = arrivals.deleted[self.present[arrivals.deleted]]
        expired = left[self.present[left] & ~np.isin(left, arrivals.deleted)]
        return WindowPlan(inserted, deleted, expired)

    def _number(self, arrivals: Arrivals) -> None:
        """Notes the last arrival of each row that comes in; a late one may not be the last."""
        rows = arrivals.rows
        newest = self.rows.came[rows] <= arrivals.times
        np.maximum.at(self.last, rows[newest], (self.next + np.arange(len(rows)))[newest])

    def _dropped(self, arrivals: Arrivals) -> Iterator[tuple[Ids, Times]]:
        """Rows and numbers of the arrivals that are no longer held after an update."""
        excess = self.held + len(arrivals.rows) - self.window.length
        for _, first, rows in merge(self.updates, self._new(arrivals), key=lambda update: update[0]):
            if excess <= 0:
                return
            part = rows[:excess]
            excess -= len(part)
            yield part, np.arange(first, first + len(part))

    def _new(self, arrivals: Arrivals) -> Iterator[tuple[int, int, Ids]]:
        """Arrivals by time, as they will be held."""
        first = self.next
        for time, rows in by_time(arrivals.times, arrivals.rows):
            yield time, first, rows
            first += len(rows)

    def _position(self, time: int) -> int:
        """Where arrivals of a time come among those that are held."""
        updates = self.updates
        if not updates or updates[-1][0] <= time:
            return len(updates)
        return bisect_right(updates, time, key=lambda update: update[0])

    def commit(self, arrivals: Arrivals, plan: WindowPlan, journal: UndoJournal) -> None:
        self.is_in(NO_ROWS)
        counts, last = (self.next, self.held), self.last[arrivals.rows]
        touched = np.concatenate([plan.inserted, plan.deleted, plan.expired])
        present = self.present[touched]
        self._number(arrivals)
        positions = list[int]()
        for update in self._new(arrivals):
            positions.append(self._position(update[0]))
            self.updates.insert(positions[-1], update)
        self.next += len(arrivals.rows)
        self.held += len(arrivals.rows)
        gone, is_cut = list[tuple[int, int, Ids]](), False
        while self.held > self.window.length:
            gone.append(self.updates.popleft())
            time, first, rows = gone[-1]
            dropped = min(len(rows), self.held - self.window.length)
            self.held -= dropped
            if is_cut := dropped < len(rows):
                self.updates.appendleft((time, first + dropped, rows[dropped:]))
        self.present[plan.inserted] = True
        self.present[plan.deleted] = False
        self.present[plan.expired] = False

        def undo() -> None:
            if is_cut:
                self.updates.popleft()
            self.updates.extendleft(reversed(gone))
            for position in reversed(positions):
                del self.updates[position]
            self.next, self.held = counts
            self.present[touched], self.last[arrivals.rows] = present, last

        journal.on_rollback(undo)

    def renumber(self, numbers: Ids) -> None:
        self.is_in(NO_ROWS)
        kept = np.flatnonzero(numbers >= 0)
        present, last = np.zeros(len(kept), np.bool_), np.full(len(kept), -1, np.int64)
        present[numbers[kept]], last[numbers[kept]] = self.present[kept], self.last[kept]
        self.present, self.last = present, last
        self.updates = deque((time, first, numbers[rows]) for time, first, rows in self.updates)


def by_time(times: Times, rows: Ids) -> Iterator[tuple[int, Ids]]:
    """The rows of each time, in order; times ascend."""
    if not len(rows):
        return
    if (times == times[0]).all():
        yield int(times[0]), rows
        return
    order = np.argsort(times, kind="stable")
    times, rows = times[order], rows[order]
    starts = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
    yield from zip(times[starts].tolist(), np.split(rows, starts[1:]), strict=True)
