"""One stream of a bucket: its rows, which are facts with their key, and the windows over it, by key.

What a window by time holds follows from the state of its rows and from the time of each key: a row is in it
if its last operation is an insertion that does not expire before or at that time.  So a row has no state per
window, and a record of the rows that an update touched restores all windows.  `held`, the last arrivals of
each key, gives the windows of the last n arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tidalog.keyed.due_index import DueIndex
from tidalog.keyed.window_states import (
    NO_ROWS,
    NO_ROWS_ARE,
    NO_TIMES,
    Held,
    KeyTimes,
    Mask,
    RowStates,
    StreamPlan,
    Times,
    TouchedRows,
)
from tidalog.maintain.windows.planned import change_of
from tidalog.maintain.windows.stream_rows import BEFORE, StreamRows, expiries_of, grown
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Window
from tidalog.model.window_times import NEVER, START

TimesOfTerms = Callable[[Ids], Times]


class KeyedStream:
    def __init__(
        self,
        source: str,
        windows: Sequence[Window],
        arity: int,
        now_of: Callable[[Ids], Times],
        own_times: tuple[int, TimesOfTerms] | None = None,
    ) -> None:
        """`arity` counts the key; `now_of` has the present times of keys; `own_times` is the column with the
        times of facts, and the times of terms.  Without windows it only keeps state."""
        self.now_of, self._own_times = now_of, own_times
        self.source, self.rows = source, StreamRows(arity)
        self.windows = list(windows)
        self.due = [DueIndex() for _ in self.windows]
        self.held = Held()
        self.next = 0
        """The number of the next arrival."""
        self._alive: Mask = np.empty(0, np.bool_)
        self._last: Times = NO_TIMES
        self._most = max((w.length for w in windows if w.kind == "count"), default=0 if windows else None)
        """How many arrivals of a key are kept; None: all."""
        self._has_own = any(window.name == source for window in windows)
        self._changed: list[Ids] = []
        self._arrived: list[Held] = []

    # --- rows ---------------------------------------------------------------------------------------

    @property
    def alive(self) -> Mask:
        """Whether the last operation on each row is an insertion."""
        self._alive = grown(self._alive, len(self.rows), 0)
        return self._alive

    @property
    def last(self) -> Times:
        """The number of each row's last arrival."""
        self._last = grown(self._last, len(self.rows), -1)
        return self._last

    def keys_of(self, rows: Ids) -> Ids:
        return self.rows.facts("", rows).columns[0]

    # --- an update ----------------------------------------------------------------------------------

    def plan(self, deletions: Sequence[Facts], insertions: Sequence[Facts], times: KeyTimes) -> StreamPlan:
        """What an update of some keys does, each at its own time.  Changes nothing that can be seen."""
        came, gone = self.rows.numbers_of(insertions), self.rows.numbers_of(deletions)
        inserted, deleted = self.rows.effective(
            came, gone, lambda rows: self._at(rows, times), lambda rows: self._come_at(rows, times)
        )
        touched = np.unique(np.concatenate([came, gone]))
        at, come_at = self._at(touched, times), self._come_at(touched, times)
        position = np.searchsorted(touched, came)
        own_came, own_gone = np.isin(touched, came), np.isin(touched, gone)
        alive = self.alive[touched] & ~np.isin(touched, deleted) | np.isin(touched, inserted)
        came_at, deleted_at = self.rows.came[touched].copy(), self.rows.deleted[touched].copy()
        came_at[own_came] = np.maximum(came_at, come_at)[own_came]
        deleted_at[own_gone] = np.maximum(deleted_at, at)[own_gone]
        numbers = self.next + np.arange(len(came))
        last = self.last[touched].copy()
        newest = self.rows.came[came] <= come_at[position]
        np.maximum.at(last, position[newest], numbers[newest])
        arrivals = Held(self.keys_of(came), come_at[position], numbers, came) if self._most != 0 else Held()
        after = TouchedRows(touched, came_at, alive, last)
        named = [
            (
                window.name,
                self._by_count(window, after, arrivals)
                if window.kind == "count"
                else self._by_time(number, after, times),
            )
            for number, window in enumerate(self.windows)
        ]
        if not self._has_own:
            named.append((self.source, self._of_source([states for _, states in named])))
        changes = [
            (name, change_of(states.rows, states.was_in, states.is_in, deleted)) for name, states in named
        ]
        return StreamPlan(touched, came_at, deleted_at, alive, last, arrivals, changes)

    def _at(self, rows: Ids, times: KeyTimes) -> Times:
        """The time of the update of each row's key."""
        found: Times = times.at[times.of(self.keys_of(rows))]
        return found

    def _come_at(self, rows: Ids, times: KeyTimes) -> Times:
        """When an update that inserts these rows lets them come."""
        at = self._at(rows, times)
        if self._own_times is None:
            return at
        column, times_of = self._own_times
        own = times_of(self.rows.facts("", rows).columns[column])
        return np.where(own == START, at, own)

    def _by_time(self, number: int, after: TouchedRows, times: KeyTimes) -> RowStates:
        window = self.windows[number]
        due = self.due[number].due(int(times.after.max(initial=START)))
        due = due[self.alive[due] & times.among(self.keys_of(due))]
        rows = np.union1d(after.rows, due).astype(np.int32)
        keys = times.of(self.keys_of(rows))
        before, now = times.before[keys], times.after[keys]
        came, alive = self.rows.came[rows].copy(), self.alive[rows].copy()
        was_in = alive & ((before == START) | (expiries_of(window, came) > before))
        position = np.searchsorted(rows, after.rows)
        came[position], alive[position] = after.came, after.alive
        came = np.where(came == START, now, came)  # what came before the first time has the first time
        is_in = alive & ((now == START) | (expiries_of(window, came) > now))
        return RowStates(rows, was_in, is_in)

    def _by_count(self, window: Window, after: TouchedRows, arrivals: Held) -> RowStates:
        if not len(after.rows):
            return RowStates(NO_ROWS, NO_ROWS_ARE, NO_ROWS_ARE)
        keys = np.unique(arrivals.keys)
        before = self.held.of(np.isin(self.held.keys, keys))
        held = before.and_(arrivals)
        rows = np.unique(np.concatenate([after.rows, held.rows]))
        last, alive = self.last[rows].copy(), self.alive[rows].copy()
        was_in = alive & np.isin(last, self.held.numbers[self._recent(window, rows)])
        position = np.searchsorted(rows, after.rows)
        last[position], alive[position] = after.last, after.alive
        others = self.held.numbers[self._recent(window, rows) & ~np.isin(self.held.keys, keys)]
        recent = np.concatenate([held.numbers[held.ranks < window.length], others])
        return RowStates(rows, was_in, alive & np.isin(last, recent))

    def _recent(self, window: Window, rows: Ids) -> Mask:
        """Which of the arrivals of these rows' keys that are held are among the last of their key."""
        keys = np.unique(self.keys_of(rows))
        result: Mask = np.isin(self.held.keys, keys) & (self.held.ranks < window.length)
        return result

    def _of_source(self, states: Sequence[RowStates]) -> RowStates:
        """A source is what its windows are together."""
        rows = np.unique(np.concatenate([state.rows for state in states]))
        before, after = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        for state in states:
            position = np.searchsorted(rows, state.rows)
            before[position] |= state.was_in
            after[position] |= state.is_in
        unseen = [np.setdiff1d(rows, state.rows).astype(np.int32) for state in states]
        for number, others in enumerate(unseen):
            if len(others):
                held = self._is_in(number, others)
                position = np.searchsorted(rows, others)
                before[position] |= held
                after[position] |= held
        return RowStates(rows, before, after)

    def _is_in(self, number: int, rows: Ids) -> Mask:
        """Which rows that an update does not concern are in a window."""
        window = self.windows[number]
        if window.kind == "count":
            result: Mask = self.alive[rows] & np.isin(
                self.last[rows], self.held.numbers[self._recent(window, rows)]
            )
            return result
        # Not due up to the time of its key, or it would be among the rows that change.
        now = self.now_of(self.keys_of(rows))
        came = self.rows.came[rows]
        found: Mask = self.alive[rows] & ((now == START) | (expiries_of(window, came) > now))
        return found

    def commit(self, plan: StreamPlan, times: KeyTimes) -> None:
        """The update of a plan was applied."""
        self.put(plan.touched, plan.came, plan.deleted, plan.alive, plan.last)
        self._hold(plan.arrivals)
        self._changed.append(plan.touched)
        self._arrived.append(plan.arrivals)
        started = times.keys[(times.before == START) & (times.after != START)]
        if len(started):
            self._start(times)

    def _start(self, times: KeyTimes) -> None:
        """The first time of keys is known: it is that of all that has come of them so far."""
        count = len(self.rows)
        unknown = (self.rows.came[:count] == START) | (self.rows.deleted[:count] == START)
        rows: Ids = np.flatnonzero(unknown).astype(np.int32)
        rows = rows[times.among(self.keys_of(rows))]
        first = times.after[times.of(self.keys_of(rows))]
        came, deleted = self.rows.came[rows], self.rows.deleted[rows]
        came, deleted = np.where(came == START, first, came), np.where(deleted == START, first, deleted)
        self.put(rows, came, deleted, self.alive[rows], self.last[rows])
        self._changed.append(rows)
        own = np.isin(self.held.keys, times.keys) & (self.held.times == START)
        first = times.after[times.of(self.held.keys[own])]
        known = self.held.times.copy()
        known[own] = first
        self.held = Held(self.held.keys, known, self.held.numbers, self.held.rows)
        self._arrived.append(self.held.of(own))

    def put(self, rows: Ids, came: Times, deleted: Times, alive: Mask, last: Times) -> None:
        """The state of rows is this."""
        self.rows.came[rows], self.rows.deleted[rows] = came, deleted
        self.alive[rows], self.last[rows] = alive, last
        live = rows[alive & (came != START)]
        for window, due in zip(self.windows, self.due, strict=True):
            if window.kind != "count":
                due.add(live, expiries_of(window, self.rows.came[live]))

    def _hold(self, arrivals: Held) -> None:
        if not len(arrivals):
            return
        self.next = max(self.next, int(arrivals.numbers.max()) + 1)
        known = np.isin(self.held.numbers, arrivals.numbers)  # those that have got their first time
        held = self.held.of(~known).and_(arrivals)
        self.held = held if self._most is None else held.of(held.ranks < self._most)

    def next_expiry(self, now: int) -> int:
        """When a row leaves a window by time next, after `now`; `NEVER` if none will."""

        def is_current(window: Window) -> Callable[[Ids, Times], Mask]:
            return lambda rows, times: self.alive[rows] & (expiries_of(window, self.rows.came[rows]) == times)

        pairs = zip(self.windows, self.due, strict=True)
        return min((due.next_after(now, is_current(window)) for window, due in pairs), default=NEVER)

    # --- records ------------------------------------------------------------------------------------

    def taken_changes(self) -> tuple[Ids, Held]:
        """The rows and arrivals that have changed since this was called last."""
        rows = np.unique(np.concatenate([NO_ROWS, *self._changed]))
        arrived = Held()
        for part in self._arrived:
            newer = ~np.isin(arrived.numbers, part.numbers)
            arrived = arrived.of(newer).and_(part)
        self._changed, self._arrived = [], []
        return rows, arrived

    def everything(self, keys: Ids | None) -> tuple[Ids, Held]:
        """The rows and arrivals of keys, or of all."""
        rows = np.arange(len(self.rows), dtype=np.int32)
        if keys is None:
            return rows, self.held
        return rows[np.isin(self.keys_of(rows), keys)], self.held.of(np.isin(self.held.keys, keys))

    def load(
        self, facts: Facts, came: Times, deleted: Times, alive: Mask, last: Times, arrivals: Held
    ) -> None:
        """The counterpart: `rows` of the arrivals are positions among the facts."""
        rows = self.rows.numbers(facts)
        self.put(rows, came, deleted, alive, last)
        # A late arrival has a higher number than those that are held instead of it.
        self.next = max(self.next, int(last.max(initial=-1)) + 1)
        own = rows[arrivals.rows]
        self._hold(Held(self.keys_of(own), arrivals.times, arrivals.numbers, own))

    def forget(self, keys: Ids) -> None:
        """Nothing of these keys is there any more."""
        rows, _ = self.everything(keys)
        self.rows.came[rows], self.rows.deleted[rows] = BEFORE, BEFORE
        self.alive[rows], self.last[rows] = False, -1
        self.held = self.held.of(~np.isin(self.held.keys, keys))

    def compact(self, remembered: int) -> None:
        """Drops rows that are in no window and did not change since a time, if most are."""
        alive, last = self.alive, self.last
        numbers = self.rows.compact(remembered, self._in_use) if remembered > START else None
        if numbers is None:
            return
        kept, count = np.flatnonzero(numbers >= 0), len(self.rows)
        self._alive, self._last = alive[kept], last[kept]
        self.held = Held(self.held.keys, self.held.times, self.held.numbers, numbers[self.held.rows])
        self.due = [DueIndex() for _ in self.windows]
        rows = np.arange(count, dtype=np.int32)
        self.put(rows, self.rows.came[:count], self.rows.deleted[:count], self._alive, self._last)

    def _in_use(self, rows: Ids) -> Mask:
        used = np.isin(rows, self.held.rows)
        for number in range(len(self.windows)):
            used |= self._is_in(number, rows)
        return used
