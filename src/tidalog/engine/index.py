"""Indexes: from the values of some columns to the facts that have them.

An index is created for a predicate and a set of columns when a plan asks for it, and is caught up with new
facts in bulk just before it is probed, and only then.  Per distinct key:

    one fact       the slot itself holds the fact id; nothing else is spent
    more           the slot names a *record* (start, length, capacity, first value of the key, dead facts) of
                   a run in the pool: fact ids in rising order, contiguous.  A full run moves to one of twice
                   the size; a list per size keeps what it leaves for reuse.

So a probe ends in a contiguous, ascending run that a bound on ids cuts by bisection.  An index without
columns has one key, and its run is all facts of the predicate.  Python owns the arrays; compiled code gets
their addresses in one row of `meta` per index, which Python rewrites when an array grows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.bits import DELETED, PRESENT, TOUCHED
from tidalog.engine.fact_kernels import COUNT, DEAD, FACTS, FIRST, LAST, NONE, Facts
from tidalog.engine.hash_table import (
    EMPTY,
    HALF,
    LOW32,
    ONE,
    has_capacity,
    make_entry,
    move_entries,
    remove_entry,
    table_shift,
    table_size,
)
from tidalog.engine.jit import (
    compiled,
    entry,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    int64_at,
    uint64_at,
)
from tidalog.engine.memory import resized

# Fields of a row of `meta`.
SLOTS: Final = 0  # address of the hash table
SIZE: Final = 1  # its length, a power of two
KEYS: Final = 2  # keys in it
POOL: Final = 3  # address of the pool of runs
POOL_SIZE: Final = 4
POOL_USED: Final = 5
RECORDS: Final = 6  # address of the records, RECORD numbers each
RECORD_SIZE: Final = 7  # capacity in records
RECORD_COUNT: Final = 8
CAUGHT_UP: Final = 9  # facts below this id are in the index
PREDICATE: Final = 10
WIDTH: Final = 11  # columns in the key
WANT: Final = 12  # what catch_up ran out of: WANT_KEYS, WANT_POOL or WANT_RECORDS
WANT_SIZE: Final = 13  # for WANT_POOL: how much
FREE_RECORD: Final = 14  # first free record, + 1; 0 is none
TOTAL: Final = 15  # address of the bytes that the pools and records of all indexes use
FREE: Final = 16  # FREE + k: first free run of size 2^k in the pool, + 1; 0 is none
COLUMN: Final = 48  # COLUMN + j: the j-th column of the key
FIELDS: Final = 128
RECORD: Final = 5
START: Final = 0
LENGTH: Final = 1
CAPACITY: Final = 2
VALUE_OF_KEY: Final = 3  # the value in the key's first column; with one column, that is the key
GONE: Final = 4  # ids of the run whose facts are gone
MOST_MOVED: Final = 128  # ids that are moved to close a gap; a longer run is cleared once a quarter is gone

MOST_IN_POOL: Final = 2**31 - 1
_FEW: Final = 1000
_DEARER: Final = 4  # times that taking a fact out is dearer than putting one in
_MOST_AT_FIRST: Final = 1 << 18  # facts for whose keys a new table has twice the capacity

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
        self._of_predicate: dict[int, list[int]] = {}
        self._total: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        """Bytes that pools and records use; compiled code adds to it."""
        self._slot_bytes = 0
        self._slots: list[npt.NDArray[np.uint64]] = []
        self._pools: list[npt.NDArray[np.int32]] = []
        self._records: list[npt.NDArray[np.int32]] = []

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        """Bytes in use: running totals, for a run looks at them after every component."""
        return int(self._total[0]) + self._slot_bytes + self.meta.nbytes

    def number(self, predicate: int, columns: tuple[int, ...], expected: int = 0) -> int:
        """The index of a predicate on columns, created empty if it is new; it will see so many facts or
        more."""
        key = (predicate, columns)
        if key in self._numbers:
            return self._numbers[key]
        number = self._numbers[key] = len(self._slots)
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

    def catch_up(self, number: int, facts: Facts) -> None:
        while not catch_up(facts, self.meta[number]):
            self.grow(number)

    def groups(self, number: int, facts: Facts) -> npt.NDArray[np.int32]:
        """The first fact of the new state of every key of an index, ascending."""
        self.catch_up(number, facts)
        out = np.empty(int(self.meta[number, KEYS]), np.int32)
        return np.sort(out[: first_facts(facts, self.meta[number], out)])

    def truncate(self, facts: Facts, length: int, indexes: int) -> None:
        """Removes facts with ids of `length` and more from every index, before the store forgets them; only
        the first `indexes` indexes stay."""
        for key in [key for key, number in self._numbers.items() if number >= indexes]:
            self._of_predicate[key[0]].remove(self._numbers.pop(key))
        for number in range(indexes, len(self)):
            self._total[0] -= _bytes_used(self.meta[number])
            self._slot_bytes -= self._slots[number].nbytes
        del self._slots[indexes:], self._pools[indexes:], self._records[indexes:]
        self.meta[indexes:] = 0
        for number in range(len(self)):
            truncate_index(facts, self.meta[number], length)

    def remove_facts(self, facts: Facts, ids: npt.NDArray[np.int32], dead: npt.NDArray[np.int64]) -> None:
        """Removes dead facts from the indexes of their predicates, of which `dead` says how many each has;
        the rows are still there.  An index that loses much is emptied, and filled again when it is next
        read."""
        for numbers in self.indexes_to_update(facts, dead).values():
            for number in numbers:
                remove_facts(facts, self.meta[number], ids)

    def indexes_to_update(self, facts: Facts, dead: npt.NDArray[np.int64]) -> dict[int, list[int]]:
        """Predicate → the indexes that its dead facts are to be taken out of; those that lose much have been
        emptied."""
        found: dict[int, list[int]] = {}
        for predicate in np.flatnonzero(dead).tolist():
            count, numbers = int(dead[predicate]), self._of_predicate.get(predicate, [])
            if count > _FEW and count * _DEARER > facts.extent[predicate, COUNT]:
                for number in numbers:
                    self._empty(number)
            elif numbers:
                found[predicate] = numbers
        return found

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
        self.meta[number, SLOTS], self.meta[number, SIZE] = slots.ctypes.data, len(slots)

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


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def use_bytes(row: np.ndarray, more: int) -> None:
    """Adds to the bytes in use of all indexes."""
    int64_at(row[TOTAL], 1)[0] += more


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
    """A run of 2^size_class ids, or NONE if the pool is used up."""
    free = row[FREE + size_class]
    if free > 0:
        start = int64(free - 1)
        row[FREE + size_class] = pool[start]
        return start
    start = int64(row[POOL_USED])
    if start + (1 << size_class) > row[POOL_SIZE]:
        row[WANT] = WANT_POOL
        row[WANT_SIZE] = 1 << size_class
        return NONE
    row[POOL_USED] = start + (1 << size_class)
    use_bytes(row, 4 << size_class)
    return start


@compiled
def size_class_of(size: int) -> int:
    k = 0
    while (1 << k) < size:
        k += 1
    return k


@entry
def catch_up(facts: Facts, row: Int64s) -> bool:
    """Adds the facts that came since.  False: an array is full; grow the index and call again."""
    slots = uint64_at(row[SLOTS], row[SIZE])
    pool = int32_at(row[POOL], row[POOL_SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    mask, shift = np.uint64(row[SIZE] - 1), table_shift(row[SIZE])
    predicate, width, first_column = row[PREDICATE], row[WIDTH], row[COLUMN]
    arguments, offset = facts.arguments, facts.offset
    end = facts.state[FACTS]
    all_live = facts.state[DEAD] == 0
    extent = facts.extent[predicate]
    # All facts of the predicate lie in its extent; the rest of the store need not be looked at.
    for f in range(max(row[CAUGHT_UP], extent[FIRST]), min(end, extent[LAST] + 1) if extent[COUNT] else 0):
        here = int64(offset[f])
        if arguments[here - 1] != predicate or not (all_live or facts.status[f] & (PRESENT | TOUCHED)):
            continue  # gone for good; what is TOUCHED may come back if the update fails
        h = key_hash(arguments, here, row, width)
        value_of_key = arguments[here + first_column] if width > 0 else 0
        tag = h >> HALF
        s = h >> shift
        while True:
            entry = slots[s]
            if entry == EMPTY:
                if not has_capacity(row[KEYS] + 1, row[SIZE]):
                    row[WANT] = WANT_KEYS
                    row[CAUGHT_UP] = f
                    return False
                slots[s] = make_entry(h, f + 1)
                row[KEYS] += 1
                break
            if entry >> HALF == tag:
                value = entry & LOW32
                if value & IS_RECORD:
                    at = int64(value & VALUE) * RECORD
                    start, length = records[at + START], records[at + LENGTH]
                    if records[at + VALUE_OF_KEY] == value_of_key and (
                        width <= 1 or same_key(arguments, int64(offset[pool[start]]), here, row, width)
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
                    first = int64(value) - 1
                    if same_key(arguments, int64(offset[first]), here, row, width):
                        record = row[FREE_RECORD] - 1 if row[FREE_RECORD] > 0 else row[RECORD_COUNT]
                        if record >= row[RECORD_SIZE]:
                            row[WANT] = WANT_RECORDS
                            row[CAUGHT_UP] = f
                            return False
                        run = new_run(row, pool, 1)
                        if run < 0:
                            row[CAUGHT_UP] = f
                            return False
                        if row[FREE_RECORD] > 0:
                            row[FREE_RECORD] = records[record * RECORD + START]
                        else:
                            row[RECORD_COUNT] = record + 1
                            use_bytes(row, 4 * RECORD)
                        pool[run] = first
                        pool[run + 1] = f
                        records[record * RECORD + START] = np.int32(run)
                        records[record * RECORD + LENGTH] = 2
                        records[record * RECORD + CAPACITY] = 2
                        records[record * RECORD + VALUE_OF_KEY] = value_of_key
                        records[record * RECORD + GONE] = 0
                        slots[s] = make_entry(h, record) | IS_RECORD
                        break
            s = (s + ONE) & mask
    row[CAUGHT_UP] = end
    return True


@entry
def truncate_index(facts: Facts, row: Int64s, length: int) -> None:
    slots = uint64_at(row[SLOTS], row[SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    pool = int32_at(row[POOL], row[POOL_SIZE])
    mask, shift = np.uint64(row[SIZE] - 1), table_shift(row[SIZE])
    arguments, offset, width = facts.arguments, facts.offset, row[WIDTH]
    for f in range(row[CAUGHT_UP] - 1, length - 1, -1):
        here = int64(offset[f])
        if arguments[here - 1] != row[PREDICATE]:
            continue
        h = key_hash(arguments, here, row, width)
        s = h >> shift
        while True:
            entry = slots[s]
            value = entry & LOW32
            if entry >> HALF == h >> HALF:
                if value & IS_RECORD:
                    at = int64(value & VALUE) * RECORD
                    if same_key(arguments, int64(offset[pool[records[at + START]]]), here, row, width):
                        if pool[records[at + START] + records[at + LENGTH] - 1] == f:
                            records[at + LENGTH] -= 1
                            shorten(row, slots, pool, records, s, at)
                        break
                elif int64(value) - 1 == f:
                    remove_entry(slots, s)
                    row[KEYS] -= 1
                    break
            elif entry == EMPTY:
                break
            s = (s + ONE) & mask
    if row[CAUGHT_UP] > length:
        row[CAUGHT_UP] = length


@compiled
def shorten(
    row: np.ndarray, slots: np.ndarray, pool: np.ndarray, records: np.ndarray, s: np.uint64, at: int
) -> None:
    """After ids have left a run: a key with one fact has it in its slot, a key without any has no slot."""
    length, start = records[at + LENGTH], records[at + START]
    if length > 1:
        return
    if length == 1:
        slots[s] = make_entry(slots[s], pool[start] + 1)
    else:
        remove_entry(slots, s)
        row[KEYS] -= 1
    size_class = size_class_of(records[at + CAPACITY])
    pool[start] = np.int32(row[FREE + size_class])
    row[FREE + size_class] = start + 1
    records[at + START] = np.int32(row[FREE_RECORD])
    row[FREE_RECORD] = at // RECORD + 1


@entry
def remove_facts(facts: Facts, row: Int64s, ids: Int32s) -> None:
    """Removes dead facts.  From the end of a long run the gap is not closed at once: the id stays, its fact
    is not PRESENT, and the run is cleared when a quarter of it is such."""
    slots = uint64_at(row[SLOTS], row[SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    pool = int32_at(row[POOL], row[POOL_SIZE])
    mask, shift = np.uint64(row[SIZE] - 1), table_shift(row[SIZE])
    arguments, offset, width = facts.arguments, facts.offset, row[WIDTH]
    for i in range(len(ids)):
        f = ids[i]
        here = int64(offset[f])
        if f >= row[CAUGHT_UP] or arguments[here - 1] != row[PREDICATE]:
            continue
        h = key_hash(arguments, here, row, width)
        s = h >> shift
        while True:
            entry = slots[s]
            if entry == EMPTY:
                break
            value = entry & LOW32
            if entry >> HALF == h >> HALF:
                if value & IS_RECORD:
                    at = int64(value & VALUE) * RECORD
                    start = records[at + START]
                    if same_key(arguments, int64(offset[pool[start]]), here, row, width):
                        remove_from_run(facts, pool, records, at, f)
                        shorten(row, slots, pool, records, s, at)
                        break
                elif int64(value) - 1 == f:
                    remove_entry(slots, s)
                    row[KEYS] -= 1
                    break
            s = (s + ONE) & mask


@compiled
def remove_from_run(facts: Facts, pool: np.ndarray, records: np.ndarray, at: int, fact: int) -> None:
    start, length = int64(records[at + START]), int64(records[at + LENGTH])
    low, high = 0, length
    while low < high:
        middle = (low + high) >> 1
        if pool[start + middle] < fact:
            low = middle + 1
        else:
            high = middle
    if low == length or pool[start + low] != fact:
        return
    if length - low <= MOST_MOVED:
        for k in range(start + low, start + length - 1):
            pool[k] = pool[k + 1]
        records[at + LENGTH] = length - 1
    else:
        records[at + GONE] += 1
    if records[at + GONE] * 4 > records[at + LENGTH]:
        kept = 0
        for k in range(start, start + records[at + LENGTH]):
            if facts.status[pool[k]] & PRESENT:
                pool[start + kept] = pool[k]
                kept += 1
        records[at + LENGTH] = kept
        records[at + GONE] = 0


@entry
def first_facts(facts: Facts, row: Int64s, out: Int32s) -> int:
    """The first fact of the new state of every key that has one, in no order; how many."""
    slots = uint64_at(row[SLOTS], row[SIZE])
    records = int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD)
    pool = int32_at(row[POOL], row[POOL_SIZE])
    count = 0
    for s in range(row[SIZE]):
        entry = slots[s]
        if entry != EMPTY:
            value = entry & LOW32
            if value & IS_RECORD:
                at = int64(value & VALUE) * RECORD
                for k in range(records[at + START], records[at + START] + records[at + LENGTH]):
                    if (facts.status[pool[k]] & (PRESENT | DELETED)) == PRESENT:
                        out[count] = pool[k]
                        count += 1
                        break
            else:
                fact = int64(value) - 1
                if (facts.status[fact] & (PRESENT | DELETED)) == PRESENT:
                    out[count] = fact
                    count += 1
    return count
