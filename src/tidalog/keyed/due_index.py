"""Which rows of a stream expire next: runs that are sorted by expiry, merged as they become many.

Adding n rows costs what sorting them costs, finding those that are due what is due.  A row that has come
again has several entries; the caller knows its present expiry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidalog.model.facts import Ids
from tidalog.model.window_times import NEVER

Times = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_FEW = 64
_NO_ROWS: Ids = np.empty(0, np.int32)


@dataclass
class DueIndex:
    _runs: list[tuple[Times, Ids]] = field(default_factory=list)
    """Expiries, ascending, and their rows.  Every run is more than twice as long as the next."""

    def add(self, rows: Ids, expiry: Times) -> None:
        kept = expiry < NEVER
        run = _sorted(expiry[kept], rows[kept])
        while self._runs and len(self._runs[-1][1]) <= 2 * len(run[1]):
            times, earlier = self._runs.pop()
            run = _sorted(np.concatenate([times, run[0]]), np.concatenate([earlier, run[1]]))
        if len(run[1]):
            self._runs.append(run)

    def due(self, time: int) -> Ids:
        """The rows with an expiry that is not after a time."""
        parts = [rows[: np.searchsorted(times, time, side="right")] for times, rows in self._runs]
        return np.unique(np.concatenate(parts)) if parts else _NO_ROWS

    def drop(self, time: int) -> None:
        """Removes the entries that are due."""
        runs, self._runs = self._runs, []
        for times, rows in runs:
            start = int(np.searchsorted(times, time, side="right"))
            if start < len(rows):
                self._runs.append((times[start:], rows[start:]))

    def next_after(self, time: int, is_current: Callable[[Ids, Times], Mask]) -> int:
        """The first expiry after a time; `NEVER` if there is none.  Entries before it that are not current
        are removed, so that they are looked at once."""
        found = NEVER
        for number, (times, rows) in enumerate(self._runs):
            first = start = int(np.searchsorted(times, time, side="right"))
            length = _FEW
            while start < len(rows) and times[start] < found:
                part = slice(start, start + length)
                current = np.flatnonzero(is_current(rows[part], times[part]))
                if len(current):
                    start += int(current[0])
                    found = min(found, int(times[start]))
                    break
                start, length = min(start + length, len(rows)), 2 * length
            if not first:
                self._runs[number] = times[start:], rows[start:]
        self._runs = [run for run in self._runs if len(run[1])]
        return found


def _sorted(expiry: Times, rows: Ids) -> tuple[Times, Ids]:
    order = np.argsort(expiry, kind="stable")
    return expiry[order], rows[order]
