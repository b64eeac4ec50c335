"""`dred`: delete whatever an instance with a deleted fact derives, then rederive (DR2 and DR4 of DRed).

With the marks of DRed, overdeletion takes these along: see `dred_with_marks`.
"""

from __future__ import annotations

from typing import ClassVar

from tidalog.engine.bits import DELETED
from tidalog.maintain.kernels import overdelete as kernel
from tidalog.maintain.kernels.counters import SPARED
from tidalog.maintain.kernels.retraction import QUEUED
from tidalog.maintain.marks.dred import DRedMarks
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.by_blocks import retract, retracting
from tidalog.maintain.strategies.dred_with_marks import delete_with_marks
from tidalog.maintain.strategies.searching import affected_first, note_deleted, old_state, rederive, seeds_of


class DRed(Strategy):
    name: ClassVar[str] = "dred"

    def delete(self, work: ComponentUpdate) -> None:
        component, marks = work.component, work.marks
        if isinstance(marks, DRedMarks) and not component.negated and component.edit is None:
            delete_with_marks(work, marks)
        else:
            _delete(work)


def _delete(work: ComponentUpdate) -> None:
    component, engine = work.component, work.txn.engine
    seeds = seeds_of(work)
    searches = retracting(component.plans, old_state)
    searches.catch_up(engine)
    queue = component.workspace.ids("gone", len(engine.store) + len(seeds) + 1)
    over = kernel.OverdeletionWork(seeds, queue, component.own)
    for known in (*affected_first(work), work.own_marked):
        if len(known):
            kernel.delete_all(engine.shared, over.at, known)
    retract(
        work,
        searches,
        lambda: int(kernel.overdelete(engine.shared, searches.at, over.at)),
        over.work,
        queue,
        queue,
        int(DELETED),
    )
    gone = queue[len(seeds) : over.work.control[QUEUED]]
    work.counters.add_kernel(over.work.counters)
    work.spared = int(over.work.counters[SPARED])
    if len(gone) > work.spared:
        rederive(work, gone)
    note_deleted(work, gone)
