"""The windows of a bucket: each key has its own.

A key's time is that of its last update, and when a batch ends at least the time of the stream: the latest of
all rows of all keys.  So a key whose rows do not come any more loses its old facts too, and it does not
matter which keys share a bucket.

`plan` turns an update of some keys, each at a time of its own, into insertions and deletions; `commit`
follows once these were applied.  An update that is refused for some keys is planned again without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tidalog.keyed.window_states import Held, KeyTimes, Mask, StreamPlan, Times
from tidalog.keyed.window_stream import KeyedStream, TimesOfTerms
from tidalog.maintain.windows.planned import PlannedUpdate, planned
from tidalog.maintain.windows.stream_rows import grown
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Window
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import NEVER, START
from tidalog.storage.columns import Arrays

_BEHIND = "behind"
"""The name, in a record, of keys with times of their own."""


def _no_times(ids: Ids) -> Times:
    return np.full(len(ids), START, np.int64)


@dataclass(frozen=True)
class KeyedPlan(PlannedUpdate[StreamPlan]):
    times: KeyTimes


@dataclass(frozen=True)
class WindowsRecord:
    """States of windows, as parts of a record."""

    header: Mapping[str, object]
    rows: EncodedUpdate
    arrays: Arrays


@dataclass
class KeyedWindows:
    windows: tuple[Window, ...] = ()
    late: int = 0
    own_times: tuple[Mapping[str, int], TimesOfTerms] = field(default_factory=lambda: ({}, _no_times))
    """The arguments that have the times of facts, by stream, and the times of terms."""
    now: int = START
    """The time of the stream."""
    streams: dict[str, KeyedStream] = field(default_factory=dict)
    behind: dict[int, int] = field(default_factory=dict)
    """The times of keys that are not that of the stream: earlier versions let keys stay behind."""
    _times: Times = field(default_factory=lambda: np.empty(0, np.int64))
    """The time of each key, by its id, while a batch is applied."""
    _remembered: int = START
    """Rows and deletions older than this may be dropped."""

    def __bool__(self) -> bool:
        return bool(self.windows)

    @property
    def has_content(self) -> bool:
        """Whether there is anything to keep, also where windows are not known."""
        return self.now != START or bool(self.streams)

    def begin(self, terms: int) -> None:
        """A batch begins; the dictionary has `terms` terms."""
        self._times = np.full(terms, self.now, np.int64)
        for key, time in self.behind.items():
            self._times[key] = time

    def times_of(self, keys: Ids) -> Times:
        if len(keys):
            self._times = grown(self._times, int(keys.max()) + 1, self.now)
        return self._times[keys]

    def late_among(self, keys: Ids, times: Times) -> Mask:
        """Which updates of keys come too late; START stands for no time."""
        now = self.times_of(keys)
        late: Mask = (times != START) & (now != START) & (times < now - self.late)
        return late

    # --- an update ----------------------------------------------------------------------------------

    def times_at(self, keys: Ids, times: Times) -> KeyTimes:
        """Of updates of keys, which are ascending, at these times."""
        before = self.times_of(keys)
        at = np.where(times == START, before, times)
        return KeyTimes(keys, before, at, np.maximum(before, at))

    def times_after(self, keys: Ids, now: int) -> KeyTimes:
        """Of an advance of keys to a time."""
        before = self.times_of(keys)
        return self.times_between(keys, before, np.maximum(before, now))

    @staticmethod
    def times_between(keys: Ids, before: Times, after: Times) -> KeyTimes:
        moved = after > before
        return KeyTimes(keys[moved], before[moved], after[moved], after[moved])

    def alone(self, times: KeyTimes) -> KeyTimes:
        """Of an advance of keys to the times that they have after an update."""
        return self.times_between(times.keys, times.before, times.after)

    def plan(self, update: EncodedUpdate, times: KeyTimes) -> KeyedPlan:
        plan = planned(
            update,
            {window.source for window in self.windows},
            self.streams,
            self._new_stream,
            lambda stream, gone, came: stream.plan(gone, came, times),
        )
        return KeyedPlan(plan.update, plan.expired, plan.streams, times)

    def _new_stream(self, source: str, arity: int) -> KeyedStream:
        own = [window for window in self.windows if window.source == source]
        arguments, times_of = self.own_times
        argument = arguments.get(source)
        own_times = None if argument is None else (argument + 1, times_of)
        return KeyedStream(source, own, arity, self.times_of, own_times)

    def commit(self, plan: KeyedPlan) -> None:
        for source, part in plan.streams.items():
            self.streams[source].commit(part, plan.times)
        self.times_of(plan.times.keys)
        self._times[plan.times.keys] = plan.times.after

    def end(self, now: int, keys: Ids) -> None:
        """A batch ends at a time.  Rows that are too old have left, except those of keys that are behind."""
        self.now = max(self.now, now)
        times = self.times_of(keys)
        late = times < self.now
        self.behind = dict(zip(keys[late].tolist(), times[late].tolist(), strict=True))
        # Of keys that are behind, rows are due still.
        oldest = min([self.now, *self.behind.values()])
        for stream in self.streams.values():
            for due in stream.due:
                due.drop(oldest)
        self._remembered = oldest - self.late

    @property
    def next_expiry(self) -> int:
        """When a fact of a key may leave next because it is too old; `NEVER` if none will.  Facts of keys
        that are behind should have left."""
        return min((stream.next_expiry(self.now) for stream in self.streams.values()), default=NEVER)

    def forget(self, keys: Ids) -> None:
        for stream in self.streams.values():
            stream.forget(keys)
        for key in keys.tolist():
            self.behind.pop(key, None)
        self.times_of(keys)
        self._times[keys] = self.now

    # --- records ------------------------------------------------------------------------------------

    def taken_changes(self) -> WindowsRecord | None:
        """What has changed since this was called last; None if there are no windows."""
        if not self.windows:
            return None
        parts = {name: stream.taken_changes() for name, stream in self.streams.items()}
        record = self._record(parts, None)
        for stream in self.streams.values():
            stream.compact(self._remembered)  # which gives rows other numbers
        return record

    def everything(self, keys: Ids | None) -> WindowsRecord | None:
        """The same for everything about keys, or about all."""
        if not self.has_content:
            return None
        return self._record({name: stream.everything(keys) for name, stream in self.streams.items()}, keys)

    def _record(self, parts: Mapping[str, tuple[Ids, Held]], keys: Ids | None) -> WindowsRecord:
        facts: list[Facts] = []
        arrays: Arrays = {}
        for number, (name, (rows, held)) in enumerate(parts.items()):
            stream = self.streams[name]
            rows = np.union1d(rows, held.rows).astype(np.int32)
            facts.append(stream.rows.facts(name, rows))
            arrays |= {
                f"came {number}": stream.rows.came[rows],
                f"deleted {number}": stream.rows.deleted[rows],
                f"alive {number}": stream.alive[rows].astype(np.int8),
                f"last {number}": stream.last[rows],
                f"held {number}": np.searchsorted(rows, held.rows).astype(np.int32),
                f"times {number}": held.times,
                f"numbers {number}": held.numbers,
            }
        chosen = set(self.behind if keys is None else keys.tolist())
        own = {key: time for key, time in self.behind.items() if key in chosen}
        facts.append(Facts(_BEHIND, [np.array(list(own), np.int32)], len(own)))
        arrays["behind"] = np.array(list(own.values()), np.int64)
        header = {"now": self.now, "part": keys is not None}
        return WindowsRecord(header, EncodedUpdate(insertions=facts), arrays)

    def load(self, header: Mapping[str, Any], update: EncodedUpdate, arrays: Mapping[str, Any]) -> None:
        """The counterpart.  Raises `ValueError` for what cannot be."""
        self.now = max(self.now, int(header["now"]))
        *streams, behind = update.insertions
        times = arrays["behind"].astype(np.int64)
        if behind.predicate != _BEHIND or len(times) != behind.count:
            raise ValueError("times of keys do not match them")
        for number, facts in enumerate(streams):
            found = [arrays[f"{name} {number}"] for name in ("came", "deleted", "alive", "last")]
            came, deleted, alive, last = (array.astype(np.int64) for array in found)
            held, at, numbers = (arrays[f"{name} {number}"] for name in ("held", "times", "numbers"))
            sizes = {facts.count, len(came), len(deleted), len(alive), len(last)}
            if len(sizes) > 1 or not len(held) == len(at) == len(numbers):
                raise ValueError("the rows of a stream do not match their states")
            if len(held) and not 0 <= held.min() <= held.max() < facts.count:
                raise ValueError("a window holds rows that are not there")
            stream = self.streams.get(facts.predicate)
            if stream is None:
                if not facts.count:
                    continue
                stream = self._new_stream(facts.predicate, len(facts.columns))
                self.streams[facts.predicate] = stream
            # Keys of several buckets come together: arrivals of each have numbers of their own.
            first = stream.next if header["part"] else 0
            last = np.where(last < 0, last, last + first)
            arrivals = Held(
                held, at.astype(np.int64), numbers.astype(np.int64) + first, held.astype(np.int32)
            )
            stream.load(facts, came, deleted, alive != 0, last, arrivals)
        known = self.behind if header["part"] else {}
        self.behind = known | dict(zip(behind.columns[0].tolist(), times.tolist(), strict=True))
