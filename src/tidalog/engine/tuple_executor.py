"""One instance at a time: the same plans as `machine`, for searches that stop at the first answer.

A *search* is a plan, a pivot fact, one row of registers and a cursor per probe.  It gives one instance per
call and can be left anywhere and taken up again, so a stack of searches is a depth-first proof without
recursion.  Filters mean what they mean to the machine.

No fact may be added while a search is under way, and its indexes must be caught up.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.delta_scan import Plans
from tidalog.engine.dictionary_kernels import Terms, room_for_terms
from tidalog.engine.expressions import run_expression, term_of
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.functions import FAILED, STACK, TRUTH
from tidalog.engine.hash_table import EMPTY, HALF, LOW32, ONE, table_shift
from tidalog.engine.index import (
    COLUMN,
    IS_RECORD,
    LENGTH,
    POOL,
    RECORD,
    RECORDS,
    SIZE,
    SLOTS,
    START,
    VALUE,
    WIDTH,
)
from tidalog.engine.jit import (
    borrowed,
    compiled,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    int64_at,
    uint16_at,
    uint32_at,
    uint64_at,
)
from tidalog.engine.opcodes import (
    ABSENT,
    BELOW_PIVOT,
    COMPUTE,
    EMIT,
    FILTER_FIELDS,
    FILTER_MASK,
    FILTER_ORDER,
    FILTER_WANT,
    MEMBER,
    PROBE,
)
from tidalog.engine.probe import passes

# Cursor of a search: where the next step stands, the open probes, the pivot; then four numbers a probe.
STEP: Final = 0
OPEN: Final = 1
PIVOT: Final = 2
PROBES: Final = 3
PROBE_STEP: Final = 0
RUN_START: Final = 1
RUN_LENGTH: Final = 2
RUN_POSITION: Final = 3
PER_PROBE: Final = 4

FOUND: Final = 1
NO_MORE: Final = 0
NO_ROOM: Final = -1  # a computation needs room for a term; make it and call again
EXPRESSION: Final = -2

# A view: addresses of what a search reads, see `view_of`.
ARGUMENTS: Final = 0
OFFSET: Final = 1
STATUS: Final = 2
TABLE: Final = 3
TABLE_SIZE: Final = 4
TABLE_SHIFT: Final = 5
INDEXES: Final = 6
INDEX_WIDTH: Final = 7
CODE: Final = 8
FILTERS: Final = 9
VIEW: Final = 10
MANY: Final = 1 << 40  # a length that is of no account


class Scratch(NamedTuple):
    """The stack of expressions."""

    tags: npt.NDArray[np.int64]
    ints: npt.NDArray[np.int64]
    reals: npt.NDArray[np.float64]
    ids: npt.NDArray[np.int64]


def new_scratch() -> Scratch:
    return Scratch(
        np.empty(STACK, np.int64), np.empty(STACK, np.int64), np.empty(STACK), np.empty(STACK, np.int64)
    )


def cursor_size(levels: int) -> int:
    """Numbers of a cursor for a plan with so many levels."""
    return PROBES + PER_PROBE * levels


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def borrowed_facts(facts: Facts) -> Facts:
    return Facts(
        borrowed(facts.arguments),
        borrowed(facts.offset),
        borrowed(facts.status),
        borrowed(facts.slots),
        borrowed(facts.state),
        borrowed(facts.extent),
    )


@inlined
def borrowed_plans(plans: Plans) -> Plans:
    return Plans(
        borrowed(plans.code),
        borrowed(plans.filters),
        borrowed(plans.starts),
        borrowed(plans.first),
        borrowed(plans.order),
    )


@inlined
def borrowed_scratch(scratch: Scratch) -> Scratch:
    return Scratch(
        borrowed(scratch.tags), borrowed(scratch.ints), borrowed(scratch.reals), borrowed(scratch.ids)
    )


@compiled
def view_of(facts: Facts, indexes: np.ndarray, plans: Plans) -> np.ndarray:
    """Addresses of everything that a search of some plans reads: one array to pass on instead of a dozen."""
    view = np.empty(VIEW, np.int64)
    view[ARGUMENTS] = facts.arguments.ctypes.data
    view[OFFSET] = facts.offset.ctypes.data
    view[STATUS] = facts.status.ctypes.data
    view[TABLE] = facts.slots.ctypes.data
    view[TABLE_SIZE] = len(facts.slots)
    view[TABLE_SHIFT] = np.int64(table_shift(len(facts.slots)))
    view[INDEXES] = indexes.ctypes.data
    view[INDEX_WIDTH] = indexes.shape[1]
    view[CODE] = plans.code.ctypes.data
    view[FILTERS] = plans.filters.ctypes.data
    return view


@inlined
def arguments_of(view: np.ndarray) -> np.ndarray:
    return int32_at(view[ARGUMENTS], MANY)


@inlined
def offsets_of(view: np.ndarray) -> np.ndarray:
    return uint32_at(view[OFFSET], MANY)


@inlined
def status_of(view: np.ndarray) -> np.ndarray:
    return uint16_at(view[STATUS], MANY)


@inlined
def code_of(view: np.ndarray) -> np.ndarray:
    return int32_at(view[CODE], MANY)


@inlined
def index_of(view: np.ndarray, number: int) -> np.ndarray:
    """The row of `Indexes.meta` of an index."""
    width = view[INDEX_WIDTH]
    return int64_at(view[INDEXES] + 8 * number * width, width)


@inlined
def allows(view: np.ndarray, number: int, fact: int, pivot: int) -> bool:
    """Whether a filter lets an atom match a fact."""
    filters = int32_at(view[FILTERS], MANY)
    at = number * FILTER_FIELDS
    return passes(
        status_of(view),
        fact,
        filters[at + FILTER_MASK],
        filters[at + FILTER_WANT],
        filters[at + FILTER_ORDER],
        pivot,
    )


@compiled
def start_search(view: np.ndarray, at: int, fact: int, registers: np.ndarray, cursor: np.ndarray) -> bool:
    """Begins a plan with a fact as its pivot.  False: the fact is none that the plan begins with."""
    code, arguments = code_of(view), arguments_of(view)
    if not allows(view, code[at + 1], fact, 0):
        return False
    offset = np.int64(offsets_of(view)[fact])
    place = at + 3
    for _ in range(code[at + 2]):
        if arguments[offset + code[place]] != -1 - code[place + 1]:
            return False
        place += 2
    repeats = code[place]
    place += 1
    for _ in range(repeats):
        if arguments[offset + code[place]] != arguments[offset + code[place + 1]]:
            return False
        place += 2
    loads = code[place]
    place += 1
    for _ in range(loads):
        registers[code[place + 1]] = arguments[offset + code[place]]
        place += 2
    registers[0] = fact
    cursor[STEP] = place
    cursor[OPEN] = 0
    cursor[PIVOT] = fact
    return True


@inlined
def value_of(code: np.ndarray, at: int, registers: np.ndarray) -> np.int32:
    operand = code[at]
    return registers[operand] if operand >= 0 else np.int32(-1 - operand)


@compiled
def find_fact(view: np.ndarray, predicate: int, at: int, arity: int, registers: np.ndarray) -> int:
    """The fact of a predicate whose arguments are operands at a place of the code, or -1."""
    code, arguments = code_of(view), arguments_of(view)
    h = hash_start(predicate)
    for j in range(arity):
        h = hash_add(h, value_of(code, at + j, registers))
    h = hash_end(h)
    slots = uint64_at(view[TABLE], view[TABLE_SIZE])
    mask = np.uint64(view[TABLE_SIZE] - 1)
    s = h >> np.uint64(view[TABLE_SHIFT])
    while True:
        entry = slots[s]
        if entry == EMPTY:
            return -1
        if entry >> HALF == h >> HALF:
            offset = np.int64(entry & LOW32)
            same = arguments[offset - 1] == predicate
            j = 0
            while same and j < arity:
                same = arguments[offset + j] == value_of(code, at + j, registers)
                j += 1
            if same:
                return arguments[offset - HEADER]
        s = (s + ONE) & mask


@compiled
def find_run(view: np.ndarray, meta: np.ndarray, keys: int, registers: np.ndarray) -> tuple[int, int]:
    """Start and length of the run of a key; (-1 - fact, 1) for a single fact, length 0 for none."""
    code, arguments = code_of(view), arguments_of(view)
    width = meta[WIDTH]
    slots = uint64_at(meta[SLOTS], meta[SIZE])
    records = int32_at(meta[RECORDS], MANY)
    pool = int32_at(meta[POOL], MANY)
    h = hash_start(0)
    for j in range(width):
        h = hash_add(h, value_of(code, keys + j, registers))
    h = hash_end(h)
    mask = np.uint64(meta[SIZE] - 1)
    s = h >> table_shift(meta[SIZE])
    while True:
        entry = slots[s]
        if entry == EMPTY:
            return np.int64(0), np.int64(0)
        if entry >> HALF == h >> HALF:
            value = entry & LOW32
            length = np.int64(1)
            if value & IS_RECORD:
                at = np.int64(value & VALUE) * RECORD
                start, length = np.int64(records[at + START]), np.int64(records[at + LENGTH])
                first = np.int64(pool[start])
            else:
                first = np.int64(value) - 1
                start = -1 - first
            offset = np.int64(offsets_of(view)[first])
            same = True
            j = 0
            while same and j < width:
                same = arguments[offset + meta[COLUMN + j]] == value_of(code, keys + j, registers)
                j += 1
            if same:
                return start, length
        s = (s + ONE) & mask


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
def next_of_probe(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, probe: int) -> bool:
    """Takes the next fact of an open probe and loads its columns.  False: its run is at its end."""
    code, arguments, offsets = code_of(view), arguments_of(view), offsets_of(view)
    pc = cursor[probe + PROBE_STEP]
    number = code[pc + 3]
    below = int32_at(view[FILTERS], MANY)[number * FILTER_FIELDS + FILTER_ORDER] == BELOW_PIVOT
    same = pc + 6 + code[pc + 5]
    pool = int32_at(index_of(view, code[pc + 2])[POOL], MANY)
    start, length, position = (
        cursor[probe + RUN_START],
        cursor[probe + RUN_LENGTH],
        cursor[probe + RUN_POSITION],
    )
    while position < length:
        fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + position])
        position += 1
        if below and fact >= cursor[PIVOT]:
            position = length  # runs ascend
            break
        if not allows(view, number, fact, cursor[PIVOT]):
            continue
        offset = np.int64(offsets[fact])
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
    pool = int32_at(meta[POOL], MANY)
    start, length = find_run(view, meta, pc + 6, registers)
    for k in range(length):
        fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
        if allows(view, number, fact, pivot) and agrees(
            arguments, np.int64(offsets[fact]), code, pc + 6 + width
        ):
            return False
    return True


@compiled
def advance(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray) -> int:
    """Goes on to the next instance: FOUND, and the registers hold it, or NO_MORE, or EXPRESSION: the step
    under way is one that `evaluate_step` must take."""
    code = code_of(view)
    pc = cursor[STEP]
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
            pc = cursor[probe + PROBE_STEP]
            pc += code[pc + 1]
            back = False
        opcode = code[pc]
        if opcode == PROBE:
            start, length = find_run(view, index_of(view, code[pc + 2]), pc + 6, registers)
            if length > 0:
                probe = PROBES + PER_PROBE * opened
                cursor[probe + PROBE_STEP] = pc
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
            cursor[STEP] = -1 - pc
            cursor[OPEN] = opened
            return FOUND
        elif opcode == ABSENT:
            if not is_absent(view, pc, registers, cursor[PIVOT]):
                back = True
                continue
        else:
            cursor[STEP] = pc
            cursor[OPEN] = opened
            return EXPRESSION
        pc += code[pc + 1]


@compiled
def evaluate_step(
    terms: Terms, view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, scratch: Scratch
) -> int:
    """Takes the step of an expression: FOUND, the search goes on behind it or back from it, or NO_ROOM."""
    code = code_of(view)
    pc = cursor[STEP]
    compute = code[pc] == COMPUTE
    if compute and not room_for_terms(terms, 1):
        return NO_ROOM
    at = pc + 3 if compute else pc + 2
    block = registers.reshape((len(registers), 1))
    run_expression(
        terms, code, at + 1, code[at], block, 0, scratch.tags, scratch.ints, scratch.reals, scratch.ids
    )
    tag = scratch.tags[0]
    if tag == FAILED or (not compute and not (tag == TRUTH and scratch.ints[0] == 1)):
        cursor[STEP] = -1
        return FOUND
    if compute:
        registers[code[pc + 2]] = term_of(terms, tag, scratch.ints[0], scratch.reals[0], scratch.ids[0])
    cursor[STEP] = pc + code[pc + 1]
    return FOUND


@inlined
def next_instance(
    terms: Terms, view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, scratch: Scratch
) -> int:
    """Goes on to the next instance: FOUND, and the registers hold it, NO_MORE or NO_ROOM."""
    found = advance(view, registers, cursor)
    while found == EXPRESSION:
        found = evaluate_step(terms, view, registers, cursor, scratch)
        if found == FOUND:
            found = advance(view, registers, cursor)
    return found


@compiled
def head_of(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray) -> int:
    """The fact that the instance just found derives, or -1 if it is not there."""
    code = code_of(view)
    pc = -1 - cursor[STEP]
    return find_fact(view, code[pc + 2], pc + 5, code[pc + 4], registers)


@compiled
def derives(view: np.ndarray, registers: np.ndarray, cursor: np.ndarray, fact: int) -> bool:
    """Whether the instance just found derives a given fact."""
    code, arguments = code_of(view), arguments_of(view)
    pc = -1 - cursor[STEP]
    offset = np.int64(offsets_of(view)[fact])
    for j in range(code[pc + 4]):
        if arguments[offset + j] != value_of(code, pc + 5 + j, registers):
            return False
    return True
