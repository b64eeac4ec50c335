"""The leanest naive closure: what starting over costs at least, kept only for comparison.

A compiled kernel for this one program, without terms, deltas or anything to undo: edges are chained by their
source, paths are found from paths by one more edge, and a table says which are known.  What it leaves can be
asked for a fact, as ours can.  Its arrays are used again and again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Codes = npt.NDArray[np.int64]
_EMPTY = -1
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = 32
_LOWER = (1 << _HALF) - 1


class NaiveClosure:
    """Paths of a graph over so many nodes, from nothing each time."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._first = np.empty(nodes, np.int32)
        self._paths = np.empty(1 << 10, np.int64)
        self._table = np.empty(1 << 11, np.int64)
        self._count = 0

    def run(self, x: Codes, y: Codes) -> int:
        """Derives all paths; returns how many there are."""
        following = np.empty(len(x), np.int32)
        while True:
            self._count = _closure(x, y, self._first, following, self._paths, self._table)
            if self._count >= 0:
                return self._count
            self._paths = np.empty(2 * len(self._paths), np.int64)
            self._table = np.empty(2 * len(self._table), np.int64)

    @property
    def codes(self) -> Codes:
        """The paths of the last run, as source times nodes plus target."""
        paths = self._paths[: self._count]
        codes: Codes = (paths >> _HALF) * self._nodes + (paths & _LOWER)
        return codes


@njit(cache=True, inline="always")
def _add(path, count, paths, table):  # type: ignore[no-untyped-def]
    """The number of paths after this one."""
    mask = len(table) - 1
    h = np.uint64(path) * _FACTOR
    at = np.int64(h ^ (h >> np.uint64(_HALF))) & mask
    while table[at] != _EMPTY:
        if table[at] == path:
            return count
        at = (at + 1) & mask
    table[at] = path
    paths[count] = path
    return count + 1


@njit(cache=True)
def _closure(x, y, first, following, paths, table):  # type: ignore[no-untyped-def]
    """The number of all paths, or -1 if there is no room for them."""
    room = len(paths)
    if len(x) >= room:
        return -1
    table[:] = _EMPTY
    first[:] = -1
    count = 0
    for edge in range(len(x)):
        before = count
        count = _add(x[edge] << _HALF | y[edge], count, paths, table)
        if count > before:
            following[edge] = first[x[edge]]
            first[x[edge]] = edge
    path = 0
    while path < count:
        source, middle = paths[path] >> _HALF << _HALF, paths[path] & _LOWER
        edge = first[middle]
        while edge >= 0:
            if count == room:
                return -1
            count = _add(source | y[edge], count, paths, table)
            edge = following[edge]
        path += 1
    return count
