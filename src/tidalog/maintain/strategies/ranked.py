"""`ranked` and `dred`: deletion by affected facts, then insertion of what is derivable after all."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine.bits import DELETED, NEW, NEW_STATE, NOT_SPREAD, OLD_STATE, PRESENT, RECORDED, SPREAD
from tidalog.engine.plan_compiler import Filter
from tidalog.engine.undo_log import revive
from tidalog.engine.update_kernels import clear_bits_of
from tidalog.maintain.component import Node
from tidalog.maintain.component_plans import (
    FORWARD,
    LIKELY_FIRST,
    LOWER_BEFORE,
    NEGATED,
    NEGATED_PIVOT,
    OWN_AFTER,
    OWN_BEFORE,
    PIVOT,
    Room,
)
from tidalog.maintain.counters import Counters
from tidalog.maintain.kernels import overdelete, rederive
from tidalog.maintain.kernels import ranked as kernel
from tidalog.maintain.kernels.counters import CHECKS, DELETIONS, SPARED, new_counters
from tidalog.maintain.runner import Runner
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids

ANY: Final[Filter] = (0, 0, op.ANY_ID)
NOT_NEW: Final[Filter] = (int(NEW), 0, op.ANY_ID)
ONLY_NEW: Final[Filter] = (int(NEW), int(NEW), op.ANY_ID)
_SPREAD: Final = int(SPREAD)
_MOST_FOLLOWERS: Final = 0.8
"""Facts that one fact is taken to affect, at most: where more were seen, there will be fewer later on."""
_SPREAD_OR_RECORDED: Final = int(SPREAD | RECORDED)
_PRESENT_OR_DELETED: Final = PRESENT | DELETED
_NO_IDS: Final = np.empty(0, np.int32)


def old_state(kind: int) -> Filter:
    """Instances of the state before, each at the first of its facts to spread, or at a new fact that it
    negates: one of these may be met more than once, which affects nothing twice."""
    if kind == PIVOT:
        return NOT_NEW
    if kind == NEGATED_PIVOT:
        return ONLY_NEW
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


def delete_ranked(node: Node, change: Transaction, runner: Runner, counters: Counters, marked: Ids) -> None:
    """Deletes what has lost its rank proofs; facts that one step derives from the rest are back, under new
    ids.  `marked` are facts that are known to be affected."""
    engine = node.engine
    seeds = seeds_of(node, change)
    searches = node.plans.searches((FORWARD, old_state), (LIKELY_FIRST, smaller_ranks))
    searches.catch_up(engine)
    capacity = len(engine.store) + 1
    heap, gone = node.workspace.ids("queue", capacity), node.workspace.ids("gone", capacity)
    work = node.affected.start(seeds, heap, gone, node.own)
    at, control = node.affected.at, work.control
    for known in (*affected_first(node, change), marked, _still_there(node)):
        if len(known):
            kernel.affect_all(engine.shared, at, known)
    runner.drive_search(
        lambda: int(kernel.delete_ranked(engine.shared, searches.at, at)),
        control,
        kernel.BUDGET,
        lambda: searches.rule(int(control[kernel.PHASE] == kernel.PROVE)),
        _Outlook(len(seeds), work).steps,
    )
    gone = gone[: control[kernel.GONE]]
    counters.add_kernel(work.counters)
    node.spared = int(work.counters[SPARED])
    node.rank()
    if not node.recursive or not control[kernel.UNSURE]:
        note_deleted(node, change, gone)  # each has been disproved for good
    else:
        bring_back(node, change, runner, counters, gone)


def affected_first(node: Node, change: Transaction) -> list[Ids]:
    """Facts of the component that the update itself may leave without a proof."""
    asked = [change.to_delete[number] for number in node.numbers if number in change.to_delete]
    return asked if node.passing is None else [*asked, node.suspects()]


def delete_overdeleted(
    node: Node, change: Transaction, runner: Runner, counters: Counters, marked: Ids
) -> None:
    """Deletes whatever an instance with a deleted fact derives; facts that one step derives from the rest are
    back, under new ids.  `marked` are facts that are known to be affected."""
    engine = node.engine
    seeds = seeds_of(node, change)
    searches = node.plans.searches((FORWARD, old_state))
    searches.catch_up(engine)
    queue = node.workspace.ids("gone", len(engine.store) + len(seeds) + 1)
    over = overdelete.OverdeletionWork(seeds, queue, node.own)
    control = over.work.control
    for known in (*affected_first(node, change), marked):
        if len(known):
            overdelete.delete_all(engine.shared, over.at, known)
    runner.drive_search(
        lambda: int(overdelete.overdelete(engine.shared, searches.at, over.at)),
        control,
        overdelete.BUDGET,
        searches.rule,
    )
    gone = queue[len(seeds) : control[overdelete.DELETED_COUNT]]
    counters.add_kernel(over.work.counters)
    node.spared = int(over.work.counters[SPARED])
    if not control[overdelete.UNSURE]:
        note_deleted(node, change, gone)
    else:
        bring_back(node, change, runner, counters, gone)


def _still_there(node: Node) -> Ids:
    """Facts that may have no proof in rank order."""
    if not node.unranked:
        return _NO_IDS
    ids = np.unique(np.concatenate(node.unranked))
    there = (node.engine.store.arrays.status[ids] & _PRESENT_OR_DELETED) == PRESENT
    result: Ids = ids[there]
    return result


def seeds_of(node: Node, change: Transaction) -> Ids:
    """Facts of lower components that may end instances: deleted ones, and new ones under a negation.  They
    have spread in no component yet; what new ones have on record are instances that they take part in."""
    seeds = change.deleted_of(node.below)
    if len(seeds):
        clear_bits_of(node.engine.shared, seeds, _SPREAD)
    if not node.negated:
        return seeds
    new = change.new_of(node.negated)
    clear_bits_of(node.engine.shared, new, _SPREAD_OR_RECORDED)
    return np.concatenate([seeds, new])


class _Outlook:
    """How much a deletion has ahead of it, as far as one can tell on the way: for each fact that waits, and
    for those that it will make wait, what those before it have cost, two steps at least."""

    def __init__(self, seeds: int, work: kernel.Ranked) -> None:
        self._seeds, self._work = seeds, work
        self._taken, self._checked, self._affected = 0, -1, 0
        """Steps, facts looked at and facts affected, when the seeds were through and this was last asked."""

    def steps(self, taken: int) -> float:
        control, counters = self._work.control, self._work.counters
        done = int(control[kernel.SEED])
        if done == 0 and self._seeds:
            return 0.0
        waiting = float(control[kernel.WAIT])
        if done < self._seeds:
            return 2.0 * (self._seeds - done) + 2.0 * waiting * (self._seeds / done)
        checked, affected = int(counters[CHECKS]), int(counters[DELETIONS])
        followers, each = 0.0, 2.0
        if 0 <= self._checked < checked:
            new = checked - self._checked
            followers = min(_MOST_FOLLOWERS, (affected - self._affected) / new)
            each = max(each, (taken - self._taken) / new)
        self._taken, self._checked, self._affected = taken, checked, affected
        return waiting * each / (1.0 - followers)


def bring_back(node: Node, change: Transaction, runner: Runner, counters: Counters, gone: Ids) -> None:
    """DR4: deleted facts that one step derives from the rest get new ids."""
    engine = node.engine
    back = find_derivable(node, runner, counters, gone, new_state)
    engine.store.ensure(len(back), 0)
    engine.log.book.make_room(len(engine.store) + len(back), 0, 0)
    revive(engine.store.arrays, engine.log.arrays, back, len(back))
    note_deleted(node, change, gone)


def find_derivable(node: Node, runner: Runner, counters: Counters, asked: Ids, room: Room) -> Ids:
    """Which of these facts are explicit, or derived by an instance that a room allows."""
    engine = node.engine
    searches = node.plans.searches((LIKELY_FIRST, room))
    searches.catch_up(engine)
    control = np.zeros(rederive.CONTROL, np.int64)
    found = new_counters()
    out = np.empty(len(asked), np.int32)
    runner.drive_search(
        lambda: int(rederive.find_derivable(engine.shared, searches.at, asked, out, control, found)),
        control,
        rederive.BUDGET,
        searches.rule,
    )
    counters.add_kernel(found)
    return out[: control[rederive.BACK]].copy()


def note_deleted(node: Node, change: Transaction, gone: Ids) -> None:
    """Facts of a component that are deleted; some may come back by the time its insertions are done."""
    if len(node.numbers) == 1:
        change.note_deleted(node.numbers[0], gone.copy())
        return
    kinds = change.predicates_of(gone)
    for predicate in np.unique(kinds).tolist():
        change.note_deleted(predicate, gone[kinds == predicate])
