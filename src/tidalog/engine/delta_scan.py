"""A sweep: facts in order of id, each the pivot of every plan that begins with its predicate.

Facts are taken in blocks of consecutive ids and sorted by predicate inside a block.  A sweep over a growing
store ends when it has caught up with its own results; that is semi-naive evaluation, if the plans' filters
let the other atoms match ids up to the pivot's only.  A sweep can stop anywhere and be called again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Int64Table
from tidalog.engine.binding_blocks import BUDGET, EXPANDING, LEVEL, PC, PIVOT_REGISTER, ROWS, Frame
from tidalog.engine.block_executor import run_frame
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.jit import compiled, entry, inlined, int32_at
from tidalog.engine.opcodes import ANY_ID, DONE, FILTER_MASK, FILTER_WANT, PAUSE
from tidalog.engine.probe import passes
from tidalog.engine.undo_log import Log

# Control of a sweep.
NEXT: Final = 0  # the next fact id
LIMIT: Final = 1  # where to end; -1: at the end of the store, wherever that moves
GROUP: Final = 2  # predicate of the block under way
GROUPS: Final = 3
PLAN: Final = 4  # its plan under way
CURRENT: Final = 5  # number of the plan last started, or -1
ROUND: Final = 6  # how often the sweep has caught up with where the store ended
ROUND_END: Final = 7
BEGIN: Final = 8  # first fact of the block under way; its last is before NEXT
TAKEN: Final = 9  # facts of the predicate under way
ONE_GROUP: Final = 10  # whether the block holds facts of one predicate only
LIST_AT: Final = 11  # address of a list of facts to scan, NEXT and LIMIT are positions in it; 0: all ids
LIST_SIZE: Final = 12  # its length
SWEEP_CONTROL: Final = 13

START_COST: Final = 64  # rows that starting a plan counts as, so that blocks of one come to a look too


class Plans(NamedTuple):
    """Compiled plans, found by the predicate of their pivot."""

    code: Int32s
    filters: Int32Table
    starts: Int32s  # plan → place in the code
    first: Int32s  # where the plans of each predicate are in `order`: see `plans_of`
    order: Int32s


class Sweep(NamedTuple):
    control: Int64s
    ids: Int32s  # the facts of the predicate under way
    heads: Int32s  # predicate → first fact of the block, + 1
    tails: Int32s
    links: Int32s  # place in the block → next place of the same predicate, + 1
    touched: Int32s  # predicates of the block


def new_sweep(predicates: int, block: int, begin: int, limit: int) -> Sweep:
    control = np.zeros(SWEEP_CONTROL, np.int64)
    control[NEXT], control[LIMIT], control[CURRENT] = begin, limit, -1
    return Sweep(
        control=control,
        ids=np.empty(block, np.int32),
        heads=np.zeros(predicates, np.int32),
        tails=np.zeros(predicates, np.int32),
        links=np.zeros(block, np.int32),
        touched=np.empty(predicates, np.int32),
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
    facts: Facts, filters: Int32Table, code: Int32s, at: int, ids: Int32s, count: int, frame: Frame
) -> None:
    """Loads pivot facts that pass the plan's checks into the first level."""
    number = code[at + 1]
    constants = code[at + 2]
    constant_at = at + 3
    repeats = code[constant_at + 2 * constants]
    repeat_at = constant_at + 2 * constants + 1
    loads = code[repeat_at + 2 * repeats]
    load_at = repeat_at + 2 * repeats + 1
    block = frame.registers[0]
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
        offset = np.int64(offsets[fact])
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
            target[i] = arguments[np.int64(offsets[pivots[i]]) + column]
    start_level(frame, load_at + 2 * loads, rows)


@compiled
def start_level(frame: Frame, pc: int, rows: int) -> None:
    cursor = frame.cursors[0]
    cursor[PC] = pc
    cursor[ROWS] = rows
    cursor[EXPANDING] = 0
    frame.control[LEVEL] = 0


@entry
def start_empty(code: Int32s, at: int, frame: Frame) -> None:
    """A plan without a pivot begins with one row that binds nothing."""
    frame.registers[0, PIVOT_REGISTER, 0] = -1
    start_level(frame, at + 5, 1)


@inlined
def scanned(sweep: Sweep, position: int) -> int:
    """The fact at a position of the scan."""
    listed = sweep.control[LIST_AT]
    if listed == 0:
        return np.int64(position)
    return np.int64(int32_at(listed, sweep.control[LIST_SIZE])[position])


@compiled
def sort_block(facts: Facts, plans: Plans, sweep: Sweep, begin: int, end: int) -> None:
    """Chains the facts of a block by predicate, in order of id."""
    arguments, offset, first = facts.arguments, facts.offset, plans.first
    # Most blocks hold one predicate alone, and need no chains.
    alone = arguments[np.int64(offset[scanned(sweep, begin)]) - 1]
    f = begin + 1
    while f < end and arguments[np.int64(offset[scanned(sweep, f)]) - 1] == alone:
        f += 1
    sweep.control[GROUP] = 0
    sweep.control[PLAN] = 0
    sweep.control[ONE_GROUP] = 1 if f == end else 0
    if f == end:
        sweep.touched[0] = alone
        first_plan, last_plan = plans_of(first, alone)
        sweep.control[GROUPS] = 1 if first_plan < last_plan else 0
        return
    groups, last, has_plans = 0, -1, False
    for f in range(begin, end):
        p = arguments[np.int64(offset[scanned(sweep, f)]) - 1]
        if p != last:
            first_plan, last_plan = plans_of(first, p)
            last, has_plans = p, first_plan < last_plan
        if not has_plans:
            continue
        place = f - begin
        sweep.links[place] = 0
        if sweep.heads[p] == 0:
            sweep.heads[p] = place + 1
            sweep.touched[groups] = p
            groups += 1
        else:
            sweep.links[sweep.tails[p] - 1] = place + 1
        sweep.tails[p] = place + 1
    sweep.control[GROUPS] = groups


@compiled
def take_group(sweep: Sweep, predicate: int, begin: int) -> int:
    """The ids of a predicate of the block; its chain is given up."""
    if sweep.control[ONE_GROUP] != 0:
        count = sweep.control[NEXT] - begin
        for i in range(count):
            sweep.ids[i] = scanned(sweep, begin + i)
        return count
    place = sweep.heads[predicate]
    count = 0
    while place > 0:
        sweep.ids[count] = scanned(sweep, begin + place - 1)
        count += 1
        place = sweep.links[place - 1]
    sweep.heads[predicate] = 0
    return count


@entry
def run_sweep(
    facts: Facts,
    terms: Terms,
    indexes: Int64Table,
    plans: Plans,
    frame: Frame,
    sweep: Sweep,
    log: Log,
    status: int,
) -> int:
    """Goes on until the end is reached (DONE) or something is wanted."""
    control = sweep.control
    while True:
        if frame.control[LEVEL] >= 0:
            reason = run_frame(facts, terms, indexes, plans.filters, plans.code, frame, log, status)
            if reason != DONE:
                return reason
        if control[GROUP] < control[GROUPS]:
            predicate = sweep.touched[control[GROUP]]
            if control[PLAN] == 0:
                control[TAKEN] = take_group(sweep, predicate, control[BEGIN])
            first_plan, last_plan = plans_of(plans.first, predicate)
            j = first_plan + control[PLAN]
            if j < last_plan:
                control[PLAN] += 1
                control[CURRENT] = plans.order[j]
                at = plans.starts[plans.order[j]]
                start_plan(facts, plans.filters, plans.code, at, sweep.ids, control[TAKEN], frame)
                frame.control[BUDGET] -= control[TAKEN] + START_COST
                if frame.control[BUDGET] < 0:
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
        control[NEXT] = min(limit, begin + len(sweep.ids))
        sort_block(facts, plans, sweep, begin, control[NEXT])
