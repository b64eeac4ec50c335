"""Finding the facts that a block of bindings asks for: runs of an index, single facts of the table."""

from __future__ import annotations

import numpy as np

from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Uint64s, int32, int64
from tidalog.engine.binding_blocks import POSITION, ROW, ROWS
from tidalog.engine.bits import NEW
from tidalog.engine.fact_kernels import CACHED, HEADER, Facts, look_ahead
from tidalog.engine.hash_table import EMPTY, HALF, LOW32, ONE, table_shift
from tidalog.engine.index_kernels import (
    COLUMN,
    IS_RECORD,
    RECORD,
    START,
    VALUE,
    VALUE_OF_KEY,
    WIDTH,
    Index,
    fact_of_run,
    index_at,
    lower_bound,
    pool_at,
    run_of_entry,
)
from tidalog.engine.jit import compiled, entry, hash_add, hash_end, hash_start, inlined
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


@inlined
def mix(hashes: np.ndarray, i: int, value: int, seed: int, is_first: bool, is_last: bool) -> None:
    h = hash_add(hash_start(seed) if is_first else hashes[i], value)
    hashes[i] = hash_end(h) if is_last else h


@compiled
def hash_operands(
    block: np.ndarray, rows: int, code: np.ndarray, at: int, count: int, seed: int, hashes: np.ndarray
) -> None:
    """Hashes operands of all rows: column by column, a register or a constant."""
    for j in range(count):
        operand, is_first, is_last = code[at + j], j == 0, j == count - 1
        if operand >= 0:
            column = block[operand]
            for i in range(rows):
                mix(hashes, i, column[i], seed, is_first, is_last)
        else:
            for i in range(rows):
                mix(hashes, i, -1 - operand, seed, is_first, is_last)
    if count == 0:
        for i in range(rows):
            hashes[i] = hash_end(hash_start(seed))


@inlined
def operand_of(block: np.ndarray, row: int, code: np.ndarray, at: int) -> int:
    """The value of an operand in a row: of a register, or a constant."""
    operand = code[at]
    return int32(block[operand, row] if operand >= 0 else -1 - operand)


@inlined
def has_operands(
    arguments: np.ndarray, offset: int, block: np.ndarray, row: int, code: np.ndarray, at: int, count: int
) -> bool:
    """Whether the arguments at an offset are a row's operands in the code from `at` on."""
    same = True
    for j in range(count):
        if arguments[offset + j] != operand_of(block, row, code, at + j):
            same = False
            break
    return same


@inlined
def has_key(
    arguments: np.ndarray,
    offset: int,
    meta: np.ndarray,
    width: int,
    block: np.ndarray,
    row: int,
    code: np.ndarray,
    keys: int,
) -> bool:
    """Whether the fact at an offset has the key of a row."""
    same = True
    for j in range(width):
        if arguments[offset + meta[COLUMN + j]] != operand_of(block, row, code, keys + j):
            same = False
            break
    return same


@inlined
def run_of_key(
    arguments: np.ndarray,
    offsets: np.ndarray,
    meta: np.ndarray,
    index: Index,
    width: int,
    h: np.uint64,
    block: np.ndarray,
    row: int,
    code: np.ndarray,
    keys: int,
) -> tuple[int, int]:
    """The run of a row's key, which has the hash `h` and whose operands stand in the code from `keys` on:
    start and length, (-1 - fact, 1) for a single fact, length 0 for none."""
    slots, records = index.slots, index.records
    mask = np.uint64(len(slots) - 1)
    value_of_key = operand_of(block, row, code, keys) if width > 0 else 0
    start, length = int64(0), int64(0)
    s = h >> index.shift
    while True:
        entry = slots[s]
        if entry == EMPTY:
            break
        if entry >> HALF == h >> HALF:
            value = entry & LOW32
            if value & IS_RECORD:
                at = int64(value & VALUE) * RECORD
                same = records[at + VALUE_OF_KEY] == value_of_key
                if same and width > 1:
                    offset = int64(offsets[index.pool[records[at + START]]])
                    same = has_key(arguments, offset, meta, width, block, row, code, keys)
            else:
                offset = int64(offsets[int64(value) - 1])
                same = has_key(arguments, offset, meta, width, block, row, code, keys)
            if same:
                start, length = run_of_entry(index, entry)
                break
        s = (s + ONE) & mask
    return start, length


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
    """The run of every row's key, see `run_of_key`."""
    index, width = index_at(meta), meta[WIDTH]
    hash_operands(block, rows, code, keys, width, 0, hashes)
    arguments, offsets = facts.arguments, facts.offset
    if width == 1:  # the most frequent case, which is faster if the compiler knows it
        for i in range(rows):
            run_start[i], run_length[i] = run_of_key(
                arguments, offsets, meta, index, 1, hashes[i], block, i, code, keys
            )
        return
    for i in range(rows):
        run_start[i], run_length[i] = run_of_key(
            arguments, offsets, meta, index, width, hashes[i], block, i, code, keys
        )


@compiled
def cut_runs(
    meta: np.ndarray, pivots: np.ndarray, order: int, rows: int, run_start: np.ndarray, run_length: np.ndarray
) -> None:
    """Shortens every run to the ids below (or up to) its row's pivot; runs ascend."""
    pool = pool_at(meta)
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
            run_length[i] = lower_bound(pool, int64(start), int64(start + length), bound) - start


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
    pool = pool_at(meta)
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


@inlined
def fact_with(
    slots: np.ndarray,
    shift: np.uint64,
    arguments: np.ndarray,
    h: np.uint64,
    predicate: int,
    block: np.ndarray,
    row: int,
    code: np.ndarray,
    at: int,
    arity: int,
) -> int:
    """The fact with the hash `h` whose arguments are a row's operands in the code from `at` on, or -1."""
    mask = np.uint64(len(slots) - 1)
    found = int32(-1)
    s = h >> shift
    while True:
        entry = slots[s]
        if entry == EMPTY:
            break
        if entry >> HALF == h >> HALF:
            offset = int64(entry & LOW32)
            if arguments[offset - 1] == predicate and has_operands(
                arguments, offset, block, row, code, at, arity
            ):
                found = arguments[offset - HEADER]
                break
        s = (s + ONE) & mask
    return found


@compiled
def find_members(
    facts: Facts,
    predicate: int,
    block: np.ndarray,
    rows: int,
    code: np.ndarray,
    at: int,
    arity: int,
    hashes: np.ndarray,
    match: np.ndarray,
) -> None:
    """The fact that each row's operands make, or -1."""
    hash_operands(block, rows, code, at, arity, predicate, hashes)
    arguments, slots = facts.arguments, facts.slots
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    is_far = len(slots) > CACHED and rows > 1
    for i in range(rows):
        if is_far:
            look_ahead(slots, arguments, hashes, i, rows - 1, shift, mask)
        match[i] = fact_with(slots, shift, arguments, hashes[i], predicate, block, i, code, at, arity)


@entry
def find_rows(facts: Facts, predicate: int, rows: Int32Table, count: int, out: Int32s) -> None:
    """The fact of each row (columns first), or -1."""
    columns = np.arange(len(rows)).astype(np.int32)
    find_members(facts, predicate, rows, count, columns, 0, len(rows), np.empty(count, np.uint64), out)


@inlined
def agrees(arguments: np.ndarray, offset: int, code: np.ndarray, same: int) -> bool:
    """Whether columns are equal where an atom repeats a variable."""
    equal = True
    for j in range(code[same]):
        if arguments[offset + code[same + 1 + 2 * j]] != arguments[offset + code[same + 2 + 2 * j]]:
            equal = False
            break
    return equal


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
) -> bool:
    """Whether a run holds a fact that passes a filter and agrees with the atom."""
    pool = pool_at(meta)
    mask, want, order = (
        filters[number, FILTER_MASK],
        filters[number, FILTER_WANT],
        filters[number, FILTER_ORDER],
    )
    for k in range(length):
        fact = fact_of_run(pool, start, k)
        if passes(facts.status, fact, mask, want, order, pivot) and agrees(
            facts.arguments, int64(facts.offset[fact]), code, same
        ):
            return True
    return False
