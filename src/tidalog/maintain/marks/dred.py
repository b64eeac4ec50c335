"""`dred`: the marks of DRed with marking, which `paper` means where the strategy is DRed.

A mark passes from DELETED_NEXT and from marked facts to every head that an instance inserts or brings back
(`engine.mark_propagation`); what is marked in the end is overdeleted at once by the
next update.  A deleted fact is POSITIVE if it is sure to be true once the next update is done; the implicit
ones of these are carried over, and inserted together with what that update inserts.  Both hold for the
announced update alone: if another one comes, they are dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

import numpy as np

from tidalog.engine.bits import DELETED, NEW, POSITIVE, PRESENT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import hash_rows
from tidalog.engine.mark_propagation import PASS_ON
from tidalog.engine.update_kernels import set_bits_of
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.counters import Counters
from tidalog.maintain.marks.base import NO_HASHES, NO_IDS, Foresight, Hashes, Offsets, Parts, Table
from tidalog.maintain.marks.next_update import NextUpdateMarks
from tidalog.maintain.marks.pairs import heads_of
from tidalog.maintain.transaction import Transaction, each_once
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate

_STATUS_CARRIED = int(PRESENT | NEW)

Asked = tuple[Sequence[Facts], Sequence[Facts]]
"""Deletions, insertions."""


class DRedMarks(NextUpdateMarks):
    """What one update of DRed leaves for the next."""

    name: ClassVar[str] = "dred"
    survives_rule_edits: ClassVar[bool] = False
    observes: ClassVar[int] = PASS_ON
    pass_on: ClassVar[bool] = True
    foresees: ClassVar[Foresight] = "nothing"  # what is not announced exactly is dropped

    def __init__(self, engine: EmbeddedEngine, look_ahead: int, *, sparing: bool = False) -> None:
        super().__init__(engine, look_ahead, sparing=sparing)
        self._inserted_next: Hashes = NO_HASHES
        """Hashes of the facts that the next update inserts, sorted."""
        self._carried: list[tuple[int, Table]] = []
        """Predicate and rows: what the update before has left for this one to insert."""
        self._carried_count = 0
        self._announced: Asked | None = None
        self._carry: list[tuple[int, Table]] = []
        self._next: Asked | None = None
        self._deleted: list[Ids] = []
        self._txn: Transaction | None = None

    def begin(self, txn: Transaction, upcoming: Sequence[EncodedUpdate], parts: Parts) -> Ids:
        marked = super().begin(txn, upcoming, parts)
        self._txn, before = txn, (self._announced, self._carry)

        def restore() -> None:
            self._announced, self._carry = before
            self._txn = None

        txn.savepoint.on_rollback(restore)
        as_announced = self._announced is not None and _same(txn.asked, self._announced)
        self._carried, self._carried_count = self._carry if as_announced else [], 0
        coming = upcoming[0] if upcoming and self.look_ahead else None
        self._next = (coming.deletions, coming.insertions) if coming is not None else None
        self._deleted = []
        hashes: list[Hashes] = []
        for number, table in self._next_insertions(txn):
            found = np.empty(table.shape[1], np.uint64)
            hash_rows(number, table, table.shape[1], found)
            hashes.append(found)
            ids = txn.find(number, table)
            self._deleted.append(ids[np.isin(ids, txn.to_delete.get(number, NO_IDS))])
        self._inserted_next = np.sort(np.concatenate(hashes)) if hashes else NO_HASHES
        for positive in self._deleted:
            set_bits_of(self.engine.store.at, self.engine.log.at, positive, int(POSITIVE))
        return marked if as_announced else NO_IDS

    def _predicates_at_risk(self, upcoming: Sequence[EncodedUpdate], parts: Parts) -> frozenset[int]:
        return frozenset()

    def _next_insertions(self, txn: Transaction) -> list[tuple[int, Table]]:
        return list(txn.tables(self._next[1])) if self._next is not None else []

    @property
    def announced(self) -> Collection[int]:
        return {*self._coming, *(number for number, _ in self._carried)}

    def carries(self, predicates: Sequence[int]) -> bool:
        return any(number in predicates for number, _ in self._carried)

    def before_deletion(self, txn: Transaction, predicates: Sequence[int]) -> None:
        """Overdeletion asks what will stay."""
        self.find_announced(txn, predicates)

    def insert_carried(self, txn: Transaction, predicates: Sequence[int]) -> None:
        """Each fact after those that derive it, so ids stay ranks."""
        for number, table in self._carried:
            if number in predicates:
                self._carried_count += txn.put(number, table, table.shape[1], _STATUS_CARRIED)

    def observed(self, component: MaintainedComponent) -> int:
        return self.observes if self._deleted_next else 0

    @property
    def unmarked(self) -> Hashes:
        return self._inserted_next

    def overdeleted(self, ids: Ids) -> None:
        self._deleted.append(ids.copy())

    def end(self, counters: Counters) -> None:
        self._deleted_next = [np.unique(np.concatenate(self._deleted_next))] if self._deleted_next else []
        super().end(counters)
        both, status = DELETED | POSITIVE, self.engine.store.arrays.status
        parts = [part[(status[part] & both) == both] for part in self._deleted]
        gone = each_once(np.concatenate(parts)) if parts else NO_IDS
        counters.marks_positive = len(gone)
        counters.insertions -= self._carried_count
        txn = self._txn
        assert txn is not None
        for number, table in self._next_insertions(txn):
            gone = gone[~np.isin(gone, txn.find(number, table))]
        self._announced, self._carry = self._next, self._rows(txn, gone)
        self._txn = None

    def _marked_heads(self, deleted_next: Offsets) -> Offsets:
        return np.concatenate([self._proved_heads(), heads_of(self.engine.log.pairs)])

    def _rows(self, txn: Transaction, ids: Ids) -> list[tuple[int, Table]]:
        """The rows of facts in order, one table per run of one predicate."""
        if not len(ids):
            return []
        kinds = txn.predicates_of(ids)
        found: list[tuple[int, Table]] = []
        for run in np.split(ids, np.flatnonzero(np.diff(kinds)) + 1):
            number = int(txn.predicates_of(run[:1])[0])
            table = np.empty((self.engine.arities[number], len(run)), np.int32)
            for column in range(len(table)):
                table[column] = self.engine.store.column(run, column)
            found.append((number, table))
        return found


def _same(asked: Asked, announced: Asked) -> bool:
    """Whether two updates are the same, fact by fact in order."""

    def one(left: Sequence[Facts], right: Sequence[Facts]) -> bool:
        return len(left) == len(right) and all(
            a.predicate == b.predicate
            and a.count == b.count
            and all(np.array_equal(x, y) for x, y in zip(a.columns, b.columns, strict=True))
            for a, b in zip(left, right, strict=True)
        )

    return one(asked[0], announced[0]) and one(asked[1], announced[1])
