"""`counting`: deletion by derivation counts, in a component without recursion.

`Losing.lose` comes before the insertions of the component, `Losing.judge` after them; see `kernels.counting`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidalog.engine.bits import SPREAD
from tidalog.engine.derivation_counts import count_given, forget_counts
from tidalog.engine.update_kernels import clear_bits_of
from tidalog.maintain.component import Node
from tidalog.maintain.component_plans import BACKWARD, FORWARD
from tidalog.maintain.counters import Counters
from tidalog.maintain.kernels import counting as kernel
from tidalog.maintain.runner import Runner
from tidalog.maintain.strategies.ranked import new_state, note_deleted, old_state
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids


@dataclass
class Losing:
    """One component in one update."""

    node: Node
    change: Transaction
    runner: Runner
    counters: Counters
    kept: kernel.CountingWork

    def judge(self) -> None:
        """Deletes the affected facts without a derivation; all insertions are done."""
        node, engine = self.node, self.node.engine
        room_for_counts(node)
        searches = node.plans.searches((BACKWARD, new_state))
        searches.catch_up(engine)
        work = self.kept.work
        control = work.control
        control[kernel.NEXT] = 0
        self.runner.drive_search(
            lambda: int(kernel.delete_underived(engine.shared, searches.at, self.kept.at)),
            control,
            kernel.BUDGET,
            searches.rule,
        )
        self.counters.add_kernel(work.counters)
        note_deleted(node, self.change, work.gone[: control[kernel.GONE]])


def lose_derivations(node: Node, change: Transaction, runner: Runner, counters: Counters) -> Losing:
    """Finds every instance that the deletions below take away, and the facts that are affected by them or by
    being no longer explicit."""
    engine = node.engine
    engine.log.book.stop_counting()
    seeds = change.deleted_of(node.below)
    clear_bits_of(engine.shared, seeds, int(SPREAD))
    room_for_counts(node)
    searches = node.plans.searches((FORWARD, old_state))
    searches.catch_up(engine)
    room = sum(engine.store.count(number) for number in node.numbers) + 1
    kept = kernel.CountingWork(
        seeds,
        node.workspace.ids("queue", room),
        node.workspace.ids("gone", room),
        node.own,
        engine.counts.row,
    )
    for number in node.numbers:
        if number in change.to_delete:
            kernel.affect_all(engine.shared, kept.at, change.to_delete[number])
    runner.drive_search(
        lambda: int(kernel.retract_instances(engine.shared, searches.at, kept.at)),
        kept.work.control,
        kernel.BUDGET,
        searches.rule,
    )
    return Losing(node, change, runner, counters, kept)


def room_for_counts(node: Node) -> int:
    """Room for a count of every fact that there is room for; where the row of counts is."""
    node.counted = True
    return node.engine.counts.use(len(node.engine.store.arrays.offset))


def count_inserted(node: Node, begin: int) -> None:
    """Explicit facts with ids from `begin` on are new, and nothing has derived them so far."""
    room_for_counts(node)
    count_given(node.engine.store.arrays, node.engine.counts.row, begin)


def forget_affected(node: Node, change: Transaction) -> None:
    """Another strategy has deleted, without counting: whatever it has looked at is not known any more."""
    if node.counted:
        touched: Ids = node.engine.log.touched
        mine = np.isin(change.predicates_of(touched), node.numbers)
        forget_counts(node.engine.counts.row, touched[mine])


def forget_all(node: Node) -> None:
    """The component is derived anew, without counting."""
    if node.counted:
        for number in node.numbers:
            forget_counts(node.engine.counts.row, node.engine.store.ids(number))
