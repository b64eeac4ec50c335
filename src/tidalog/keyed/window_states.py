"""States of the rows of a keyed stream, before and after an update, and when rows leave windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidalog.maintain.windows.planned import WindowPlan
from tidalog.model.facts import Ids

Times = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
NO_ROWS: Ids = np.empty(0, np.int32)
NO_TIMES: Times = np.empty(0, np.int64)
NO_ROWS_ARE: Mask = np.empty(0, np.bool_)


@dataclass(frozen=True)
class KeyTimes:
    """Keys, ascending; the time of each before an update, that of the update, and the time after it."""

    keys: Ids
    before: Times
    at: Times
    after: Times

    def among(self, keys: Ids) -> Mask:
        return np.isin(keys, self.keys)

    def of(self, keys: Ids) -> npt.NDArray[np.intp]:
        return np.searchsorted(self.keys, keys)

    @property
    def move(self) -> bool:
        """Whether time passes for a key."""
        return bool((self.after > self.before).any())

    def without(self, keys: Ids) -> KeyTimes:
        return self._of(~np.isin(self.keys, keys))

    def only(self, keys: Ids) -> KeyTimes:
        return self._of(np.isin(self.keys, keys))

    def _of(self, kept: Mask) -> KeyTimes:
        return KeyTimes(self.keys[kept], self.before[kept], self.at[kept], self.after[kept])


NO_KEYS = KeyTimes(NO_ROWS, NO_TIMES, NO_TIMES, NO_TIMES)


@dataclass(frozen=True)
class Held:
    """Arrivals in the order of their keys and times: key, time, number, row."""

    keys: Ids = field(default_factory=lambda: NO_ROWS)
    times: Times = field(default_factory=lambda: NO_TIMES)
    numbers: Times = field(default_factory=lambda: NO_TIMES)
    rows: Ids = field(default_factory=lambda: NO_ROWS)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, chosen: npt.NDArray[np.generic]) -> Held:
        return Held(self.keys[chosen], self.times[chosen], self.numbers[chosen], self.rows[chosen])

    def and_(self, more: Held) -> Held:
        pairs = zip(vars(self).values(), vars(more).values(), strict=True)
        whole = Held(*(np.concatenate(pair) for pair in pairs))
        return whole.of(np.lexsort((whole.numbers, whole.times, whole.keys)))

    @property
    def ranks(self) -> Times:
        """How many arrivals of its key follow each."""
        ends = np.searchsorted(self.keys, self.keys, side="right")
        result: Times = ends - 1 - np.arange(len(self))
        return result


@dataclass(frozen=True)
class StreamPlan:
    """The state of touched rows after an update, and what it changes in predicates."""

    touched: Ids
    came: Times
    deleted: Times
    alive: Mask
    last: Times
    arrivals: Held
    changes: Sequence[tuple[str, WindowPlan]]


@dataclass(frozen=True)
class TouchedRows:
    """Touched rows after an update."""

    rows: Ids
    came: Times
    alive: Mask
    last: Times


@dataclass(frozen=True)
class RowStates:
    """Rows, and whether they were in a window and are in it."""

    rows: Ids
    was_in: Mask
    is_in: Mask
