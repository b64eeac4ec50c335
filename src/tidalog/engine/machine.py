"""The plan machine: one compiled interpreter for every plan, over blocks of bindings.

A *level* is a block of rows, columns first.  Filters and computations work on the block in place; a probe
fills the next level's block from the runs its keys found, as many rows as fit, and that block is taken to its
end before the probe goes on.  So the machine's whole state is one cursor per level (`Frame`), it can stop at
any step and be called again, and arrays grow only while it is stopped.  Emit needs room for a block of
facts, compute for a block of terms; if there is none, the machine comes back and says so.

Nothing here knows about an algorithm: which facts an atom may match comes with the call (`filters`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.dictionary_kernels import Terms, room_for_terms
from tidalog.engine.expressions import evaluate_rows
from tidalog.engine.facts import (
    ENTRIES,
    FACTS,
    USED,
    Facts,
    append_rows,
    bring_in,
    insert_pairs,
    insert_rows,
    note_extent,
    untabled,
)
from tidalog.engine.folds import fold_run
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
    catch_up,
)
from tidalog.engine.native import (
    compiled,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    uint64_at,
)
from tidalog.engine.opcodes import (
    ABSENT,
    BELOW_PIVOT,
    COMPUTE,
    DONE,
    EMIT,
    FILTER_MASK,
    FILTER_ORDER,
    FILTER_WANT,
    FOLD,
    GROW_FACTS,
    GROW_INDEX,
    GROW_TERMS,
    MEMBER,
    PAUSE,
    PROBE,
    STRICT,
    TEST,
    UP_TO_PIVOT,
)
from tidalog.engine.table import EMPTY, HALF, LOW32, ONE, has_room, table_shift

BLOCK: Final = 4096  # rows of a level
PIVOT_REGISTER: Final = 0

# Cursor of a level.
PC: Final = 0  # where the next step stands in the code
ROWS: Final = 1
ROW: Final = 2  # probe: the row being expanded
POSITION: Final = 3  # probe: how far into its run
EXPANDING: Final = 4  # probe: the runs have been found
CURSOR: Final = 5

# Control of a frame.
LEVEL: Final = 0  # -1: nothing under way
DERIVATIONS: Final = 1
BUDGET: Final = 2  # derivations until the machine pauses
WANTED: Final = 3  # the index to grow, or the predicate whose facts need room
FAILED: Final = 4  # computations that could not be made
IS_STRICT: Final = 5
CONTROL: Final = 8


class Frame(NamedTuple):
    """Everything a plan under way consists of."""

    registers: npt.NDArray[np.int32]  # [level, register, row]
    run_start: npt.NDArray[np.int32]  # [level, row]: place in the pool, or -1 - fact id
    run_length: npt.NDArray[np.int32]
    source: npt.NDArray[np.int32]  # scratch: row of a match
    match: npt.NDArray[np.int32]  # scratch: fact of a match
    hashes: npt.NDArray[np.uint64]
    heads: npt.NDArray[np.int32]  # scratch: [column, row] of facts to insert
    cursors: npt.NDArray[np.int64]  # [level, CURSOR]
    control: npt.NDArray[np.int64]


def new_frame(levels: int, registers: int, arity: int, block: int = BLOCK) -> Frame:
    control = np.zeros(CONTROL, np.int64)
    control[LEVEL] = -1
    return Frame(
        registers=np.empty((levels, max(registers, 1), block), np.int32),
        run_start=np.empty((levels, block), np.int32),
        run_length=np.empty((levels, block), np.int32),
        source=np.empty(block, np.int32),
        match=np.empty(block, np.int32),
        hashes=np.empty(block, np.uint64),
        heads=np.empty((max(arity, 1), block), np.int32),
        cursors=np.zeros((levels, CURSOR), np.int64),
        control=control,
    )


# --- compiled ---------------------------------------------------------------------------------------


@compiled
def room_for_facts(facts: Facts, rows: int, arity: int) -> bool:
    n = facts.state[FACTS] + rows
    return n <= min(len(facts.offset), len(facts.status)) and facts.state[USED] + rows * (arity + 1) <= len(
        facts.arguments
    )


@compiled
def is_tabled(facts: Facts, predicate: int, more: int) -> bool:
    """Brings all facts of a predicate into the table if there is room for them and for `more`."""
    missing = untabled(facts, predicate)
    if not has_room(facts.state[ENTRIES] + missing + more, len(facts.slots)):
        return False
    if missing > 0:
        bring_in(facts, predicate)
    return True


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
    """`find_runs` for a key of one column in a register, the most frequent case: the same steps."""
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
                    at = np.int64(value & VALUE) * RECORD
                    if records[at + VALUE_OF_KEY] == wanted[i]:
                        start = records[at + START]
                        length = records[at + LENGTH]
                        break
                else:
                    fact = np.int64(value) - 1
                    if arguments[np.int64(offset[fact]) + column] == wanted[i]:
                        start = -1 - fact
                        length = 1
                        break
            s = (s + ONE) & mask
        run_start[i] = start
        run_length[i] = length


@compiled
def find_runs(
    facts: Facts,
    meta: np.ndarray,
    block: np.ndarray,
    rows: int,
    code: np.ndarray,
    keys: int,
    hashes: np.ndarray,
    run_start: np.ndarray,
    run_length: np.ndarray,
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
                    at = np.int64(value & VALUE) * RECORD
                    first = records[at + START]
                    if has_key(arguments, np.int64(offset[pool[first]]), meta, width, block, i, code, keys):
                        run_start[i] = first
                        run_length[i] = records[at + LENGTH]
                        break
                else:
                    fact = np.int64(value) - 1
                    if has_key(arguments, np.int64(offset[fact]), meta, width, block, i, code, keys):
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
        length = np.int64(run_length[i])
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
            offset = np.int64(facts.offset[match[k]])
            if facts.arguments[offset + a] == facts.arguments[offset + b]:
                source[kept] = source[k]
                match[kept] = match[k]
                kept += 1
        m = kept
    return m


@compiled
def keep_rows(block: np.ndarray, code: np.ndarray, at: int, selected: np.ndarray, count: int) -> None:
    """Moves the selected rows (ascending) to the front, in the registers that are still needed."""
    for j in range(code[at]):
        column = block[code[at + 1 + j]]
        for i in range(count):
            column[i] = column[selected[i]]


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
    terms, offsets, slots = facts.arguments, facts.offset, facts.slots
    mask, shift = np.uint64(len(facts.slots) - 1), table_shift(len(facts.slots))
    for i in range(rows):
        h = hashes[i]
        tag = h >> HALF
        s = h >> shift
        match[i] = -1
        while True:
            entry = slots[s]
            if entry == EMPTY:
                break
            if entry >> HALF == tag:
                fact = np.int64(entry & LOW32) - 1
                offset = np.int64(offsets[fact])
                if terms[offset - 1] == predicate:
                    same = True
                    for j in range(arity):
                        operand = code[arguments + j]
                        value = block[operand, i] if operand >= 0 else -1 - operand
                        if terms[offset + j] != value:
                            same = False
                            break
                    if same:
                        match[i] = fact
                        break
            s = (s + ONE) & mask


@inlined
def passes(status: np.ndarray, fact: int, mask: int, want: int, order: int, pivot: int) -> bool:
    """Whether a fact is one that an atom may match, under a filter."""
    allowed = mask == 0 or (np.int64(status[fact]) & mask) == want
    if allowed and order == BELOW_PIVOT:
        allowed = fact < pivot
    elif allowed and order == UP_TO_PIVOT:
        allowed = fact <= pivot
    return allowed


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
        fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
        if not passes(facts.status, fact, mask, want, order, pivot):
            continue
        offset = np.int64(facts.offset[fact])
        equal = True
        for j in range(repeats):
            a, b = code[same + 2 * j], code[same + 2 * j + 1]
            if facts.arguments[offset + a] != facts.arguments[offset + b]:
                equal = False
                break
        if equal:
            return True
    return False


@compiled
def step_probe(
    facts: Facts, meta: np.ndarray, filters: np.ndarray, code: np.ndarray, pc: int, frame: Frame, level: int
) -> bool:
    """Fills the next level with what the probe still has.  False: it has nothing left."""
    cursor = frame.cursors[level]
    block = frame.registers[level]
    rows = cursor[ROWS]
    number = code[pc + 3]
    fact_register = code[pc + 4]
    width = code[pc + 5]
    keys = pc + 6
    same = keys + width
    repeats = code[same]
    keep = same + 1 + 2 * repeats
    new = keep + 1 + code[keep]
    run_start, run_length = frame.run_start[level], frame.run_length[level]
    if cursor[EXPANDING] == 0:
        find_runs(facts, meta, block, rows, code, keys, frame.hashes, run_start, run_length)
        order = filters[number, FILTER_ORDER]
        if order == BELOW_PIVOT or order == UP_TO_PIVOT:
            cut_runs(meta, block[PIVOT_REGISTER], order, rows, run_start, run_length)
        cursor[EXPANDING] = 1
        cursor[ROW] = 0
        cursor[POSITION] = 0
    source, match = frame.source, frame.match
    m = 0
    while m == 0:
        if cursor[ROW] >= rows:
            return False
        m = expand(
            facts,
            meta,
            run_start,
            run_length,
            cursor,
            filters[number, FILTER_MASK],
            filters[number, FILTER_WANT],
            source,
            match,
        )
        if repeats > 0:
            m = keep_repeats(facts, code, same + 1, repeats, m, source, match)
    target = frame.registers[level + 1]
    for j in range(code[keep]):
        register = code[keep + 1 + j]
        a, b = block[register], target[register]
        for k in range(m):
            b[k] = a[source[k]]
    if fact_register >= 0:
        b = target[fact_register]
        for k in range(m):
            b[k] = match[k]
    arguments, offset = facts.arguments, facts.offset
    for j in range(code[new]):
        column, register = code[new + 1 + 2 * j], code[new + 2 + 2 * j]
        b = target[register]
        for k in range(m):
            b[k] = arguments[np.int64(offset[match[k]]) + column]
    below = frame.cursors[level + 1]
    below[PC] = pc + code[pc + 1]
    below[ROWS] = m
    below[EXPANDING] = 0
    return True


@compiled
def step_member(
    facts: Facts, filters: np.ndarray, code: np.ndarray, pc: int, frame: Frame, level: int
) -> int:
    block, rows = frame.registers[level], frame.cursors[level, ROWS]
    predicate, number, fact_register, arity = code[pc + 2], code[pc + 3], code[pc + 4], code[pc + 5]
    match = frame.match
    find_members(facts, predicate, block, rows, code, pc + 6, arity, frame.hashes, match)
    pivots = block[PIVOT_REGISTER]
    mask, want, order = (
        filters[number, FILTER_MASK],
        filters[number, FILTER_WANT],
        filters[number, FILTER_ORDER],
    )
    kept = 0
    for i in range(rows):
        if match[i] >= 0 and passes(facts.status, match[i], mask, want, order, pivots[i]):
            frame.source[kept] = i
            match[kept] = match[i]
            kept += 1
    keep_rows(block, code, pc + 6 + arity, frame.source, kept)
    if fact_register >= 0:
        for i in range(kept):
            block[fact_register, i] = match[i]
    return kept


@compiled
def step_absent(
    facts: Facts,
    indexes: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    pc: int,
    frame: Frame,
    level: int,
) -> int:
    block, rows = frame.registers[level], frame.cursors[level, ROWS]
    index, predicate, number, width = code[pc + 2], code[pc + 3], code[pc + 4], code[pc + 5]
    same = pc + 6 + width
    repeats = code[same]
    pivots = block[PIVOT_REGISTER]
    kept = 0
    if index < 0:
        mask, want, order = (
            filters[number, FILTER_MASK],
            filters[number, FILTER_WANT],
            filters[number, FILTER_ORDER],
        )
        find_members(facts, predicate, block, rows, code, pc + 6, width, frame.hashes, frame.match)
        for i in range(rows):
            if frame.match[i] < 0 or not passes(facts.status, frame.match[i], mask, want, order, pivots[i]):
                frame.source[kept] = i
                kept += 1
    else:
        meta = indexes[index]
        start, length = frame.run_start[level], frame.run_length[level]
        find_runs(facts, meta, block, rows, code, pc + 6, frame.hashes, start, length)
        for i in range(rows):
            if not any_match(
                facts, meta, start[i], length[i], filters, number, pivots[i], code, same + 1, repeats
            ):
                frame.source[kept] = i
                kept += 1
    keep_rows(block, code, same + 1 + 2 * repeats, frame.source, kept)
    return kept


@compiled
def step_expression(terms: Terms, code: np.ndarray, pc: int, frame: Frame, level: int) -> int:
    """TEST and COMPUTE: keeps the rows where the expression is true, or has a value."""
    block, rows = frame.registers[level], frame.cursors[level, ROWS]
    if code[pc] == TEST:
        target, at = -1, pc + 2
    else:
        target, at = code[pc + 2], pc + 3
    kept, failed = evaluate_rows(terms, code, at, block, rows, target >= 0, frame.source, frame.match)
    frame.control[FAILED] += failed
    keep_rows(block, code, at + 1 + code[at], frame.source, kept)
    if target >= 0:
        for i in range(kept):
            block[target, i] = frame.match[i]
    return kept


@compiled
def step_fold(
    facts: Facts, terms: Terms, indexes: np.ndarray, code: np.ndarray, pc: int, frame: Frame, level: int
) -> int:
    """An aggregate of every row's group: the run of its key in an index of distinct tuples."""
    block, rows = frame.registers[level], frame.cursors[level, ROWS]
    meta = indexes[code[pc + 2]]
    width = code[pc + 3]
    at = pc + 4 + width
    operator, target, distinct, count = code[at], code[at + 1], code[at + 2] != 0, code[at + 3]
    columns = code[at + 4 : at + 4 + count]
    start, length = frame.run_start[level], frame.run_length[level]
    find_runs(facts, meta, block, rows, code, pc + 4, frame.hashes, start, length)
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    kept = 0
    for i in range(rows):
        value, failed = fold_run(facts, terms, pool, start[i], length[i], operator, columns, distinct)
        frame.control[FAILED] += failed
        if value >= 0:
            frame.match[kept] = value
            frame.source[kept] = i
            kept += 1
    keep_rows(block, code, at + 4 + count, frame.source, kept)
    for i in range(kept):
        block[target, i] = frame.match[i]
    return kept


@compiled
def step_emit(facts: Facts, code: np.ndarray, pc: int, frame: Frame, level: int, status: int) -> None:
    block, rows = frame.registers[level], frame.cursors[level, ROWS]
    predicate, is_new, arity, at = code[pc + 2], code[pc + 3] != 0, code[pc + 4], pc + 5
    if arity == 2 and code[at] >= 0 and code[at + 1] >= 0 and not is_new:
        before = facts.state[FACTS]
        insert_pairs(facts, predicate, block[code[at]], block[code[at + 1]], rows, frame.hashes, status)
        note_extent(facts, predicate, before)
        return
    for c in range(arity):
        operand = code[at + c]
        head = frame.heads[c]
        if operand >= 0:
            column = block[operand]
            for i in range(rows):
                head[i] = column[i]
        else:
            for i in range(rows):
                head[i] = -1 - operand
    if is_new:
        append_rows(facts, predicate, frame.heads[:arity], rows, status)
    else:
        insert_rows(facts, predicate, frame.heads[:arity], rows, frame.hashes, status)


@compiled
def run_frame(
    facts: Facts,
    terms: Terms,
    indexes: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    frame: Frame,
    status: int,
) -> int:
    """Runs the plan under way until it is done or something is wanted (see `opcodes`)."""
    control = frame.control
    while control[LEVEL] >= 0:
        level = control[LEVEL]
        cursor = frame.cursors[level]
        pc = cursor[PC]
        if cursor[ROWS] == 0:
            control[LEVEL] = level - 1
            continue
        opcode = code[pc]
        if opcode == PROBE:
            index = code[pc + 2]
            if cursor[EXPANDING] == 0 and not catch_up(facts, indexes[index]):
                control[WANTED] = index
                return GROW_INDEX
            if step_probe(facts, indexes[index], filters, code, pc, frame, level):
                control[LEVEL] = level + 1
                control[BUDGET] -= frame.cursors[level + 1, ROWS]
                if control[BUDGET] < 0:
                    return PAUSE
            else:
                control[LEVEL] = level - 1
            continue
        if opcode == EMIT:
            rows = cursor[ROWS]
            if not room_for_facts(facts, rows, code[pc + 4]) or not (
                code[pc + 3] != 0 or is_tabled(facts, code[pc + 2], rows)
            ):
                control[WANTED] = code[pc + 2]
                return GROW_FACTS
            step_emit(facts, code, pc, frame, level, status)
            control[DERIVATIONS] += rows
            control[LEVEL] = level - 1
            continue
        if opcode == MEMBER:
            if not is_tabled(facts, code[pc + 2], 0):
                control[WANTED] = code[pc + 2]
                return GROW_FACTS
            kept = step_member(facts, filters, code, pc, frame, level)
        elif opcode == ABSENT:
            index = code[pc + 2]
            if index < 0 and not is_tabled(facts, code[pc + 3], 0):
                control[WANTED] = code[pc + 3]
                return GROW_FACTS
            if index >= 0 and not catch_up(facts, indexes[index]):
                control[WANTED] = index
                return GROW_INDEX
            kept = step_absent(facts, indexes, filters, code, pc, frame, level)
        elif opcode == TEST or opcode == COMPUTE:
            if opcode == COMPUTE and not room_for_terms(terms, cursor[ROWS]):
                return GROW_TERMS
            kept = step_expression(terms, code, pc, frame, level)
        else:
            if not room_for_terms(terms, cursor[ROWS]):
                return GROW_TERMS
            index = code[pc + 2]
            if not catch_up(facts, indexes[index]):
                control[WANTED] = index
                return GROW_INDEX
            kept = step_fold(facts, terms, indexes, code, pc, frame, level)
        cursor[ROWS] = kept
        cursor[PC] = pc + code[pc + 1]
        if control[FAILED] > 0 and control[IS_STRICT] != 0:
            return STRICT
    return DONE
