"""`ranked`: ids are ranks, so a fact is deleted unless facts with smaller ids prove it in one step.

It needs rank order (`MaintainedComponent.in_rank_order`) and keeps it: every implicit fact has an instance
whose body facts of the component all have smaller ids.  See `kernels.ranked`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

import numpy as np

from tidalog.engine.bits import DELETED, PRESENT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.component_plans import FORWARD, LIKELY_FIRST, Searches
from tidalog.maintain.kernels import ranked as kernel
from tidalog.maintain.kernels.counters import CHECKS, DELETIONS, SPARED
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.by_blocks import rederive
from tidalog.maintain.strategies.searching import (
    affected_first,
    new_state,
    note_deleted,
    old_state,
    seeds_of,
    smaller_ranks,
)
from tidalog.model.facts import Ids

_PLANS: Final = ((FORWARD, old_state), (LIKELY_FIRST, smaller_ranks))
_PRESENT_OR_DELETED: Final = PRESENT | DELETED
_MOST_FOLLOWERS: Final = 0.8
"""The largest assumed number of facts that one fact affects: if more were seen, fewer will follow."""


class Ranked(Strategy):
    name: ClassVar[str] = "ranked"
    foresees: ClassVar[bool] = True

    def misfit(self, component: MaintainedComponent) -> str:
        return "" if component.in_rank_order else "its facts are no longer in the order of ranks"

    def prepare(self, component: MaintainedComponent) -> None:
        component.plans.searches(*_PLANS)
        component.plans.searches((LIKELY_FIRST, new_state))

    def delete(self, work: ComponentUpdate) -> None:
        component, engine = work.component, work.txn.engine
        seeds = seeds_of(work)
        searches = component.plans.searches(*_PLANS)
        searches.catch_up(engine)
        deletion = component.workspace.work(_Deletion)
        deletion.engine, deletion.searches = engine, searches
        ranked = deletion.start(seeds, component.own, component.workspace, work.begin + 1)
        at, control = deletion.at, ranked.control
        if work.seeds > len(seeds):
            for known in affected_first(work):
                kernel.affect_all(engine.store.at, engine.log.at, at, known)
        if len(work.marked):
            kernel.affect_all(engine.store.at, engine.log.at, at, work.own_marked)
        if component.unranked:
            kernel.affect_all(engine.store.at, engine.log.at, at, _unranked(component))
        work.runner.drive_search(deletion.step, control, kernel.BUDGET, deletion.rule, deletion.outlook)
        gone = ranked.gone[: control[kernel.GONE]]
        work.counters.add_kernel(ranked.counters)
        work.spared = int(ranked.counters[SPARED])
        component.rank()
        if component.recursive and control[kernel.UNSURE]:
            rederive(work, gone)  # proofs whose ranks are not smaller count too
        note_deleted(work, gone)


def _unranked(component: MaintainedComponent) -> Ids:
    """Facts that may have no proof in rank order."""
    ids = np.unique(np.concatenate(component.unranked))
    present = (component.engine.store.arrays.status[ids] & _PRESENT_OR_DELETED) == PRESENT
    result: Ids = ids[present]
    return result


class _Deletion(kernel.RankedWork):
    """One object for all deletions: a component that loses few facts must not pay for new ones."""

    engine: EmbeddedEngine
    searches: Searches

    def step(self) -> int:
        searches = self.searches
        return kernel.delete_ranked(*self.engine.at, searches.search.at, self.at, *searches.plans)

    def rule(self) -> str:
        return self.searches.rule(int(self.arrays.control[kernel.PHASE] == kernel.PROVE))

    def outlook(self) -> Callable[[int], float]:
        return _Outlook(self.seeds, self.arrays).steps


class _Outlook:
    """Estimates how many steps a deletion still takes: for each waiting fact, and for those that it will
    affect, what earlier facts have cost, at least two steps."""

    def __init__(self, seeds: int, work: kernel.Ranked) -> None:
        self._seeds, self._work = seeds, work
        self._taken, self._checked, self._affected = 0, -1, 0
        """Steps, checked facts and affected facts at the last call after all seeds were processed."""

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
