"""Shared by strategies that search for instances: which facts an atom may match, one-step proofs."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine.bits import NEW, NEW_STATE, NOT_SPREAD, OLD_STATE, RECORDED, SPREAD, WAITING
from tidalog.engine.plan_code import Filter
from tidalog.engine.update_kernels import clear_bits_of
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.component_plans import (
    LIKELY_FIRST,
    LOWER_BEFORE,
    NEGATED,
    NEGATED_PIVOT,
    OWN_AFTER,
    OWN_BEFORE,
    PIVOT,
    AtomFilters,
)
from tidalog.maintain.counters import Counters
from tidalog.maintain.kernels import rederive as kernel
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.marks.base import NO_HASHES, Hashes
from tidalog.maintain.runner import Runner
from tidalog.maintain.strategies.base import ComponentUpdate
from tidalog.model.facts import Ids

ANY: Final[Filter] = (0, 0, op.ANY_ID)
_NOT_NEW: Final[Filter] = (int(NEW), 0, op.ANY_ID)
_ONLY_NEW: Final[Filter] = (int(NEW), int(NEW), op.ANY_ID)
_TAKEN: Final = int(SPREAD | WAITING)
_TAKEN_OR_RECORDED: Final = int(SPREAD | WAITING | RECORDED)


def old_state(kind: int) -> Filter:
    """Instances of the state before, each at the first of its facts to spread, or at a new fact that it
    negates: one of these may be met more than once, which affects nothing twice."""
    if kind == PIVOT:
        return _NOT_NEW
    if kind == NEGATED_PIVOT:
        return _ONLY_NEW
    if kind == NEGATED:
        return (*OLD_STATE, op.ANY_ID)
    return (*NOT_SPREAD, op.NOT_PIVOT if kind in (OWN_BEFORE, LOWER_BEFORE) else op.ANY_ID)


def smaller_ranks(kind: int) -> Filter:
    """Proofs in rank order."""
    if kind == PIVOT:
        return ANY
    return (*NEW_STATE, op.BELOW_PIVOT if kind in (OWN_BEFORE, OWN_AFTER) else op.ANY_ID)


def new_state(kind: int) -> Filter:
    return ANY if kind == PIVOT else (*NEW_STATE, op.ANY_ID)


def seeds_of(work: ComponentUpdate) -> Ids:
    """Facts of lower components that may end instances: deleted ones, and new ones under a negation.  Their
    bits SPREAD and WAITING are cleared: those of the component before, or of a search that was given up.  New
    facts are not RECORDED here: the log has the instances that they take part in, not those that negate
    them."""
    seeds, engine = work.deleted_below, work.txn.engine
    if len(seeds):
        clear_bits_of(engine.store.at, engine.log.at, seeds, _TAKEN)
    new = work.new_negated
    if not len(new):
        return seeds
    clear_bits_of(engine.store.at, engine.log.at, new, _TAKEN_OR_RECORDED)
    return np.concatenate([seeds, new])


def find_derivable(
    component: MaintainedComponent,
    runner: Runner,
    counters: Counters,
    asked: Ids,
    allowed: AtomFilters,
    unmarked: Hashes | None = None,
) -> Ids:
    """Which of these facts are explicit, or derived by an instance of facts that are allowed.  `unmarked`:
    the others get the marks of DRed that instances pass on."""
    engine = component.engine
    searches = component.plans.searches((LIKELY_FIRST, allowed))
    searches.catch_up(engine)
    control = np.zeros(kernel.CONTROL, np.int64)
    found = new_counters()
    out = np.empty(len(asked), np.int32)
    control[kernel.PASSES_ON] = unmarked is not None
    spared = NO_HASHES if unmarked is None else unmarked

    def step() -> int:
        reason = kernel.find_derivable(
            *engine.at, searches.search.at, searches.plans[0], asked, out, control, found, spared
        )
        return int(reason)

    runner.drive_search(
        step,
        control,
        kernel.BUDGET,
        searches.rule,
    )
    counters.add_kernel(found)
    return out[: control[kernel.BACK]].copy()


def affected_first(work: ComponentUpdate) -> list[Ids]:
    """Facts of the component that the update itself may leave without a proof."""
    component, to_delete = work.component, work.txn.to_delete
    asked = [to_delete[n] for n in component.numbers if n in to_delete]
    return asked if component.edit is None else [*asked, component.suspects()]


def note_deleted(work: ComponentUpdate, gone: Ids) -> None:
    """Facts of a component that are deleted; some may come back by the time its insertions are done."""
    numbers, txn = work.component.numbers, work.txn
    if len(numbers) == 1:
        txn.note_deleted(numbers[0], gone.copy())
        return
    kinds = txn.predicates_of(gone)
    for predicate in np.unique(kinds).tolist():
        txn.note_deleted(predicate, gone[kinds == predicate])
