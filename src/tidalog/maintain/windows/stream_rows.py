"""The rows of a stream, each with a number, the time at which it came last and that of its last deletion.

Numbers are dense and stay until `compact`.  A row that is in no window may stay for a while: only what
`Stream` knows of it says whether it is a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from tidalog.engine.bits import STATUS_EXPLICIT
from tidalog.engine.facts import FactStore
from tidalog.engine.probe import find_rows
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Window
from tidalog.model.window_times import NEVER, expiry_of

Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)

BEFORE: Final = -(2**63)
"""Before any time."""
_PREDICATE: Final = 0
_FEW: Final = 16
_UNUSED: Final = 1 << 16
"""Rows that may be unused, however few are in use."""


class StreamRows:
    def __init__(self, arity: int) -> None:
        self.arity = arity
        self._store = FactStore()
        self._store.add_predicate(_PREDICATE, arity)
        self._last: Ids = np.empty(0, np.int32)
        self._marked: Flags = np.empty(0, np.bool_)
        self._kept = 0
        """Rows that were kept when all were last looked at."""
        self.came: Times = np.empty(0, np.int64)
        self.deleted: Times = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._store)

    def __deepcopy__(self, memo: object) -> StreamRows:
        """A copy of what is in use, without the capacity."""
        copy, count = StreamRows(self.arity), len(self)
        copy.numbers(self.facts("", np.arange(count, dtype=np.int32)))
        copy.came[:count], copy.deleted[:count] = self.came[:count], self.deleted[:count]
        copy._kept = self._kept
        return copy

    def numbers(self, facts: Facts) -> Ids:
        """The numbers of facts, in their order; new ones get numbers."""
        if not facts.count:
            return np.empty(0, np.int32)
        self._store.insert_table(_PREDICATE, facts.table, STATUS_EXPLICIT)
        self.came = grown(self.came, len(self), BEFORE)
        self.deleted = grown(self.deleted, len(self), BEFORE)
        out = np.empty(facts.count, np.int32)
        find_rows(self._store.at, _PREDICATE, facts.table, facts.count, out)
        return out

    def numbers_of(self, batches: Iterable[Facts]) -> Ids:
        found = [self.numbers(facts) for facts in batches if facts.count]
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0, np.int32), *found])

    def effective(
        self,
        came: Ids,
        gone: Ids,
        at: Callable[[Ids], Times | int],
        come_at: Callable[[Ids], Times],
    ) -> tuple[Ids, Ids]:
        """The rows that come in and those that only go, each once; `at` has the times of their updates, and
        `come_at` those of rows that come.  A later deletion makes an insertion void, and a later insertion a
        deletion."""
        inserted = self.once(came)
        comes = self.deleted[inserted] <= come_at(inserted)
        inserted = inserted if comes.all() else inserted[comes]
        if not len(gone):
            return inserted, gone
        deleted = self.once(gone)
        deleted = deleted[self.came[deleted] <= at(deleted)]
        return inserted, self.without(deleted, inserted)

    def once(self, rows: Ids) -> Ids:
        """Each row once, at a cost proportional to the rows."""
        if len(rows) < _FEW and len(set(rows.tolist())) == len(rows):
            return rows
        self._last = grown(self._last, len(self), 0)
        order = np.arange(len(rows), dtype=np.int32)
        self._last[rows] = order
        result: Ids = rows[self._last[rows] == order]
        return result

    def without(self, rows: Ids, others: Ids) -> Ids:
        """Rows that are not among others, at a cost proportional to both."""
        if not len(others) or not len(rows):
            return rows
        self._marked = grown(self._marked, len(self), 0)
        self._marked[others] = True
        result: Ids = rows[~self._marked[rows]]
        self._marked[others] = False
        return result

    def facts(self, predicate: str, numbers: Ids) -> Facts:
        columns = [self._store.column(numbers, column) for column in range(self.arity)]
        return Facts(predicate, columns, len(numbers))

    def compact(self, remembered: int, in_use: Callable[[Ids], Flags]) -> Ids | None:
        """Drops rows that are not in use and did not change since a time, if most are.  Returns the new
        number of each row, or -1; None if all stay."""
        count = len(self)
        if count < 2 * self._kept + _UNUSED:
            return None  # looking at all rows costs little per row that came since
        kept = in_use(np.arange(count, dtype=np.int32))
        kept = kept | (np.maximum(self.came[:count], self.deleted[:count]) >= remembered)
        self._kept = int(np.count_nonzero(kept))
        if 2 * self._kept > count:
            return None
        self._renumber(np.flatnonzero(kept).astype(np.int32))
        numbers = np.full(count, -1, np.int32)
        numbers[kept] = np.arange(self._kept, dtype=np.int32)
        return numbers

    def _renumber(self, kept: Ids) -> None:
        """Only these rows stay, in this order."""
        facts, came, deleted = self.facts("", kept), self.came[kept], self.deleted[kept]
        self._store = FactStore()
        self._store.add_predicate(_PREDICATE, self.arity)
        self.came = self.deleted = np.empty(0, np.int64)
        self.numbers(facts)
        self.came[: len(kept)], self.deleted[: len(kept)] = came, deleted


def grown(array: npt.NDArray[T], size: int, fill: int) -> npt.NDArray[T]:
    """An array with capacity for `size` entries; new ones have the value `fill`."""
    if size <= len(array):
        return array
    larger = np.full(max(size, 2 * len(array), 64), fill, array.dtype)
    larger[: len(array)] = array
    return larger


def expiries_of(window: Window, times: Times) -> Times:
    """`expiry_of` many times."""
    if len(times) and (times == times[0]).all():
        return np.full(len(times), expiry_of(window, int(times[0])), np.int64)
    found: Times = np.full(len(times), NEVER, np.int64)
    if window.kind == "range":
        steps = -(-(times + window.length) // window.step)
        most = NEVER // window.step
        found = np.where(steps > most, NEVER, np.minimum(steps, most) * window.step)
    elif window.kind == "tumbling":
        found = (times // window.length + 1) * window.length
    return found
