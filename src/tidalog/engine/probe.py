"""Finding the facts that a block of bindings asks for: runs of an index, single facts of the table."""

from __future__ import annotations

import numpy as np

from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Uint64s, int64
from tidalog.engine.binding_blocks import POSITION, ROW, ROWS
from tidalog.engine.bits import NEW
from tidalog.engine.fact_kernels import CACHED, HEADER, Facts, look_ahead
from tidalog.engine.hash_table import EMPTY, HALF, LOW32, ONE, table_shift
from tidalog.engine.index import (
    COLUMN,
    IS_RECORD,
    LENGTH,
    POOL,
    POOL_SIZE,
    RECORD,
    RECORD_SIZE,
    RECORDS,
    SIZE,
    SLOTS,
    START,
    VALUE,
    VALUE_OF_KEY,
    WIDTH,
)
from tidalog.engine.jit import compiled, entry, hash_add, hash_end, hash_start, inlined, int32_at, uint64_at
from tidalog.engine.opcodes import (
    BELOW_PIVOT,
    FILTER_MASK,
    FILTER_ORDER,
    FILTER_WANT,
    NEW_BELOW_PIVOT,
    NEW_UP_TO_PIVOT,
    NOT_PIVOT,
    UP_TO_PIVOT,
)


@compiled
def hash_operands(
    block: np.ndarray, rows: int, code: np.ndarray, at: int, count: int, hashes: np.ndarray
) -> None:
    """Goes on hashing: column by column, a register or a constant."""
    for j in range(count):
        operand = code[at + j]
        if operand >= 0:
            column = block[operand]
            for i in range(rows):
                hashes[i] = hash_add(hashes[i], column[i])
        else:
            for i in range(rows):
                hashes[i] = hash_add(hashes[i], -1 - operand)
    for i in range(rows):
        hashes[i] = hash_end(hashes[i])


@inlined
def has_key(
    arguments: np.ndarray,
    offset: int,
    meta: np.ndarray,
    width: int,
    block: np.ndarray,
    row: int,
    code: np.ndarray,
    at: int,
) -> bool:
    same = True
    for j in range(width):
        operand = code[at + j]
        value = block[operand, row] if operand >= 0 else -1 - operand
        if arguments[offset + meta[COLUMN + j]] != value:
            same = False
            break
    return same


@compiled
def find_runs_by_one(
    arguments: np.ndarray,
    offset: np.ndarray,
    slots: np.ndarray,
    pool: np.ndarray,
    records: np.ndarray,
    column: int,
    wanted: np.ndarray,
    rows: int,
    hashes: np.ndarray,
    run_start: np.ndarray,
    run_length: np.ndarray,
) -> None:
    """`find_runs` for a key of one column in a register, the most frequent case."""
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    for i in range(rows):
        h = hashes[i]
        tag = h >> HALF
        s = h >> shift
        length, start = 0, 0
        while True:
            entry = slots[s]
            if entry == EMPTY:
                break
            if entry >> HALF == tag:
                value = entry & LOW32
                if value & IS_RECORD:
                    at = int64(value & VALUE) * RECORD
                    if records[at + VALUE_OF_KEY] == wanted[i]:
                        start = records[at + START]
                        length = records[at + LENGTH]
                        break
                else:
                    fact = int64(value) - 1
                    if arguments[int64(offset[fact]) + column] == wanted[i]:
                        start = -1 - fact
                        length = 1
                        break
            s = (s + ONE) & mask
        run_start[i] = start
        run_length[i] = length


@entry
def find_runs(
    facts: Facts,
    meta: Int64s,
    block: Int32Table,
    rows: int,
    code: Int32s,
    keys: int,
    hashes: Uint64s,
    run_start: Int32s,
    run_length: Int32s,
) -> None:
    """The run of every row's key: start and length, (-1 - fact, 1) for a single fact, length 0 for none."""
    width = meta[WIDTH]
    arguments, offset = facts.arguments, facts.offset
    slots = uint64_at(meta[SLOTS], meta[SIZE])
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    records = int32_at(meta[RECORDS], meta[RECORD_SIZE] * RECORD)
    start = hash_start(0)
    if width == 1 and code[keys] >= 0:
        wanted = block[code[keys]]
        for i in range(rows):
            hashes[i] = hash_end(hash_add(start, wanted[i]))
        find_runs_by_one(
            arguments, offset, slots, pool, records, meta[COLUMN], wanted, rows, hashes, run_start, run_length
        )
        return
    for i in range(rows):
        hashes[i] = start
    hash_operands(block, rows, code, keys, width, hashes)
    mask, shift = np.uint64(meta[SIZE] - 1), table_shift(meta[SIZE])
    for i in range(rows):
        h = hashes[i]
        tag = h >> HALF
        s = h >> shift
        run_length[i] = 0
        while True:
            entry = slots[s]
            if entry == EMPTY:
                break
            if entry >> HALF == tag:
                value = entry & LOW32
                if value & IS_RECORD:
                    at = int64(value & VALUE) * RECORD
                    first = records[at + START]
                    if has_key(arguments, int64(offset[pool[first]]), meta, width, block, i, code, keys):
                        run_start[i] = first
                        run_length[i] = records[at + LENGTH]
                        break
                else:
                    fact = int64(value) - 1
                    if has_key(arguments, int64(offset[fact]), meta, width, block, i, code, keys):
                        run_start[i] = -1 - fact
                        run_length[i] = 1
                        break
            s = (s + ONE) & mask


@compiled
def cut_runs(
    meta: np.ndarray, pivots: np.ndarray, order: int, rows: int, run_start: np.ndarray, run_length: np.ndarray
) -> None:
    """Shortens every run to the ids below (or up to) its row's pivot; runs ascend."""
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    more = 1 if order == UP_TO_PIVOT else 0
    for i in range(rows):
        length = run_length[i]
        if length == 0:
            continue
        bound = pivots[i] + more
        start = run_start[i]
        if start < 0:
            if -1 - start >= bound:
                run_length[i] = 0
        elif pool[start + length - 1] >= bound:
            low, high = 0, length
            while low < high:
                middle = (low + high) >> 1
                if pool[start + middle] < bound:
                    low = middle + 1
                else:
                    high = middle
            run_length[i] = low


@compiled
def expand(
    facts: Facts,
    meta: np.ndarray,
    run_start: np.ndarray,
    run_length: np.ndarray,
    cursor: np.ndarray,
    mask: int,
    want: int,
    source: np.ndarray,
    match: np.ndarray,
) -> int:
    """Writes (row, fact) pairs from the cursor on, at most a block, and moves the cursor."""
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    i, position, rows = cursor[ROW], cursor[POSITION], cursor[ROWS]
    size = len(source)
    m = 0
    bits, wanted = np.uint16(mask), np.uint16(want)
    while i < rows and m < size:
        length = int64(run_length[i])
        start = run_start[i]
        if length == 1 and start < 0:
            source[m] = i
            match[m] = -1 - start
            m += 1
            i += 1
            continue
        count = min(length - position, size - m)
        first = start + position
        if count == 2:
            # The most frequent length by far where runs are short; a loop costs more to set up.
            source[m] = i
            source[m + 1] = i
            match[m] = pool[first]
            match[m + 1] = pool[first + 1]
        else:
            for k in range(count):
                source[m + k] = i
                match[m + k] = pool[first + k]
        m += count
        position += count
        if position >= length:
            i += 1
            position = 0
    cursor[ROW] = i
    cursor[POSITION] = position
    if bits != 0:
        kept = 0
        for k in range(m):
            if (facts.status[match[k]] & bits) == wanted:
                source[kept] = source[k]
                match[kept] = match[k]
                kept += 1
        m = kept
    return m


@compiled
def keep_repeats(
    facts: Facts, code: np.ndarray, at: int, count: int, m: int, source: np.ndarray, match: np.ndarray
) -> int:
    """Keeps the matches whose columns agree where the atom repeats a variable."""
    for j in range(count):
        a, b = code[at + 2 * j], code[at + 2 * j + 1]
        kept = 0
        for k in range(m):
            offset = int64(facts.offset[match[k]])
            if facts.arguments[offset + a] == facts.arguments[offset + b]:
                source[kept] = source[k]
                match[kept] = match[k]
                kept += 1
        m = kept
    return m


@inlined
def passes(status: np.ndarray, fact: int, mask: int, want: int, order: int, pivot: int) -> bool:
    """Whether a fact is one that an atom may match, under a filter."""
    allowed = mask == 0 or (int64(status[fact]) & mask) == want
    if allowed and order == BELOW_PIVOT:
        allowed = fact < pivot
    elif allowed and order == UP_TO_PIVOT:
        allowed = fact <= pivot
    elif allowed and order == NOT_PIVOT:
        allowed = fact != pivot
    elif allowed and order == NEW_BELOW_PIVOT:
        allowed = fact < pivot or status[fact] & NEW == 0
    elif allowed and order == NEW_UP_TO_PIVOT:
        allowed = fact <= pivot or status[fact] & NEW == 0
    return allowed


@compiled
def keep_in_order(
    facts: Facts, pivots: np.ndarray, order: int, m: int, source: np.ndarray, match: np.ndarray
) -> int:
    """Keeps the matches that an order by status and id allows; `cut_runs` sees to orders by id alone."""
    kept = 0
    for k in range(m):
        if passes(facts.status, match[k], 0, 0, order, pivots[source[k]]):
            source[kept] = source[k]
            match[kept] = match[k]
            kept += 1
    return kept


@compiled
def find_members(
    facts: Facts,
    predicate: int,
    block: np.ndarray,
    rows: int,
    code: np.ndarray,
    arguments: int,
    arity: int,
    hashes: np.ndarray,
    match: np.ndarray,
) -> None:
    """The fact that each row's arguments make, or -1."""
    start = hash_start(predicate)
    for i in range(rows):
        hashes[i] = start
    hash_operands(block, rows, code, arguments, arity, hashes)
    terms, slots = facts.arguments, facts.slots
    mask, shift = np.uint64(len(facts.slots) - 1), table_shift(len(facts.slots))
    is_far = len(slots) > CACHED and rows > 1
    for i in range(rows):
        if is_far:
            look_ahead(slots, terms, hashes, i, rows - 1, shift, mask)
        h = hashes[i]
        tag = h >> HALF
        s = h >> shift
        match[i] = -1
        while True:
            entry = slots[s]
            if entry == EMPTY:
                break
            if entry >> HALF == tag:
                offset = int64(entry & LOW32)
                if terms[offset - 1] == predicate:
                    same = True
                    for j in range(arity):
                        operand = code[arguments + j]
                        value = block[operand, i] if operand >= 0 else -1 - operand
                        if terms[offset + j] != value:
                            same = False
                            break
                    if same:
                        match[i] = terms[offset - HEADER]
                        break
            s = (s + ONE) & mask


@compiled
def any_match(
    facts: Facts,
    meta: np.ndarray,
    start: int,
    length: int,
    filters: np.ndarray,
    number: int,
    pivot: int,
    code: np.ndarray,
    same: int,
    repeats: int,
) -> bool:
    """Whether a run holds a fact that passes a filter and has equal columns where asked."""
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    mask, want, order = (
        filters[number, FILTER_MASK],
        filters[number, FILTER_WANT],
        filters[number, FILTER_ORDER],
    )
    for k in range(length):
        fact = int64(-1 - start) if start < 0 else int64(pool[start + k])
        if not passes(facts.status, fact, mask, want, order, pivot):
            continue
        offset = int64(facts.offset[fact])
        equal = True
        for j in range(repeats):
            a, b = code[same + 2 * j], code[same + 2 * j + 1]
            if facts.arguments[offset + a] != facts.arguments[offset + b]:
                equal = False
                break
        if equal:
            return True
    return False
