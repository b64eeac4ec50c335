"""The plan machine: one compiled interpreter for every plan, over blocks of bindings.

A *level* is a block of rows, columns first.  Filters and computations work on the block in place; a probe
fills the next level's block from the runs its keys found, as many rows as fit, and that block is taken to its
end before the probe goes on.  So the machine's whole state is one cursor per level (`Frame`), it can stop at
any step and be called again, and arrays grow only while it is stopped.  Emit needs room for a block of
facts, compute for a block of terms; if there is none, the machine comes back and says so.

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
    Frame,
)
from tidalog.engine.bitmaps import step_outside
from tidalog.engine.derivation_counts import count_heads
from tidalog.engine.dictionary_kernels import Terms, room_for_terms
from tidalog.engine.emit import room_to_observe, step_emit_changes
from tidalog.engine.fact_kernels import ENTRIES, FACTS, HEADER, USED, Facts, bring_in, untabled
from tidalog.engine.hash_table import has_room
from tidalog.engine.index import catch_up
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
    step_absent,
    step_emit,
    step_expression,
    step_fold,
    step_member,
    step_probe,
)
from tidalog.engine.prove import prove_pivots
from tidalog.engine.retract import retract_heads
from tidalog.engine.undo_log import Log

NEW_FACTS: Final = 1  # after the rows of EMIT: the facts that were not there before

# --- compiled ---------------------------------------------------------------------------------------


@compiled
def room_for_facts(facts: Facts, rows: int, arity: int) -> bool:
    n, used = facts.state[FACTS] + rows, facts.state[USED] + rows * (arity + HEADER)
    return n <= min(len(facts.offset), len(facts.status)) and used <= len(facts.arguments)


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
def count_rows(frame: Frame, pc: int, rows: int) -> None:
    """Counts the rows that an operator has been given, where its code starts, if someone asks for it."""
    if frame.control[COUNTS_AT] != 0:
        int64_at(frame.control[COUNTS_AT], frame.control[COUNTS_SIZE])[pc] += rows


@entry
def run_frame(
    facts: Facts,
    terms: Terms,
    indexes: Int64Table,
    filters: Int32Table,
    code: Int32s,
    frame: Frame,
    log: Log,
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
            if cursor[EXPANDING] == 0:
                count_rows(frame, pc, cursor[ROWS])
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
            if control[MODE] == RETRACT:
                retract_heads(facts, log, code, pc, frame, level, status)
                control[DERIVATIONS] += rows
                control[LEVEL] = level - 1
                continue
            if control[MODE] == PROVE:
                prove_pivots(facts, log, code, pc, frame, level)
                control[LEVEL] = level - 1
                continue
            if not room_for_facts(facts, rows, code[pc + 4]) or not (
                code[pc + 3] != 0 or is_tabled(facts, code[pc + 2], rows)
            ):
                control[WANTED] = code[pc + 2]
                return GROW_FACTS
            before = facts.state[FACTS]
            if control[MODE] == IN_UPDATE:
                if not room_to_observe(facts, code, pc, frame, log, rows):
                    control[WANTED] = rows * code[pc + 5 + code[pc + 4]]
                    return GROW_LOG
                step_emit_changes(facts, log, code, pc, frame, level, status)
                if control[OBSERVED] & PASS_ON:
                    pass_marks_on(facts, log, code, pc, frame, level, rows)
                if control[COUNTED] != 0:
                    count_heads(facts, control[COUNTED], frame.match, frame.source, rows)
            else:
                step_emit(facts, code, pc, frame, level, status)
            control[DERIVATIONS] += rows
            count_rows(frame, pc, rows)
            count_rows(frame, pc + NEW_FACTS, facts.state[FACTS] - before)
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
        elif opcode == OUTSIDE:
            kept = step_outside(code, pc, frame, level)
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
        count_rows(frame, pc, cursor[ROWS])
        cursor[ROWS] = kept
        cursor[PC] = pc + code[pc + 1]
        if control[FAILED] > 0 and control[IS_STRICT] != 0:
            return STRICT
    return DONE
