"""The operators of a plan: each reads a binding block and leaves one, in place or at the next level."""

from __future__ import annotations

import numpy as np

from tidalog.engine.aggregates import LEFT_TO_PYTHON, fold_run
from tidalog.engine.array_types import int64
from tidalog.engine.binding_blocks import (
    EXPANDING,
    FAILED,
    IN_UPDATE,
    LEFT,
    LEFT_AT,
    LEFT_SIZE,
    MODE,
    PC,
    PIVOT_REGISTER,
    POSITION,
    PROVE,
    ROW,
    ROWS,
    BindingBlocks,
)
from tidalog.engine.bits import DELETED, PRESENT
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.emit import gather_heads
from tidalog.engine.expressions import evaluate_rows
from tidalog.engine.fact_kernels import Facts, append_rows, insert_pairs, insert_rows
from tidalog.engine.index_kernels import fact_of_run, pool_at
from tidalog.engine.jit import compiled, int32_at
from tidalog.engine.opcodes import (
    BELOW_PIVOT,
    FILTER_MASK,
    FILTER_ORDER,
    FILTER_WANT,
    NEW_BELOW_PIVOT,
    TEST,
    UP_TO_PIVOT,
)
from tidalog.engine.probe import (
    any_match,
    cut_runs,
    expand,
    find_members,
    find_runs,
    keep_in_order,
    keep_repeats,
    passes,
)
from tidalog.engine.prove import expand_window


@compiled
def keep_rows(block: np.ndarray, code: np.ndarray, at: int, selected: np.ndarray, count: int) -> None:
    """Moves the selected rows (ascending) to the front, in the registers that are still needed."""
    for j in range(code[at]):
        column = block[code[at + 1 + j]]
        for i in range(count):
            column[i] = column[selected[i]]


@compiled
def run_probe(
    facts: Facts,
    meta: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    pc: int,
    blocks: BindingBlocks,
    level: int,
) -> bool:
    """Fills the next level with what the probe still has.  False: it has nothing left."""
    cursor = blocks.cursors[level]
    block = blocks.registers[level]
    rows = cursor[ROWS]
    number = code[pc + 3]
    fact_register = code[pc + 4]
    width = code[pc + 5]
    keys = pc + 6
    same = keys + width
    repeats = code[same]
    keep = same + 1 + 2 * repeats
    new = keep + 1 + code[keep]
    run_start, run_length = blocks.run_start[level], blocks.run_length[level]
    if cursor[EXPANDING] == 0:
        find_runs(facts, meta, block, rows, code, keys, blocks.hashes, run_start, run_length)
        order = filters[number, FILTER_ORDER]
        if order == BELOW_PIVOT or order == UP_TO_PIVOT:
            cut_runs(meta, block[PIVOT_REGISTER], order, rows, run_start, run_length)
        cursor[EXPANDING] = 1
        cursor[ROW] = 0
        cursor[POSITION] = 0
    source, match = blocks.source, blocks.match
    m = 0
    mask, want = filters[number, FILTER_MASK], filters[number, FILTER_WANT]
    proving = blocks.control[MODE] == PROVE
    while m == 0:
        if proving:
            pivots = block[PIVOT_REGISTER]
            m = expand_window(facts, meta, pivots, run_start, run_length, cursor, mask, want, source, match)
            if m == 0:
                return False
        else:
            if cursor[ROW] >= rows:
                return False
            m = expand(facts, meta, run_start, run_length, cursor, mask, want, source, match)
        if filters[number, FILTER_ORDER] >= NEW_BELOW_PIVOT:
            m = keep_in_order(facts, block[PIVOT_REGISTER], filters[number, FILTER_ORDER], m, source, match)
        if repeats > 0:
            m = keep_repeats(facts, code, same + 1, repeats, m, source, match)
    target = blocks.registers[level + 1]
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
            b[k] = arguments[int64(offset[match[k]]) + column]
    below = blocks.cursors[level + 1]
    below[PC] = pc + code[pc + 1]
    below[ROWS] = m
    below[EXPANDING] = 0
    return True


@compiled
def run_member(
    facts: Facts, filters: np.ndarray, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int
) -> int:
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    predicate, number, fact_register, arity = code[pc + 2], code[pc + 3], code[pc + 4], code[pc + 5]
    match = blocks.match
    find_members(facts, predicate, block, rows, code, pc + 6, arity, blocks.hashes, match)
    pivots = block[PIVOT_REGISTER]
    mask, want, order = (
        filters[number, FILTER_MASK],
        filters[number, FILTER_WANT],
        filters[number, FILTER_ORDER],
    )
    kept = 0
    for i in range(rows):
        if match[i] >= 0 and passes(facts.status, match[i], mask, want, order, pivots[i]):
            blocks.source[kept] = i
            match[kept] = match[i]
            kept += 1
    keep_rows(block, code, pc + 6 + arity, blocks.source, kept)
    if fact_register >= 0:
        for i in range(kept):
            block[fact_register, i] = match[i]
    return kept


@compiled
def run_absent(
    facts: Facts,
    indexes: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    pc: int,
    blocks: BindingBlocks,
    level: int,
) -> int:
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    index, predicate, number, width = code[pc + 2], code[pc + 3], code[pc + 4], code[pc + 5]
    same = pc + 6 + width
    pivots = block[PIVOT_REGISTER]
    kept = 0
    if index < 0:
        mask, want, order = (
            filters[number, FILTER_MASK],
            filters[number, FILTER_WANT],
            filters[number, FILTER_ORDER],
        )
        find_members(facts, predicate, block, rows, code, pc + 6, width, blocks.hashes, blocks.match)
        for i in range(rows):
            if blocks.match[i] < 0 or not passes(facts.status, blocks.match[i], mask, want, order, pivots[i]):
                blocks.source[kept] = i
                kept += 1
    else:
        meta = indexes[index]
        start, length = blocks.run_start[level], blocks.run_length[level]
        find_runs(facts, meta, block, rows, code, pc + 6, blocks.hashes, start, length)
        for i in range(rows):
            if length[i] == 0 or not any_match(
                facts, meta, start[i], length[i], filters, number, pivots[i], code, same
            ):
                blocks.source[kept] = i
                kept += 1
    keep_rows(block, code, same + 1 + 2 * code[same], blocks.source, kept)
    return kept


@compiled
def run_test_or_compute(terms: Terms, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int) -> int:
    """TEST and COMPUTE: keeps the rows where the expression is true, or has a value.  -1: Python must answer
    first, and nothing is done."""
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    if code[pc] == TEST:
        target, at = -1, pc + 2
    else:
        target, at = code[pc + 2], pc + 3
    kept, failed = evaluate_rows(terms, code, at, block, rows, target >= 0, blocks.source, blocks.match)
    if kept < 0:
        return kept
    blocks.control[FAILED] += failed
    keep_rows(block, code, at + 1 + code[at], blocks.source, kept)
    if target >= 0:
        for i in range(kept):
            block[target, i] = blocks.match[i]
    return kept


@compiled
def live_of_run(facts: Facts, pool: np.ndarray, start: int, length: int) -> np.ndarray:
    """The facts of a run that are in the new state."""
    live = np.empty(length, np.int32)
    kept = 0
    for k in range(length):
        fact = fact_of_run(pool, start, k)
        if (facts.status[fact] & (PRESENT | DELETED)) == PRESENT:
            live[kept] = fact
            kept += 1
    return live[:kept]


@compiled
def run_fold(
    facts: Facts,
    terms: Terms,
    indexes: np.ndarray,
    code: np.ndarray,
    pc: int,
    blocks: BindingBlocks,
    level: int,
) -> int:
    """An aggregate of every row's group: the run of its key in an index of distinct tuples."""
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    meta = indexes[code[pc + 2]]
    width = code[pc + 3]
    at = pc + 4 + width
    operator, target, distinct, count = code[at], code[at + 1], code[at + 2] != 0, code[at + 3]
    columns = code[at + 4 : at + 4 + count]
    start, length = blocks.run_start[level], blocks.run_length[level]
    find_runs(facts, meta, block, rows, code, pc + 4, blocks.hashes, start, length)
    pool = pool_at(meta)
    in_update = blocks.control[MODE] == IN_UPDATE
    kept = 0
    for i in range(rows):
        if in_update:
            live = live_of_run(facts, pool, start[i], length[i])
            value, failed = fold_run(facts, terms, live, 0, len(live), operator, columns, distinct)
        else:
            value, failed = fold_run(
                facts, terms, pool, int64(start[i]), int64(length[i]), operator, columns, distinct
            )
        blocks.control[FAILED] += failed
        if value >= 0:
            blocks.match[kept] = value
            blocks.source[kept] = i
            kept += 1
        elif value == LEFT_TO_PYTHON:
            left, n = int32_at(blocks.control[LEFT_AT], blocks.control[LEFT_SIZE]), blocks.control[LEFT]
            left[2 * n], left[2 * n + 1] = block[PIVOT_REGISTER, i], pc
            blocks.control[LEFT] = n + 1
    keep_rows(block, code, at + 4 + count, blocks.source, kept)
    for i in range(kept):
        block[target, i] = blocks.match[i]
    return kept


@compiled
def run_emit(facts: Facts, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int, status: int) -> None:
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    predicate, is_new, arity, at = code[pc + 2], code[pc + 3] != 0, code[pc + 4], pc + 5
    if arity == 2 and code[at] >= 0 and code[at + 1] >= 0 and not is_new:
        insert_pairs(facts, predicate, block[code[at]], block[code[at + 1]], rows, blocks.hashes, status)
        return
    heads = gather_heads(code, pc, blocks, level)
    if is_new:
        append_rows(facts, predicate, heads, rows, status)
    else:
        insert_rows(facts, predicate, heads, rows, blocks.hashes, status)
