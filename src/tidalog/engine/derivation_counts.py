"""How many derivations facts have, where that is known.

One number per fact: 0 if nothing is known, else one more than its derivations.  Nothing is counted from
scratch, and the memory of a number that was never written is never touched.  Invariant between two updates:
a number that is not 0 is exact.

During an update a number of an older fact carries LOGGED once it has been changed; `changed` and `before`
have the old number, so that it can be restored.  Numbers of facts that came with the update are not logged:
they go with their facts.

Compiled code gets addresses in one row, as of an index: see COUNTS_AT and below.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int32s, Int64s
from tidalog.engine.bits import NEW, PRESENT
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.jit import compiled, entry, inlined, int32_at, int64_at
from tidalog.engine.memory import reserve

Ints = npt.NDArray[np.int32]

UNKNOWN: Final = 0
NO_DERIVATION: Final = 1
LOGGED: Final = 1 << 30
MOST: Final = LOGGED - 1  # a larger number counts as unknown

# Fields of the row.
COUNTS_AT: Final = 0  # address of the numbers
CAPACITY: Final = 1  # in facts
CHANGED_AT: Final = 2  # address of the facts whose numbers have been changed
BEFORE_AT: Final = 3  # address of what these were
CHANGES: Final = 4  # how many
LOG_SIZE: Final = 5  # how many there is memory for
BEGIN: Final = 6  # facts below this id are older than the update
FIELDS: Final = 7

_MOST_FACTS: Final = 2**31 - 2
_SMALL: Final = 1 << 19  # facts below which numbers are copied when they grow


class DerivationCounts:
    """Owns the numbers of an engine's facts; they take no memory before the first is asked for."""

    def __init__(self) -> None:
        self._numbers: Ints = np.zeros(0, np.int32)
        self._changed: Ints = np.empty(0, np.int32)
        self._before: Ints = np.empty(0, np.int32)
        self.row: npt.NDArray[np.int64] = np.zeros(FIELDS, np.int64)

    def begin(self, facts: int) -> None:
        """An update of a store with this many ids begins."""
        self.row[CHANGES], self.row[BEGIN] = 0, facts
        if len(self._numbers) and facts > len(self._changed):
            self._make_log(facts)

    def _make_log(self, facts: int) -> None:
        self._changed, self._before = np.empty(2 * facts, np.int32), np.empty(2 * facts, np.int32)
        self.row[CHANGED_AT], self.row[BEFORE_AT] = self._changed.ctypes.data, self._before.ctypes.data
        self.row[LOG_SIZE] = len(self._changed)

    def use(self, capacity: int) -> int:
        """Capacity for the numbers of this many facts; the address of the row."""
        if capacity > len(self._numbers):
            larger = (
                reserve(np.dtype(np.int32), _MOST_FACTS, large_pages=False) if capacity > _SMALL else None
            )
            if larger is None:
                larger = np.zeros(2 * capacity, np.int32)
            larger[: len(self._numbers)] = self._numbers
            self._numbers = larger
            self.row[COUNTS_AT], self.row[CAPACITY] = larger.ctypes.data, len(larger)
        if self.row[BEGIN] > len(self._changed):
            self._make_log(int(self.row[BEGIN]))
        return int(self.row.ctypes.data)

    def nbytes(self, facts: int) -> int:
        """Bytes in use, at most."""
        return min(facts, len(self._numbers)) * self._numbers.itemsize

    def of(self, ids: Ints) -> Ints:
        """The numbers of facts, between two updates."""
        known = np.zeros(len(ids), np.int32)
        inside = ids < len(self._numbers)
        known[inside] = self._numbers[ids[inside]]
        return known

    def undo(self, facts: int) -> None:
        """Every number is as it was when the update began; there are `facts` ids now."""
        if len(self._numbers):
            undo_counts(self.row, min(facts, len(self._numbers)))

    def finish(self) -> None:
        if len(self._numbers):
            finish_counts(self.row)

    def renumber(self, facts: Facts, ranks: Ints) -> None:
        """Facts are about to get the ids that `ranks` says."""
        if len(self._numbers):
            renumber_counts(facts, self.row, ranks)


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def numbers_of(row: np.ndarray) -> np.ndarray:
    return int32_at(row[COUNTS_AT], row[CAPACITY])


@compiled
def put_count(row: np.ndarray, fact: int, number: int) -> None:
    """Gives a fact another number."""
    numbers = numbers_of(row)
    if fact >= row[BEGIN]:
        numbers[fact] = number
        return
    before = numbers[fact]
    if not before & LOGGED:
        at = row[CHANGES]
        int32_at(row[CHANGED_AT], row[LOG_SIZE])[at] = fact
        int32_at(row[BEFORE_AT], row[LOG_SIZE])[at] = before
        row[CHANGES] = at + 1
    numbers[fact] = number | LOGGED


@inlined
def count_of(row: np.ndarray, fact: int) -> int:
    """The number of a fact."""
    number: int = numbers_of(row)[fact] & MOST
    return number


@inlined
def uncount(row: np.ndarray, fact: int) -> None:
    """A fact has one derivation less; an UNKNOWN count stays so."""
    number = count_of(row, fact)
    if number != UNKNOWN:
        put_count(row, fact, number - 1)


@compiled
def count_heads(facts: Facts, address: int, heads: np.ndarray, created: np.ndarray, rows: int) -> None:
    """One more derivation for each head of instances that are new; what was not known stays so.  All
    derivations of a new fact pass here; one that came back may have others."""
    row = int64_at(address, FIELDS)
    numbers = numbers_of(row)
    for i in range(rows):
        head = heads[i]
        if created[i] != 0:
            if facts.status[head] & NEW:
                numbers[head] = NO_DERIVATION + 1
            continue
        number = numbers[head] & MOST
        if number == MOST:
            put_count(row, head, UNKNOWN)
        elif number != UNKNOWN:
            put_count(row, head, number + 1)


@entry
def count_given(facts: Facts, row: Int64s, begin: int) -> None:
    """Facts from an id on that are new and have not been derived yet have no derivation."""
    numbers = numbers_of(row)
    for fact in range(begin, facts.state[FACTS]):
        if facts.status[fact] & NEW:
            numbers[fact] = NO_DERIVATION


@entry
def forget_counts(row: Int64s, ids: Int32s) -> None:
    """Nothing is known about some facts from here on."""
    numbers = numbers_of(row)
    for i in range(len(ids)):
        if ids[i] < row[CAPACITY] and numbers[ids[i]] & MOST != UNKNOWN:
            put_count(row, ids[i], UNKNOWN)


@entry
def undo_counts(row: Int64s, end: int) -> None:
    numbers = numbers_of(row)
    changed, before = int32_at(row[CHANGED_AT], row[CHANGES]), int32_at(row[BEFORE_AT], row[CHANGES])
    for i in range(row[CHANGES]):
        numbers[changed[i]] = before[i]
    for fact in range(row[BEGIN], end):
        if numbers[fact] != UNKNOWN:
            numbers[fact] = UNKNOWN
    row[CHANGES] = 0


@entry
def finish_counts(row: Int64s) -> None:
    numbers = numbers_of(row)
    changed = int32_at(row[CHANGED_AT], row[CHANGES])
    for i in range(row[CHANGES]):
        numbers[changed[i]] &= MOST
    row[CHANGES] = 0


@entry
def renumber_counts(facts: Facts, row: Int64s, ranks: Int32s) -> None:
    """Nothing is written where it is the same, so that what was never written stays untouched."""
    numbers = numbers_of(row)
    end = min(facts.state[FACTS], row[CAPACITY])
    kept = 0
    for fact in range(end):
        if facts.status[fact] & PRESENT:
            kept = ranks[fact] + 1
            if numbers[kept - 1] != numbers[fact]:
                numbers[kept - 1] = numbers[fact]
    for fact in range(kept, end):
        if numbers[fact] != UNKNOWN:
            numbers[fact] = UNKNOWN
