"""Marks: what is known about the next updates while this one is processed.

paper     Algorithm 1 of paper 001 to the letter: explicit facts that the next update deletes are DOOMED; the
          head of an instance that is applied now and holds one of them is MARKED, and waits in the next
          update's W.  So is, of the facts that are new, the head of a rule that the next update removes, or
          that negates a predicate which is to have more facts.
linked    an implicit fact keeps links to the explicit facts of the instance that produced or last proved it;
          it counts as marked once one of them is doomed, however old the link is (`links`).
complete  a fact that is new and doomed is RECORDED: semi-naive insertion meets every instance that it takes
          part in and puts it on record (`engine.book`); new heads of such instances are RECORDED too.  When
          it is deleted, what it affects is on record and no rule is applied, whatever update comes; a head
          that is new itself has been counted, and needs no search for another proof.  Records last as many
          updates as are looked ahead.

Facts are named by where their rows start (*places*), which a new id does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import undo_log as changes
from tidalog.engine import update_kernels as steps
from tidalog.engine.bits import DELETED, DOOMED, EXPLICIT, MARKED, PRESENT
from tidalog.engine.emit import LINK, MARK, RECORD_BODIES
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import HEADER
from tidalog.maintain.marks.links import Links
from tidalog.maintain.marks.pairs import Pairs, Places, facts_of, heads_of
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Facts, Ids

OBSERVED: Final = {"none": 0, "paper": MARK, "dred": 0, "linked": LINK, "complete": RECORD_BODIES}
_NO_PLACES: Places = np.empty(0, np.uint32)
_NO_IDS: Ids = np.empty(0, np.int32)
_RECORDS_EACH: Final = 32
_FEWEST: Final = 40
"""A join that is not made saves the price of so many records; and each update in which something is on record
has a price of its own, which so many joins save."""
_FIRST_PAUSE: Final = 32
_LONGEST_PAUSE: Final = 1024


@dataclass
class _State:
    """What one update leaves for the next."""

    doomed: Places = field(default_factory=lambda: _NO_PLACES)
    marked: Places = field(default_factory=lambda: _NO_PLACES)


class Marking:
    """Marks of one kind on one engine.  An update that fails leaves them as they were."""

    def __init__(self, engine: EmbeddedEngine, kind: str, look_ahead: int, *, sparing: bool = False) -> None:
        """`sparing`: complete marks pause for a while where they are seldom of use."""
        self.engine, self.kind, self.look_ahead, self.sparing = engine, kind, look_ahead, sparing
        self.links = Links()
        self.coming: dict[int, list[tuple[npt.NDArray[np.int32], bool]]] = {}
        self.at_risk: frozenset[int] = frozenset()
        """Predicates whose new facts are marked, whatever they were derived from."""
        self._state = _State()
        self._book = engine.log.book
        self._windows: list[tuple[int, int]] = []
        """Updates that have put facts on record: when, and the id that it began with."""
        self._doomed: list[Ids] = []
        self._proved: list[Ids] = []
        self._doomed_count = 0
        self._begin = 0
        self._recording = self._derived_anew = False
        self._pause, self._next_pause = 0, _FIRST_PAUSE
        self._judged = self._noted = self._saved = 0
        self._clock = 0

    # --- during an update ---------------------------------------------------------------------------

    def begin(self, change: Transaction, upcoming: Sequence[tuple[Sequence[Facts], Sequence[Facts]]]) -> Ids:
        """Ends the marks for this update and begins those for the next; gives the facts that were marked."""
        self._doomed, self._proved = [], []
        self._derived_anew, self._doomed_count = False, 0
        self.coming = {}
        if self.kind == "none":
            return _NO_IDS
        self._begin = change.begin
        self._announce(change, upcoming)
        if self.kind == "complete":
            if not self._book.is_open:
                self._windows = []
            self._recording = bool(self._windows)
            return _NO_IDS
        state, arrays = self._state, self.engine.store.arrays
        if len(state.doomed):
            steps.clear_bits_of(self.engine.shared, self._ids(state.doomed), int(DOOMED))
        if not len(state.marked):
            return _NO_IDS
        marked = self._ids(state.marked)
        steps.clear_bits_of(self.engine.shared, marked, int(MARKED))
        result: Ids = marked[(arrays.status[marked] & (PRESENT | EXPLICIT)) == PRESENT]
        return result

    def _announce(
        self, change: Transaction, upcoming: Sequence[tuple[Sequence[Facts], Sequence[Facts]]]
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
        if not self.coming:
            return
        for number in predicates:
            if number not in self.coming:
                continue
            self.engine.store.bring_in(number)
            tables = self.coming[number]
            doomed = np.empty(sum(table.shape[1] for table, _ in tables), np.int32)
            if self.kind == "complete":
                self._record(number, tables, doomed)
                continue
            count = 0
            arrays, log = self.engine.store.arrays, self.engine.log.arrays
            for table, deleted in tables:
                count = changes.doom_rows(arrays, log, number, table, table.shape[1], deleted, doomed, count)
            doomed = doomed[:count]
            doomed = doomed[(arrays.status[doomed] & DOOMED) != 0]
            if len(doomed):
                self._doomed.append(doomed)

    def _record(self, number: int, tables: Sequence[tuple[npt.NDArray[np.int32], bool]], doomed: Ids) -> None:
        """What is new among them is on record from here on; that a fact is doomed is of no use later."""
        count, shared = 0, self.engine.shared
        try:
            for table, deleted in tables:
                count, recorded = steps.record_rows(shared, number, table, deleted, doomed, count)
                if recorded:
                    self._note_window()
        finally:
            self._doomed_count += steps.count_doomed(shared, doomed, count)

    def _note_window(self) -> None:
        """This update puts facts on record.  What it has derived before has not been counted."""
        self._recording = True
        if not self._book.is_open:
            self._book.open(self._begin)
            self._book.uncount(self._begin, len(self.engine.store))
        if not self._windows or self._windows[-1][0] != self._clock:
            self._windows.append((self._clock, self._begin))

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
        self._derived_anew = True

    def missed(self, begin: int) -> None:
        """The facts from an id on were derived without a look at bodies, so they have not been counted."""
        if self._book.is_open:
            self._book.uncount(begin, len(self.engine.store))

    def failed(self) -> None:
        """The update was undone, but what it took off the record is not known."""
        self._book.end(self.engine.store.arrays)

    def close(self) -> None:
        """No fact has a mark any more."""
        status = self.engine.store.arrays.status
        for places in (self._state.doomed, self._state.marked):
            status[self._ids(places)] &= ~(DOOMED | MARKED)
        self._book.end(self.engine.store.arrays)

    def saved(self, joins: int) -> None:
        """Facts were deleted by the record, where so many joins would have found no proof."""
        self._saved += joins

    def proofs_marked(self, ids: Ids) -> None:
        """Facts that block a has marked."""
        if len(ids):
            self._proved.append(ids)

    # --- between two updates ------------------------------------------------------------------------

    def end(self, pairs: Pairs) -> tuple[int, int]:
        """Everything is done but the store is not finished yet: what is marked for the next update, explicit
        and implicit, counted."""
        if self.kind == "none":
            return 0, 0
        if self.kind == "complete":
            begin = self._windows[0][1] if self._recording else len(self.engine.store)
            return self._doomed_count, int(steps.count_recorded(self.engine.shared, begin))
        doomed = self._places(np.concatenate(self._doomed)) if self._doomed else _NO_PLACES
        marked = _NO_PLACES
        if self.kind == "linked":
            self.links.take(facts_of(pairs), heads_of(pairs))
            marked = self._there(self.links.heads_of_all(doomed))
        elif self.kind in ("paper", "dred"):
            proved = self._places(np.concatenate(self._proved)) if self._proved else _NO_PLACES
            marked = self._there(np.concatenate([proved, heads_of(pairs)]))
        if self.at_risk:
            marked = np.union1d(marked, self._there(self._new_at_risk()))
        self._state = _State(doomed, marked)
        return len(doomed), len(marked)

    def _new_at_risk(self) -> Places:
        new = [self.engine.store.ids(number, self._begin) for number in sorted(self.at_risk)]
        return self._places(np.concatenate(new))

    def finished(self, deleted: Ids) -> None:
        """The update is finished.  Facts that are gone keep no links, and what has been on record for long
        enough is so no more."""
        if self.kind == "linked":
            for place in self._places(deleted).tolist():
                self.links.forget(place)
        if self.kind != "complete":
            return
        self._clock += 1
        if not self._book.is_open:
            return
        self._consider()
        oldest = self._clock - self.look_ahead
        self._windows = [window for window in self._windows if window[0] >= oldest]
        if self._derived_anew:
            self._windows = []
        if self._windows:
            self._book.forget(self.engine.store.arrays, self._windows[0][1])
            self._book.tidy(self.engine.store.arrays)
        else:
            self._book.end(self.engine.store.arrays)

    def _consider(self) -> None:
        """Whether what was on record was worth it; if not, nothing is announced for a while."""
        if not self.sparing or not self._recording:
            return
        self._judged += 1
        self._noted += self._book.noted()
        if self._judged <= self.look_ahead:
            return  # what is on record has not had its time
        if self._saved >= _FEWEST * self._judged + self._noted // _RECORDS_EACH:
            self._next_pause = _FIRST_PAUSE
        else:
            self._pause = self._next_pause
            self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)
        self._judged = self._noted = self._saved = 0

    def rows_have_moved(self, before: Places, now: Places) -> None:
        """Places of facts are other ones from here on; places of facts that are gone are dropped."""
        if not len(before) or self.kind == "none":
            return

        def moved(places: Places) -> Places:
            found = np.minimum(np.searchsorted(before, places), len(before) - 1)
            result: Places = now[found[before[found] == places]]
            return result

        state = self._state
        self._state = _State(moved(state.doomed), moved(state.marked))
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
