"""The tuple executor: the plans of the block executor, one instance at a time, for searches that stop early.

A *search* matches one pivot fact with every plan of its predicate, one after the other.  Its state is one row
of registers and one cursor, so `next_match` can return after every instance and resume where it was, and a
stack of searches is a depth-first proof without recursion.  Filters mean the same in both executors.

Invariant.  While a search is under way no fact is added, and the indexes it reads are up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tidalog.engine.array_types import Float64s, Int32Table, Int64s, Int64Table, int64
from tidalog.engine.delta_scan import plans_of
from tidalog.engine.dictionary_kernels import Terms, has_term_capacity
from tidalog.engine.expressions import run_expression, term_of
from tidalog.engine.functions import ASKED, FAILED, STACK, TRUTH
from tidalog.engine.index_kernels import fact_of_run, pool_at
from tidalog.engine.jit import compiled, inlined, int32_at, int32_table
from tidalog.engine.opcodes import (
    ABSENT,
    BELOW_PIVOT,
    COMPUTE,
    EMIT,
    FILTER_FIELDS,
    FILTER_ORDER,
    MEMBER,
    PROBE,
)
from tidalog.engine.plan_code import Code
from tidalog.engine.probe import agrees, has_operands
from tidalog.engine.tuple_view import (
    FILTERS,
    FILTERS_SIZE,
    FIRST,
    FIRST_SIZE,
    ORDER,
    PLANS,
    STARTS,
    VIEW,
    allows,
    arguments_of,
    as_block,
    code_of,
    find_fact,
    find_run,
    index_of,
    offsets_of,
)

# Cursor of a search, then four numbers for each open probe.
STATE: Final = 0  # IDLE, BETWEEN or SEARCHING
NEXT_PLAN: Final = 1  # position of the next plan in `Plans.order`
LAST_PLAN: Final = 2  # where the plans of the pivot's predicate end
PLAN: Final = 3  # number of the plan last started
PC: Final = 4  # the operator to run next; -1 - the emit after an instance
OPEN: Final = 5  # open probes
PIVOT: Final = 6
PROBES: Final = 7
PROBE_PC: Final = 0
RUN_START: Final = 1
RUN_LENGTH: Final = 2
RUN_POSITION: Final = 3
PER_PROBE: Final = 4

# States of a search.
IDLE: Final = 0  # it has no pivot
BETWEEN: Final = 1  # the next plan of its pivot is to be started
SEARCHING: Final = 2  # a plan is under way

FOUND: Final = 1
NO_MORE: Final = 0
FULL: Final = -1  # the dictionary has no capacity for a computed term or lacks an answer: call again then
EXPRESSION: Final = -2


class Scratch(NamedTuple):
    """The stack of expressions."""

    tags: Int64s
    ints: Int64s
    reals: Float64s
    ids: Int64s


def new_scratch() -> Scratch:
    return Scratch(
        np.empty(STACK, np.int64), np.empty(STACK, np.int64), np.empty(STACK), np.empty(STACK, np.int64)
    )


class Search(NamedTuple):
    """A stack of searches, and a view for each way to search."""

    registers: Int32Table  # [depth, register]
    cursors: Int64Table  # [depth, field]
    views: Int64Table  # [way, field]
    scratch: Scratch


def new_search(codes: Sequence[Code], depth: int) -> Search:
    """Searches by some plans; all are IDLE."""
    registers = max(code.registers for code in codes) + 1
    levels = max(code.levels for code in codes) + 1
    return Search(
        np.zeros((depth, registers), np.int32),
        np.zeros((depth, PROBES + PER_PROBE * levels), np.int64),
        np.zeros((len(codes), VIEW), np.int64),
        new_scratch(),
    )


# --- compiled ---------------------------------------------------------------------------------------


@compiled
def start_plan(view: np.ndarray, at: int, fact: int, registers: np.ndarray, cursor: np.ndarray) -> bool:
    """Starts a plan with a fact as its pivot.  False: the plan does not accept the fact."""
    code, arguments = code_of(view), arguments_of(view)
    if not allows(view, code[at + 1], fact, 0):
        return False
    offset = int64(offsets_of(view)[fact])
    pc = at + 3
    for _ in range(code[at + 2]):
        if arguments[offset + code[pc]] != -1 - code[pc + 1]:
            return False
        pc += 2
    repeats = code[pc]
    pc += 1
    for _ in range(repeats):
        if arguments[offset + code[pc]] != arguments[offset + code[pc + 1]]:
            return False
        pc += 2
    loads = code[pc]
    pc += 1
    for _ in range(loads):
        registers[code[pc + 1]] = arguments[offset + code[pc]]
        pc += 2
    registers[0] = fact
    cursor[PC] = pc
    cursor[OPEN] = 0
    cursor[PIVOT] = fact
    return True


@compiled
def next_of_probe(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, probe: int) -> bool:
    """Loads the columns of the next fact of an open probe.  False: its run has ended."""
    code, arguments, offsets = code_of(view), arguments_of(view), offsets_of(view)
    pc = cursor[probe + PROBE_PC]
    number = code[pc + 3]
    below = int32_at(view[FILTERS], view[FILTERS_SIZE])[number * FILTER_FIELDS + FILTER_ORDER] == BELOW_PIVOT
    same = pc + 6 + code[pc + 5]
    meta = index_of(view, code[pc + 2])
    pool = pool_at(meta)
    start, length, position = (
        cursor[probe + RUN_START],
        cursor[probe + RUN_LENGTH],
        cursor[probe + RUN_POSITION],
    )
    while position < length:
        fact = fact_of_run(pool, start, position)
        position += 1
        if below and fact >= cursor[PIVOT]:
            position = length  # runs ascend
            break
        if not allows(view, number, fact, cursor[PIVOT]):
            continue
        offset = int64(offsets[fact])
        if not agrees(arguments, offset, code, same):
            continue
        keep = same + 1 + 2 * code[same]
        new = keep + 1 + code[keep]
        for j in range(code[new]):
            registers[code[new + 2 + 2 * j]] = arguments[offset + code[new + 1 + 2 * j]]
        if code[pc + 4] >= 0:
            registers[code[pc + 4]] = fact
        cursor[probe + RUN_POSITION] = position
        return True
    cursor[probe + RUN_POSITION] = position
    return False


@compiled
def is_absent(view: np.ndarray, pc: int, registers: np.ndarray, pivot: int) -> bool:
    code, arguments, offsets = code_of(view), arguments_of(view), offsets_of(view)
    index, predicate, number, width = code[pc + 2], code[pc + 3], code[pc + 4], code[pc + 5]
    if index < 0:
        fact = find_fact(view, predicate, pc + 6, width, registers)
        return fact < 0 or not allows(view, number, fact, pivot)
    meta = index_of(view, index)
    pool = pool_at(meta)
    start, length = find_run(view, meta, pc + 6, registers)
    for k in range(length):
        fact = fact_of_run(pool, start, k)
        if allows(view, number, fact, pivot) and agrees(
            arguments, int64(offsets[fact]), code, pc + 6 + width
        ):
            return False
    return True


@compiled
def advance(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray) -> int:
    """Runs the plan to its next instance: FOUND, and the registers hold it; NO_MORE; or EXPRESSION: the next
    operator is one for `evaluate_operator`."""
    code = code_of(view)
    pc = cursor[PC]
    opened = cursor[OPEN]
    back = pc < 0  # the last call gave an instance, or an expression was false
    while True:
        if back:
            if opened == 0:
                return NO_MORE
            probe = PROBES + PER_PROBE * (opened - 1)
            if not next_of_probe(view, registers, cursor, probe):
                opened -= 1
                continue
            pc = cursor[probe + PROBE_PC]
            pc += code[pc + 1]
            back = False
        opcode = code[pc]
        if opcode == PROBE:
            start, length = find_run(view, index_of(view, code[pc + 2]), pc + 6, registers)
            if length > 0:
                probe = PROBES + PER_PROBE * opened
                cursor[probe + PROBE_PC] = pc
                cursor[probe + RUN_START] = start
                cursor[probe + RUN_LENGTH] = length
                cursor[probe + RUN_POSITION] = 0
                opened += 1
            back = True
            continue
        if opcode == MEMBER:
            fact = find_fact(view, code[pc + 2], pc + 6, code[pc + 5], registers)
            if fact < 0 or not allows(view, code[pc + 3], fact, cursor[PIVOT]):
                back = True
                continue
            if code[pc + 4] >= 0:
                registers[code[pc + 4]] = fact
        elif opcode == EMIT:
            cursor[PC] = -1 - pc
            cursor[OPEN] = opened
            return FOUND
        elif opcode == ABSENT:
            if not is_absent(view, pc, registers, cursor[PIVOT]):
                back = True
                continue
        else:
            cursor[PC] = pc
            cursor[OPEN] = opened
            return EXPRESSION
        pc += code[pc + 1]


@compiled
def evaluate_operator(
    terms: Terms, view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, scratch: Scratch
) -> int:
    """Runs TEST or COMPUTE.  FOUND: the search continues, or backtracks; or FULL."""
    code = code_of(view)
    pc = cursor[PC]
    compute = code[pc] == COMPUTE
    if compute and not has_term_capacity(terms, 1):
        return FULL
    at = pc + 3 if compute else pc + 2
    block = as_block(registers)
    run_expression(
        terms, code, at + 1, code[at], block, 0, scratch.tags, scratch.ints, scratch.reals, scratch.ids
    )
    tag = scratch.tags[0]
    if tag == ASKED:
        return FULL
    if tag == FAILED or (not compute and not (tag == TRUTH and scratch.ints[0] == 1)):
        cursor[PC] = -1
        return FOUND
    if compute:
        registers[code[pc + 2]] = term_of(terms, tag, scratch.ints[0], scratch.reals[0], scratch.ids[0])
    cursor[PC] = pc + code[pc + 1]
    return FOUND


@compiled
def advance_match(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, fact: int) -> int:
    """`advance`, through all plans of the fact's predicate.  NO_MORE leaves the search IDLE."""
    if cursor[STATE] == IDLE:
        first = int32_at(view[FIRST], view[FIRST_SIZE])
        predicate = arguments_of(view)[int64(offsets_of(view)[fact]) - 1]
        cursor[NEXT_PLAN], cursor[LAST_PLAN] = plans_of(first, predicate)
        cursor[STATE] = BETWEEN
    while True:
        if cursor[STATE] == SEARCHING:
            found = advance(view, registers, cursor)
            if found != NO_MORE:
                return found
            cursor[STATE] = BETWEEN
        if cursor[NEXT_PLAN] == cursor[LAST_PLAN]:
            cursor[STATE] = IDLE
            return NO_MORE
        plan = int32_at(view[ORDER], view[PLANS])[cursor[NEXT_PLAN]]
        cursor[NEXT_PLAN] += 1
        cursor[PLAN] = plan
        if start_plan(view, int32_at(view[STARTS], view[PLANS])[plan], fact, registers, cursor):
            cursor[STATE] = SEARCHING


@inlined
def next_match(terms: Terms, view: np.ndarray, search: Search, depth: int, fact: int) -> int:
    """The next instance of any plan that begins with a fact: FOUND, and the registers at `depth` hold it;
    NO_MORE; or FULL, and the same call goes on once the dictionary has grown.

    A search that is IDLE starts with the fact; until NO_MORE or `stop_matching` every call must name it."""
    registers, cursor = search.registers[depth], search.cursors[depth]
    found = advance_match(view, registers, cursor, fact)
    while found == EXPRESSION:
        found = evaluate_operator(terms, view, registers, cursor, search.scratch)
        if found == FOUND:
            found = advance_match(view, registers, cursor, fact)
    return found


@inlined
def stop_matching(search: Search, depth: int) -> None:
    """Ends a search before NO_MORE; the last instance stays in its registers."""
    search.cursors[depth, STATE] = IDLE


@inlined
def head_of(view: np.ndarray, search: Search, depth: int) -> int:
    """The fact that the instance just found derives, or -1 if it is absent."""
    code, pc = code_of(view), emit_of(search, depth)
    return find_fact(view, code[pc + 2], pc + 5, code[pc + 4], search.registers[depth])


@inlined
def derives(view: np.ndarray, search: Search, depth: int, fact: int) -> bool:
    """Whether the instance just found derives a given fact."""
    return has_arguments(view, emit_of(search, depth), search.registers[depth], fact)


@compiled
def has_arguments(view: np.ndarray, pc: int, registers: np.ndarray, fact: int) -> bool:
    """Whether an emit names a given fact."""
    code, offset = code_of(view), int64(offsets_of(view)[fact])
    return has_operands(arguments_of(view), offset, as_block(registers), 0, code, pc + 5, code[pc + 4])


@inlined
def emit_of(search: Search, depth: int) -> int:
    """Where the code emits the instance just found."""
    return int64(-1 - search.cursors[depth, PC])


@inlined
def row_of(search: Search, depth: int) -> np.ndarray:
    """The instance just found as a block of one row."""
    registers = search.registers[depth]
    return int32_table(registers.ctypes.data, len(registers), 1)


@inlined
def body_of(view: np.ndarray, search: Search, depth: int) -> int:
    """Where the code lists the body of the instance just found: a count, then registers that hold facts."""
    pc = emit_of(search, depth)
    return int64(pc + 5 + code_of(view)[pc + 4])
