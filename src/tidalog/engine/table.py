"""Open addressing, as facts, terms and index keys use it.

A table is an array of 64-bit entries, `tag << 32 | value`, 0 for empty; its length is a power of two.  The
*tag* is the upper half of a hash, and the top bits of the tag are the entry's home slot; collisions go to the
next slot.  So a probe that finds nothing, or finds another tag, has touched one cache line and no data; and a
table grows, and gives entries up, by looking at nothing but itself, in order of its slots.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.native import compiled, inlined

LOW32: Final = np.uint64(0xFFFFFFFF)
HALF: Final = np.uint64(32)
EMPTY: Final = np.uint64(0)
ONE: Final = np.uint64(1)

MAX_LOAD_NUMERATOR: Final = 6  # a table is at most 3/4 full
MAX_LOAD_DENOMINATOR: Final = 8
SMALLEST: Final = 64


def table_size(entries: int) -> int:
    """The smallest table that holds so many entries."""
    size = SMALLEST
    while not has_room(entries, size):
        size *= 2
    return size


@compiled
def has_room(entries: int, size: int) -> bool:
    return entries * MAX_LOAD_DENOMINATOR <= size * MAX_LOAD_NUMERATOR


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


@compiled
def move_entries(old: np.ndarray, new: np.ndarray) -> None:
    """Fills an empty table from another one.  Entries come in order of their homes, but for those that
    wrapped around the end."""
    shift = table_shift(len(new))
    mask = np.uint64(len(new) - 1)
    for i in range(len(old)):
        entry = old[i]
        if entry != EMPTY:
            s = entry >> shift
            while new[s] != EMPTY:
                s = (s + ONE) & mask
            new[s] = entry


@compiled
def remove_entry(slots: np.ndarray, hole: np.uint64) -> None:
    """Empties a slot and moves back whatever had been pushed past it."""
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
