"""`complete`: instances of short-lived facts are logged, so that deleting these applies no rule.

A fact that is new and that a coming update deletes is RECORDED: semi-naive insertion meets every instance
that it takes part in and puts it into the derivation log; new heads of such instances are RECORDED too.  When
the fact is deleted, by whatever update, the log has what it affects; the derivations of a head that is new
itself are counted, so it needs no search for another proof.  Entries last as many updates as are looked
ahead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar, Final

import numpy as np

from tidalog.engine import update_kernels as kernels
from tidalog.engine.bits import EXPLICIT, RECORDED
from tidalog.engine.emit import RECORD_BODIES
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.counters import Counters
from tidalog.maintain.marks.base import NO_IDS, Foresight, Marks, Parts, Table
from tidalog.maintain.marks.next_update import coming_rows
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate

_RECORDS_PER_JOIN: Final = 32
_JOINS_PER_UPDATE: Final = 40
"""A join that is saved is worth this many records; and each update that records costs as much as this many
joins."""
_FIRST_PAUSE: Final = 32
_LONGEST_PAUSE: Final = 1024


class CompleteMarks(Marks):
    name: ClassVar[str] = "complete"
    observes: ClassVar[int] = RECORD_BODIES
    survives_rule_edits: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = True
    foresees: ClassVar[Foresight] = "new"

    def __init__(self, engine: EmbeddedEngine, look_ahead: int, *, sparing: bool = False) -> None:
        super().__init__(engine, look_ahead, sparing=sparing)
        self._log = engine.log.derivation_log
        self._coming: dict[int, list[tuple[Table, bool]]] = {}
        self._windows: list[tuple[int, int]] = []
        """Updates that have recorded facts: when, and the id that each began with."""
        self._clock = 0
        self._begin = 0
        self._announced_count = 0
        self._recording = self._incomplete = False
        self._pause, self._next_pause = 0, _FIRST_PAUSE
        self._updates = self._instances = self._joins_saved = 0
        """Since it was last decided whether recording pays."""

    def begin(self, txn: Transaction, upcoming: Sequence[EncodedUpdate], parts: Parts) -> Ids:
        before = self._pause, self._joins_saved

        def restore() -> None:
            self._pause, self._joins_saved = before

        txn.savepoint.on_rollback(restore)
        self._begin, self._incomplete, self._announced_count = txn.begin, False, 0
        self._coming = {}
        if self._pause > 0:
            self._pause -= 1
        elif upcoming:
            self._coming = coming_rows(txn, upcoming[: self.look_ahead])
        if not self._log.is_open:
            self._windows = []
        self._recording = bool(self._windows)
        return NO_IDS

    @property
    def announced(self) -> Collection[int]:
        return self._coming

    def find_announced(self, txn: Transaction, predicates: Iterable[int]) -> None:
        """What is new among them is RECORDED from here on."""
        if not self._coming:
            return
        facts, log = self.engine.store.at, self.engine.log.at
        for number in predicates:
            if number not in self._coming:
                continue
            self.engine.store.add_to_table(number)
            tables, count = self._coming[number], 0
            found = np.empty(sum(table.shape[1] for table, _ in tables), np.int32)
            try:
                for table, deleted in tables:
                    count, recorded = kernels.flag_deleted_next(
                        facts, log, number, table, deleted, int(RECORDED), found, count
                    )
                    if recorded:
                        self._open_window()
            finally:
                self._announced_count += kernels.count_deleted_next(facts, log, found, count)

    def _open_window(self) -> None:
        """This update records facts.  What it has derived before has not been counted."""
        self._recording = True
        if not self._log.is_open:
            self._log.open(self._begin)
            self._log.uncount(self._begin, len(self.engine.store))
        if not self._windows or self._windows[-1][0] != self._clock:
            self._windows.append((self._clock, self._begin))

    def observed(self, component: MaintainedComponent) -> int:
        """Instances that negate are not recorded: they come and go with other facts too."""
        if component.negated:
            self.recomputed()
            return 0
        return self.observes if self._recording else 0

    @property
    def ignores_bodies(self) -> bool:
        return not self._log.is_open

    def derived_unseen(self, begin: int) -> None:
        if self._log.is_open:
            self._log.uncount(begin, len(self.engine.store))

    def recomputed(self) -> None:
        self._incomplete = True

    def saved(self, joins: int) -> None:
        self._joins_saved += joins

    def end(self, counters: Counters) -> None:
        begin = self._windows[0][1] if self._recording else len(self.engine.store)
        counters.marks_explicit = self._announced_count
        counters.marks_implicit = int(kernels.count_recorded(self.engine.store.at, begin))

    def finished(self, deleted: Ids) -> None:
        """What has been recorded for long enough is dropped."""
        self._clock += 1
        if not self._log.is_open:
            return
        self._decide_whether_it_pays()
        oldest = self._clock - self.look_ahead
        self._windows = [window for window in self._windows if window[0] >= oldest]
        if self._incomplete:
            self._windows = []
        if self._windows:
            self._log.forget(self.engine.store.arrays, self._windows[0][1])
            self._log.compact(self.engine.store)
        else:
            self.close()

    def _decide_whether_it_pays(self) -> None:
        """If recording saves less than it costs, nothing is recorded for a while."""
        if not self.sparing or not self._recording:
            return
        self._updates += 1
        self._instances += self._log.new_instances()
        if self._updates <= self.look_ahead:
            return  # the recorded facts may still be deleted
        if self._joins_saved >= _JOINS_PER_UPDATE * self._updates + self._instances // _RECORDS_PER_JOIN:
            self._next_pause = _FIRST_PAUSE
        else:
            self._pause = self._next_pause
            self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)
        self._updates = self._instances = self._joins_saved = 0

    def marked_among(self, predicates: Sequence[int]) -> int:
        store, bits = self.engine.store, int(RECORDED | EXPLICIT)
        return sum(len(store.ids(number, 0, bits, int(RECORDED))) for number in predicates)

    def close(self) -> None:
        self._log.end(self.engine.store.arrays)
