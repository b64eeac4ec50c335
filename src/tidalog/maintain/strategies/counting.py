"""`counting`: deletion by derivation counts, in a component without recursion.

Deletion finds the instances that are lost and the facts these have derived, and takes them off the counts.
After insertion it decides: an affected fact that is not explicit and has no derivation left is deleted.
Facts whose derivations are not known are counted then.  See `kernels.counting`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tidalog.engine.bits import WAITING
from tidalog.engine.derivation_counts import count_given, forget_counts
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.component_plans import BACKWARD
from tidalog.maintain.insertion import ensure_counts
from tidalog.maintain.kernels import counting as kernel
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.by_blocks import retract
from tidalog.maintain.strategies.searching import affected_first, new_state, note_deleted, seeds_of
from tidalog.model.facts import Ids


class Counting(Strategy):
    name: ClassVar[str] = "counting"
    substitute: ClassVar[str] = "ranked"
    reason: ClassVar[str] = "its derivations are counted"

    def misfit(self, component: MaintainedComponent) -> str:
        fits = component.countable and component.edit is None
        return "" if fits else "recursive derivations prove nothing"

    def delete(self, work: ComponentUpdate) -> None:
        engine = work.txn.engine
        engine.log.derivation_log.stop_counting()
        work.pending = retract(
            work, seeds_of(work), affected_first(work), int(WAITING), counts=ensure_counts(engine)
        )

    def insert(self, work: ComponentUpdate) -> None:
        engine = work.txn.engine
        begin = len(engine.store)
        work.insert_explicit()
        ensure_counts(engine)
        count_given(engine.store.at, engine.counts.row, begin)  # no rule has derived them so far
        work.derive(counting=True)
        if isinstance(work.pending, np.ndarray):
            _decide(work, work.pending)

    def leave(self, component: MaintainedComponent) -> None:
        """Another strategy does not count: nothing is known any more."""
        engine = component.engine
        for number in component.numbers:
            forget_counts(engine.counts.row, engine.store.ids(number))


def _decide(work: ComponentUpdate, affected: Ids) -> None:
    """Deletes the affected facts without a derivation; all insertions are done."""
    engine = work.txn.engine
    ensure_counts(engine)
    searches = work.component.plans.searches((BACKWARD, new_state))
    searches.catch_up(engine)
    counts, control, found = engine.counts.row, np.zeros(kernel.CONTROL, np.int64), new_counters()

    def step() -> int:
        reason = kernel.delete_underived(
            *engine.at, searches.search.at, searches.plans[0], affected, counts, control, found
        )
        return int(reason)

    work.runner.drive_search(
        step,
        control,
        kernel.BUDGET,
        searches.rule,
    )
    work.counters.add_kernel(found)
    note_deleted(work, affected[: control[kernel.GONE]])
