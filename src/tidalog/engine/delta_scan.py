"""A delta scan: facts in order of id, each the pivot of every plan that begins with its predicate.

The scan reads blocks of consecutive ids and sorts each by predicate.  Over a growing store it ends when it
has caught up with its own results; that is semi-naive evaluation, if the plans' filters let the other atoms
match ids up to the pivot's only.  A scan can stop anywhere and resume.

A plan whose pivot has a constant is passed over if no fact of the block has it: of a hundred rules over one
predicate that each name another constant, few have anything to do in a block.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Int64Table, Uint64s, int64
from tidalog.engine.binding_blocks import BUDGET, EXPANDING, LEVEL, PC, PIVOT_REGISTER, ROWS, BindingBlocks
from tidalog.engine.block_executor import run_plan
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import ARITY, FACTS, Facts
from tidalog.engine.jit import compiled, entry, inlined, int32_at
from tidalog.engine.opcodes import ANY_ID, DONE, FILTER_MASK, FILTER_WANT, PAUSE
from tidalog.engine.probe import passes
from tidalog.engine.undo_log import Log

# Control of a delta scan.
NEXT: Final = 0  # the next fact id
LIMIT: Final = 1  # where to end; -1: at the end of the store, wherever that moves
GROUP: Final = 2  # predicate of the block under way
GROUPS: Final = 3
PLAN: Final = 4  # its plan under way
CURRENT: Final = 5  # number of the plan last started, or -1
ROUND: Final = 6  # how often the scan has caught up with where the store ended
ROUND_END: Final = 7
BEGIN: Final = 8  # first fact of the block under way; its last is before NEXT
TAKEN: Final = 9  # facts of the predicate under way
ONE_GROUP: Final = 10  # whether the block holds facts of one predicate only
LIST_AT: Final = 11  # address of a list of facts to scan, NEXT and LIMIT are positions in it; 0: all ids
LIST_SIZE: Final = 12  # its length
SCAN_CONTROL: Final = 13

SEEN_COLUMNS: Final = 4  # columns of which the values of a block are known
SEEN_BITS: Final = 12  # values are told apart by this many bits of a hash
SEEN_WORDS: Final = 1 << (SEEN_BITS - 6)
_MIX: Final = np.uint32(0x9E3779B1)
_SHIFT: Final = np.uint32(32 - SEEN_BITS)
_IN_WORD: Final = np.uint32(63)
_WORD: Final = np.uint32(6)
_ONE: Final = np.uint64(1)
START_COST: Final = 64  # rows that starting a plan counts as, so that blocks of one fact pause too


class Plans(NamedTuple):
    """Compiled plans, found by the predicate of their pivot."""

    code: Int32s
    filters: Int32Table
    starts: Int32s  # plan → position in the code
    first: Int32s  # where the plans of each predicate are in `order`: see `plans_of`
    order: Int32s


class DeltaScan(NamedTuple):
    control: Int64s
    ids: Int32s  # the facts of the predicate under way
    heads: Int32s  # predicate → first fact of the block, + 1
    tails: Int32s
    links: Int32s  # position in the block → next position of the same predicate, + 1
    touched: Int32s  # predicates of the block
    seen: Uint64s  # SEEN_WORDS for each column: the hashes of its values in the facts under way


def new_delta_scan(predicates: int, block: int, begin: int, limit: int) -> DeltaScan:
    control = np.zeros(SCAN_CONTROL, np.int64)
    control[NEXT], control[LIMIT], control[CURRENT] = begin, limit, -1
    return DeltaScan(
        control=control,
        ids=np.empty(block, np.int32),
        heads=np.zeros(predicates, np.int32),
        tails=np.zeros(predicates, np.int32),
        links=np.zeros(block, np.int32),
        touched=np.empty(predicates, np.int32),
        seen=np.zeros(SEEN_COLUMNS * SEEN_WORDS, np.uint64),
    )


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def plans_of(first: np.ndarray, predicate: int) -> tuple[int, int]:
    """Where the plans of a predicate begin and end in `order`; equal if it has none.  `first` has the number
    of predicates with plans, these in rising order, and where the plans of each begin: so it grows with the
    rules of a component and not with the predicates of a program."""
    count = first[0]
    low, high = 1, count + 1
    while low < high:
        middle = (low + high) >> 1
        if first[middle] < predicate:
            low = middle + 1
        else:
            high = middle
    begin, end = 0, 0
    if low <= count and first[low] == predicate:
        begin, end = first[count + low], first[count + low + 1]
    return begin, end


@entry
def start_plan(
    facts: Facts, filters: Int32Table, code: Int32s, at: int, ids: Int32s, count: int, blocks: BindingBlocks
) -> None:
    """Loads pivot facts that pass the plan's checks into the first level."""
    number = code[at + 1]
    constants = code[at + 2]
    constant_at = at + 3
    repeats = code[constant_at + 2 * constants]
    repeat_at = constant_at + 2 * constants + 1
    loads = code[repeat_at + 2 * repeats]
    load_at = repeat_at + 2 * repeats + 1
    block = blocks.registers[0]
    pivots = block[PIVOT_REGISTER]
    mask, want = filters[number, FILTER_MASK], filters[number, FILTER_WANT]
    arguments, offsets, status = facts.arguments, facts.offset, facts.status
    rows = 0
    if mask == 0 and constants == 0 and repeats == 0:
        for i in range(count):
            pivots[i] = ids[i]
        rows, count = count, 0
    for i in range(count):
        fact = ids[i]
        if not passes(status, fact, mask, want, ANY_ID, 0):
            continue
        offset = int64(offsets[fact])
        wanted = True
        for j in range(constants):
            column, operand = code[constant_at + 2 * j], code[constant_at + 2 * j + 1]
            if arguments[offset + column] != -1 - operand:
                wanted = False
        for j in range(repeats):
            a, b = code[repeat_at + 2 * j], code[repeat_at + 2 * j + 1]
            if arguments[offset + a] != arguments[offset + b]:
                wanted = False
        if wanted:
            pivots[rows] = fact
            rows += 1
    for j in range(loads):
        column, register = code[load_at + 2 * j], code[load_at + 2 * j + 1]
        target = block[register]
        for i in range(rows):
            target[i] = arguments[int64(offsets[pivots[i]]) + column]
    start_level(blocks, load_at + 2 * loads, rows)


@compiled
def note_values(facts: Facts, scan: DeltaScan, predicate: int, count: int) -> None:
    """Notes the values of the facts under way, column by column."""
    seen, arguments, offsets, ids = scan.seen, facts.arguments, facts.offset, scan.ids
    for column in range(min(SEEN_COLUMNS, facts.extent[predicate, ARITY])):
        begin = column * SEEN_WORDS
        for word in range(begin, begin + SEEN_WORDS):
            seen[word] = 0
        for i in range(count):
            h = bits_of(arguments[int64(offsets[ids[i]]) + column])
            seen[begin + int64(h >> _WORD)] |= _ONE << np.uint64(h & _IN_WORD)


@inlined
def bits_of(value: int) -> np.uint32:
    return np.uint32(np.uint32(value) * _MIX) >> _SHIFT


@inlined
def may_match(scan: DeltaScan, code: np.ndarray, at: int) -> bool:
    """Whether some fact under way may have the constants of the pivot of a plan."""
    found = True
    for j in range(code[at + 2]):
        column, operand = code[at + 3 + 2 * j], code[at + 4 + 2 * j]
        if column < SEEN_COLUMNS:
            h = bits_of(-1 - operand)
            word = scan.seen[column * SEEN_WORDS + int64(h >> _WORD)]
            if not word & (_ONE << np.uint64(h & _IN_WORD)):
                found = False
    return found


@compiled
def start_level(blocks: BindingBlocks, pc: int, rows: int) -> None:
    cursor = blocks.cursors[0]
    cursor[PC] = pc
    cursor[ROWS] = rows
    cursor[EXPANDING] = 0
    blocks.control[LEVEL] = 0


@inlined
def scan_list(scan: DeltaScan, facts: np.ndarray, begin: int, end: int) -> None:
    """The facts of a list from one position to another are to be scanned."""
    control = scan.control
    control[LIST_AT], control[LIST_SIZE] = facts.ctypes.data, len(facts)
    control[NEXT], control[LIMIT] = begin, end


@entry
def start_empty(code: Int32s, at: int, blocks: BindingBlocks) -> None:
    """A plan without a pivot begins with one row that binds nothing."""
    blocks.registers[0, PIVOT_REGISTER, 0] = -1
    start_level(blocks, at + 5, 1)


@inlined
def scanned(scan: DeltaScan, position: int) -> int:
    """The fact at a position of the scan."""
    listed = scan.control[LIST_AT]
    if listed == 0:
        return int64(position)
    return int64(int32_at(listed, scan.control[LIST_SIZE])[position])


@compiled
def sort_block(facts: Facts, plans: Plans, scan: DeltaScan, begin: int, end: int) -> None:
    """Chains the facts of a block by predicate, in order of id."""
    arguments, offset, first = facts.arguments, facts.offset, plans.first
    # Most blocks hold one predicate alone, and need no chains.
    alone = arguments[int64(offset[scanned(scan, begin)]) - 1]
    f = begin + 1
    while f < end and arguments[int64(offset[scanned(scan, f)]) - 1] == alone:
        f += 1
    scan.control[GROUP] = 0
    scan.control[PLAN] = 0
    scan.control[ONE_GROUP] = 1 if f == end else 0
    if f == end:
        scan.touched[0] = alone
        first_plan, last_plan = plans_of(first, alone)
        scan.control[GROUPS] = 1 if first_plan < last_plan else 0
        return
    groups, last, has_plans = 0, -1, False
    for f in range(begin, end):
        p = arguments[int64(offset[scanned(scan, f)]) - 1]
        if p != last:
            first_plan, last_plan = plans_of(first, p)
            last, has_plans = p, first_plan < last_plan
        if not has_plans:
            continue
        position = f - begin
        scan.links[position] = 0
        if scan.heads[p] == 0:
            scan.heads[p] = position + 1
            scan.touched[groups] = p
            groups += 1
        else:
            scan.links[scan.tails[p] - 1] = position + 1
        scan.tails[p] = position + 1
    scan.control[GROUPS] = groups


@compiled
def take_group(scan: DeltaScan, predicate: int, begin: int) -> int:
    """The ids of a predicate of the block; removes its chain."""
    if scan.control[ONE_GROUP] != 0:
        count = int64(scan.control[NEXT] - begin)
        for i in range(count):
            scan.ids[i] = scanned(scan, begin + i)
        return count
    position = scan.heads[predicate]
    count = 0
    while position > 0:
        scan.ids[count] = scanned(scan, begin + position - 1)
        count += 1
        position = scan.links[position - 1]
    scan.heads[predicate] = 0
    return count


@entry
def scan_delta(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    plans: Plans,
    blocks: BindingBlocks,
    scan: DeltaScan,
    status: int,
) -> int:
    """Scans until the end (DONE) or until something is wanted (see `opcodes`)."""
    control = scan.control
    while True:
        if blocks.control[LEVEL] >= 0:
            reason = run_plan(facts, terms, log, indexes, plans.filters, plans.code, blocks, status)
            if reason != DONE:
                return reason
        if control[GROUP] < control[GROUPS]:
            predicate = scan.touched[control[GROUP]]
            if control[PLAN] == 0:
                control[TAKEN] = take_group(scan, predicate, control[BEGIN])
                note_values(facts, scan, predicate, control[TAKEN])
            first_plan, last_plan = plans_of(plans.first, predicate)
            j = first_plan + control[PLAN]
            if j < last_plan:
                control[PLAN] += 1
                at = plans.starts[plans.order[j]]
                if not may_match(scan, plans.code, at):
                    continue
                control[CURRENT] = plans.order[j]
                start_plan(facts, plans.filters, plans.code, at, scan.ids, control[TAKEN], blocks)
                blocks.control[BUDGET] -= control[TAKEN] + START_COST
                if blocks.control[BUDGET] < 0:
                    return PAUSE
            else:
                control[GROUP] += 1
                control[PLAN] = 0
            continue
        begin = control[NEXT]
        limit = facts.state[FACTS] if control[LIMIT] < 0 else control[LIMIT]
        if begin >= limit:
            return DONE
        if begin >= control[ROUND_END]:
            control[ROUND] += 1
            control[ROUND_END] = limit
        control[BEGIN] = begin
        control[NEXT] = min(limit, begin + len(scan.ids))
        sort_block(facts, plans, scan, begin, control[NEXT])
