"""`bf` and `fbf`: exact deletion by backward and forward chaining (Algorithm 1 of paper 001).

Proofs may have any rank, so checked facts that stay are unranked afterwards.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine import update_kernels as kernels
from tidalog.engine.bits import (
    CHECKED,
    DELAYED,
    DELETED,
    NEW,
    NEW_STATE,
    PRESENT,
    PROVED,
    SATURATED,
    SPREAD,
    WAITING,
)
from tidalog.engine.emit import LINK, MARK
from tidalog.engine.plan_code import Filter
from tidalog.maintain.component_plans import (
    BACKWARD,
    FORWARD,
    LOWER_BEFORE,
    NEGATED,
    NEGATED_PIVOT,
    OWN_BEFORE,
    PIVOT,
)
from tidalog.maintain.counters import Counters
from tidalog.maintain.kernels import backward_forward as kernel
from tidalog.maintain.kernels import backward_forward_work as state
from tidalog.maintain.kernels.counters import SPARED
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.searching import ANY, find_derivable, note_deleted, old_state, seeds_of
from tidalog.model.facts import Ids

_ORDERS: Final = {"paper": kernel.PAPER, "ours": kernel.OURS, "layers": kernel.LAYERS}
_NOT_DELETED = (int(PRESENT | NEW | DELETED), int(PRESENT))
_NO_IDS: Ids = np.empty(0, np.int32)
_OF_ONE_COMPONENT = int(WAITING | CHECKED | PROVED | SATURATED | DELAYED)
_MATCHED = (int(PRESENT | SATURATED), int(PRESENT | SATURATED))
_NONE: Final[Filter] = (int(PRESENT), 0, op.ANY_ID)
_ABSENT: Final[Filter] = (*NEW_STATE, op.ANY_ID)
"""Proofs use the new state of negated facts: these belong to lower components and are final."""


def proved(kind: int) -> Filter:
    """Line 11: instances of proved facts, each at the last of them to be processed."""
    if kind in (PIVOT, NEGATED_PIVOT, NEGATED):
        return {PIVOT: ANY, NEGATED_PIVOT: _NONE, NEGATED: _ABSENT}[kind]
    return (*_MATCHED, op.NOT_PIVOT if kind in (OWN_BEFORE, LOWER_BEFORE) else op.ANY_ID)


def not_deleted(kind: int) -> Filter:
    """Line 20: instances of the old state without a deleted fact."""
    if kind in (PIVOT, NEGATED):
        return ANY if kind == PIVOT else _ABSENT
    return (*_NOT_DELETED, op.ANY_ID)


_PLANS: Final = ((FORWARD, proved), (BACKWARD, not_deleted), (FORWARD, old_state))


class BackwardForward(Strategy):
    name: ClassVar[str] = "bf"
    moves_are_insertions: ClassVar[bool] = True
    foresees: ClassVar[bool] = True

    def delete(self, work: ComponentUpdate) -> None:
        delete_exactly(work, work.order)

    def give_up(self, work: ComponentUpdate) -> None:
        """Undoes a search that was not finished: it has decided nothing."""
        searches = work.component.plans.searches(*_PLANS)
        engine, search = work.txn.engine, searches.work_of(state.BackwardForwardWork)
        seeds = len(seeds_of(work))
        kernels.clear_bits_of_touched(engine.store.at, engine.log.at, _OF_ONE_COMPONENT | int(SPREAD))
        gone = search.arrays.gone[seeds : search.arrays.control[state.GONE]]
        kernels.clear_bits_of(engine.store.at, engine.log.at, gone.copy(), int(DELETED))


class ForwardBackwardForward(BackwardForward):
    """B/F layer by layer."""

    name: ClassVar[str] = "fbf"

    def delete(self, work: ComponentUpdate) -> None:
        delete_exactly(work, "layers")


def delete_exactly(work: ComponentUpdate, order: str) -> None:
    """Deletes what has no proof any more.  Marked facts are checked first (line 32); proofs may mark facts
    (line 12)."""
    component, txn, engine = work.component, work.txn, work.txn.engine
    engine.log.derivation_log.stop_counting()
    seeds = seeds_of(work)
    kernels.clear_bits_of_touched(engine.store.at, engine.log.at, _OF_ONE_COMPONENT)
    searches = component.plans.searches(*_PLANS)
    searches.catch_up(engine)
    search = searches.work_of(state.BackwardForwardWork)
    search.arrays.control[state.GONE] = 0
    asked = [txn.to_delete[n] for n in component.numbers if n in txn.to_delete]
    gone, derivable = seeds, _NO_IDS
    if asked:
        derivable, no_longer = _split(work, np.concatenate(asked))
        kernels.set_bits_of(engine.store.at, engine.log.at, no_longer, int(DELETED))
        gone = np.concatenate([seeds, no_longer])
    if component.edit is not None:
        derivable = np.concatenate([derivable, component.suspects()])
    search.start(_ORDERS[order], gone, derivable, component.own, component.workspace, len(engine.store) + 1)
    waiting = work.own_marked
    if len(waiting):
        search.grow_stack(state.FIRST_STACK + len(waiting))
        kernel.wait_all(engine.store.at, engine.log.at, search.search.at, search.at, waiting)
    control = search.arrays.control
    control[state.OBSERVES] = work.marks.observes & (MARK | LINK)

    def step() -> int:
        reason = int(kernel.run_backward_forward(*engine.at, search.search.at, search.at, *searches.plans))
        if reason == kernel.GROW_STACK:
            search.grow_stack(2 * len(search.arrays.stack))
        return reason

    work.runner.drive_search(
        step,
        control,
        state.BUDGET,
        search.rule,
    )
    done = search.arrays
    component.unrank(_kept(work, done.checked[: control[state.CHECKED_COUNT]]))
    work.counters.add_kernel(done.counters)
    work.spared = int(done.counters[SPARED])
    note_deleted(work, done.gone[len(seeds) : control[state.GONE]])
    work.marks.proofs_marked(done.marked[: control[state.MARKED_COUNT]].copy())


def _split(work: ComponentUpdate, asked: Ids) -> tuple[Ids, Ids]:
    """Facts that are no longer explicit: those that an instance of the old state derives, and the others."""
    back = find_derivable(work.component, work.runner, Counters(), asked, not_deleted)
    return back, asked[~np.isin(asked, back)]


def _kept(work: ComponentUpdate, checked: Ids) -> Ids:
    """Facts of the component that were checked and stay; those below it are checked too."""
    kept = (work.txn.engine.store.arrays.status[checked] & DELETED) == 0
    result: Ids = checked[kept & (work.component.own[work.txn.predicates_of(checked)] != 0)]
    return result
