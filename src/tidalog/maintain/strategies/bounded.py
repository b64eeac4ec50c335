"""`bounded`: of a component with expiries, the facts that stay for longer than some time.

A window of 10 s holds what one of 60 s over the same stream holds for more than 50 s yet, and the same is
true of all that follows by positive rules: a fact that goes at T from the longer one goes at T - 50 s from
the shorter one.  So what follows is derived once, over the longest window, and a bounded component copies
some of it: it follows the changes of expiries, and time.

As long as no time is known nothing goes, and both windows hold the same.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import expiry_kernels as kernel
from tidalog.engine.bits import DELETED, STATUS_NEW
from tidalog.engine.expiries import NO_CHANGES, Changes
from tidalog.engine.expiry_kernels import GONE, NOW
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.expiring import basis_of
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.searching import note_deleted
from tidalog.maintain.transaction import put_rows
from tidalog.model.facts import Ids
from tidalog.model.lifetimes import NEVER_TIME, Times

_NO_IDS: Final[Ids] = np.empty(0, np.int32)


class Bounded(Strategy):
    name: ClassVar[str] = "bounded"
    substitute: ClassVar[str] = "ranked"
    keeps_expiries: ClassVar[bool] = True

    def misfit(self, component: MaintainedComponent) -> str:
        return "" if component.engine.expiries.lifetimes is not None else "no time is known yet"

    def delete(self, work: ComponentUpdate) -> None:
        """Facts go when all expiries are right: see `insert`."""

    def insert(self, work: ComponentUpdate) -> None:
        component, engine = work.component, work.txn.engine
        expiries, basis = engine.expiries, basis_of(component)
        from_scratch = component.expires_with != basis or component.edit is not None
        component.expires_with = None
        work.marks.recomputed()
        assert expiries.timed.issuperset(component.lower), component.name
        copy = _Copy(work)
        due = expiries.due.get(copy.number, _NO_IDS)
        old = due[expiries.times_of(due) <= copy.now]
        changed = copy.begin_again() if from_scratch else copy.follow_changes()
        asked = engine.store.ids(copy.number) if from_scratch else np.concatenate([due, changed[:, 0]])
        expiries.reserve(len(engine.store), len(asked))
        gone = np.empty(len(asked), np.int32)
        count = int(kernel.drop_due(engine.store.at, engine.log.at, expiries.at, asked, 0, gone))
        note_deleted(work, gone[:count])
        if len(old):
            work.txn.too_old.append(old)
        expiries.note(engine, changed)
        if from_scratch:
            expiries.list_again(engine)
        component.expires_with = basis_of(component)
        component.in_rank_order = False
        component.rank()
        work.marks.derived_unseen(work.begin)


class _Copy:
    """The copy of a predicate that one component holds, in one update."""

    def __init__(self, work: ComponentUpdate) -> None:
        self.work, self.engine = work, work.txn.engine
        (self.number,), (self.longer,) = work.component.numbers, work.component.lower
        (rule,) = work.component.rules
        self.lasting = rule.lasting
        self.expiries = self.engine.expiries
        self.now = int(self.expiries.arrays.state[NOW])

    def begin_again(self) -> Changes:
        """Nothing is known of the facts of the component."""
        store, expiries = self.engine.store, self.expiries
        expiries.keep(self.engine, [self.number], listed=True)
        own = self._rows(store.ids(self.number))
        found = self.work.txn.find(self.longer, own)
        times = np.full(len(found), self.now, np.int64)
        times[found >= 0] = self._times(found[found >= 0])
        return np.concatenate([self._give(own, times), self._follow(store.ids(self.longer))])

    def follow_changes(self) -> Changes:
        parts = [part[:, 0] for part in self.expiries.changes.get(self.longer, ())]
        return self._follow(np.unique(np.concatenate(parts))) if parts else NO_CHANGES

    def _follow(self, ids: Ids) -> Changes:
        """Copies facts that stay long enough."""
        return self._give(self._rows(ids), self._times(ids))

    def _times(self, ids: Ids) -> Times:
        """When the copies of facts go, or now."""
        times, status = self.expiries.times_of(ids), self.engine.store.arrays.status[ids]
        goes = (times <= self.now + self.lasting) | ((status & DELETED) != 0)
        times[times != NEVER_TIME] -= self.lasting
        times[goes] = self.now
        return times

    def _rows(self, ids: Ids) -> npt.NDArray[np.int32]:
        table = np.empty((self.engine.arities[self.number], len(ids)), np.int32)
        for column in range(len(table)):
            table[column] = self.engine.store.column(ids, column)
        return table

    def _give(self, table: npt.NDArray[np.int32], times: Times) -> Changes:
        """Rows go at these times; those that stay are facts from here on.  The facts whose expiry changes."""
        engine, expiries, begin = self.engine, self.expiries, len(self.engine.store)
        slots = expiries.slots_of(times)
        stays = slots != GONE
        count = int(np.count_nonzero(stays))
        if count:
            put_rows(engine, self.number, np.ascontiguousarray(table[:, stays]), count, STATUS_NEW)
            self.work.counters.derivations += count
        expiries.reserve(len(engine.store), len(slots))
        kernel.end_lives(expiries.at, begin, len(engine.store))
        out = np.empty((len(slots), 2), np.int32)
        found = kernel.give(engine.store.at, expiries.at, self.number, table, slots, False, out)
        return out[: int(found)]
