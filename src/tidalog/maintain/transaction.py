"""One update on the store: what it asks for, what it has changed, how it ends.

Invariant.  Between its start and `finish` nothing leaves the store, so that the savepoint can be rolled back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tidalog.engine import finished_update as ended
from tidalog.engine import undo_log as changes
from tidalog.engine import update_kernels as kernels
from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import COUNT, LAST
from tidalog.engine.probe import find_rows
from tidalog.engine.savepoint import Savepoint
from tidalog.maintain.delta import ChangeSet, Deltas, PredicateDelta, runs_of
from tidalog.model.facts import Facts, Ids

_NOTHING: Ids = np.empty(0, np.int32)
_STATUS_INSERTED = int(EXPLICIT | PRESENT | NEW)
_DELETED = int(DELETED)
_NEW = int(NEW)
_PRESENT_AND_NEW = int(PRESENT | NEW)


class Transaction:
    def __init__(self, engine: EmbeddedEngine, savepoint: Savepoint) -> None:
        """An update begins.  Everything since the savepoint is part of it."""
        self.engine, self.savepoint = engine, savepoint
        self.begin = len(engine.store)
        self.dead = self.begin - engine.store.live
        """Ids without a fact, when it began."""
        engine.log.reserve(self.begin)
        savepoint.on_rollback(self._end_derivation_log)
        self.deleted: dict[int, list[Ids]] = {}
        """Facts that are deleted so far, by predicate."""
        self.deleted_count = 0
        """How many these are."""
        self.too_old: list[Ids] = []
        """Derived facts that are deleted because their expiry has come."""
        self._moves = 0
        """Facts that came back in the components that are done."""
        self.to_delete: dict[int, Ids] = {}
        """Facts that are no longer explicit, by predicate."""
        self.to_insert: dict[int, tuple[npt.NDArray[np.int32], int]] = {}
        """Rows that are to become facts, by predicate."""
        self.grown: dict[int, int] = {}
        """Predicates that have new facts, and an id below which none of these is."""
        self.gone: Ids = _NOTHING
        """Facts that are deleted when everything is done."""
        self.asked: tuple[Sequence[Facts], Sequence[Facts]] = (), ()
        """The update itself."""
        self.ignored = 0
        """Deletions of what is not explicit and insertions of what is."""

    # --- what the update asks for -------------------------------------------------------------------

    def ask(self, deletions: Sequence[Facts], insertions: Sequence[Facts]) -> None:
        """Deletes come first, inserts second, so a fact in both stays."""
        self.asked = deletions, insertions
        engine, store = self.engine, self.engine.store
        for predicate, table in _by_predicate(engine, insertions, known_only=False):
            rows = table.shape[1]
            absent = np.empty(rows, np.int64)
            store.add_to_table(predicate)
            new, there = kernels.make_explicit(engine.store.at, engine.log.at, predicate, table, absent)
            self.ignored += there
            if new:
                wanted = table if new == rows else np.ascontiguousarray(table[:, absent[:new]])
                self.to_insert[predicate] = wanted, new
        for batch in deletions:
            if not _is_known(engine, batch):
                self.ignored += batch.count
        for predicate, table in _by_predicate(engine, deletions, known_only=True):
            rows = table.shape[1]
            ids = np.empty(rows, np.int32)
            store.add_to_table(predicate)
            found = kernels.make_implicit(engine.store.at, engine.log.at, predicate, table, ids)
            self.ignored += rows - found
            if found:
                self.to_delete[predicate] = ids[:found]

    def make_implicit(self, predicate: int, ids: Ids) -> None:
        """Explicit facts are explicit no longer, besides those that the update asks for."""
        kernels.clear_bits_of(self.engine.store.at, self.engine.log.at, ids, int(EXPLICIT))
        asked = self.to_delete.get(predicate)
        self.to_delete[predicate] = ids if asked is None else np.concatenate([asked, ids])

    def tables(self, batches: Sequence[Facts]) -> Iterable[tuple[int, npt.NDArray[np.int32]]]:
        """Facts of known predicates as rows, columns first."""
        return _by_predicate(self.engine, batches, known_only=True)

    def find(self, predicate: int, table: npt.NDArray[np.int32]) -> Ids:
        """The fact of each row, or -1."""
        store = self.engine.store
        store.add_to_table(predicate)
        out = np.empty(table.shape[1], np.int32)
        find_rows(store.at, predicate, table, table.shape[1], out)
        return out

    # --- while it runs ------------------------------------------------------------------------------

    def delete(self, predicate: int, ids: Ids) -> None:
        """Facts that nothing can derive."""
        kernels.set_bits_of(self.engine.store.at, self.engine.log.at, ids, _DELETED)
        self.note_deleted(predicate, ids)

    def note_deleted(self, predicate: int, ids: Ids) -> None:
        if len(ids):
            self.deleted.setdefault(predicate, []).append(ids)
            self.deleted_count += len(ids)

    def deleted_of(self, predicates: Iterable[int]) -> Ids:
        """Facts of some predicates that are deleted so far."""
        if not self.deleted:
            return _NOTHING
        parts = [part for p in predicates for part in self.deleted.get(p, ())]
        if not parts:
            return _NOTHING
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def new_of(self, predicates: Iterable[int]) -> Ids:
        """Facts of some predicates that were not there before."""
        if not self.grown:
            return _NOTHING
        store, grown, mask = self.engine.store, self.grown, _PRESENT_AND_NEW | _DELETED
        parts = [store.ids(p, grown[p], mask, _PRESENT_AND_NEW) for p in predicates if p in grown]
        return np.concatenate(parts) if parts else _NOTHING

    def finish_component(self, predicates: Sequence[int], begin: int) -> int:
        """A component with these predicates is done; before it, ids ended at `begin`.  Facts that came back
        since then are no longer deleted, and no new ones; gives how many these are."""
        store, moves = self.engine.store, int(self.engine.log.arrays.counts[changes.MOVES])
        moved, self._moves = moves - self._moves, moves
        status, extent = store.arrays.status, store.arrays.extent
        for predicate in predicates:
            if moved and predicate in self.deleted:
                ids = np.concatenate(self.deleted.pop(predicate))
                self.deleted_count -= len(ids)
                self.note_deleted(predicate, ids[(status[ids] & DELETED) != 0])
            grown = extent[predicate, LAST] >= begin and extent[predicate, COUNT] > 0
            if grown and (not moved or len(store.ids(predicate, begin, _NEW, _NEW))):
                self.grown.setdefault(predicate, begin)
        return moved

    def has_changed(self, predicates: Iterable[int]) -> bool:
        """Whether some predicate has lost or gained facts so far."""
        deleted, grown = self.deleted, self.grown
        return any(p in deleted or p in grown for p in predicates)

    def insert(self, predicate: int) -> int:
        """Puts the rows that the update asks for into the store; how many."""
        asked = self.to_insert.get(predicate)
        if asked is None:
            return 0
        table, rows = asked
        self.put(predicate, table, rows, _STATUS_INSERTED)
        return rows

    def put(self, predicate: int, table: npt.NDArray[np.int32], rows: int, status: int) -> int:
        """Puts rows (columns first) into the store; how many of them are new or come back."""
        return put_rows(self.engine, predicate, table, rows, status)

    # --- how it ends --------------------------------------------------------------------------------

    def _end_derivation_log(self) -> None:
        """It is unknown what a failed update removed from it."""
        self.engine.log.derivation_log.end(self.engine.store.arrays)

    def finish(self) -> Deltas:
        """Commits the update, and gives its changes; everything that is deleted is gone afterwards."""
        engine = self.engine
        log = engine.log.arrays
        capacity = int(log.counts[changes.TOUCHES]) + len(engine.store) - self.begin
        ids, kinds = np.empty(capacity, np.int32), np.empty(capacity, np.int8)
        predicates, starts = np.empty(capacity, np.int32), np.empty(capacity, np.int64)
        count, size = ended.list_changes(
            engine.store.at, engine.log.at, self.begin, ids, kinds, predicates, starts
        )
        ids, kinds, starts = ids[:count], kinds[:count], starts[:count]
        rows = np.empty(size, np.int32)
        moves = int(log.counts[changes.MOVES])
        dead = np.empty(count + moves, np.int32)
        gone = int(ended.finish(engine.store.at, engine.log.at, self.begin, ids, kinds, starts, rows, dead))
        self.savepoint.commit()
        self.gone = dead[:gone]
        if gone + moves:
            dead = dead[: gone + moves]
            engine.store.dead_blocks.add(dead, gone)
            self._remove_from_indexes(dead)
        changed = ChangeSet(predicates[:count], kinds, starts, rows, ids, self.too_old)
        return Deltas(changed, engine.names, engine.arities)

    def _remove_from_indexes(self, dead: Ids) -> None:
        """Removes dead facts from the indexes of their predicates."""
        predicates, facts = self.predicates_of(dead), self.engine.store.arrays
        if not (predicates == predicates[0]).all():
            order = np.argsort(predicates, kind="stable")
            predicates, dead = predicates[order], dead[order]
        owners, bounds = runs_of(predicates)
        affected = [
            (number, begin, end)
            for predicate, begin, end in zip(owners, bounds, bounds[1:], strict=False)
            for number in self.engine.indexes.indexes_to_update(facts, predicate, end - begin)
        ]
        if affected:
            numbers, begins, ends = np.array(affected, np.int64).T.copy()
            ended.remove_from_indexes(
                self.engine.store.at, self.engine.indexes.meta, numbers, begins, ends, dead
            )

    def predicates_of(self, ids: Ids) -> Ids:
        out = np.empty(len(ids), np.int32)
        ended.predicates_of(self.engine.store.at, ids, out)
        return out


def put_rows(
    engine: EmbeddedEngine, predicate: int, table: npt.NDArray[np.int32], rows: int, status: int
) -> int:
    """Adds rows (columns first) in the update under way; how many of them are new or come back."""
    store = engine.store
    store.ensure(rows, table.shape[0], predicate)
    store.add_to_table(predicate)
    engine.log.derivation_log.ensure_capacity(len(store) + rows, 0, 0)
    return int(kernels.put_rows(engine.store.at, engine.log.at, predicate, table, status))


def each_once(ids: Ids) -> Ids:
    """In the order of the update: some counters depend on it."""
    _, first = np.unique(ids, return_index=True)
    return ids[np.sort(first)]


def _is_known(engine: EmbeddedEngine, batch: Facts) -> bool:
    """Whether the engine may have such facts.  It knows the arity of a predicate that no rule has any more;
    facts of another arity may follow."""
    return engine.has(batch.predicate) and engine.arity(batch.predicate) == len(batch.columns)


def _by_predicate(
    engine: EmbeddedEngine, batches: Sequence[Facts], known_only: bool
) -> Iterable[tuple[int, npt.NDArray[np.int32]]]:
    """Rows (columns first) by predicate, each predicate once."""
    if len(batches) == 1:
        (batch,) = batches
        if batch.count and (not known_only or _is_known(engine, batch)):
            yield engine.predicate(batch.predicate, len(batch.columns)), batch.table
        return
    grouped: dict[int, list[Facts]] = {}
    for batch in batches:
        if batch.count and (not known_only or _is_known(engine, batch)):
            number = engine.predicate(batch.predicate, len(batch.columns))
            grouped.setdefault(number, []).append(batch)
    for number, parts in grouped.items():
        if len(parts) == 1:
            yield number, parts[0].table
            continue
        rows = sum(part.count for part in parts)
        table = np.empty((len(parts[0].columns), rows), np.int32)
        np.concatenate([part.table for part in parts], axis=1, out=table)
        yield number, table


__all__ = ["PredicateDelta", "Transaction"]
