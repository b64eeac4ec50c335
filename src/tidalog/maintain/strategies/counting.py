"""`counting`: deletion by derivation counts, in a component without recursion.

Deletion finds the instances that are lost and the facts these have derived, and takes them off the counts.
After insertion it decides: an affected fact that is not explicit and has no derivation left is deleted.
Facts whose derivations are not known are counted then.  See `kernels.counting`.
"""

from __future__ import annotations

from typing import ClassVar

from tidalog.engine.bits import SPREAD, WAITING
from tidalog.engine.derivation_counts import count_given, forget_counts
from tidalog.engine.update_kernels import clear_bits_of
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.component_plans import BACKWARD
from tidalog.maintain.insertion import ensure_counts
from tidalog.maintain.kernels import counting as kernel
from tidalog.maintain.kernels.retraction import BUDGET, NEXT
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.by_blocks import retract, retracting
from tidalog.maintain.strategies.searching import new_state, note_deleted, old_state


class Counting(Strategy):
    name: ClassVar[str] = "counting"
    substitute: ClassVar[str] = "ranked"
    reason: ClassVar[str] = "its derivations are counted"

    def misfit(self, component: MaintainedComponent) -> str:
        fits = component.countable and component.edit is None
        return "" if fits else "recursive derivations prove nothing"

    def delete(self, work: ComponentUpdate) -> None:
        component, txn, engine = work.component, work.txn, work.txn.engine
        engine.log.derivation_log.stop_counting()
        seeds = work.deleted_below
        clear_bits_of(engine.shared, seeds, int(SPREAD))
        ensure_counts(engine)
        searches = retracting(component.plans, old_state)
        searches.catch_up(engine)
        capacity = component.facts + 1
        counting = kernel.CountingWork(
            seeds,
            component.workspace.ids("queue", capacity),
            component.workspace.ids("gone", capacity),
            component.own,
            engine.counts.row,
        )
        for number in component.numbers:
            if number in txn.to_delete:
                kernel.affect_all(engine.shared, counting.at, txn.to_delete[number])
        retract(
            work,
            searches,
            lambda: int(kernel.retract_instances(engine.shared, searches.at, counting.at)),
            counting.work,
            seeds,
            counting.work.affected,
            int(WAITING),
            ensure_counts(engine),
        )
        work.pending = counting

    def insert(self, work: ComponentUpdate) -> None:
        engine = work.txn.engine
        begin = len(engine.store)
        work.insert_explicit()
        ensure_counts(engine)
        count_given(engine.store.arrays, engine.counts.row, begin)  # no rule has derived them so far
        work.derive(counting=True)
        if isinstance(work.pending, kernel.CountingWork):
            _decide(work, work.pending)

    def leave(self, component: MaintainedComponent) -> None:
        """Another strategy does not count: nothing is known any more."""
        engine = component.engine
        for number in component.numbers:
            forget_counts(engine.counts.row, engine.store.ids(number))


def _decide(work: ComponentUpdate, counting: kernel.CountingWork) -> None:
    """Deletes the affected facts without a derivation; all insertions are done."""
    engine = work.txn.engine
    ensure_counts(engine)
    searches = work.component.plans.searches((BACKWARD, new_state))
    searches.catch_up(engine)
    control = counting.work.control
    control[NEXT] = 0
    work.runner.drive_search(
        lambda: int(kernel.delete_underived(engine.shared, searches.at, counting.at)),
        control,
        BUDGET,
        searches.rule,
    )
    work.counters.add_kernel(counting.work.counters)
    note_deleted(work, counting.work.gone[: control[kernel.GONE]])
