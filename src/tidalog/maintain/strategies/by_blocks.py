"""Deletion by blocks: retraction (what deleted facts derive) and rederivation (what derives deleted facts).

See `kernels.retraction` for the invariant.  The kernel of a strategy says which facts are the next block; the
block executor scans it with `emit` in mode RETRACT.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine.addresses import PLANS, delta_scan_by_address
from tidalog.engine.binding_blocks import (
    BLOCK,
    COUNTED,
    DERIVATIONS,
    MODE,
    PROVE,
    QUEUE_AT,
    QUEUE_CAPACITY,
    RETRACT,
)
from tidalog.engine.binding_blocks import BUDGET as ROW_BUDGET
from tidalog.engine.binding_blocks import QUEUED as BLOCKS_QUEUED
from tidalog.engine.bits import NEW, NEW_STATE, OLD_STATE, PRESENT, PROVED, SPREAD, WAITING
from tidalog.engine.delta_scan import CURRENT, LIMIT, LIST_AT, LIST_SIZE
from tidalog.engine.delta_scan import NEXT as SCAN_NEXT
from tidalog.engine.plan_compiler import Filter
from tidalog.maintain.component_plans import (
    FORWARD,
    LIKELY_FIRST,
    LOWER_BEFORE,
    NEGATED,
    NEGATED_PIVOT,
    OWN_BEFORE,
    PIVOT,
    AtomFilters,
    ComponentPlans,
    Searches,
)
from tidalog.maintain.kernels import counters as counted
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.kernels.counting import Counting
from tidalog.maintain.kernels.overdelete import Overdeletion
from tidalog.maintain.kernels.rederive import find_known
from tidalog.maintain.kernels.retraction import BLOCK_END, BUDGET, NEXT, QUEUED, SCAN
from tidalog.maintain.strategies.base import ComponentUpdate
from tidalog.model.facts import Ids

_ROWS: Final = 4_000_000  # bindings between two checks of limits
_ROWS_PER_FACT: Final = 8  # bindings that cost as much as one fact does where each is a search of its own
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


def retracting(plans: ComponentPlans, one_by_one: AtomFilters) -> Searches:
    """The plans of a retraction: for facts one by one, then for blocks."""
    return plans.searches((FORWARD, one_by_one), (FORWARD, in_blocks))


def retract(
    work: ComponentUpdate,
    searches: Searches,
    kernel: Callable[[], int],
    state: Overdeletion | Counting,
    deleted: Ids,
    queue: Ids,
    bit: int,
    counts: int = 0,
) -> None:
    """Runs a kernel to its end, and scans the blocks of `deleted` that it asks for: heads get the `bit` and
    join the `queue`.  `counts`: address of derivation counts to reduce."""
    engine, control, counters = work.txn.engine, state.control, state.counters
    buffers = work.component.workspace.scan_buffers(searches.codes[0], BLOCK, len(engine.names) + 1)
    blocks, scan = buffers.blocks.control, buffers.scan.control
    plans = searches.at[PLANS:]
    scanning = False

    def step() -> int:
        nonlocal scanning
        while True:
            if not scanning:
                reason = kernel()
                if reason != SCAN:
                    return reason
                buffers.start(int(control[NEXT]))
                scan[LIST_AT], scan[LIST_SIZE] = deleted.ctypes.data, len(deleted)
                scan[LIMIT] = control[BLOCK_END]
                blocks[MODE], blocks[COUNTED] = RETRACT, counts
                blocks[QUEUE_AT], blocks[QUEUE_CAPACITY] = queue.ctypes.data, len(queue)
                blocks[BLOCKS_QUEUED] = control[QUEUED]
                scanning = True
            blocks[ROW_BUDGET] = _ROWS
            reason = int(delta_scan_by_address(engine.shared, plans, buffers.blocks_at, buffers.scan_at, bit))
            if reason != op.DONE:
                return reason
            scanning = False
            counters[counted.DERIVATIONS] += blocks[DERIVATIONS]
            counters[counted.DELETIONS] += blocks[BLOCKS_QUEUED] - control[QUEUED]
            control[QUEUED] = blocks[BLOCKS_QUEUED]

    def rule() -> str:
        return searches.codes[0].names[scan[CURRENT]] if scanning else searches.rule()

    work.runner.drive_search(step, control, BUDGET, rule)


def underived(kind: int) -> Filter:
    """Instances of the new state that derive a fact which is not PROVED."""
    return (int(PROVED), 0, op.ANY_ID) if kind == PIVOT else (*NEW_STATE, op.ANY_ID)


def rederivable(work: ComponentUpdate, gone: Ids) -> Ids:
    """Which of many deleted facts are explicit, or derived by an instance of the new state."""
    component, engine = work.component, work.txn.engine
    searches = component.plans.searches((LIKELY_FIRST, underived))
    searches.catch_up(engine)
    rest = np.empty(len(gone), np.int32)
    buffers = component.workspace.scan_buffers(searches.codes[0], BLOCK, len(engine.names) + 1)
    blocks, scan = buffers.blocks.control, buffers.scan.control
    buffers.start(0)
    scan[LIST_AT], scan[LIST_SIZE] = rest.ctypes.data, len(rest)
    scan[LIMIT] = find_known(engine.shared, gone, rest)
    blocks[MODE] = PROVE
    budget = np.zeros(1, np.int64)

    def step() -> int:
        begin, blocks[ROW_BUDGET] = int(scan[SCAN_NEXT]), _ROWS_PER_FACT * budget[0]
        reason = int(delta_scan_by_address(engine.shared, searches.at, buffers.blocks_at, buffers.scan_at, 0))
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
