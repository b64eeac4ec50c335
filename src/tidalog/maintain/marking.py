"""Marks: what is known about the next updates while this one is processed.

paper     Algorithm 1 of paper 001 to the letter: explicit facts that the next update deletes are DOOMED; the
          head of an instance that is applied now and holds one of them is MARKED, and waits in the next
          update's W.
linked    an implicit fact keeps links to the explicit facts of the instance that produced or last proved it;
          it counts as marked once one of them is doomed, however old the link is (`links`).
complete  a fact that is new and doomed is RECORDED: semi-naive insertion meets every instance that it takes
          part in, and their heads are noted under it; new heads of such instances are RECORDED too.  When it
          is deleted, what it affects is on record and no rule is applied, whatever update comes.  Records
          last as many updates as are looked ahead.

Facts are named by where their rows start (*places*), which a new id does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import changes
from tidalog.engine.bits import DELETED, DOOMED, EXPLICIT, MARKED, NEW, PRESENT, RECORDED
from tidalog.engine.embedded import EmbeddedEngine
from tidalog.engine.fact_kernels import HEADER
from tidalog.engine.observing import LINK, MARK, RECORD_BODIES
from tidalog.maintain.kernels.records import Places, Records, facts_of, heads_of, no_records
from tidalog.maintain.links import Links
from tidalog.maintain.transaction import Batch, Ids, Transaction

OBSERVED: Final = {"none": 0, "paper": MARK, "dred": 0, "linked": LINK, "complete": RECORD_BODIES}
_NO_PLACES: Places = np.empty(0, np.uint32)
_NO_IDS: Ids = np.empty(0, np.int32)
_HALF: Final = np.uint64(32)
_WORTH: Final = 0.25
_MANY: Final = 256
"""So large a share of records must be used, and so many of them, that noting them is worth it."""
_FIRST_PAUSE: Final = 32
_LONGEST_PAUSE: Final = 1024


@dataclass
class _Generation:
    """What one update has put on record: the facts, and the instances of these and earlier ones."""

    born: int
    facts: Places
    records: Records


@dataclass
class _State:
    """What one update leaves for the next."""

    doomed: Places = field(default_factory=lambda: _NO_PLACES)
    marked: Places = field(default_factory=lambda: _NO_PLACES)
    generations: tuple[_Generation, ...] = ()


class Marking:
    """Marks of one kind on one engine.  An update that fails leaves them as they were."""

    def __init__(self, engine: EmbeddedEngine, kind: str, look_ahead: int, *, sparing: bool = False) -> None:
        """`sparing`: complete marks pause for a while where they are seldom of use."""
        self.engine, self.kind, self.look_ahead, self.sparing = engine, kind, look_ahead, sparing
        self.links = Links()
        self.coming: dict[int, list[tuple[npt.NDArray[np.int32], bool]]] = {}
        self.records = no_records()
        self._state = _State()
        self._doomed: list[Ids] = []
        self._proved: list[Ids] = []
        self._begin = 0
        self._recording = self._missed = False
        self._pause, self._next_pause = 0, _FIRST_PAUSE
        self._clock = 0

    # --- during an update ---------------------------------------------------------------------------

    def begin(self, change: Transaction, upcoming: Sequence[tuple[Sequence[Batch], Sequence[Batch]]]) -> Ids:
        """Ends the marks for this update and begins those for the next; gives the facts that were marked."""
        self._doomed, self._proved = [], []
        self._missed = False
        self.coming = {}
        self.records = no_records()
        if self.kind == "none":
            return _NO_IDS
        state = self._state
        self._begin = change.begin
        self._recording = bool(state.generations)
        arrays, log = self.engine.store.arrays, self.engine.log.arrays
        if len(state.doomed):
            changes.clear_bits_of(arrays, log, self._ids(state.doomed), int(DOOMED))
        if state.generations:
            noted = [generation.records for generation in state.generations]
            self.records = np.sort(noted[0] if len(noted) == 1 else np.concatenate(noted))
        self._announce(change, upcoming)
        if not len(state.marked):
            return _NO_IDS
        marked = self._ids(state.marked)
        changes.clear_bits_of(arrays, log, marked, int(MARKED))
        result: Ids = marked[(arrays.status[marked] & (PRESENT | EXPLICIT)) == PRESENT]
        return result

    def _announce(
        self, change: Transaction, upcoming: Sequence[tuple[Sequence[Batch], Sequence[Batch]]]
    ) -> None:
        """Notes what coming updates delete and insert, in their order."""
        if self._pause > 0:
            self._pause -= 1
            return
        ahead = self.look_ahead if self.kind == "complete" else min(1, self.look_ahead)
        for deletions, insertions in upcoming[:ahead]:
            for number, table in change.tables(deletions):
                self.coming.setdefault(number, []).append((table, True))
            for number, table in change.tables(insertions):
                if number in self.coming:
                    self.coming[number].append((table, False))

    def doom(self, change: Transaction, predicates: Iterable[int]) -> None:
        """Finds the explicit facts of some predicates that coming updates delete; insertions are done."""
        arrays, log = self.engine.store.arrays, self.engine.log.arrays
        for number in predicates:
            if number not in self.coming:
                continue
            doomed = _NO_IDS
            for table, deleted in self.coming[number]:
                ids = change.find(number, table)
                ids = ids[ids >= 0]
                if deleted:
                    doomed = np.unique(np.concatenate([doomed, ids]))
                elif len(ids):
                    doomed = doomed[~np.isin(doomed, ids)]
            status = arrays.status[doomed]
            doomed = doomed[(status & (EXPLICIT | DELETED)) == EXPLICIT]
            if not len(doomed):
                continue
            if self.kind == "complete":
                new = doomed[(arrays.status[doomed] & NEW) != 0]
                if len(new):
                    arrays.status[new] |= RECORDED
                    self._recording = True
            changes.set_bits_of(arrays, log, doomed, int(DOOMED))
            self._doomed.append(doomed)

    @property
    def observed(self) -> int:
        """What insertion looks at."""
        if self.kind == "complete":
            return RECORD_BODIES if self._recording else 0
        if self.kind == "paper" and not self._doomed:
            return 0
        return OBSERVED[self.kind]

    def miss(self) -> None:
        """A component was derived anew without a look at bodies, so what is on record is not all there is."""
        self._missed = True

    def proofs_marked(self, ids: Ids) -> None:
        """Facts that block a has marked."""
        if len(ids):
            self._proved.append(ids)

    # --- between two updates ------------------------------------------------------------------------

    def end(self, pairs: Records) -> tuple[int, int]:
        """Everything is done but the store is not finished yet: what is marked for the next update, explicit
        and implicit, counted."""
        if self.kind == "none":
            return 0, 0
        doomed = self._places(np.concatenate(self._doomed)) if self._doomed else _NO_PLACES
        marked, generations = _NO_PLACES, self._state.generations
        if self.kind == "linked":
            self.links.take(facts_of(pairs), heads_of(pairs))
            marked = self._there(self.links.heads_of_all(doomed))
        elif self.kind in ("paper", "dred"):
            proved = self._places(np.concatenate(self._proved)) if self._proved else _NO_PLACES
            marked = self._there(np.concatenate([proved, heads_of(pairs)]))
        elif self._recording:
            out = np.empty(len(self.engine.store) - self._begin, np.int32)
            new = out[: changes.list_recorded(self.engine.store.arrays, self._begin, out)]
            if len(new) or len(pairs):
                generations = (*generations, _Generation(self._clock, self._places(new), pairs.copy()))
        self._state = _State(doomed, marked, generations)
        implicit = len(marked)
        if self.kind == "complete" and len(pairs):
            implicit = len(self._there(np.unique(heads_of(pairs))))
        return len(doomed), implicit

    def finished(self, deleted: Ids, used: int) -> None:
        """The update is finished; `used` heads were read off records.  Facts that are gone keep no links, and
        what has been on record for long enough is so no more."""
        if self.kind == "linked":
            for place in self._places(deleted).tolist():
                self.links.forget(place)
        if self.kind != "complete":
            return
        self._consider(used)
        self._clock += 1
        kept: list[_Generation] = []
        for generation in self._state.generations:
            if self._missed or generation.born + self.look_ahead < self._clock:
                self.engine.store.arrays.status[self._ids(generation.facts)] &= ~RECORDED
            else:
                kept.append(generation)
        self._state.generations = tuple(kept)

    def _consider(self, used: int) -> None:
        """Whether what was on record was worth it; if not, nothing is announced for a while."""
        if not self.sparing or not len(self.records):
            return
        if used >= max(_MANY, _WORTH * len(self.records)):
            self._next_pause = _FIRST_PAUSE
        else:
            self._pause = self._next_pause
            self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)

    def rows_have_moved(self, before: Places, now: Places) -> None:
        """Places of facts are other ones from here on; places of facts that are gone are dropped."""
        if not len(before) or self.kind == "none":
            return

        def moved(places: Places) -> Places:
            result: Places = now[np.searchsorted(before, places[np.isin(places, before)])]
            return result

        def moved_records(records: Records) -> Records:
            facts, heads = facts_of(records), heads_of(records)
            there = np.isin(facts, before) & np.isin(heads, before)
            facts, heads = moved(facts[there]), moved(heads[there])
            result: Records = facts.astype(np.uint64) << _HALF | heads.astype(np.uint64)
            return result

        state = self._state
        generations = (
            _Generation(g.born, moved(g.facts), moved_records(g.records)) for g in state.generations
        )
        self._state = _State(moved(state.doomed), moved(state.marked), tuple(generations))
        self.links = self.links.moved(before, now)

    def _there(self, places: Places) -> Places:
        """Implicit facts that stay."""
        status = self.engine.store.arrays.status[self._ids(places)]
        result: Places = places[(status & (PRESENT | DELETED | EXPLICIT)) == PRESENT]
        return result

    def _ids(self, places: Places) -> Ids:
        result: Ids = self.engine.store.arrays.arguments[places.astype(np.int64) - HEADER]
        return result

    def _places(self, ids: Ids) -> Places:
        result: Places = self.engine.store.arrays.offset[ids]
        return result
