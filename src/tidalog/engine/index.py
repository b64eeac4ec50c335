"""The indexes of an engine: Python owns their arrays and grows them; `index_kernels` has their layout.

An index is created for a predicate and a set of columns when a plan asks for it, and is caught up with new
facts in bulk just before it is probed, and only then.

An index that only queries have asked for is *temporary*.  It stays for the next query, until there are too
many: then the one that was used least recently is emptied, which is safe at any time: it is filled again when
it is next read.  The first plan of the program that asks for it keeps it for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.fact_kernels import COUNT, Facts
from tidalog.engine.facts import FactStore
from tidalog.engine.hash_table import move_entries, table_size
from tidalog.engine.index_kernels import (
    CAUGHT_UP,
    COLUMN,
    FIELDS,
    FREE,
    FREE_RECORD,
    KEYS,
    POOL,
    POOL_SIZE,
    POOL_USED,
    PREDICATE,
    RECORD,
    RECORD_COUNT,
    RECORD_SIZE,
    RECORDS,
    SHIFT,
    SIZE,
    SLOTS,
    TOTAL,
    WANT,
    WANT_KEYS,
    WANT_POOL,
    WANT_SIZE,
    WIDTH,
    catch_up,
    first_facts,
    truncate_index,
)
from tidalog.engine.memory import resized
from tidalog.engine.probe import find_runs

MOST_IN_POOL: Final = 2**31 - 1
_FEW: Final = 1000
_REMOVAL_COST: Final = 4  # of a fact; adding one costs 1
_LAST_USED: Final = 8  # temporary indexes that stay whatever their size, for one query may use several
_CHECKED_AFTER: Final = 1 << 20  # bytes that indexes grow by before the size of temporary ones is checked
_MOST_AT_FIRST: Final = 1 << 18  # facts for whose keys a new table has twice the capacity


class Indexes:
    """All indexes of an engine, by number."""

    def __init__(self) -> None:
        self.meta: npt.NDArray[np.int64] = np.zeros((8, FIELDS), np.int64)
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._of_predicate: dict[int, list[int]] = {}
        self._total: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        """Bytes that pools and records use; compiled code adds to it."""
        self._slot_bytes = 0
        self._temporary: dict[int, None] = {}
        """Temporary indexes, the least recently used first."""
        self._checked_bytes = 0
        """Bytes in use when the size of temporary indexes was last checked."""
        self._slots: list[npt.NDArray[np.uint64]] = []
        self._pools: list[npt.NDArray[np.int32]] = []
        self._records: list[npt.NDArray[np.int32]] = []

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        """Bytes in use: running totals, for a run looks at them after every component."""
        return int(self._total[0]) + self._slot_bytes + self.meta.nbytes

    def number(
        self, predicate: int, columns: tuple[int, ...], expected: int = 0, *, temporary: bool = False
    ) -> int:
        """The index of a predicate on columns, created empty if it is new; it will see this many facts or
        more.  `temporary`: a query asks for it."""
        key = (predicate, columns)
        if key in self._numbers:
            number = self._numbers[key]
            if self._temporary.pop(number, number) is None and temporary:
                self._temporary[number] = None  # the last used is the last
            return number
        number = self._numbers[key] = len(self._slots)
        if temporary:
            self._temporary[number] = None
        self._of_predicate.setdefault(predicate, []).append(number)
        if number == len(self.meta):
            self.meta = np.concatenate([self.meta, np.zeros_like(self.meta)])
        missing = COLUMN + len(columns) - self.meta.shape[1]
        if missing > 0:
            self.meta = np.pad(self.meta, ((0, 0), (0, missing)))
        row = self.meta[number]
        row[PREDICATE], row[WIDTH], row[TOTAL] = predicate, len(columns), self._total.ctypes.data
        row[COLUMN : COLUMN + len(columns)] = columns
        self._slots.append(np.empty(0, np.uint64))
        self._pools.append(np.empty(0, np.int32))
        self._records.append(np.empty(0, np.int32))
        self._put_slots(number, np.zeros(table_size(2 * min(expected, _MOST_AT_FIRST)), np.uint64))
        self._put_pool(number, np.empty(max(64, expected // 2), np.int32))
        self._put_records(number, np.empty(max(16, expected // 32) * RECORD, np.int32))
        return number

    def has(self, predicate: int, columns: tuple[int, ...]) -> bool:
        return (predicate, columns) in self._numbers

    def grow(self, number: int) -> None:
        """Grows what `catch_up` ran out of."""
        row = self.meta[number]
        if row[WANT] == WANT_KEYS:
            slots = np.zeros(int(row[SIZE]) * 2, np.uint64)
            move_entries(self._slots[number], slots)
            self._put_slots(number, slots)
        elif row[WANT] == WANT_POOL:
            used = int(row[POOL_USED])
            needed = used + max(int(row[WANT_SIZE]), used)
            self._put_pool(number, resized(self._pools[number], used, needed, MOST_IN_POOL))
        else:
            used = int(row[RECORD_COUNT]) * RECORD
            self._put_records(number, resized(self._records[number], used, 2 * used, MOST_IN_POOL))

    def catch_up(self, number: int, store: FactStore) -> None:
        while not catch_up(store.at, self.meta[number]):
            self.grow(number)

    def ids_of_key(self, number: int, store: FactStore, key: Sequence[int]) -> npt.NDArray[np.int32]:
        """The facts that have these values in the columns of an index, ascending; dead ones may be among
        them."""
        self.catch_up(number, store)
        code = np.array([-1 - value for value in key], np.int32)
        start, length, hashes = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint64)
        no_block = np.zeros((1, 1), np.int32)
        find_runs(store.at, self.meta[number], no_block, 1, code, 0, hashes, start, length)
        if start[0] < 0:
            return np.array([-1 - start[0]], np.int32)
        return self._pools[number][start[0] : start[0] + length[0]].copy()

    def groups(self, number: int, store: FactStore) -> npt.NDArray[np.int32]:
        """The first fact of the new state of every key of an index, ascending."""
        self.catch_up(number, store)
        out = np.empty(int(self.meta[number, KEYS]), np.int32)
        return np.sort(out[: first_facts(store.at, self.meta[number], out)])

    def truncate(self, store: FactStore, length: int, indexes: int) -> None:
        """Removes facts with ids of `length` and more from every index, before the store forgets them; only
        the first `indexes` indexes stay."""
        if indexes < len(self):
            for key in [key for key, number in self._numbers.items() if number >= indexes]:
                self._of_predicate[key[0]].remove(self._numbers.pop(key))
            for number in range(indexes, len(self)):
                self._total[0] -= _bytes_used(self.meta[number])
                self._slot_bytes -= self._slots[number].nbytes
                self._temporary.pop(number, None)
            del self._slots[indexes:], self._pools[indexes:], self._records[indexes:]
            self.meta[indexes:] = 0
        for number in np.flatnonzero(self.meta[: len(self), CAUGHT_UP] > length).tolist():
            truncate_index(store.at, self.meta[number], length)

    def end_query(self, store: FactStore, length: int, first: int, predicates: int, most: int) -> None:
        """Removes facts with ids of `length` and more.  Of the indexes from number `first` on, which the
        query created, those of its own relations go, which have numbers from `predicates` on.  Then
        temporary indexes take at most this many bytes, or are those that were used last."""
        if len(self) > first:
            created = {number: key for key, number in self._numbers.items() if number >= first}
            own = next((n for n in sorted(created) if created[n][0] >= predicates), len(self))
            lost = [created[n] for n in range(own, len(self)) if created[n][0] < predicates]
            self.truncate(store, length, own)
            for predicate, columns in lost:  # the next query finds it before its own ones, and fills it
                self.number(predicate, columns, store.count(predicate), temporary=True)
        else:
            self.truncate(store, length, first)
        if self.nbytes > self._checked_bytes + _CHECKED_AFTER:
            self._release_unused(most)

    def _release_unused(self, most: int) -> None:
        filled = {number: self._capacity(number) for number in self._temporary if self.meta[number, KEYS]}
        total = sum(filled.values())
        for number in list(filled)[:-_LAST_USED]:
            if total > most:
                total -= filled[number]
                self._release(number)
        self._checked_bytes = self.nbytes

    def release_temporary(self) -> None:
        """Empties all temporary indexes."""
        for number in self._temporary:
            self._release(number)
        self._checked_bytes = self.nbytes

    def _release(self, number: int) -> None:
        """Empties a temporary index, and releases its memory."""
        self._empty(number)
        self._put_slots(number, np.zeros(table_size(0), np.uint64))
        self._put_pool(number, np.empty(64, np.int32))
        self._put_records(number, np.empty(16 * RECORD, np.int32))

    def _capacity(self, number: int) -> int:
        return self._slots[number].nbytes + self._pools[number].nbytes + self._records[number].nbytes

    def indexes_to_update(self, facts: Facts, predicate: int, dead: int) -> Sequence[int]:
        """The indexes from which this many dead facts of a predicate are to be removed.  Indexes that lose
        many facts have been emptied, and are filled again when they are next read."""
        numbers = self._of_predicate.get(predicate, ())
        if dead > _FEW and dead * _REMOVAL_COST > facts.extent[predicate, COUNT]:
            for number in numbers:
                self._empty(number)
            return ()
        return numbers

    def _empty(self, number: int) -> None:
        row = self.meta[number]
        self._total[0] -= _bytes_used(row)
        for field in (KEYS, POOL_USED, RECORD_COUNT, CAUGHT_UP, FREE_RECORD):
            row[field] = 0
        row[FREE:COLUMN] = 0
        self._slots[number][:] = 0

    def _put_slots(self, number: int, slots: npt.NDArray[np.uint64]) -> None:
        self._slot_bytes += slots.nbytes - self._slots[number].nbytes
        self._slots[number] = slots
        row = self.meta[number]
        row[SLOTS], row[SIZE], row[SHIFT] = slots.ctypes.data, len(slots), 65 - len(slots).bit_length()

    def _put_pool(self, number: int, pool: npt.NDArray[np.int32]) -> None:
        self._pools[number] = pool
        self.meta[number, POOL], self.meta[number, POOL_SIZE] = pool.ctypes.data, len(pool)

    def _put_records(self, number: int, records: npt.NDArray[np.int32]) -> None:
        self._records[number] = records
        self.meta[number, RECORDS] = records.ctypes.data
        self.meta[number, RECORD_SIZE] = len(records) // RECORD


def _bytes_used(row: npt.NDArray[np.int64]) -> int:
    """Bytes of the pool and the records of an index that are in use."""
    return 4 * int(row[POOL_USED] + row[RECORD_COUNT] * RECORD)
