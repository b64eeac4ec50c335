"""The block executor: one compiled interpreter for every plan, over blocks of bindings.

A *level* is a block of rows, columns first.  Filters and computations work on the block in place; a probe
fills the next level's block from the runs its keys found, as many rows as fit, and that block is taken to its
end before the probe goes on.  So the executor's whole state is one cursor per level (`BindingBlocks`): it can
stop at any operator and resume, and arrays grow only while it is stopped.  Emit needs capacity for a block of
facts, compute for a block of terms; without it, the executor returns what must grow.

Nothing here knows about an algorithm: which facts an atom may match comes with the call (`filters`).
"""

from __future__ import annotations

from typing import Final

from tidalog.engine.array_types import Int32s, Int32Table, Int64Table
from tidalog.engine.binding_blocks import (
    BUDGET,
    COUNTED,
    COUNTS_AT,
    COUNTS_SIZE,
    DERIVATIONS,
    EXPANDING,
    FAILED,
    IN_UPDATE,
    IS_STRICT,
    LEVEL,
    MODE,
    OBSERVED,
    PC,
    PROVE,
    RETRACT,
    ROWS,
    WANTED,
    BindingBlocks,
)
from tidalog.engine.bitmaps import run_outside
from tidalog.engine.derivation_counts import count_heads
from tidalog.engine.dictionary_kernels import Terms, has_term_capacity
from tidalog.engine.emit import can_observe, run_emit_changes
from tidalog.engine.fact_kernels import ENTRIES, FACTS, HEADER, USED, Facts, add_to_table, untabled
from tidalog.engine.hash_table import has_capacity
from tidalog.engine.index_kernels import catch_up
from tidalog.engine.jit import compiled, entry, int64_at
from tidalog.engine.mark_propagation import PASS_ON, pass_marks_on
from tidalog.engine.opcodes import (
    ABSENT,
    COMPUTE,
    DONE,
    EMIT,
    GROW_FACTS,
    GROW_INDEX,
    GROW_LOG,
    GROW_TERMS,
    MEMBER,
    OUTSIDE,
    PAUSE,
    PROBE,
    STRICT,
    TEST,
)
from tidalog.engine.operators import (
    run_absent,
    run_emit,
    run_fold,
    run_member,
    run_probe,
    run_test_or_compute,
)
from tidalog.engine.prove import prove_pivots
from tidalog.engine.retract import retract_heads
from tidalog.engine.undo_log import Log

NEW_FACTS: Final = 1  # after the rows of EMIT: the facts that were not there before

# --- compiled ---------------------------------------------------------------------------------------


@compiled
def has_fact_capacity(facts: Facts, rows: int, arity: int) -> bool:
    n, used = facts.state[FACTS] + rows, facts.state[USED] + rows * (arity + HEADER)
    return bool(n <= min(len(facts.offset), len(facts.status)) and used <= len(facts.arguments))


@compiled
def ensure_tabled(facts: Facts, predicate: int, more: int) -> bool:
    """Adds all facts of a predicate to the table; False: it has no capacity for them and for `more`."""
    missing = untabled(facts, predicate)
    if not has_capacity(facts.state[ENTRIES] + missing + more, len(facts.slots)):
        return False
    if missing > 0:
        add_to_table(facts, predicate)
    return True


@compiled
def count_rows(blocks: BindingBlocks, pc: int, rows: int) -> None:
    """Counts the rows that an operator has been given, where its code starts, if the caller asks for it."""
    if blocks.control[COUNTS_AT] != 0:
        int64_at(blocks.control[COUNTS_AT], blocks.control[COUNTS_SIZE])[pc] += rows


@entry
def run_plan(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    filters: Int32Table,
    code: Int32s,
    blocks: BindingBlocks,
    status: int,
) -> int:
    """Runs the plan under way until it is done or something is wanted (see `opcodes`)."""
    control = blocks.control
    while control[LEVEL] >= 0:
        level = control[LEVEL]
        cursor = blocks.cursors[level]
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
            if cursor[EXPANDING] == 0:
                count_rows(blocks, pc, cursor[ROWS])
            if run_probe(facts, indexes[index], filters, code, pc, blocks, level):
                control[LEVEL] = level + 1
                control[BUDGET] -= blocks.cursors[level + 1, ROWS]
                if control[BUDGET] < 0:
                    return PAUSE
            else:
                control[LEVEL] = level - 1
            continue
        if opcode == EMIT:
            rows = cursor[ROWS]
            if control[MODE] == RETRACT:
                retract_heads(facts, log, code, pc, blocks, level, status)
                control[DERIVATIONS] += rows
                control[LEVEL] = level - 1
                continue
            if control[MODE] == PROVE:
                prove_pivots(facts, log, code, pc, blocks, level)
                control[LEVEL] = level - 1
                continue
            if not has_fact_capacity(facts, rows, code[pc + 4]) or not (
                code[pc + 3] != 0 or ensure_tabled(facts, code[pc + 2], rows)
            ):
                control[WANTED] = code[pc + 2]
                return GROW_FACTS
            before = facts.state[FACTS]
            if control[MODE] == IN_UPDATE:
                if not can_observe(facts, code, pc, blocks, log, rows):
                    control[WANTED] = rows * code[pc + 5 + code[pc + 4]]
                    return GROW_LOG
                run_emit_changes(facts, log, code, pc, blocks, level, status)
                if control[OBSERVED] & PASS_ON:
                    pass_marks_on(facts, log, code, pc, blocks, level, rows)
                if control[COUNTED] != 0:
                    count_heads(facts, control[COUNTED], blocks.match, blocks.source, rows)
            else:
                run_emit(facts, code, pc, blocks, level, status)
            control[DERIVATIONS] += rows
            count_rows(blocks, pc, rows)
            count_rows(blocks, pc + NEW_FACTS, facts.state[FACTS] - before)
            control[LEVEL] = level - 1
            continue
        if opcode == MEMBER:
            if not ensure_tabled(facts, code[pc + 2], 0):
                control[WANTED] = code[pc + 2]
                return GROW_FACTS
            kept = run_member(facts, filters, code, pc, blocks, level)
        elif opcode == ABSENT:
            index = code[pc + 2]
            if index < 0 and not ensure_tabled(facts, code[pc + 3], 0):
                control[WANTED] = code[pc + 3]
                return GROW_FACTS
            if index >= 0 and not catch_up(facts, indexes[index]):
                control[WANTED] = index
                return GROW_INDEX
            kept = run_absent(facts, indexes, filters, code, pc, blocks, level)
        elif opcode == OUTSIDE:
            kept = run_outside(code, pc, blocks, level)
        elif opcode == TEST or opcode == COMPUTE:
            if opcode == COMPUTE and not has_term_capacity(terms, cursor[ROWS]):
                return GROW_TERMS
            kept = run_test_or_compute(terms, code, pc, blocks, level)
            if kept < 0:
                return GROW_TERMS
        else:
            if not has_term_capacity(terms, cursor[ROWS]):
                return GROW_TERMS
            index = code[pc + 2]
            if not catch_up(facts, indexes[index]):
                control[WANTED] = index
                return GROW_INDEX
            kept = run_fold(facts, terms, indexes, code, pc, blocks, level)
        count_rows(blocks, pc, cursor[ROWS])
        cursor[ROWS] = kept
        cursor[PC] = pc + code[pc + 1]
        if control[FAILED] > 0 and control[IS_STRICT] != 0:
            return STRICT
    return DONE
