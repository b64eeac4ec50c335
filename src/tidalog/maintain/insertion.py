"""Semi-naive insertion during an update: from new facts of lower components and of this one, and from deleted
facts that are negated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.addresses import Owner
from tidalog.engine.binding_blocks import (
    BLOCK,
    COUNTED,
    FROM_SCRATCH,
    IN_UPDATE,
    MODE,
    OBSERVED,
    UNMARKED_AT,
    UNMARKED_COUNT,
)
from tidalog.engine.bits import STATUS_NEW
from tidalog.engine.delta_scan import CURRENT, ROUND, Plans, scan_delta, start_plan
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.plan_code import Code
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.memos import answer_all
from tidalog.maintain.runner import Runner
from tidalog.maintain.transaction import Transaction
from tidalog.maintain.workspace import ScanBuffers
from tidalog.model.facts import Ids

_NONE: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
_SMALL_BLOCK = 512  # updates are small, and memory that is touched for the first time is slow


def ensure_counts(engine: EmbeddedEngine) -> int:
    """Capacity for a derivation count of every fact; the address of the counts."""
    return engine.counts.use(len(engine.store.arrays.offset))


def _buffers(component: MaintainedComponent, code: Code, facts: int) -> ScanBuffers:
    block = BLOCK if facts > _SMALL_BLOCK else _SMALL_BLOCK
    return component.workspace.scan_buffers(code, block, len(component.engine.names) + 1)


def grow_from_deleted(component: MaintainedComponent, runner: Runner, change: Transaction) -> None:
    """Derives what deleted facts prevented through a negation.  What follows from that is left to `grow`."""
    if not any(number in change.deleted for number in component.negated):
        return
    engine = component.engine
    code, owner = component.plans.allowing()
    plans = owner.arrays
    for number in component.negated:
        deleted = change.deleted_of([number])
        for plan in [plan for plan, pivot in enumerate(code.pivots) if pivot == number]:
            for begin in range(0, len(deleted), BLOCK):
                block = np.ascontiguousarray(deleted[begin : begin + BLOCK])
                buffers = _buffers(component, code, len(block))
                buffers.start(0)
                blocks = buffers.blocks
                blocks.arrays.control[MODE] = IN_UPDATE
                at = int(plans.starts[plan])
                start_plan(engine.store.at, plans.filters, plans.code, at, block, len(block), blocks.at)
                runner.drive_plan(code, plans, plan, blocks, STATUS_NEW)


def grow(
    component: MaintainedComponent,
    runner: Runner,
    begin: int,
    observed: int = 0,
    unmarked: npt.NDArray[np.uint64] = _NONE,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    only_new: bool = False,
    counting: bool = False,
) -> None:
    """Derives what follows from the facts with ids from `begin` on.  `unmarked`: hashes of facts that get no
    mark, see `engine.mark_propagation`.  `only_new`: no fact of the component is deleted, so that none can
    come back, and no body is observed.  `counting`: derivations are counted."""
    code, plans = component.plans.growing(observed != 0)
    _grow(component, code, plans, runner, begin, observed, unmarked, functions, only_new, counting)


def answer(
    component: MaintainedComponent, runner: Runner, begin: int, functions: Mapping[str, PythonFunction]
) -> Ids:
    """Asks Python what rules want to know of the facts with ids from `begin` on; the new answers."""
    store, first = component.engine.store, len(component.engine.store)
    if begin < first:
        _grow(component, *component.plans.asking(), runner, begin, functions=functions)
    numbers = [component.engine.predicate(memo.memo) for memo in component.stage.memos]
    return np.concatenate([store.ids(number, first) for number in numbers])


def _grow(
    component: MaintainedComponent,
    code: Code,
    plans: Owner[Plans],
    runner: Runner,
    begin: int,
    observed: int = 0,
    unmarked: npt.NDArray[np.uint64] = _NONE,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    only_new: bool = False,
    counting: bool = False,
) -> None:
    engine = component.engine
    buffers = _buffers(component, code, len(engine.store) - begin)
    buffers.start(begin)
    of_blocks, of_scan = buffers.blocks.arrays.control, buffers.scan.arrays.control
    of_blocks[MODE], of_blocks[OBSERVED] = FROM_SCRATCH if only_new else IN_UPDATE, observed
    if len(unmarked):
        of_blocks[UNMARKED_AT], of_blocks[UNMARKED_COUNT] = unmarked.ctypes.data, len(unmarked)

    def step() -> int:
        if counting:
            of_blocks[COUNTED] = ensure_counts(engine)
        return int(scan_delta(*engine.at, plans.at, buffers.blocks.at, buffers.scan.at, STATUS_NEW))

    def rule() -> str:
        return code.names[of_scan[CURRENT]] if of_scan[CURRENT] >= 0 else ""

    memos, answered = component.stage.memos, [begin] * len(component.stage.memos)
    while True:
        runner.drive(step, code, of_blocks, rule, lambda: int(of_scan[ROUND]))
        if not memos or not answer_all(engine, runner, functions, memos, answered, STATUS_NEW):
            break
    runner.stats.rounds += int(of_scan[ROUND])
