"""Marks: what is known about the next updates while this one is processed.

paper     Algorithm 1 of paper 001 to the letter: explicit facts that the next update deletes are DOOMED; the
          head of an instance that is applied now and holds one of them is MARKED, and waits in the next
          update's W.
linked    an implicit fact keeps links to the explicit facts of the instance that produced or last proved it;
          it counts as marked once one of them is doomed, however old the link is.
complete  a fact that is new and doomed is RECORDED: semi-naive insertion meets every instance that it takes
          part in, and their heads are noted under it; new heads of such instances are RECORDED too.  When it
          is deleted, what it affects is on record and no rule is applied, whatever update comes.

Facts are named by where their rows start (*places*), which a new id does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import changes
from tidalog.engine.bits import DELETED, DOOMED, EXPLICIT, MARKED, NEW, PRESENT, RECORDED
from tidalog.engine.embedded import EmbeddedEngine
from tidalog.engine.fact_kernels import HEADER
from tidalog.engine.observing import LINK, MARK, RECORD_BODIES
from tidalog.maintain.kernels.records import Places, no_records, records_of
from tidalog.maintain.transaction import Batch, Ids, Transaction

OBSERVED: Final = {"none": 0, "paper": MARK, "linked": LINK, "complete": RECORD_BODIES}
_NO_PLACES: Places = np.empty(0, np.uint32)
_NO_PAIRS: Places = np.empty((0, 2), np.uint32)
_NO_IDS: Ids = np.empty(0, np.int32)


@dataclass
class Links:
    """Implicit fact → explicit facts of the instance that produced or last proved it, and the way back."""

    facts_of: dict[int, list[int]] = field(default_factory=dict)
    heads_of: dict[int, dict[int, None]] = field(default_factory=dict)

    def take(self, pairs: Places) -> None:
        """Notes of an update in order: (0, head) begins what is known about a head anew."""
        for fact, head in pairs.tolist():
            if fact == 0:
                self.forget(head)
                self.facts_of[head] = []
            else:
                self.facts_of[head].append(fact)
                self.heads_of.setdefault(fact, {})[head] = None

    def forget(self, head: int) -> None:
        for fact in set(self.facts_of.pop(head, ())):  # a body may hold a fact twice
            heads = self.heads_of[fact]
            heads.pop(head, None)
            if not heads:
                del self.heads_of[fact]

    def moved(self, place_of: Mapping[int, int]) -> Links:
        """The same links of facts that have new places."""
        result = Links()
        for head, facts in self.facts_of.items():
            if head in place_of:
                kept = [place_of[fact] for fact in facts if fact in place_of]
                result.facts_of[place_of[head]] = kept
                for fact in kept:
                    result.heads_of.setdefault(fact, {})[place_of[head]] = None
        return result


def _moved(places: Places, before: Places, now: Places) -> Places:
    result: Places = now[np.searchsorted(before, places)]
    return result


@dataclass
class _State:
    """What one update leaves for the next."""

    doomed: Places = field(default_factory=lambda: _NO_PLACES)
    marked: Places = field(default_factory=lambda: _NO_PLACES)
    recorded: Places = field(default_factory=lambda: _NO_PLACES)
    """Explicit facts that are RECORDED."""
    pairs: Places = field(default_factory=lambda: _NO_PAIRS)


class Marking:
    """Marks of one kind on one engine.  An update that fails leaves them as they were."""

    def __init__(self, engine: EmbeddedEngine, kind: str, look_ahead: int) -> None:
        self.engine, self.kind, self.look_ahead = engine, kind, look_ahead
        self.links = Links()
        self._state = _State()
        self.coming: dict[int, npt.NDArray[np.int32]] = {}
        self._doomed: list[Ids] = []
        self._proved: list[Ids] = []
        self._recorded: list[Ids] = []
        self._missed = False
        self.records = no_records()

    # --- during an update ---------------------------------------------------------------------------

    def begin(self, change: Transaction, upcoming: Sequence[tuple[Sequence[Batch], Sequence[Batch]]]) -> Ids:
        """Ends the marks for this update and begins those for the next; gives the facts that were marked."""
        self._doomed, self._proved, self._recorded = [], [], []
        self._missed = False
        self.coming = {}
        if self.kind == "none":
            return _NO_IDS
        arrays, log = self.engine.store.arrays, self.engine.log.arrays
        changes.clear_bits_of(arrays, log, self._ids(self._state.doomed), int(DOOMED))
        marked = self._ids(self._state.marked)
        changes.clear_bits_of(arrays, log, marked, int(MARKED))
        status = arrays.status[marked]
        marked = marked[(status & (PRESENT | EXPLICIT)) == PRESENT]
        self.records = records_of(self._state.pairs) if self.kind == "complete" else no_records()
        ahead = self.look_ahead if self.kind == "complete" else min(1, self.look_ahead)
        for deletions, insertions in upcoming[:ahead]:
            self._announce(change, deletions, insertions)
        result: Ids = marked
        return result

    def _announce(self, change: Transaction, deletions: Sequence[Batch], insertions: Sequence[Batch]) -> None:
        """What a coming update deletes and does not insert again."""
        kept = {
            number: {tuple(row) for row in table.T.tolist()} for number, table in change.tables(insertions)
        }
        for number, table in change.tables(deletions):
            if number in kept:
                wanted = [tuple(row) not in kept[number] for row in table.T.tolist()]
                table = np.ascontiguousarray(table[:, wanted])
            known = self.coming.get(number)
            self.coming[number] = table if known is None else np.concatenate([known, table], axis=1)

    def doom(self, change: Transaction, predicates: Iterable[int]) -> None:
        """Finds the explicit facts of some predicates that a coming update deletes; insertions are done."""
        arrays, log = self.engine.store.arrays, self.engine.log.arrays
        for number in predicates:
            table = self.coming.get(number)
            if table is None:
                continue
            ids = np.unique(change.find(number, table))
            ids = ids[ids >= 0]
            ids = ids[(arrays.status[ids] & (EXPLICIT | DELETED)) == EXPLICIT]
            changes.set_bits_of(arrays, log, ids, int(DOOMED))
            if self.kind == "complete":
                new = ids[(arrays.status[ids] & NEW) != 0]
                changes.set_bits_of(arrays, log, new, int(RECORDED))
                self._recorded.append(new)
            self._doomed.append(ids)

    @property
    def observed(self) -> int:
        """What insertion looks at."""
        if self.kind == "complete":
            state = self._state
            recording = len(state.pairs) or len(state.recorded) or any(map(len, self._recorded))
            return RECORD_BODIES if recording else 0
        if self.kind == "paper" and not any(map(len, self._doomed)):
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

    def end(self, pairs: Places) -> tuple[int, int]:
        """Everything is done but the store is not finished yet: what is marked for the next update, explicit
        and implicit, counted."""
        if self.kind == "none":
            return 0, 0
        doomed = self._places(np.concatenate(self._doomed) if self._doomed else _NO_IDS)
        marked = _NO_PLACES
        if self.kind == "linked":
            self.links.take(pairs)
            heads = dict.fromkeys(h for f in doomed.tolist() for h in self.links.heads_of.get(f, ()))
            marked = self._there(np.array(list(heads), np.uint32))
        elif self.kind == "paper":
            proved = self._places(np.concatenate(self._proved) if self._proved else _NO_IDS)
            marked = self._there(np.concatenate([proved, pairs[:, 1]]))
        kept, recorded = self._state.pairs, self._state.recorded
        if self.kind == "complete":
            kept = np.concatenate([kept, pairs]) if len(pairs) else kept
            kept = kept[self._are_recorded(kept[:, 0])]
            recorded = np.concatenate([recorded, *map(self._places, self._recorded)])
            recorded = recorded[self._are_recorded(recorded)]
        self._state = _State(doomed, marked, recorded, kept)
        implicit = len(marked)
        if self.kind == "complete" and len(kept):
            implicit = len(self._there(np.unique(kept[:, 1])))
        return len(doomed), implicit

    def _are_recorded(self, places: Places) -> npt.NDArray[np.bool_]:
        status = self._status(places) & (PRESENT | DELETED | RECORDED)
        result: npt.NDArray[np.bool_] = status == (PRESENT | RECORDED)
        return result

    def forget(self, deleted: Ids) -> None:
        """The update is finished.  Facts that are gone keep no links; records that miss something go."""
        if self._missed:
            self.engine.store.arrays.status[: len(self.engine.store)] &= ~RECORDED
            self._state.recorded, self._state.pairs = _NO_PLACES, _NO_PAIRS
        if self.kind == "linked":
            for place in self._places(deleted).tolist():
                self.links.forget(place)

    def rows_have_moved(self, before: Places, now: Places) -> None:
        """Places of facts are other ones from here on; places of facts that are gone are dropped."""
        if not len(before) or self.kind == "none":
            return
        state = self._state
        pairs = state.pairs[np.isin(state.pairs, before).all(axis=1)]
        doomed, marked, recorded = (
            _moved(places[np.isin(places, before)], before, now)
            for places in (state.doomed, state.marked, state.recorded)
        )
        self._state = _State(doomed, marked, recorded, _moved(pairs, before, now))
        if self.links.facts_of:
            place_of = dict(zip(before.tolist(), now.tolist(), strict=True))
            self.links = self.links.moved(place_of)

    def _there(self, places: Places) -> Places:
        """Implicit facts that stay."""
        status = self._status(places) & (PRESENT | DELETED | EXPLICIT)
        result: Places = places[status == PRESENT]
        return result

    def _status(self, places: Places) -> npt.NDArray[np.uint16]:
        result: npt.NDArray[np.uint16] = self.engine.store.arrays.status[self._ids(places)]
        return result

    def _ids(self, places: Places) -> Ids:
        result: Ids = self.engine.store.arrays.arguments[places.astype(np.int64) - HEADER]
        return result

    def _places(self, ids: Ids) -> Places:
        result: Places = self.engine.store.arrays.offset[ids]
        return result
