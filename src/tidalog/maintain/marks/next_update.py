"""What the marks of the papers share: facts are named for the next update alone.

Explicit facts that it deletes are DELETED_NEXT; implicit facts that may lose a proof by that are MARKED.  So
is, of the facts that are new, the head of a rule that the next update removes, or that negates a predicate
which is to have more facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from tidalog.engine import update_kernels as kernels
from tidalog.engine.bits import DELETED, DELETED_NEXT, EXPLICIT, MARKED, PRESENT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import HEADER
from tidalog.maintain.counters import Counters
from tidalog.maintain.marks.base import NO_IDS, Foresight, Marks, Offsets, Parts, Table
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate

_NO_OFFSETS: Final[Offsets] = np.empty(0, np.uint32)


@dataclass
class Named:
    """What one update leaves for the next."""

    deleted_next: Offsets = field(default_factory=lambda: _NO_OFFSETS)
    marked: Offsets = field(default_factory=lambda: _NO_OFFSETS)


class NextUpdateMarks(Marks):
    allows_trials: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = True
    foresees: ClassVar[Foresight] = "all"

    def __init__(self, engine: EmbeddedEngine, look_ahead: int, *, sparing: bool = False) -> None:
        super().__init__(engine, look_ahead, sparing=sparing)
        self._named = Named()
        self._coming: dict[int, list[tuple[Table, bool]]] = {}
        """Predicate → rows of coming updates, and whether these are deleted."""
        self._at_risk: frozenset[int] = frozenset()
        """Predicates whose new facts are marked, whatever they were derived from."""
        self._deleted_next: list[Ids] = []
        self._proved: list[Ids] = []
        self._begin = 0

    def begin(self, txn: Transaction, upcoming: Sequence[EncodedUpdate], parts: Parts) -> Ids:
        self._deleted_next, self._proved, self._begin = [], [], txn.begin
        self._coming = coming_rows(txn, upcoming[: min(1, self.look_ahead)])
        self._at_risk = self._predicates_at_risk(upcoming, parts)
        named, facts, log = self._named, self.engine.store.at, self.engine.log.at

        def restore() -> None:
            self._named = named

        txn.savepoint.on_rollback(restore)
        if len(named.deleted_next):
            kernels.clear_bits_of(facts, log, self._ids(named.deleted_next), int(DELETED_NEXT))
        if not len(named.marked):
            return NO_IDS
        marked = self._ids(named.marked)
        kernels.clear_bits_of(facts, log, marked, int(MARKED))
        result: Ids = marked[(self.engine.store.arrays.status[marked] & (PRESENT | EXPLICIT)) == PRESENT]
        return result

    def _predicates_at_risk(self, upcoming: Sequence[EncodedUpdate], parts: Parts) -> frozenset[int]:
        """Predicates that lose proofs with the next update although no body fact is deleted: a rule is
        removed, or a fact is inserted that a rule negates."""
        if not upcoming:
            return frozenset()
        engine = self.engine
        removed = {removal.name for removal in upcoming[0].rules.removed}
        heads = {
            rule.head.predicate for rule in parts.rules if rule.head and rule.name.split("#")[0] in removed
        }
        found = {engine.predicate(name) for name in heads if engine.has(name)}
        coming = {facts.predicate for facts in upcoming[0].insertions}
        for rule in (rule for one in parts.components if one.negated for rule in one.rules):
            if rule.head is not None and any(atom.predicate in coming for atom in rule.negations):
                found.add(engine.predicate(rule.head.predicate))
        return frozenset(found)

    @property
    def announced(self) -> Collection[int]:
        return self._coming

    def find_announced(self, txn: Transaction, predicates: Iterable[int]) -> None:
        for number in predicates:
            if number not in self._coming:
                continue
            self.engine.store.add_to_table(number)
            tables, count = self._coming[number], 0
            found = np.empty(sum(table.shape[1] for table, _ in tables), np.int32)
            facts, log = self.engine.store.at, self.engine.log.at
            for table, deleted in tables:
                count, _ = kernels.flag_deleted_next(facts, log, number, table, deleted, 0, found, count)
            found = found[:count]
            found = found[(self.engine.store.arrays.status[found] & DELETED_NEXT) != 0]
            if len(found):
                self._deleted_next.append(found)

    @property
    def ignores_bodies(self) -> bool:
        return False

    def proofs_marked(self, ids: Ids) -> None:
        if len(ids):
            self._proved.append(ids)

    def end(self, counters: Counters) -> None:
        deleted_next = (
            self._offsets(np.concatenate(self._deleted_next)) if self._deleted_next else _NO_OFFSETS
        )
        marked = self._present(self._marked_heads(deleted_next))
        if self._at_risk:
            marked = np.union1d(marked, self._present(self._new_at_risk()))
        self._named = Named(deleted_next, marked)
        counters.marks_explicit, counters.marks_implicit = len(deleted_next), len(marked)

    def _marked_heads(self, deleted_next: Offsets) -> Offsets:
        """Heads that lose a proof with the DELETED_NEXT facts, as far as this kind of marks knows."""
        raise NotImplementedError

    def _proved_heads(self) -> Offsets:
        """Heads that proofs have marked, as offsets."""
        return self._offsets(np.concatenate(self._proved)) if self._proved else _NO_OFFSETS

    def _new_at_risk(self) -> Offsets:
        new = [self.engine.store.ids(number, self._begin) for number in sorted(self._at_risk)]
        return self._offsets(np.concatenate(new))

    def marked_among(self, predicates: Sequence[int]) -> int:
        marked, store = self._ids(self._named.marked), self.engine.store
        return sum(int(np.isin(store.ids(number), marked).sum()) for number in predicates)

    def rows_have_moved(self, before: Offsets, now: Offsets) -> None:
        if not len(before):
            return

        def moved(offsets: Offsets) -> Offsets:
            found = np.minimum(np.searchsorted(before, offsets), len(before) - 1)
            result: Offsets = now[found[before[found] == offsets]]
            return result

        self._named = Named(moved(self._named.deleted_next), moved(self._named.marked))

    def close(self) -> None:
        self.engine.log.reserve(len(self.engine.store))
        for offsets in (self._named.deleted_next, self._named.marked):
            ids = self._ids(offsets)
            kernels.clear_bits_of(self.engine.store.at, self.engine.log.at, ids, int(DELETED_NEXT | MARKED))

    def _present(self, offsets: Offsets) -> Offsets:
        """The implicit facts among some that stay."""
        status = self.engine.store.arrays.status[self._ids(offsets)]
        result: Offsets = offsets[(status & (PRESENT | DELETED | EXPLICIT)) == PRESENT]
        return result

    def _ids(self, offsets: Offsets) -> Ids:
        result: Ids = self.engine.store.arrays.arguments[offsets.astype(np.int64) - HEADER]
        return result

    def _offsets(self, ids: Ids) -> Offsets:
        result: Offsets = self.engine.store.arrays.offset[ids]
        return result


def coming_rows(txn: Transaction, upcoming: Sequence[EncodedUpdate]) -> dict[int, list[tuple[Table, bool]]]:
    """What coming updates delete and insert, in their order: predicate → rows, and whether these are deleted.
    Predicates that none deletes from are left out."""
    found: dict[int, list[tuple[Table, bool]]] = {}
    for update in upcoming:
        for number, table in txn.tables(update.deletions):
            found.setdefault(number, []).append((table, True))
        for number, table in txn.tables(update.insertions):
            if number in found:
                found[number].append((table, False))
    return found
