"""DRed with marking: overdeletes what is marked at once, and marks what it rederives."""

from __future__ import annotations

import numpy as np

from tidalog.engine.bits import MARKED, SPREAD
from tidalog.engine.undo_log import revive
from tidalog.engine.update_kernels import clear_bits_of
from tidalog.maintain.component_plans import BACKWARD, FORWARD
from tidalog.maintain.kernels import dred_marks as kernel
from tidalog.maintain.kernels import rederive as steps
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.marks.dred import DRedMarks
from tidalog.maintain.strategies.base import ComponentUpdate
from tidalog.maintain.strategies.searching import new_state, note_deleted, old_state
from tidalog.model.facts import Ids


def delete_with_marks(work: ComponentUpdate, marks: DRedMarks) -> None:
    component, txn, engine = work.component, work.txn, work.txn.engine
    seeds = work.deleted_below
    clear_bits_of(engine.shared, seeds, int(SPREAD))
    searches = component.plans.searches((FORWARD, old_state))
    searches.catch_up(engine)
    queue = component.workspace.ids("gone", component.facts + len(seeds) + 1)
    over = kernel.MarkedOverdeletionWork(seeds, queue)
    control = over.work.control
    for number in component.numbers:
        if number in txn.to_delete:
            kernel.delete_all(engine.shared, over.at, txn.to_delete[number])
    kernel.delete_all(engine.shared, over.at, work.own_marked)
    work.runner.drive_search(
        lambda: int(kernel.overdelete(engine.shared, searches.at, over.at)),
        control,
        kernel.BUDGET,
        searches.rule,
    )
    work.counters.add_kernel(over.work.counters)
    gone = over.work.gone[len(seeds) : control[kernel.GONE]].copy()
    if len(gone):
        _rederive(work, marks, gone)
        note_deleted(work, gone)
        marks.deleted(gone)


def _rederive(work: ComponentUpdate, marks: DRedMarks, gone: Ids) -> None:
    engine = work.txn.engine
    searches = work.component.plans.searches((BACKWARD, new_state))
    searches.catch_up(engine)
    control, found = np.zeros(steps.CONTROL, np.int64), new_counters()
    out, is_marked = np.empty(len(gone), np.int32), np.empty(len(gone), np.uint8)
    work.runner.drive_search(
        lambda: int(
            kernel.rederive(
                engine.shared,
                searches.at,
                gone,
                marks.unmarked,
                out,
                is_marked,
                control,
                found,
            )
        ),
        control,
        steps.BUDGET,
        searches.rule,
    )
    work.counters.add_kernel(found)
    count = int(control[steps.BACK])
    first = len(engine.store)
    engine.store.ensure(count, 0)
    revive(engine.store.arrays, engine.log.arrays, out, count)
    back = first + np.flatnonzero(is_marked[:count]).astype(np.int32)
    engine.store.arrays.status[back] |= MARKED
    marks.proofs_marked(back)
