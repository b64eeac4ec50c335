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

from tidalog.engine.dictionary_kernels import Terms, room_for_terms
from tidalog.engine.expressions import run_expression, term_of
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.functions import FAILED, STACK, TRUTH
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
    WIDTH,
)
from tidalog.engine.native import (
    borrowed,
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
    ANY_ID,
    BELOW_PIVOT,
    COMPUTE,
    EMIT,
    FILTER_MASK,
    FILTER_ORDER,
    FILTER_WANT,
    MEMBER,
    PROBE,
    TEST,
)
from tidalog.engine.probing import any_match, passes
from tidalog.engine.sweep import Plans
from tidalog.engine.table import EMPTY, HALF, LOW32, ONE, table_shift

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

NO_TERMS_NEEDED: Final = 1


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
def start_search(
    facts: Facts,
    filters: np.ndarray,
    code: np.ndarray,
    at: int,
    fact: int,
    registers: np.ndarray,
    cursor: np.ndarray,
) -> bool:
    """Begins a plan with a fact as its pivot.  False: the fact is none that the plan begins with."""
    number = code[at + 1]
    if not passes(facts.status, fact, filters[number, FILTER_MASK], filters[number, FILTER_WANT], ANY_ID, 0):
        return False
    arguments = facts.arguments
    offset = np.int64(facts.offset[fact])
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


@compiled
def find_fact(
    facts: Facts, predicate: int, code: np.ndarray, at: int, arity: int, registers: np.ndarray
) -> int:
    """The fact of a predicate whose arguments are operands, or -1."""
    h = hash_start(predicate)
    for j in range(arity):
        operand = code[at + j]
        h = hash_add(h, registers[operand] if operand >= 0 else np.int32(-1 - operand))
    h = hash_end(h)
    arguments, slots = facts.arguments, facts.slots
    mask = np.uint64(len(slots) - 1)
    s = h >> table_shift(len(slots))
    while True:
        entry = slots[s]
        if entry == EMPTY:
            return -1
        if entry >> HALF == h >> HALF:
            offset = np.int64(entry & LOW32)
            same = arguments[offset - 1] == predicate
            j = 0
            while same and j < arity:
                operand = code[at + j]
                same = arguments[offset + j] == (
                    registers[operand] if operand >= 0 else np.int32(-1 - operand)
                )
                j += 1
            if same:
                return arguments[offset - HEADER]
        s = (s + ONE) & mask


@compiled
def find_run(
    facts: Facts, meta: np.ndarray, code: np.ndarray, keys: int, registers: np.ndarray
) -> tuple[int, int]:
    """Start and length of the run of a key; (-1 - fact, 1) for a single fact, length 0 for none."""
    width = meta[WIDTH]
    slots = uint64_at(meta[SLOTS], meta[SIZE])
    records = int32_at(meta[RECORDS], meta[RECORD_SIZE] * RECORD)
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    arguments = facts.arguments
    h = hash_start(0)
    for j in range(width):
        operand = code[keys + j]
        h = hash_add(h, registers[operand] if operand >= 0 else np.int32(-1 - operand))
    h = hash_end(h)
    mask = np.uint64(meta[SIZE] - 1)
    s = h >> table_shift(meta[SIZE])
    while True:
        entry = slots[s]
        if entry == EMPTY:
            return 0, 0
        if entry >> HALF == h >> HALF:
            value = entry & LOW32
            start, length = np.int64(-1), np.int64(1)
            if value & IS_RECORD:
                at = np.int64(value & VALUE) * RECORD
                start, length = np.int64(records[at + START]), np.int64(records[at + LENGTH])
                first = np.int64(pool[start])
            else:
                first = np.int64(value) - 1
                start = -1 - first
            offset = np.int64(facts.offset[first])
            same = True
            j = 0
            while same and j < width:
                operand = code[keys + j]
                same = arguments[offset + meta[COLUMN + j]] == (
                    registers[operand] if operand >= 0 else np.int32(-1 - operand)
                )
                j += 1
            if same:
                return start, length
        s = (s + ONE) & mask


@compiled
def next_of_probe(
    facts: Facts,
    indexes: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    registers: np.ndarray,
    cursor: np.ndarray,
    probe: int,
) -> bool:
    """Takes the next fact of an open probe and loads its columns.  False: its run is at its end."""
    pc = cursor[probe + PROBE_STEP]
    meta = indexes[code[pc + 2]]
    number = code[pc + 3]
    mask, want = filters[number, FILTER_MASK], filters[number, FILTER_WANT]
    order = filters[number, FILTER_ORDER]
    same = pc + 6 + code[pc + 5]
    repeats = code[same]
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    start, length, position = (
        cursor[probe + RUN_START],
        cursor[probe + RUN_LENGTH],
        cursor[probe + RUN_POSITION],
    )
    arguments = facts.arguments
    while position < length:
        fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + position])
        position += 1
        if order == BELOW_PIVOT and fact >= cursor[PIVOT]:
            position = length  # runs ascend
            break
        if not passes(facts.status, fact, mask, want, order, cursor[PIVOT]):
            continue
        offset = np.int64(facts.offset[fact])
        equal = True
        for j in range(repeats):
            if arguments[offset + code[same + 1 + 2 * j]] != arguments[offset + code[same + 2 + 2 * j]]:
                equal = False
                break
        if not equal:
            continue
        keep = same + 1 + 2 * repeats
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
def is_absent(
    facts: Facts,
    indexes: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    pc: int,
    registers: np.ndarray,
    pivot: int,
) -> bool:
    index, predicate, number, width = code[pc + 2], code[pc + 3], code[pc + 4], code[pc + 5]
    if index < 0:
        fact = find_fact(facts, predicate, code, pc + 6, width, registers)
        return fact < 0 or not passes(
            facts.status,
            fact,
            filters[number, FILTER_MASK],
            filters[number, FILTER_WANT],
            filters[number, FILTER_ORDER],
            pivot,
        )
    same = pc + 6 + width
    start, length = find_run(facts, indexes[index], code, pc + 6, registers)
    return length == 0 or not any_match(
        facts, indexes[index], start, length, filters, number, pivot, code, same + 1, code[same]
    )


@compiled
def next_instance(
    facts: Facts,
    terms: Terms,
    indexes: np.ndarray,
    filters: np.ndarray,
    code: np.ndarray,
    registers: np.ndarray,
    cursor: np.ndarray,
    scratch: Scratch,
) -> int:
    """Goes on to the next instance: FOUND, and the registers hold it, NO_MORE or NO_ROOM."""
    pc = cursor[STEP]
    opened = cursor[OPEN]
    back = pc < 0  # the last call gave an instance: look for the next one
    while True:
        if back:
            if opened == 0:
                return NO_MORE
            probe = PROBES + PER_PROBE * (opened - 1)
            if not next_of_probe(facts, indexes, filters, code, registers, cursor, probe):
                opened -= 1
                continue
            pc = cursor[probe + PROBE_STEP]
            pc += code[pc + 1]
            back = False
        opcode = code[pc]
        if opcode == PROBE:
            start, length = find_run(facts, indexes[code[pc + 2]], code, pc + 6, registers)
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
            fact = find_fact(facts, code[pc + 2], code, pc + 6, code[pc + 5], registers)
            number = code[pc + 3]
            if fact < 0 or not passes(
                facts.status,
                fact,
                filters[number, FILTER_MASK],
                filters[number, FILTER_WANT],
                filters[number, FILTER_ORDER],
                cursor[PIVOT],
            ):
                back = True
                continue
            if code[pc + 4] >= 0:
                registers[code[pc + 4]] = fact
        elif opcode == EMIT:
            cursor[STEP] = -1 - pc
            cursor[OPEN] = opened
            return FOUND
        elif opcode == ABSENT:
            if not is_absent(facts, indexes, filters, code, pc, registers, cursor[PIVOT]):
                back = True
                continue
        elif opcode == TEST or opcode == COMPUTE:
            if opcode == COMPUTE and not room_for_terms(terms, NO_TERMS_NEEDED):
                cursor[STEP] = pc
                cursor[OPEN] = opened
                return NO_ROOM
            target = code[pc + 2] if opcode == COMPUTE else -1
            at = pc + 3 if opcode == COMPUTE else pc + 2
            block = registers.reshape((len(registers), 1))
            run_expression(
                terms,
                code,
                at + 1,
                code[at],
                block,
                0,
                scratch.tags,
                scratch.ints,
                scratch.reals,
                scratch.ids,
            )
            tag = scratch.tags[0]
            if tag == FAILED or (target < 0 and not (tag == TRUTH and scratch.ints[0] == 1)):
                back = True
                continue
            if target >= 0:
                registers[target] = term_of(terms, tag, scratch.ints[0], scratch.reals[0], scratch.ids[0])
        pc += code[pc + 1]


@compiled
def head_of(facts: Facts, code: np.ndarray, registers: np.ndarray, cursor: np.ndarray) -> int:
    """The fact that the instance just found derives, or -1 if it is not there."""
    pc = -1 - cursor[STEP]
    return find_fact(facts, code[pc + 2], code, pc + 5, code[pc + 4], registers)


@compiled
def derives(facts: Facts, code: np.ndarray, registers: np.ndarray, cursor: np.ndarray, fact: int) -> bool:
    """Whether the instance just found derives a given fact."""
    pc = -1 - cursor[STEP]
    offset = np.int64(facts.offset[fact])
    for j in range(code[pc + 4]):
        operand = code[pc + 5 + j]
        value = registers[operand] if operand >= 0 else np.int32(-1 - operand)
        if facts.arguments[offset + j] != value:
            return False
    return True
