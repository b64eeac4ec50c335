"""Savepoints: the one way in which an update, a run or a query is undone.

`EmbeddedEngine.savepoint` opens one, `commit` or `roll_back` ends it, and one is open at a time.  Invariant:
while it is open, state changes only in these ways, and `roll_back` restores it bit for bit.

state                              how it changes                              how it is restored
facts, their rows, terms           appended                                    truncated
predicates, indexes                appended                                    truncated
status of older facts              `undo_log.set_bits`, `clear_bits`           from the undo log
ids of older facts                 `undo_log.revive`, `insert_changes`         from the undo log
derivation counts                  `derivation_counts.put_count`               from their own log
expiries                           `expiry_kernels.note_life`                  from their own log
objects: components, marks, rules  by their owners, after `on_rollback`        from the `UndoJournal`

The lists of facts by expiry are made again.  What only saves work is not restored.  Indexes that a query
needed stay.  An update ends the derivation log.  Compiled plans and statistics are dropped.  Memory that has
grown stays, the table and the indexes may have caught up with older facts, and the first and last id of a
predicate (`extent`) are bounds, which may have become wider.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from tidalog.engine.undo_log import commit, undo
from tidalog.model.undo_journal import UndoJournal

if TYPE_CHECKING:
    from tidalog.engine.engine import EmbeddedEngine


class Savepoint:
    """A state to roll back to.  As a context manager it rolls back on an error unless it was committed, and
    is committed otherwise."""

    __slots__ = (
        "_counts",
        "_derivations",
        "_derived",
        "_engine",
        "_executed",
        "_journal",
        "facts",
        "indexes",
        "predicates",
        "terms",
        "used",
    )

    def __init__(self, engine: EmbeddedEngine) -> None:
        self._engine = engine
        self.facts, self.used, self.terms = len(engine.store), engine.store.used, len(engine.dictionary)
        self.indexes, self.predicates = len(engine.indexes), len(engine.names)
        self._counts, self._derivations = engine.counts, engine.derivations
        self._derived, self._executed = engine.derived, engine.executed
        self._journal = UndoJournal()
        engine.log.begin()
        engine.counts.begin(self.facts)
        engine.expiries.open(self.facts)

    @property
    def is_open(self) -> bool:
        return self._engine.open_savepoint is self

    def on_rollback(self, restore: Callable[[], None]) -> None:
        """Something beside the engine is about to change; this restores it."""
        self._journal.on_rollback(restore)

    def commit(self) -> None:
        """Everything stays."""
        engine = self._engine
        commit(engine.store.at, engine.log.at)
        engine.counts.finish()
        engine.open_savepoint = None

    def roll_back(self, *, of_query: bool = False) -> None:
        """Restores everything.  After a query, new terms stay, because the answer names them, and so do
        indexes of relations that stay."""
        engine = self._engine
        engine.expiries.undo(engine)
        undo(engine.store.at, engine.log.at)
        engine.log.begin()
        engine.counts = self._counts
        engine.counts.undo(len(engine.store))
        if of_query:
            engine.indexes.end_query(
                engine.store, self.facts, self.indexes, self.predicates, engine.most_temporary_bytes
            )
        else:
            engine.indexes.truncate(engine.store, self.facts, self.indexes)
            engine.dictionary.truncate(self.terms)
        engine.store.truncate(self.facts, self.used)
        engine.forget_predicates(self.predicates)
        engine.derived, engine.executed = self._derived, self._executed
        engine.derivations = self._derivations
        engine.open_savepoint = None
        self._journal.roll_back()

    def __enter__(self) -> Savepoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_open:
            if error is None:
                self.commit()
            else:
                self.roll_back()
