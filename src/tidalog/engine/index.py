"""Indexes: from the values of some columns to the facts that have them.

An index is made for a predicate and a set of columns when a plan asks for it, and is caught up with new facts
in bulk just before it is probed, and only then.  Per distinct key:

    one fact       the slot itself holds the fact id; nothing else is spent
    more           the slot names a *record* (start, length, capacity, first value of the key) of a run in the
                   pool: fact ids in rising order, contiguous.  A full run moves to one of twice the size;
                   the room it leaves is kept in a list per size and used again.

So a probe ends in a contiguous, ascending run that a bound on ids cuts by bisection.  An index without
columns has one key, and its run is all facts of the predicate.  Python owns the arrays; compiled code gets
their addresses in one row of `meta` per index, which Python rewrites when an array grows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.fact_kernels import COUNT, FACTS, FIRST, LAST, NONE, Facts
from tidalog.engine.memory import resized
from tidalog.engine.native import (
    compiled,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    uint64_at,
)
from tidalog.engine.table import (
    EMPTY,
    HALF,
    LOW32,
    ONE,
    has_room,
    make_entry,
    move_entries,
    remove_entry,
    table_shift,
    table_size,
)

# Fields of a row of `meta`.
SLOTS: Final = 0  # address of the hash table
SIZE: Final = 1  # its length, a power of two
KEYS: Final = 2  # keys in it
POOL: Final = 3  # address of the pool of runs
POOL_SIZE: Final = 4
POOL_USED: Final = 5
RECORDS: Final = 6  # address of the records, RECORD numbers each
RECORD_SIZE: Final = 7  # records there is room for
RECORD_COUNT: Final = 8
CAUGHT_UP: Final = 9  # facts below this id are in the index
PREDICATE: Final = 10
WIDTH: Final = 11  # columns in the key
WANT: Final = 12  # what catch_up ran out of: WANT_KEYS, WANT_POOL or WANT_RECORDS
WANT_SIZE: Final = 13  # for WANT_POOL: how much
FREE: Final = 16  # FREE + k: first free run of size 2^k in the pool, + 1; 0 is none
COLUMN: Final = 48  # COLUMN + j: the j-th column of the key
FIELDS: Final = 128
RECORD: Final = 4
START: Final = 0
LENGTH: Final = 1
CAPACITY: Final = 2
VALUE_OF_KEY: Final = 3  # the value in the key's first column; with one column, that is the key

MOST_IN_POOL: Final = 2**31 - 1
_MOST_AT_FIRST: Final = 1 << 18  # facts for whose keys there is room from the start, and a table half empty

WANT_KEYS: Final = 1
WANT_POOL: Final = 2
WANT_RECORDS: Final = 3

IS_RECORD: Final = np.uint64(1 << 31)
VALUE: Final = np.uint64((1 << 31) - 1)


class Indexes:
    """All indexes of an engine, by number."""

    def __init__(self) -> None:
        self.meta: npt.NDArray[np.int64] = np.zeros((8, FIELDS), np.int64)
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._slots: list[npt.NDArray[np.uint64]] = []
        self._pools: list[npt.NDArray[np.int32]] = []
        self._records: list[npt.NDArray[np.int32]] = []

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        used = 4 * (self.meta[:, POOL_USED] + self.meta[:, RECORD_COUNT] * RECORD)
        return int(used.sum()) + sum(slots.nbytes for slots in self._slots) + self.meta.nbytes

    def number(self, predicate: int, columns: tuple[int, ...], expected: int = 0) -> int:
        """The index of a predicate on columns, made empty if it is new; it will see so many facts or more."""
        key = (predicate, columns)
        if key in self._numbers:
            return self._numbers[key]
        number = self._numbers[key] = len(self._slots)
        if number == len(self.meta):
            self.meta = np.concatenate([self.meta, np.zeros_like(self.meta)])
        missing = COLUMN + len(columns) - self.meta.shape[1]
        if missing > 0:
            self.meta = np.pad(self.meta, ((0, 0), (0, missing)))
        row = self.meta[number]
        row[PREDICATE], row[WIDTH] = predicate, len(columns)
        row[COLUMN : COLUMN + len(columns)] = columns
        self._slots.append(np.empty(0, np.uint64))
        self._pools.append(np.empty(0, np.int32))
        self._records.append(np.empty(0, np.int32))
        self._put_slots(number, np.zeros(table_size(2 * min(expected, _MOST_AT_FIRST)), np.uint64))
        self._put_pool(number, np.empty(max(64, expected // 2), np.int32))
        self._put_records(number, np.empty(max(16, expected // 32) * RECORD, np.int32))
        return number

    def grow(self, number: int) -> None:
        """Makes room for what `catch_up` ran out of."""
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

    def catch_up(self, number: int, facts: Facts) -> None:
        while not catch_up(facts, self.meta[number]):
            self.grow(number)

    def groups(self, number: int, facts: Facts) -> npt.NDArray[np.int32]:
        """The first fact of every key of an index, ascending."""
        self.catch_up(number, facts)
        out = np.empty(int(self.meta[number, KEYS]), np.int32)
        first_facts(self.meta[number], out)
        return np.sort(out)

    def truncate(self, facts: Facts, length: int) -> None:
        """Takes facts with ids of `length` and more out of every index; before the store forgets them."""
        for number in range(len(self)):
            truncate_index(facts, self.meta[number], length)

    def _put_slots(self, number: int, slots: npt.NDArray[np.uint64]) -> None:
        self._slots[number] = slots
        self.meta[number, SLOTS], self.meta[number, SIZE] = slots.ctypes.data, len(slots)

    def _put_pool(self, number: int, pool: npt.NDArray[np.int32]) -> None:
        self._pools[number] = pool
        self.meta[number, POOL], self.meta[number, POOL_SIZE] = pool.ctypes.data, len(pool)

    def _put_records(self, number: int, records: npt.NDArray[np.int32]) -> None:
        self._records[number] = records
        self.meta[number, RECORDS] = records.ctypes.data
        self.meta[number, RECORD_SIZE] = len(records) // RECORD


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def key_hash(arguments: np.ndarray, at: int, row: np.ndarray, width: int) -> np.uint64:
    h = hash_start(0)
    for j in range(width):
        h = hash_add(h, arguments[at + row[COLUMN + j]])
    return hash_end(h)


@inlined
def same_key(arguments: np.ndarray, one: int, other: int, row: np.ndarray, width: int) -> bool:
    same = True
    for j in range(width):
        c = row[COLUMN + j]
        if arguments[one + c] != arguments[other + c]:
            same = False
            break
    return same


@compiled
def new_run(row: np.ndarray, pool: np.ndarray, size_class: int) -> int:
    """Room for 2^size_class ids, or NONE if the pool is used up."""
    free = row[FREE + size_class]
    if free > 0:
        start = free - 1
        row[FREE + size_class] = pool[start]
        return start
    start = row[POOL_USED]
    if start + (1 << size_class) > row[POOL_SIZE]:
        row[WANT] = WANT_POOL
        row[WANT_SIZE] = 1 << size_class
        return NONE
    row[POOL_USED] = start + (1 << size_class)
    return start


@compiled
def size_class_of(size: int) -> int:
    k = 0
    while (1 << k) < size:
        k += 1
    return k


@compiled
def catch_up(facts: Facts, row: np.ndarray) -> bool:
    """Adds the facts that came since.  False: out of room somewhere; grow the index and call again."""
    slots = uint64_at(row[SLOTS], row[SIZE])
    pool = int32_at(row[POOL], row[POOL_SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    mask, shift = np.uint64(row[SIZE] - 1), table_shift(row[SIZE])
    predicate, width, first_column = row[PREDICATE], row[WIDTH], row[COLUMN]
    arguments, offset = facts.arguments, facts.offset
    end = facts.state[FACTS]
    extent = facts.extent[predicate]
    # All facts of the predicate lie in its extent; the rest of the store need not be looked at.
    for f in range(max(row[CAUGHT_UP], extent[FIRST]), min(end, extent[LAST] + 1) if extent[COUNT] else 0):
        here = np.int64(offset[f])
        if arguments[here - 1] != predicate:
            continue
        h = key_hash(arguments, here, row, width)
        value_of_key = arguments[here + first_column] if width > 0 else 0
        tag = h >> HALF
        s = h >> shift
        while True:
            entry = slots[s]
            if entry == EMPTY:
                if not has_room(row[KEYS] + 1, row[SIZE]):
                    row[WANT] = WANT_KEYS
                    row[CAUGHT_UP] = f
                    return False
                slots[s] = make_entry(h, f + 1)
                row[KEYS] += 1
                break
            if entry >> HALF == tag:
                value = entry & LOW32
                if value & IS_RECORD:
                    at = np.int64(value & VALUE) * RECORD
                    start, length = records[at + START], records[at + LENGTH]
                    if records[at + VALUE_OF_KEY] == value_of_key and (
                        width <= 1 or same_key(arguments, np.int64(offset[pool[start]]), here, row, width)
                    ):
                        if length == records[at + CAPACITY]:
                            size_class = size_class_of(length)
                            moved = new_run(row, pool, size_class + 1)
                            if moved < 0:
                                row[CAUGHT_UP] = f
                                return False
                            for k in range(length):
                                pool[moved + k] = pool[start + k]
                            pool[start] = np.int32(row[FREE + size_class])
                            row[FREE + size_class] = start + 1
                            records[at + START] = np.int32(moved)
                            records[at + CAPACITY] = length * 2
                            start = moved
                        pool[start + length] = f
                        records[at + LENGTH] = length + 1
                        break
                else:
                    first = np.int64(value) - 1
                    if same_key(arguments, np.int64(offset[first]), here, row, width):
                        record = row[RECORD_COUNT]
                        if record >= row[RECORD_SIZE]:
                            row[WANT] = WANT_RECORDS
                            row[CAUGHT_UP] = f
                            return False
                        run = new_run(row, pool, 1)
                        if run < 0:
                            row[CAUGHT_UP] = f
                            return False
                        pool[run] = first
                        pool[run + 1] = f
                        records[record * RECORD + START] = np.int32(run)
                        records[record * RECORD + LENGTH] = 2
                        records[record * RECORD + CAPACITY] = 2
                        records[record * RECORD + VALUE_OF_KEY] = value_of_key
                        row[RECORD_COUNT] = record + 1
                        slots[s] = make_entry(h, record) | IS_RECORD
                        break
            s = (s + ONE) & mask
    row[CAUGHT_UP] = end
    return True


@compiled
def truncate_index(facts: Facts, row: np.ndarray, length: int) -> None:
    slots = uint64_at(row[SLOTS], row[SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    pool = int32_at(row[POOL], row[POOL_SIZE])
    mask, shift = np.uint64(row[SIZE] - 1), table_shift(row[SIZE])
    arguments, offset, width = facts.arguments, facts.offset, row[WIDTH]
    for f in range(row[CAUGHT_UP] - 1, length - 1, -1):
        here = np.int64(offset[f])
        if arguments[here - 1] != row[PREDICATE]:
            continue
        h = key_hash(arguments, here, row, width)
        s = h >> shift
        while True:
            entry = slots[s]
            value = entry & LOW32
            if entry >> HALF == h >> HALF:
                if value & IS_RECORD:
                    at = np.int64(value & VALUE) * RECORD
                    if same_key(arguments, np.int64(offset[pool[records[at + START]]]), here, row, width):
                        left = records[at + LENGTH] - 1
                        if left == 1:
                            # Back to a slot that holds its one fact; the record stays unused.
                            start = records[at + START]
                            slots[s] = make_entry(h, pool[start] + 1)
                            size_class = size_class_of(records[at + CAPACITY])
                            pool[start] = np.int32(row[FREE + size_class])
                            row[FREE + size_class] = start + 1
                        else:
                            records[at + LENGTH] = left
                        break
                elif np.int64(value) - 1 == f:
                    remove_entry(slots, s)
                    row[KEYS] -= 1
                    break
            s = (s + ONE) & mask
    if row[CAUGHT_UP] > length:
        row[CAUGHT_UP] = length


@compiled
def first_facts(row: np.ndarray, out: np.ndarray) -> int:
    """The first fact of every key, in no order; how many."""
    slots = uint64_at(row[SLOTS], row[SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    pool = int32_at(row[POOL], row[POOL_SIZE])
    count = 0
    for s in range(row[SIZE]):
        entry = slots[s]
        if entry != EMPTY:
            value = entry & LOW32
            if value & IS_RECORD:
                out[count] = pool[records[np.int64(value & VALUE) * RECORD + START]]
            else:
                out[count] = np.int32(np.int64(value) - 1)
            count += 1
    return count
