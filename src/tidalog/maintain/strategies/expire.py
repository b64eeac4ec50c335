"""`expire`: facts go by their expiries, so a slide of windows runs no rule.

The expiry of a derived fact is the best that an instance gives it, which goes when the first of its facts
does.  Kept are the expiries and an order of proofs (`kernels.expire`).  They are worked out from scratch
when another strategy has maintained the component, or when its rules have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import opcodes as op
from tidalog.engine import update_kernels as kernels
from tidalog.engine.addresses import Owner
from tidalog.engine.binding_blocks import BLOCK
from tidalog.engine.bits import CHECKED, DELAYED, DELETED, EXPLICIT, OLD_STATE, PRESENT, WAITING
from tidalog.engine.expiries import NO_CHANGES, Changes, ExpiryStore
from tidalog.engine.expiry_kernels import GONE, NEVER, NOW, drop_due, end_lives, give_ids
from tidalog.engine.plan_code import Filter
from tidalog.engine.tuple_prefetch import PROBE_FIELDS
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.component_plans import BACKWARD, FORWARD, PIVOT, Searches
from tidalog.maintain.default_strategy import GOES_BY_TIME, misfit_of_expiries
from tidalog.maintain.expiring import basis_of
from tidalog.maintain.insertion import answer
from tidalog.maintain.kernels import expire as kernel
from tidalog.maintain.kernels import expire_work as state
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.kernels.expire_lower import doubt_given
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.searching import ANY, note_deleted
from tidalog.model.facts import Ids

_BITS: Final = int(WAITING | CHECKED | DELAYED)
_SETTLED: Final[Filter] = (int(PRESENT | DELETED | WAITING), int(PRESENT), op.ANY_ID)
_BEFORE: Final[Filter] = (*OLD_STATE, op.ANY_ID)
_SURE: Final[Filter] = (int(PRESENT | DELETED | CHECKED), int(PRESENT), op.ANY_ID)
_NO_IDS: Final[Ids] = np.empty(0, np.int32)


def settled(kind: int) -> Filter:
    return ANY if kind == PIVOT else _SETTLED


def before(kind: int) -> Filter:
    return ANY if kind == PIVOT else _BEFORE


def sure(kind: int) -> Filter:
    return ANY if kind == PIVOT else _SURE


_PLANS: Final = ((FORWARD, settled), (FORWARD, before), (BACKWARD, sure))


class Expire(Strategy):
    name: ClassVar[str] = "expire"
    substitute: ClassVar[str] = "ranked"
    reason: ClassVar[str] = GOES_BY_TIME
    keeps_expiries: ClassVar[bool] = True

    def misfit(self, component: MaintainedComponent) -> str:
        engine = component.engine
        lifetimes = engine.expiries.lifetimes
        if lifetimes is None:
            return "nothing that it reads expires"
        if problem := misfit_of_expiries(component.traits):
            return problem
        if lifetimes.counted:
            read = {engine.names[number] for number in (*component.lower, *component.numbers)}
            if read & lifetimes.counted:
                return "a window of the last arrivals does not say when a fact leaves"
        names, derived = lifetimes.predicates, engine.expiries.derived
        windows = [n for n in component.lower if n not in derived] + component.numbers
        expires = any(engine.names[number] in names for number in windows)
        if not expires and not engine.expiries.timed.intersection(component.lower):
            return "nothing that it reads expires"
        return ""

    def prepare(self, component: MaintainedComponent) -> None:
        if self.misfit(component) == "":
            component.plans.searches(*_PLANS)

    def delete(self, work: ComponentUpdate) -> None:
        """Facts go when all expiries are right: see `insert`."""

    def insert(self, work: ComponentUpdate) -> None:
        component, txn, engine = work.component, work.txn, work.txn.engine
        expiries = engine.expiries
        basis = basis_of(component)
        from_scratch = component.expires_with != basis or component.edit is not None
        component.expires_with = None
        for number in component.numbers:
            engine.store.add_to_table(number)
        begin = len(engine.store)
        work.insert_explicit()
        work.marks.recomputed()
        if from_scratch:
            expiries.keep(engine, component.numbers, listed=True)
        expiries.reserve(len(engine.store))
        end_lives(expiries.at, begin, len(engine.store))
        if txn.deleted_count or len(engine.log.touched):
            kernels.clear_bits_of_touched(engine.store.at, engine.log.at, _BITS)
        run = _Run(work, expiries)
        run.begin_again() if from_scratch else run.begin()
        run.drive()
        run.end()
        component.expires_with = basis_of(component)
        component.in_rank_order = False
        component.rank()
        work.marks.derived_unseen(work.begin)


class _Run:
    """One component in one update."""

    def __init__(self, work: ComponentUpdate, expiries: ExpiryStore) -> None:
        self.work, self.expiries, self.engine = work, expiries, work.txn.engine
        self.component = component = work.component
        self.searches: Searches = component.plans.searches(*_PLANS)
        self.searches.catch_up(self.engine)
        self.buffers = component.workspace.work(_Buffers)
        self.all: Ids | None = None
        """Every fact of the component, if expiries are worked out from scratch."""
        self.old: Ids = _NO_IDS
        """Facts whose expiry has come, by what was known before the update."""

    # --- what has changed ---------------------------------------------------------------------------

    def begin(self) -> None:
        engine, txn, expiries, component = self.engine, self.work.txn, self.expiries, self.component
        if expiries.due:
            due = [expiries.due[n] for n in component.numbers if n in expiries.due]
            self.old = due[0] if len(due) == 1 else np.concatenate([_NO_IDS, *due])
        seeds, raised = list[Changes](), list[Changes]()
        for number in component.lower:
            if number in expiries.timed:
                sooner, later = expiries.changed_of(number)
                seeds.append(sooner)
                raised.append(later)
            else:
                seeds.append(_with_slot(txn.deleted_of([number]), NEVER))
                raised.append(_with_slot(txn.new_of([number]), GONE))
        given = [part for number in component.numbers for part in self._given(number)]
        self.buffers.start(self, _joined(seeds), _joined(raised), _joined(given))
        self.buffers.ensure_capacity(self, len(self.buffers.arrays.given))
        if len(self.buffers.arrays.given):
            doubt_given(engine.store.at, engine.log.at, self.expiries.at, self.buffers.at)

    def _given(self, number: int) -> list[Changes]:
        """Explicit facts of the component that the update gives another expiry."""
        engine, txn, expiries = self.engine, self.work.txn, self.expiries
        assert expiries.lifetimes is not None
        if engine.names[number] in expiries.lifetimes.predicates:
            return [expiries.give(engine, number, derived=True)]
        parts: list[Changes] = []
        gone = txn.to_delete.get(number)
        new = [txn.find(n, table) for n, table in txn.tables(txn.asked[1]) if n == number]
        for ids, given in ((gone, 0), *((ids, NEVER + 1) for ids in new)):
            if ids is not None and len(ids):
                expiries.reserve(len(engine.store), len(ids))
                out = np.empty((len(ids), 2), np.int32)
                parts.append(out[: int(give_ids(expiries.at, ids, given, out))])
        return parts

    def begin_again(self) -> None:
        engine, expiries, component, store = self.engine, self.expiries, self.component, self.engine.store
        assert expiries.lifetimes is not None
        windows = expiries.lifetimes.predicates
        for number in component.lower:
            pure = engine.names[number] in windows and number not in expiries.derived
            if pure and number not in expiries.timed:
                expiries.keep(engine, [number], listed=False)
                expiries.load(engine, number, derived=False)
                expiries.note(engine, expiries.give(engine, number, derived=False))
        own = [store.ids(number) for number in component.numbers]
        self.all = np.concatenate(own)
        below = [store.ids(number, 0, int(DELETED), 0) for number in component.lower]
        raised = np.concatenate([*below, _NO_IDS])
        raised = raised[expiries.times_of(raised) > expiries.arrays.state[NOW]]
        self.buffers.start(self, NO_CHANGES, _with_slot(raised, GONE), NO_CHANGES)
        self.buffers.ensure_capacity(self, len(self.all))
        kernel.begin_again(engine.store.at, engine.log.at, expiries.at, self.buffers.at, self.all)
        for number, ids in zip(component.numbers, own, strict=True):
            if engine.names[number] in windows:
                expiries.load(engine, number, derived=True)
                expiries.give(engine, number, derived=True)
            else:
                status = store.arrays.status[ids]
                explicit = np.ascontiguousarray(ids[(status & EXPLICIT) != 0])
                expiries.reserve(len(store), len(explicit))
                give_ids(expiries.at, explicit, NEVER + 1, np.empty((len(explicit), 2), np.int32))
        self.buffers.replace(self.buffers.arrays._replace(given=_with_slot(self.all, 0)))
        self.buffers.ensure_capacity(self)  # learning expiries may have added slots

    # --- the run ------------------------------------------------------------------------------------

    def drive(self) -> None:
        """Expiries are right, also of what follows from answers of Python, which never expire."""
        work, begin = self.work, self.work.new_from
        self._search()
        while self.component.stage.memos:
            answers = answer(self.component, work.runner, begin, work.functions)
            if not len(answers):
                break
            begin = len(self.engine.store)
            self.searches.catch_up(self.engine)
            self.buffers.go_on(_with_slot(answers, GONE))
            self.buffers.ensure_capacity(self)
            self._search()
        work.counters.add_kernel(self.buffers.arrays.counters)

    def _search(self) -> None:
        control = self.buffers.arrays.control
        self.work.runner.drive_search(
            self._step, control, state.BUDGET, lambda: self.searches.rule(_WAY_OF[control[state.PHASE]])
        )

    def _step(self) -> int:
        engine, control = self.engine, self.buffers.arrays.control
        reason = int(
            kernel.change_expiries(
                *engine.at,
                self.expiries.at,
                self.searches.search.at,
                self.buffers.at,
                *self.searches.plans,
            )
        )
        if reason == op.GROW_FACTS:
            self.buffers.ensure_capacity(self)
            return op.PAUSE
        if reason == op.GROW_INDEX:
            engine.indexes.grow(int(control[state.WANTED]))
            return op.PAUSE
        return reason

    def end(self) -> None:
        engine, expiries, work = self.engine, self.expiries, self.buffers.arrays
        control = work.control
        suspects = np.ascontiguousarray(work.suspects[: control[state.SUSPECTS], 0])
        asked = np.concatenate([self.old, suspects]) if self.all is None else self.all
        expiries.reserve(len(engine.store), len(asked))
        gone = np.empty(len(asked), np.int32)
        count = int(drop_due(engine.store.at, engine.log.at, expiries.at, asked, _BITS, gone))
        note_deleted(self.work, gone[:count])
        if self.old is not _NO_IDS:
            self.work.txn.too_old.append(self.old)
        expiries.note(engine, work.changed[: control[state.CHANGED]].copy())
        if self.all is not None:
            expiries.list_again(engine)


_WAY_OF: Final = (
    *(state.DOUBTING, state.PROVING, state.PROVING, state.DOUBTING),
    *(state.PROVING, state.PROVING, state.RAISING, state.RAISING),
)
"""Phase → the way to search."""


class _Buffers(Owner[state.Work]):
    """The arrays of a run, kept from one component to the next."""

    def __init__(self) -> None:
        super().__init__(
            state.Work(
                *(NO_CHANGES, NO_CHANGES, NO_CHANGES),
                np.empty(256, np.int32),
                np.empty((256, 2), np.int32),
                np.empty((256, 3), np.int32),
                np.empty(16, np.int32),
                np.empty((256, 2), np.int32),
                np.empty(0, np.uint8),
                np.empty(0, np.int64),
                np.empty((state.BATCH, 2), np.int32),
                np.empty((8, state.MARGIN), np.int32),
                np.empty((state.MARGIN, 2), np.int32),
                np.empty((8, state.MARGIN), np.int32),
                np.empty(state.MARGIN, np.uint64),
                np.empty(state.MARGIN, np.int32),
                np.empty(state.MARGIN, np.int32),
                np.empty((2 * state.BATCH, PROBE_FIELDS), np.int64),
                np.zeros(state.CONTROL, np.int64),
                new_counters(),
            )
        )

    def start(self, run: _Run, seeds: Changes, raised: Changes, given: Changes) -> None:
        work = self.arrays
        work.control[:] = work.counters[:] = 0
        arity = max((run.engine.arities[n] for n in run.component.numbers), default=0)
        if len(work.heads) < arity:
            shape = arity, state.MARGIN
            work = work._replace(heads=np.empty(shape, np.int32), rows=np.empty(shape, np.int32))
        own, reads = run.component.own, run.searches.read
        self.replace(work._replace(seeds=seeds, raised=raised, given=given, own=own, reads=reads))

    def go_on(self, raised: Changes) -> None:
        """A run that is done goes on with more lower facts that stay longer."""
        work = self.arrays
        work.control[state.PHASE], work.control[state.NEXT] = state.RAISE, 0
        self.replace(work._replace(seeds=NO_CHANGES, raised=raised, given=NO_CHANGES))

    def ensure_capacity(self, run: _Run, more: int = 0) -> None:
        """Capacity for another block of instances, and for this many more facts in every list."""
        work, expiries, engine = self.arrays, run.expiries, run.engine
        lists = (work.heap, work.suspects, work.waits, work.changed, work.queue)
        used = [int(work.control[counter]) + more for counter in _COUNTED]
        used.append(len(expiries.arrays.when))
        if any(entries + _SPARE > len(array) for entries, array in zip(used, lists, strict=True)):
            heap, suspects, waits, changed, queue = map(_with_capacity, lists, used)
            larger = work._replace(heap=heap, suspects=suspects, waits=waits, changed=changed, queue=queue)
            self.replace(larger)
        engine.store.ensure(BLOCK, len(work.heads), -1)
        expiries.reserve(len(engine.store) + BLOCK, more + BLOCK)


_COUNTED: Final = (state.DOUBTED, state.SUSPECTS, state.WAITS, state.CHANGED)
_SPARE: Final = 2 * state.MARGIN


def _with_capacity(array: npt.NDArray[np.int32], entries: int) -> npt.NDArray[np.int32]:
    """An array with capacity for more than this many entries, or itself."""
    if entries + _SPARE <= len(array):
        return array
    larger = np.empty((2 * (entries + _SPARE), *array.shape[1:]), np.int32)
    larger[: len(array)] = array
    return larger


def _with_slot(ids: Ids, slot: int) -> Changes:
    found = np.empty((len(ids), 2), np.int32)
    found[:, 0], found[:, 1] = ids, slot
    return found


def _joined(parts: Sequence[Changes]) -> Changes:
    parts = [part for part in parts if len(part)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else NO_CHANGES
