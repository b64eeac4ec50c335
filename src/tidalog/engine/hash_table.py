"""Open addressing, as facts, terms and index keys use it.

A table is an array of 64-bit entries, `tag << 32 | value`, 0 for empty; its length is a power of two.  The
*tag* is the upper half of a hash, and the top bits of the tag are the entry's home slot; collisions go to the
next slot.  So a probe that finds nothing, or finds another tag, has touched one cache line and no data; and
growth and removal read only the table itself, in order of its slots.  A large table grows in place (see
`memory`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Uint64s
from tidalog.engine.jit import compiled, entry, inlined
from tidalog.engine.memory import reserve

LOW32: Final = np.uint64(0xFFFFFFFF)
HALF: Final = np.uint64(32)
EMPTY: Final = np.uint64(0)
ONE: Final = np.uint64(1)

MAX_LOAD_NUMERATOR: Final = 11  # a table is at most 11/16 full
MAX_LOAD_DENOMINATOR: Final = 16
SMALLEST: Final = 64


_IN_PLACE: Final = 1 << 18  # slots from which a table lies in reserved memory
_MOST: Final = 1 << 32
_FRONT: Final = 4096  # slots at the front that are emptied first when a table grows in place


class Table:
    """A table that grows.  `slots` is what compiled code sees; it is replaced by growth."""

    def __init__(self, entries: int = 0) -> None:
        self.slots: npt.NDArray[np.uint64] = np.zeros(table_size(entries), np.uint64)
        self._area: npt.NDArray[np.uint64] | None = None

    def grow(self, entries: int) -> None:
        """Capacity for this many entries in all."""
        size = table_size(entries)
        if size <= len(self.slots):
            return
        if self._area is None:
            area = reserve(np.dtype(np.uint64), _MOST) if size >= _IN_PLACE else None
            slots = np.zeros(size, np.uint64) if area is None else area[:size]
            move_entries(self.slots, slots)
            self.slots, self._area = slots, area
            return
        while len(self.slots) < size:
            self.slots = self._area[: len(self.slots) * 2]
            spread_entries(self.slots)


def table_size(entries: int) -> int:
    """The smallest table that holds this many entries."""
    size = SMALLEST
    while not fits(entries, size):
        size *= 2
    return size


def fits(entries: int, size: int) -> bool:
    """Whether a table of this size holds this many entries."""
    return entries * MAX_LOAD_DENOMINATOR <= size * MAX_LOAD_NUMERATOR


has_capacity = compiled(fits)
"""The same in compiled code."""


@compiled
def table_shift(size: int) -> np.uint64:
    """How far an entry is shifted to the right to give its home."""
    shift = 64
    while size > 1:
        size >>= 1
        shift -= 1
    return np.uint64(shift)


@inlined
def make_entry(h: np.uint64, value: int) -> np.uint64:
    return ((h >> HALF) << HALF) | np.uint64(value)


@inlined
def put_entry(slots: np.ndarray, entry: np.uint64, shift: np.uint64) -> None:
    """Adds an entry that is not there yet: at its home, or in the first empty slot after it."""
    mask = np.uint64(len(slots) - 1)
    s = entry >> shift
    while slots[s] != EMPTY:
        s = (s + ONE) & mask
    slots[s] = entry


@entry
def move_entries(old: Uint64s, new: Uint64s) -> None:
    """Fills an empty table from another one.  Entries come in order of their homes, but for those that
    wrapped around the end."""
    shift = table_shift(len(new))
    for i in range(len(old)):
        if old[i] != EMPTY:
            put_entry(new, old[i], shift)


@entry
def spread_entries(slots: Uint64s) -> None:
    """Doubles a table in place: its entries lie in the lower half, the upper half is empty.

    From the last slot down, an entry moves to its new home, at twice its old one: at or above where it lay,
    where everything is final already.  Entries that collisions have pushed further than that (only at the
    front, or in a badly clustered table) are set aside and inserted last.
    """
    half = len(slots) // 2
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    front = min(half, _FRONT)
    aside = np.empty(2 * _FRONT, np.uint64)
    waiting = 0
    for i in range(front):
        if slots[i] != EMPTY:
            aside[waiting] = slots[i]
            slots[i] = EMPTY
            waiting += 1
    for i in range(half - 1, front - 1, -1):
        entry = slots[i]
        if entry == EMPTY:
            continue
        slots[i] = EMPTY
        s = entry >> shift
        if s < np.uint64(i):
            if waiting == len(aside):
                more = np.empty(2 * len(aside), np.uint64)
                for j in range(waiting):
                    more[j] = aside[j]
                aside = more
            aside[waiting] = entry
            waiting += 1
            continue
        while slots[s] != EMPTY:
            s = (s + ONE) & mask
        slots[s] = entry
    for i in range(waiting):
        put_entry(slots, aside[i], shift)


@compiled
def remove_entry(slots: np.ndarray, hole: np.uint64) -> None:
    """Empties a slot and moves back the entries that collisions have pushed past it."""
    shift = table_shift(len(slots))
    mask = np.uint64(len(slots) - 1)
    s = hole
    while True:
        s = (s + ONE) & mask
        entry = slots[s]
        if entry == EMPTY:
            break
        if ((s - (entry >> shift)) & mask) >= ((s - hole) & mask):
            slots[hole] = entry
            hole = s
    slots[hole] = EMPTY
