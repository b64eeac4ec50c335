"""When facts expire, for the strategy `expire`.

Times are numbered: a *slot* stands for one time that some fact has, so a fact's expiry takes four bytes
whatever the unit of time.  `life` has four numbers for each fact, its slot, its rank, a link and the slot
that it has as an explicit fact; there is no memory for it until a component asks for expiries.

Invariants between two updates.
*  A fact of a predicate that is not `timed` has slot NEVER: it goes when it is deleted.
*  Each fact of a `listed` predicate is in the list of a time not after its expiry, or noted beside it.

An update that fails restores expiries from `log`, and lists facts again.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import expiry_kernels as kernel
from tidalog.engine.addresses import Owner
from tidalog.engine.expiry_kernels import GONE, LIFE, LOGGED, NEVER, NOW, SIDE, SLOT_FIELDS, STATE
from tidalog.engine.memory import reserve
from tidalog.model.facts import Facts, Ids
from tidalog.model.lifetimes import NEVER_TIME, Lifetimes, Times

if TYPE_CHECKING:
    from tidalog.engine.engine import EmbeddedEngine

_MOST_FACTS: Final = 2**31 - 2
_SMALL: Final = 1 << 16
_GONE_TIME: Final = -(2**63) + 1
_MOST_RANK: Final = 1 << 30
Changes = npt.NDArray[np.int32]
"""[entry]: a fact, and the slot that it had."""
NO_CHANGES: Final[Changes] = np.empty((0, 2), np.int32)
_NO_IDS: Final[Ids] = np.empty(0, np.int32)


class ExpiryStore(Owner[kernel.Expiries]):
    """Owns the arrays and grows them."""

    def __init__(self) -> None:
        self.lifetimes: Lifetimes | None = None
        """What the update under way says about explicit facts."""
        self.derived: Collection[int] = ()
        self.timed: set[int] = set()
        """Predicates whose facts have expiries."""
        self.listed: set[int] = set()
        """Those of components."""
        self.changes: dict[int, list[Changes]] = {}
        """Facts of timed predicates whose expiry the update under way has changed so far."""
        self.due: dict[int, Ids] = {}
        """Facts of listed predicates whose time has come, unless they are raised."""
        self.slides = False
        """Whether a time has come in the update under way at which facts might have gone."""
        self.version = 0
        """Ranks of another version mean nothing."""
        self._slot_of: dict[int, int] = {}
        self._times: list[int] = []
        self._free: list[int] = []
        self._out = np.empty(0, np.int32)
        super().__init__(
            kernel.Expiries(
                np.zeros((0, LIFE), np.int32),
                np.array([NEVER_TIME, _GONE_TIME], np.int64),
                np.zeros((2, SLOT_FIELDS), np.int32),
                np.empty((0, LIFE), np.int32),
                np.empty((0, 2), np.int32),
                np.zeros(STATE, np.int64),
            )
        )

    @property
    def nbytes(self) -> int:
        arrays = self.arrays
        return int(arrays.when.nbytes + arrays.slots.nbytes + arrays.log.nbytes + arrays.side.nbytes)

    def bytes_of(self, facts: int) -> int:
        """Bytes in use for this many facts, at most."""
        return min(facts, len(self.arrays.life)) * LIFE * 4 + (self.nbytes if self.timed else 0)

    # --- capacity -----------------------------------------------------------------------------------

    def reserve(self, facts: int, changes: int = 0) -> None:
        """Capacity for this many facts, and for more changes of older ones."""
        arrays = self.arrays
        if facts > len(arrays.life):
            arrays = arrays._replace(life=_larger_life(arrays.life, facts))
        logged, side = int(arrays.state[LOGGED]) + changes, int(arrays.state[SIDE]) + changes
        if logged > len(arrays.log):
            arrays = arrays._replace(log=_larger(arrays.log, logged))
        if side > len(arrays.side):
            arrays = arrays._replace(side=_larger(arrays.side, side))
        if arrays is not self.arrays:
            self.replace(arrays)

    def slots_of(self, times: Times) -> Ids:
        """The slots of times; those that are not after now are gone."""
        slots = np.full(len(times), GONE, np.int32)
        later = times > self.arrays.state[NOW]
        ahead = times[later]
        if len(ahead):
            if (ahead == ahead[0]).all():
                slots[later] = self.slot(int(ahead[0]))
            else:
                found, inverse = np.unique(ahead, return_inverse=True)
                slots[later] = np.array([self.slot(time) for time in found.tolist()], np.int32)[inverse]
        return slots

    def slot(self, time: int) -> int:
        if time >= NEVER_TIME:
            return NEVER
        if time <= self.arrays.state[NOW]:
            return GONE
        slot = self._slot_of.get(time)
        if slot is None:
            if not self._free:
                self._grow_slots()
            slot = self._slot_of[time] = self._free.pop()
            self.arrays.when[slot] = time
            heapq.heappush(self._times, time)
        return slot

    def _grow_slots(self) -> None:
        arrays, count = self.arrays, len(self.arrays.when)
        size = 2 * count + 16
        when, slots = np.full(size, _GONE_TIME, np.int64), np.zeros((size, SLOT_FIELDS), np.int32)
        when[:count], slots[:count] = arrays.when, arrays.slots
        self._free = [*self._free, *range(size - 1, count - 1, -1)]
        self.replace(arrays._replace(when=when, slots=slots))

    # --- an update ----------------------------------------------------------------------------------

    def open(self, facts: int) -> None:
        """A savepoint is opened: `undo` restores this state, after an update or a query."""
        self.arrays.state[kernel.BEGIN], self.arrays.state[LOGGED] = facts, 0

    def begin(self, engine: EmbeddedEngine, lifetimes: Lifetimes | None, derived: Collection[int]) -> None:
        """An update begins: finds what is due.  `derived`: the predicates of rules."""
        self.lifetimes, self.derived = lifetimes, derived
        state = self.arrays.state
        state[kernel.BEGIN], state[LOGGED] = len(engine.store), 0
        if not self.timed or lifetimes is None:
            return
        if self.arrays.slots[NEVER, kernel.STAMP] > _MOST_RANK:
            self.arrays.slots[NEVER, kernel.STAMP] = 0
            self.version += 1
        before = int(state[NOW])
        if engine.open_savepoint is not None:
            engine.open_savepoint.on_rollback(lambda: self._return_to(engine, before))
        state[NOW] = lifetimes.now
        self.slides = bool(self._times) and self._times[0] <= lifetimes.now
        if self.listed:
            self._take_due(engine)

    def _take_due(self, engine: EmbeddedEngine) -> None:
        found = list[Ids]()
        if len(self._out) == 0:
            self._out = np.empty(_SMALL, np.int32)
        for time in _due(self._times, int(self.arrays.state[NOW])):
            slot = self._slot_of[time]
            while True:
                if self.arrays.state[SIDE]:
                    self.reserve(0, len(engine.store))
                count = int(kernel.take_due(engine.store.at, self.at, slot, self._out))
                if count:
                    found.append(self._out[:count].copy())
                if count < len(self._out):
                    break
        if found:
            ids = found[0] if len(found) == 1 else np.concatenate(found)
            self.due = {p: np.ascontiguousarray(ids[own]) for p, own in _parts(engine, ids)}

    def _return_to(self, engine: EmbeddedEngine, time: int) -> None:
        """An update has failed: facts are in the lists of their expiries again."""
        self.arrays.state[NOW] = time
        self.list_again(engine)

    def note(self, engine: EmbeddedEngine, changed: Changes) -> None:
        """Facts have other expiries than before."""
        if not len(changed):
            return
        for predicate, own in _parts(engine, np.ascontiguousarray(changed[:, 0])):
            self.changes.setdefault(predicate, []).append(changed[own])

    def changed_of(self, predicate: int) -> tuple[Changes, Changes]:
        """Facts of a predicate that go sooner, but for those that expire, and facts that stay longer."""
        parts = self.changes.get(predicate)
        if not parts:
            return NO_CHANGES, NO_CHANGES
        changed = parts[0] if len(parts) == 1 else np.concatenate(parts)
        when, life = self.arrays.when, self.arrays.life
        before, after = when[changed[:, 1]], when[life[changed[:, 0], kernel.SLOT]]
        sooner = changed[after < before]
        return np.ascontiguousarray(sooner), np.ascontiguousarray(changed[after > before])

    def give(self, engine: EmbeddedEngine, predicate: int, *, derived: bool) -> Changes:
        """What the update says about the explicit facts of a predicate; those that change."""
        assert self.lifetimes is not None
        found: list[Changes] = []
        for facts, times in self.lifetimes.changed:
            if facts.count and engine.has(facts.predicate) and engine.predicate(facts.predicate) == predicate:
                slots = self.slots_of(times)
                self.reserve(len(engine.store), facts.count)
                engine.store.add_to_table(predicate)
                out = np.empty((facts.count, 2), np.int32)
                count = kernel.give(engine.store.at, self.at, predicate, facts.table, slots, derived, out)
                found.append(out[: int(count)])
        return found[0] if len(found) == 1 else np.concatenate(found) if found else NO_CHANGES

    def named(self, engine: EmbeddedEngine) -> set[int]:
        """The predicates with explicit facts that the update gives another expiry."""
        names = {facts.predicate for facts, _ in self.lifetimes.changed} if self.lifetimes else ()
        return {engine.predicate(name) for name in names if engine.has(name)}

    def give_all(self, engine: EmbeddedEngine) -> None:
        """What the update says about the explicit facts of timed predicates that no rule derives."""
        if not self.timed or self.lifetimes is None:
            return
        for name in dict.fromkeys(facts.predicate for facts, _ in self.lifetimes.changed):
            number = engine.predicate(name) if engine.has(name) else -1
            if number in self.timed and number not in self.derived:
                self.note(engine, self.give(engine, number, derived=False))

    def load(self, engine: EmbeddedEngine, predicate: int, *, derived: bool) -> None:
        """Learns the expiries of all explicit facts of a window, as they were before the update."""
        assert self.lifetimes is not None
        engine.store.add_to_table(predicate)
        for facts, times in self.lifetimes.everything(engine.names[predicate]):
            self.reserve(len(engine.store), facts.count)
            slots = self.slots_of(times)
            kernel.load_lives(engine.store.at, self.at, predicate, facts.table, slots, derived)

    def forget(self, engine: EmbeddedEngine, predicates: Iterable[int]) -> None:
        """Expiries of some predicates are not kept any longer."""
        for predicate in self.timed.intersection(predicates):
            ids = engine.store.ids(predicate)
            self.reserve(len(engine.store), len(ids))
            kernel.forget_lives(self.at, ids)
            self._set_timed(engine, self.timed - {predicate}, self.listed - {predicate})
            self.changes.setdefault(predicate, [])  # those that read it begin again

    def restart(self, engine: EmbeddedEngine) -> None:
        """Forgets the expiries of streams whose windows have changed; what reads them begins again."""
        names = self.lifetimes.restarted if self.lifetimes is not None else ()
        if names and self.timed:
            self.forget(engine, [engine.predicate(name) for name in names if engine.has(name)])
            self.version += 1

    def _set_timed(self, engine: EmbeddedEngine, timed: set[int], listed: set[int]) -> None:
        before = self.timed, self.listed

        def restore() -> None:
            self.timed, self.listed = before

        if engine.open_savepoint is not None:
            engine.open_savepoint.on_rollback(restore)
        self.timed, self.listed = timed, listed

    def keep(self, engine: EmbeddedEngine, predicates: Sequence[int], *, listed: bool) -> None:
        """Expiries of some predicates are kept from here on."""
        if not self.timed:
            assert self.lifetimes is not None
            self.arrays.state[NOW] = self.lifetimes.now
        self._set_timed(engine, self.timed.union(predicates), self.listed.union(predicates if listed else ()))

    def list_again(self, engine: EmbeddedEngine) -> None:
        if self.timed:
            listed = np.zeros(len(engine.names) + 1, np.uint8)
            listed[list(self.listed)] = 1
            self.reserve(len(engine.store))
            kernel.list_again(engine.store.at, self.at, listed)

    def finish(self) -> None:
        """The update is over: slots whose time has come are free."""
        self.lifetimes = None
        self.changes, self.due = {}, {}
        state, slots = self.arrays.state, self.arrays.slots
        while self._times and self._times[0] <= state[NOW]:
            slot = self._slot_of.pop(heapq.heappop(self._times))
            slots[slot] = 0
            self._free.append(slot)

    def undo(self, engine: EmbeddedEngine) -> None:
        """The update has failed; its facts are still there."""
        self.lifetimes = None
        self.changes, self.due = {}, {}
        if len(self.arrays.life):
            kernel.undo_lives(self.at, min(len(engine.store), len(self.arrays.life)))

    def renumber(self, engine: EmbeddedEngine, ranks: Ids) -> None:
        """Facts are about to get the ids that `ranks` says."""
        if len(self.arrays.life):
            self.reserve(len(engine.store))
            kernel.renumber_lives(engine.store.at, self.at, ranks)

    def times_of(self, ids: Ids) -> Times:
        out = np.empty(len(ids), np.int64)
        kernel.times_of(self.at, ids, out)
        return out


def predicates_of(engine: EmbeddedEngine, ids: Ids) -> Ids:
    from tidalog.engine.finished_update import predicates_of as find

    out = np.empty(len(ids), np.int32)
    find(engine.store.at, ids, out)
    return out


def _parts(engine: EmbeddedEngine, ids: Ids) -> Iterator[tuple[int, slice | npt.NDArray[np.bool_]]]:
    """The predicates of some facts, and which facts are of each."""
    predicates = predicates_of(engine, ids)
    first = int(predicates[0])
    if (predicates == first).all():
        yield first, slice(None)
        return
    for predicate in np.unique(predicates).tolist():
        yield predicate, predicates == predicate


def _due(times: list[int], now: int) -> list[int]:
    """The times of a heap that have come, without a look at the others."""
    found: list[int] = []
    ahead = [0]
    while ahead:
        at = ahead.pop()
        if at < len(times) and times[at] <= now:
            found.append(times[at])
            ahead += (2 * at + 1, 2 * at + 2)
    return sorted(found)


def _larger_life(life: npt.NDArray[np.int32], facts: int) -> npt.NDArray[np.int32]:
    larger = None
    if facts > _SMALL:
        area = reserve(np.dtype(np.int32), LIFE * _MOST_FACTS, large_pages=False)
        larger = None if area is None else area.reshape((_MOST_FACTS, LIFE))
    if larger is None:
        larger = np.zeros((2 * facts + 64, LIFE), np.int32)
    larger[: len(life)] = life
    return larger


def _larger(array: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.int32]:
    result = np.empty((2 * size + 64, array.shape[1]), np.int32)
    result[: len(array)] = array
    return result


__all__ = ["NO_CHANGES", "Changes", "ExpiryStore", "Facts"]
