"""Deletion by blocks: retraction (what deleted facts derive) and rederivation (what derives deleted facts).

A few facts are searched for instances one by one; many are scanned by the block executor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine.binding_blocks import (
    BLOCK,
    COUNTED,
    DERIVATIONS,
    KEPT_BY,
    MODE,
    OBSERVED,
    PROVE,
    QUEUE_AT,
    QUEUE_CAPACITY,
    QUEUED,
    RETRACT,
    UNMARKED_AT,
    UNMARKED_COUNT,
)
from tidalog.engine.binding_blocks import BUDGET as ROW_BUDGET
from tidalog.engine.bits import (
    EXPLICIT,
    MARKED,
    NEW,
    NEW_STATE,
    OLD_STATE,
    PRESENT,
    PROVED,
    SPREAD,
    WAITING,
)
from tidalog.engine.delta_scan import CURRENT, LIMIT, LIST_AT, LIST_SIZE, scan_delta
from tidalog.engine.delta_scan import NEXT as SCAN_NEXT
from tidalog.engine.mark_propagation import PASS_ON
from tidalog.engine.plan_code import Filter
from tidalog.engine.undo_log import revive
from tidalog.maintain.component_plans import (
    FORWARD,
    LIKELY_FIRST,
    LOWER_BEFORE,
    NEGATED,
    NEGATED_PIVOT,
    OWN_BEFORE,
    PIVOT,
    Searches,
)
from tidalog.maintain.kernels import counters as counted
from tidalog.maintain.kernels import retraction as kernel
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.kernels.rederive import find_known
from tidalog.maintain.strategies.base import ComponentUpdate
from tidalog.maintain.strategies.searching import find_derivable, new_state, old_state
from tidalog.maintain.workspace import ScanBuffers
from tidalog.model.facts import Ids

_LEAST_BLOCK: Final = 64  # deleted facts that are worth a scan to rederive them
_ROWS_PER_FACT: Final = 8  # bindings that cost as much as one fact does where each is a search of its own
_EXPLICIT: Final = int(EXPLICIT)
_AFTER: Final = (int(PRESENT | NEW | SPREAD), int(PRESENT))
_BEFORE: Final = (int(PRESENT | NEW | SPREAD | WAITING), int(PRESENT))


def in_blocks(kind: int) -> Filter:
    """Instances of the old state, each at the first of its atoms whose fact is in the block N: atoms before
    it match I - (O ∪ N), atoms after it I - O.  New facts that a rule negates are pivots too."""
    if kind == PIVOT:
        return (int(NEW | SPREAD), 0, op.ANY_ID)
    if kind == NEGATED_PIVOT:
        return (int(NEW | SPREAD), int(NEW), op.ANY_ID)
    if kind == NEGATED:
        return (*OLD_STATE, op.ANY_ID)
    return (*(_BEFORE if kind in (OWN_BEFORE, LOWER_BEFORE) else _AFTER), op.ANY_ID)


def _buffers(work: ComponentUpdate, searches: Searches, mode: int, passes_on: bool) -> ScanBuffers:
    """Buffers of a scan of listed facts by the last of some plans; of none so far."""
    engine = work.txn.engine
    searches.catch_up(engine)
    buffers = work.component.workspace.scan_buffers(searches.codes[-1], BLOCK, len(engine.names) + 1)
    buffers.start(0)
    blocks = buffers.blocks.arrays.control
    blocks[MODE] = mode
    if passes_on:
        blocks[OBSERVED], blocks[KEPT_BY] = PASS_ON, _EXPLICIT
    return buffers


def retract(
    work: ComponentUpdate,
    seeds: Ids,
    known: Iterable[Ids],
    bit: int,
    *,
    spreads: bool = False,
    counts: int = 0,
    passes_on: bool = False,
) -> Ids:
    """The facts of the component that instances with a deleted fact derive, after those that are `known` to
    be concerned; all get the `bit`.  See `kernels.retraction`.

    `spreads`: they are deleted themselves.  `counts`: address of derivation counts to reduce.  `passes_on`:
    they get the marks of DRed, and explicit facts are not concerned."""
    component, engine = work.component, work.txn.engine
    searches = component.plans.searches((FORWARD, old_state), (FORWARD, in_blocks))
    buffers = _buffers(work, searches, RETRACT, passes_on)
    queue = component.workspace.ids("gone", len(engine.store) + len(seeds) + 1)
    first = len(seeds) if spreads else 0
    queue[:first] = seeds[:first]
    state = searches.work_of(kernel.RetractionWork)
    control = state.start(queue if spreads else seeds, queue, component.own, bit, spreads)
    blocks, scan = buffers.blocks.arrays.control, buffers.scan.arrays.control
    blocks[QUEUE_AT], blocks[QUEUE_CAPACITY] = state.queue_at
    blocks[QUEUED], blocks[COUNTED] = first, counts
    for ids in known:
        if len(ids):
            kernel.queue_all(engine.store.at, engine.log.at, buffers.blocks.at, ids, bit)

    def step() -> int:
        reason = kernel.retract(
            *engine.at, buffers.blocks.at, buffers.scan.at, searches.search.at, state.at, *searches.plans
        )
        return int(reason)

    def rule() -> str:
        scanning = control[kernel.NEXT] < control[kernel.BLOCK_END]
        return searches.codes[1].names[scan[CURRENT]] if scanning else searches.rule()

    work.runner.drive_search(
        step,
        control,
        kernel.BUDGET,
        rule,
    )
    work.counters.add_kernel(state.arrays.counters)
    work.spared = int(state.arrays.counters[counted.SPARED])
    return queue[first : blocks[QUEUED]]


def underived(kind: int) -> Filter:
    """Instances of the new state that derive a fact which is not PROVED."""
    return (int(PROVED), 0, op.ANY_ID) if kind == PIVOT else (*NEW_STATE, op.ANY_ID)


def rederive(work: ComponentUpdate, gone: Ids, *, passes_on: bool = False) -> None:
    """Facts that one step derives from what is left come back, under new ids.  `passes_on`: with the marks
    of DRed."""
    engine = work.txn.engine
    if len(gone) < _LEAST_BLOCK:
        unmarked = work.marks.unmarked if passes_on else None
        back = find_derivable(work.component, work.runner, work.counters, gone, new_state, unmarked)
    else:
        back = _rederivable(work, gone, passes_on)
    if not len(back):
        return
    first = len(engine.store)
    engine.store.ensure(len(back), 0)
    engine.log.derivation_log.ensure_capacity(first + len(back), 0, 0)
    revive(engine.store.at, engine.log.at, back, len(back))
    if passes_on:
        marked = (engine.store.arrays.status[first : first + len(back)] & MARKED) != 0
        work.marks.proofs_marked(first + np.flatnonzero(marked).astype(np.int32))


def _rederivable(work: ComponentUpdate, gone: Ids, passes_on: bool) -> Ids:
    """Which of many deleted facts are explicit, or derived by an instance of the new state."""
    component, engine, unmarked = work.component, work.txn.engine, work.marks.unmarked
    searches = component.plans.searches((LIKELY_FIRST, underived))
    rest = np.empty(len(gone), np.int32)
    buffers = _buffers(work, searches, PROVE, passes_on)
    blocks, scan = buffers.blocks.arrays.control, buffers.scan.arrays.control
    scan[LIST_AT], scan[LIST_SIZE] = rest.ctypes.data, len(rest)
    scan[LIMIT] = find_known(engine.store.at, engine.log.at, gone, rest)
    if passes_on and len(unmarked):
        blocks[UNMARKED_AT], blocks[UNMARKED_COUNT] = unmarked.ctypes.data, len(unmarked)
    budget = np.zeros(1, np.int64)

    def step() -> int:
        begin, blocks[ROW_BUDGET] = int(scan[SCAN_NEXT]), _ROWS_PER_FACT * budget[0]
        reason = int(scan_delta(*engine.at, searches.plans[0], buffers.blocks.at, buffers.scan.at, 0))
        budget[0] -= scan[SCAN_NEXT] - begin
        return reason

    try:
        work.runner.drive_search(step, budget, 0, lambda: searches.codes[0].names[scan[CURRENT]])
    except BaseException:
        component.workspace.drop_scans()  # the scan ends in the middle of a block
        raise
    found = new_counters()
    found[counted.BACKWARD] = found[counted.DERIVATIONS] = blocks[DERIVATIONS]
    work.counters.add_kernel(found)
    back: Ids = gone[(engine.store.arrays.status[gone] & PROVED) != 0]
    return back
