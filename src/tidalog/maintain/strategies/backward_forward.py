"""`bf` and `fbf`: exact deletion by backward and forward chaining."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine import update_kernels as steps
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
from tidalog.engine.plan_compiler import Filter
from tidalog.maintain.component import Node
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
from tidalog.maintain.runner import Runner
from tidalog.maintain.strategies.ranked import ANY, find_derivable, note_deleted, old_state, seeds_of
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids

ORDERS: Final = {"paper": kernel.PAPER, "ours": kernel.OURS, "layers": kernel.LAYERS}
_NOT_DELETED = (int(PRESENT | NEW | DELETED), int(PRESENT))
_NO_IDS: Ids = np.empty(0, np.int32)
_OF_ONE_COMPONENT = int(WAITING | CHECKED | PROVED | SATURATED | DELAYED)
_MATCHED = (int(PRESENT | SATURATED), int(PRESENT | SATURATED))
_NONE: Final[Filter] = (int(PRESENT), 0, op.ANY_ID)
_ABSENT: Final[Filter] = (*NEW_STATE, op.ANY_ID)
"""Of negated facts the new state counts wherever something is proved: they lie below, and are final."""


def proved(kind: int) -> Filter:
    """Line 11: instances of proved facts, each at the last of them to have its turn."""
    if kind in (PIVOT, NEGATED_PIVOT, NEGATED):
        return {PIVOT: ANY, NEGATED_PIVOT: _NONE, NEGATED: _ABSENT}[kind]
    return (*_MATCHED, op.NOT_PIVOT if kind in (OWN_BEFORE, LOWER_BEFORE) else op.ANY_ID)


def not_deleted(kind: int) -> Filter:
    """Line 20: instances of the old state without a deleted fact."""
    if kind in (PIVOT, NEGATED):
        return ANY if kind == PIVOT else _ABSENT
    return (*_NOT_DELETED, op.ANY_ID)


_ROOMS: Final = ((FORWARD, proved), (BACKWARD, not_deleted), (FORWARD, old_state))


def delete_exactly(
    node: Node,
    change: Transaction,
    runner: Runner,
    counters: Counters,
    *,
    order: str,
    waiting: Ids,
    marks: bool = False,
    links: bool = False,
) -> Ids:
    """Deletes what has no proof any more.  `waiting` are checked first (line 32); gives the facts that proofs
    have marked (line 12)."""
    engine = node.engine
    engine.log.book.stop_counting()
    seeds = seeds_of(node, change)
    steps.clear_bits_of_touched(engine.shared, _OF_ONE_COMPONENT)
    searches = node.plans.searches(*_ROOMS)
    searches.catch_up(engine)
    room = searches.room_of(state.BackwardForwardWork)
    room.work.control[state.GONE] = 0
    asked = [change.to_delete[n] for n in node.numbers if n in change.to_delete]
    gone, derivable = seeds, _NO_IDS
    if asked:
        derivable, no_longer = _split(node, runner, np.concatenate(asked))
        steps.set_bits_of(engine.shared, no_longer, int(DELETED))
        gone = np.concatenate([seeds, no_longer])
    if node.passing is not None:
        derivable = np.concatenate([derivable, node.suspects()])
    room.start(ORDERS[order], gone, derivable, node.own, node.workspace, len(engine.store) + 1)
    if len(waiting):
        room.grow_stack(state.FIRST_STACK + len(waiting))
        kernel.wait_all(engine.shared, room.search_at, room.at, waiting)
    control = room.work.control
    control[state.MARKS], control[state.LINKS] = marks, links

    def step() -> int:
        reason = int(kernel.run_backward_forward(engine.shared, searches.at, room.search_at, room.at))
        if reason == kernel.GROW_STACK:
            room.grow_stack(2 * len(room.work.stack))
        return reason

    runner.drive_search(
        step,
        control,
        state.BUDGET,
        room.rule,
    )
    work = room.work
    node.unrank(_left_of(node, change, work.checked[: control[state.CHECKED_COUNT]]))
    counters.add_kernel(work.counters)
    node.spared = int(work.counters[SPARED])
    note_deleted(node, change, work.gone[len(seeds) : control[state.GONE]])
    return work.marked[: control[state.MARKED_COUNT]].copy()


def _left_of(node: Node, change: Transaction, checked: Ids) -> Ids:
    """Facts of a component that were checked and are there still; those below it are checked too."""
    there = (node.engine.store.arrays.status[checked] & DELETED) == 0
    result: Ids = checked[there & (node.own[change.predicates_of(checked)] != 0)]
    return result


def forget_search(node: Node, change: Transaction) -> None:
    """A search that was not finished has decided nothing."""
    shared, room = node.engine.shared, node.plans.searches(*_ROOMS).room_of(state.BackwardForwardWork)
    seeds = len(seeds_of(node, change))
    steps.clear_bits_of_touched(shared, _OF_ONE_COMPONENT | int(SPREAD))
    gone = room.work.gone[seeds : room.work.control[state.GONE]]
    steps.clear_bits_of(shared, gone.copy(), int(DELETED))


def _split(node: Node, runner: Runner, asked: Ids) -> tuple[Ids, Ids]:
    """Facts that are no longer explicit: those that an instance of the old state derives, and the others."""
    back = find_derivable(node, runner, Counters(), asked, not_deleted)
    return back, asked[~np.isin(asked, back)]
