"""Indexes in compiled code: from the values of some columns to the facts that have them.

Per distinct key an index has

    one fact       the slot itself holds the fact id; no other memory is used
    more           the slot names a *record* (start, length, capacity, first value of the key, dead facts) of
                   a run in the pool: fact ids in rising order, contiguous.  A full run moves to one of twice
                   the size; a list per size keeps what it leaves for reuse.

So a probe ends in a contiguous, ascending run that a bound on ids cuts by bisection.  An index without
columns has one key, and its run is all facts of the predicate.  Python owns the arrays (`index`); compiled
code gets their addresses in one row of `meta` per index, which Python rewrites when an array grows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tidalog.engine.array_types import Int32s, Int64s, Uint64s, int64
from tidalog.engine.bits import DELETED, PRESENT, TOUCHED
from tidalog.engine.fact_kernels import AHEAD, CACHED, COUNT, DEAD, FACTS, FAR_AHEAD, FIRST, LAST, NONE, Facts
from tidalog.engine.hash_table import EMPTY, HALF, LOW32, ONE, has_capacity, make_entry, remove_entry
from tidalog.engine.jit import (
    compiled,
    entry,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    int64_at,
    prefetch,
    uint64_at,
)

# Fields of a row of `meta`.
SLOTS: Final = 0  # address of the hash table
SIZE: Final = 1  # its length, a power of two
SHIFT: Final = 2  # how far a hash is shifted to the right to give its home
KEYS: Final = 3  # keys in it
POOL: Final = 4  # address of the pool of runs
POOL_SIZE: Final = 5
POOL_USED: Final = 6
RECORDS: Final = 7  # address of the records, RECORD numbers each
RECORD_SIZE: Final = 8  # capacity in records
RECORD_COUNT: Final = 9
CAUGHT_UP: Final = 10  # facts below this id are in the index
PREDICATE: Final = 11
WIDTH: Final = 12  # columns in the key
WANT: Final = 13  # what catch_up ran out of: WANT_KEYS, WANT_POOL or WANT_RECORDS
WANT_SIZE: Final = 14  # for WANT_POOL: how much
FREE_RECORD: Final = 15  # first free record, + 1; 0 is none
TOTAL: Final = 16  # address of the bytes that the pools and records of all indexes use
FREE: Final = 17  # FREE + k: first free run of size 2^k in the pool, + 1; 0 is none
COLUMN: Final = 49  # COLUMN + j: the j-th column of the key
FIELDS: Final = 128
RECORD: Final = 5
START: Final = 0
LENGTH: Final = 1
CAPACITY: Final = 2
VALUE_OF_KEY: Final = 3  # the value in the key's first column; with one column, that is the key
GONE: Final = 4  # ids of the run whose facts are gone
MOST_MOVED: Final = 128  # ids that are moved to close a gap; a longer run is cleared once a quarter is gone

WANT_KEYS: Final = 1
WANT_POOL: Final = 2
WANT_RECORDS: Final = 3

IS_RECORD: Final = np.uint64(1 << 31)
VALUE: Final = np.uint64((1 << 31) - 1)


class Index(NamedTuple):
    """The arrays of an index."""

    slots: Uint64s
    shift: np.uint64  # SHIFT
    records: Int32s
    pool: Int32s


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def index_at(row: np.ndarray) -> Index:
    return Index(
        uint64_at(row[SLOTS], row[SIZE]),
        np.uint64(row[SHIFT]),
        int32_at(row[RECORDS], row[RECORD_SIZE] * RECORD),
        pool_at(row),
    )


@inlined
def pool_at(row: np.ndarray) -> np.ndarray:
    return int32_at(row[POOL], row[POOL_SIZE])


@inlined
def fact_of_run(pool: np.ndarray, start: int, position: int) -> int:
    """The fact at a position of a run; the run of a single fact starts at -1 - fact."""
    return int64(-1 - start) if start < 0 else int64(pool[start + position])


@inlined
def run_of_entry(index: Index, entry: np.uint64) -> tuple[int, int]:
    """Start and length of the run that an entry of the table names."""
    value = entry & LOW32
    start, length = -int64(value), 1
    if value & IS_RECORD:
        at = int64(value & VALUE) * RECORD
        start, length = int64(index.records[at + START]), int64(index.records[at + LENGTH])
    return start, length


@inlined
def lower_bound(numbers: np.ndarray, low: int, high: int, number: int) -> int:
    """The first position in [low, high) whose number, of ascending ones, is not below this; else `high`."""
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


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


@inlined
def prefetch_key(facts: Facts, row: np.ndarray, index: Index, far: int, near: int) -> None:
    """Prefetches the memory that later facts will need: for the far one the slot of its key, for the near one
    what its slot names."""
    arguments, offset, width, predicate = facts.arguments, facts.offset, row[WIDTH], row[PREDICATE]
    at = int64(offset[far])
    if arguments[at - 1] == predicate:
        prefetch(index.slots, key_hash(arguments, at, row, width) >> index.shift)
    at = int64(offset[near])
    if arguments[at - 1] == predicate:
        h = key_hash(arguments, at, row, width)
        entry = index.slots[h >> index.shift]
        if entry >> HALF == h >> HALF:
            value = entry & LOW32
            if value & IS_RECORD:
                prefetch(index.records, int64(value & VALUE) * RECORD)
            else:
                prefetch(offset, int64(value) - 1)


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
    index = index_at(row)
    slots, records = index.slots, index.records
    mask = np.uint64(len(slots) - 1)
    predicate, width, first_column = row[PREDICATE], row[WIDTH], row[COLUMN]
    arguments, offset = facts.arguments, facts.offset
    end = facts.state[FACTS]
    all_live = facts.state[DEAD] == 0
    extent = facts.extent[predicate]
    # All facts of the predicate lie in its extent; the rest of the store need not be read.
    last = min(end - 1, extent[LAST]) if extent[COUNT] else -1
    is_far = row[SIZE] > CACHED
    for f in range(max(row[CAUGHT_UP], extent[FIRST]), last + 1):
        if is_far:
            prefetch_key(facts, row, index, min(f + FAR_AHEAD, last), min(f + AHEAD, last))
        here = int64(offset[f])
        if not (all_live or facts.status[f] & (PRESENT | TOUCHED)) or arguments[here - 1] != predicate:
            continue  # gone for good; what is TOUCHED may come back if the update fails
        h = key_hash(arguments, here, row, width)
        value_of_key = arguments[here + first_column] if width > 0 else 0
        s = h >> index.shift
        while True:
            entry = slots[s]
            if entry == EMPTY:
                added = has_capacity(row[KEYS] + 1, row[SIZE])
                if added:
                    slots[s] = make_entry(h, f + 1)
                    row[KEYS] += 1
                else:
                    row[WANT] = WANT_KEYS
                break
            if entry >> HALF == h >> HALF:
                value = entry & LOW32
                if value & IS_RECORD:
                    at = int64(value & VALUE) * RECORD
                    if records[at + VALUE_OF_KEY] == value_of_key and (
                        width <= 1
                        or same_key(
                            arguments, int64(offset[index.pool[records[at + START]]]), here, row, width
                        )
                    ):
                        added = append_to_run(row, index, at, f)
                        break
                else:
                    first = int64(value) - 1
                    if same_key(arguments, int64(offset[first]), here, row, width):
                        added = start_run(row, index, s, first, f, value_of_key)
                        break
            s = (s + ONE) & mask
        if not added:
            row[CAUGHT_UP] = f
            return False
    row[CAUGHT_UP] = end
    return True


@inlined
def append_to_run(row: np.ndarray, index: Index, at: int, fact: int) -> bool:
    """Adds a fact to the run of a record.  False: the pool is full."""
    records, pool = index.records, index.pool
    start, length = int64(records[at + START]), int64(records[at + LENGTH])
    if length == records[at + CAPACITY]:
        size_class = size_class_of(length)
        moved = new_run(row, pool, size_class + 1)
        if moved < 0:
            return False
        for k in range(length):
            pool[moved + k] = pool[start + k]
        pool[start] = row[FREE + size_class]
        row[FREE + size_class] = start + 1
        records[at + START] = moved
        records[at + CAPACITY] = length * 2
        start = moved
    pool[start + length] = fact
    records[at + LENGTH] = length + 1
    return True


@compiled
def start_run(row: np.ndarray, index: Index, s: np.uint64, first: int, fact: int, value_of_key: int) -> bool:
    """Gives a key with one fact, which its slot holds, a run with a second one.  False: an array is full."""
    records, pool = index.records, index.pool
    record = row[FREE_RECORD] - 1 if row[FREE_RECORD] > 0 else row[RECORD_COUNT]
    if record >= row[RECORD_SIZE]:
        row[WANT] = WANT_RECORDS
        return False
    run = new_run(row, pool, 1)
    if run < 0:
        return False
    at = record * RECORD
    if row[FREE_RECORD] > 0:
        row[FREE_RECORD] = records[at + START]
    else:
        row[RECORD_COUNT] = record + 1
        use_bytes(row, 4 * RECORD)
    pool[run] = first
    pool[run + 1] = fact
    records[at + START] = run
    records[at + LENGTH] = 2
    records[at + CAPACITY] = 2
    records[at + VALUE_OF_KEY] = value_of_key
    records[at + GONE] = 0
    index.slots[s] = make_entry(index.slots[s], record) | IS_RECORD
    return True


@entry
def truncate_index(facts: Facts, row: Int64s, length: int) -> None:
    """Removes the facts from an id on."""
    index = index_at(row)
    for f in range(row[CAUGHT_UP] - 1, length - 1, -1):
        remove_fact(facts, row, index, f)
    row[CAUGHT_UP] = min(row[CAUGHT_UP], length)


@compiled
def remove_facts(facts: Facts, row: np.ndarray, ids: np.ndarray) -> None:
    """Removes dead facts."""
    index, last = index_at(row), len(ids) - 1
    is_far = row[SIZE] > CACHED
    for i in range(len(ids)):
        if is_far:
            prefetch_key(facts, row, index, ids[min(i + FAR_AHEAD, last)], ids[min(i + AHEAD, last)])
        if ids[i] < row[CAUGHT_UP]:
            remove_fact(facts, row, index, ids[i])


@compiled
def remove_fact(facts: Facts, row: np.ndarray, index: Index, fact: int) -> None:
    """Removes a fact, if it is one of the predicate."""
    slots, arguments, offset, width = index.slots, facts.arguments, facts.offset, row[WIDTH]
    here = int64(offset[fact])
    if arguments[here - 1] != row[PREDICATE]:
        return
    mask = np.uint64(len(slots) - 1)
    h = key_hash(arguments, here, row, width)
    s = h >> index.shift
    while slots[s] != EMPTY:
        if slots[s] >> HALF == h >> HALF:
            value = slots[s] & LOW32
            if value & IS_RECORD:
                at = int64(value & VALUE) * RECORD
                if same_key(
                    arguments, int64(offset[index.pool[index.records[at + START]]]), here, row, width
                ):
                    remove_from_run(facts, index, at, fact)
                    shorten(row, index, s, at)
                    break
            elif int64(value) - 1 == fact:
                remove_entry(slots, s)
                row[KEYS] -= 1
                break
        s = (s + ONE) & mask


@compiled
def shorten(row: np.ndarray, index: Index, s: np.uint64, at: int) -> None:
    """After ids have left a run: a key with one fact has it in its slot, a key without any has no slot."""
    slots, records, pool = index.slots, index.records, index.pool
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


@compiled
def remove_from_run(facts: Facts, index: Index, at: int, fact: int) -> None:
    """Removes an id, if the run has it.  At the end of a long run the gap is not closed at once: the id
    stays, its fact is not PRESENT, and the run is cleared when a quarter of it is such."""
    records, pool = index.records, index.pool
    start, end = int64(records[at + START]), int64(records[at + START] + records[at + LENGTH])
    found = lower_bound(pool, start, end, fact)
    if found == end or pool[found] != fact:
        return
    if end - found <= MOST_MOVED:
        for k in range(found, end - 1):
            pool[k] = pool[k + 1]
        records[at + LENGTH] -= 1
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
    index = index_at(row)
    count = 0
    for s in range(len(index.slots)):
        if index.slots[s] != EMPTY:
            start, length = run_of_entry(index, index.slots[s])
            for k in range(length):
                fact = fact_of_run(index.pool, start, k)
                if (facts.status[fact] & (PRESENT | DELETED)) == PRESENT:
                    out[count] = fact
                    count += 1
                    break
    return count
