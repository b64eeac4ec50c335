"""The embedded engine: predicates by name, facts by id, everything that a run needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int64Table
from tidalog.engine.bitmaps import Bits, terms_of_column
from tidalog.engine.bits import EXPLICIT, STATUS_EXPLICIT
from tidalog.engine.column_samples import ColumnSample, sample_of
from tidalog.engine.compaction import compact_ids, compact_rows
from tidalog.engine.derivation_counts import DerivationCounts
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.equal_terms import EqualTerms
from tidalog.engine.expiries import ExpiryStore
from tidalog.engine.fact_kernels import Facts as FactArrays
from tidalog.engine.facts import FactStore
from tidalog.engine.index import Indexes
from tidalog.engine.memory import release_heap
from tidalog.engine.plan_compiler import Catalogue
from tidalog.engine.savepoint import Savepoint
from tidalog.engine.undo_log import Log, UndoLog
from tidalog.model.facts import Facts, Ids, Mask
from tidalog.model.program import Expression
from tidalog.model.terms import Term
from tidalog.plan.executed import Executed
from tidalog.plan.join_order import assumed_fan_out

Offsets = npt.NDArray[np.uint32]

_SAMPLE = 2048
_SMALL_SHARE = 16
_WIDE = 8  # terms for each fact from which bits by term are not worth it
_NO_OFFSETS: Offsets = np.empty(0, np.uint32)
_TEMPORARY_BYTES = 1 << 26  # that temporary indexes may take; more if the facts take more


class EmbeddedEngine:
    """Dictionary, facts and indexes.  Runs are `maintain.seminaive`'s; this class only keeps the state."""

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        """An engine without facts, with a dictionary of its own or one that others use too."""
        self.dictionary = dictionary if dictionary is not None else Dictionary()
        self.catalogue = Catalogue(
            self.predicate, self.index, self.dictionary.id_of, self._terms_in, self._is_small
        )
        self.store = FactStore()
        self.indexes = Indexes()
        self.log = UndoLog()
        self.counts = DerivationCounts()
        self.expiries = ExpiryStore()
        self.equal = EqualTerms()
        """Terms that stand for others (`maintain.equality`)."""
        self.names: list[str] = []
        self.arities: list[int] = []
        self._numbers: dict[str, int] = {}
        self._samples: dict[tuple[int, int], ColumnSample] = {}
        """By predicate and column."""
        self._some: dict[int, tuple[int, list[Ids]]] = {}
        """Predicate → facts there were, and some of them."""
        self.derived = False
        """Whether some fact may be there that is not explicit."""
        self.executed = Executed()
        """The plans of the last run from scratch."""
        self.derivations: dict[frozenset[str], int] = {}
        """Instances that deriving a component from scratch took, by its predicates."""
        self.open_savepoint: Savepoint | None = None

    def index(self, predicate: int, columns: tuple[int, ...]) -> int:
        return self.indexes.number(predicate, columns, self.store.count(predicate))

    def temporary_index(self, predicate: int, columns: tuple[int, ...]) -> int:
        """An index for a query."""
        return self.indexes.number(predicate, columns, self.store.count(predicate), temporary=True)

    @property
    def at(self) -> tuple[FactArrays, Terms, Log, Int64Table]:
        """What most kernels read: the blocks of facts, terms and the undo log, and the indexes."""
        return self.store.at, self.dictionary.at, self.log.at, self.indexes.meta

    # --- predicates ---------------------------------------------------------------------------------

    def predicate(self, name: str, arity: int = -1) -> int:
        """The number of a predicate, added if it is new; without an arity it must exist."""
        number = self._numbers.get(name)
        if number is None:
            if arity < 0:
                raise KeyError(name)
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
            self.arities.append(arity)
            self.store.add_predicate(number, arity)
        elif arity >= 0 and self.arities[number] != arity:
            raise ValueError(f"{name} has {self.arities[number]} arguments, not {arity}")
        return number

    def has(self, name: str) -> bool:
        return name in self._numbers

    def arity(self, name: str) -> int:
        return self.arities[self._numbers[name]]

    def count(self, name: str) -> int:
        return self.store.count(self._numbers[name]) if name in self._numbers else 0

    # --- facts --------------------------------------------------------------------------------------

    def insert(self, name: str, columns: list[Ids], rows: int) -> int:
        """Adds explicit facts; returns how many were not there."""
        number = self.predicate(name, len(columns))
        return self.store.insert(number, columns, rows, STATUS_EXPLICIT)

    def ids(self, name: str, mask: int = 0, want: int = 0, *, explicit: bool | None = None) -> Ids:
        """The facts of a predicate, ascending: those whose status under `mask` is `want`; or all, only the
        explicit ones, or only those that are not."""
        if explicit is not None:
            mask, want = int(EXPLICIT), int(EXPLICIT) if explicit else 0
        if name not in self._numbers:
            return np.empty(0, np.int32)
        return self.store.ids(self._numbers[name], 0, mask, want)

    def columns(self, name: str, mask: int = 0, want: int = 0) -> list[Ids]:
        """The facts of a predicate, column by column, in order of id."""
        ids = self.ids(name, mask, want)
        return [self.store.column(ids, c) for c in range(self.arity(name))] if self.has(name) else []

    def facts(self, name: str, *, explicit: bool | None = None) -> Facts:
        """The facts of a predicate that is there, as `ids` has them."""
        ids = self.ids(name, explicit=explicit)
        return Facts(name, [self.store.column(ids, c) for c in range(self.arity(name))], len(ids))

    def find(self, facts: Facts) -> Ids:
        """The ids of facts; -1 for one that is not there."""
        if not facts.count or not self.has(facts.predicate):
            return np.full(facts.count, -1, np.int32)
        return self.store.find(self._numbers[facts.predicate], facts.table)

    def is_explicit(self, ids: Ids) -> Mask:
        found: Mask = (self.store.arrays.status[ids] & EXPLICIT) != 0
        return found

    # --- changes -------------------------------------------------------------------------------------

    def savepoint(self) -> Savepoint:
        """Opens a savepoint; none may be open."""
        if self.open_savepoint is not None:
            raise RuntimeError("a savepoint is open already")
        savepoint = self.open_savepoint = Savepoint(self)
        return savepoint

    def note_derivations(self, predicates: frozenset[str], instances: int) -> None:
        """Deriving a component from scratch took this many instances."""
        if self.open_savepoint is not None:
            before = self.derivations.get(predicates)
            self.open_savepoint.on_rollback(partial(self._put_derivations, predicates, before))
        self._put_derivations(predicates, instances)

    def _put_derivations(self, predicates: frozenset[str], instances: int | None) -> None:
        if instances is None:
            self.derivations.pop(predicates, None)
        else:
            self.derivations[predicates] = instances

    @property
    def most_temporary_bytes(self) -> int:
        """Bytes that temporary indexes may take."""
        return max(_TEMPORARY_BYTES, self.store.nbytes)

    def spare_memory(self, most: int | None) -> None:
        """Before a run that may take this many bytes: releases temporary indexes if more than half of that
        is in use."""
        if most is not None and 2 * self.nbytes > most:
            self.indexes.release_temporary()

    def release_heap(self) -> None:
        """Gives back the memory that reading many facts took."""
        release_heap()

    def forget_derived(self) -> None:
        """Only explicit facts stay, in the order they had within their predicates; hidden predicates go.  An
        error before they are copied leaves everything as it was."""
        if not self.derived:
            return
        copy = EmbeddedEngine(self.dictionary)
        kept = [name for name in self.names if not name.startswith("#")]
        for name in kept:
            copy.predicate(name, self.arity(name))
        for name in kept:
            facts = self.facts(name, explicit=True)
            copy.insert(name, facts.columns, facts.count)
        # No call stands between these assignments, so no interrupt comes between them.
        self.store, self.indexes, self.log, self.counts = copy.store, copy.indexes, copy.log, copy.counts
        self.names, self.arities, self._numbers = copy.names, copy.arities, copy._numbers
        self.expiries = copy.expiries
        self._some = copy._some
        self._samples, self.executed, self.derivations = copy._samples, copy.executed, copy.derivations
        self.derived = False

    def forget_predicates(self, count: int) -> None:
        """Only the first `count` predicates stay; the others have no facts.  See `Savepoint`."""
        for name in self.names[count:]:
            del self._numbers[name]
        del self.names[count:], self.arities[count:]
        self._samples = {key: known for key, known in self._samples.items() if key[0] < count}
        self._some = {number: known for number, known in self._some.items() if number < count}

    def compact(self) -> tuple[Offsets, Offsets]:
        """Gives back the memory of what is dead; compacts ids and rows once most that take memory are unused,
        so that this costs little per deletion.  Returns the old offsets of rows, ascending, and the new ones,
        if rows have moved."""
        store = self.store
        store.dead_blocks.follow(store, self.expiries)
        sparse = store.has_sparse_rows
        if not sparse and not store.has_sparse_ids:
            return _NO_OFFSETS, _NO_OFFSETS
        self.log.derivation_log.end(store.arrays)
        store.dead_blocks.ids_are_compacted(store)
        compact_ids(store, self.indexes, self.counts, lambda ranks: self.expiries.renumber(self, ranks))
        self.expiries.list_again(self)
        if not sparse:
            return _NO_OFFSETS, _NO_OFFSETS
        store.dead_blocks.rows_were_compacted()
        return compact_rows(store)

    # --- figures ------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        return (
            self.store.nbytes
            + self.indexes.nbytes
            + self.dictionary.nbytes
            + self.counts.nbytes(len(self.store))
            + self.expiries.bytes_of(self.store.ids_in_memory)
        )

    def _terms_in(self, predicate: int, column: int) -> Bits | None:
        terms = len(self.dictionary)
        if terms > _WIDE * len(self.store) or self.indexes.has(predicate, (column,)):
            return None
        return terms_of_column(self.store.at, predicate, column, terms)

    def _is_small(self, predicate: int) -> bool:
        return 0 < self.store.count(predicate) * _SMALL_SHARE < len(self.store)

    def sample(self, name: str, size: int) -> list[Ids]:
        """Some facts of a predicate that has any, column by column; the same as long as it has as many."""
        number = self._numbers[name]
        count, known = self.store.count(number), self._some.get(number)
        if known is None or known[0] != count:
            ids = self.store.ids(number)
            ids = np.ascontiguousarray(ids[:: max(1, len(ids) // size)])
            columns = [self.store.column(ids, column) for column in range(self.arities[number])]
            known = self._some[number] = count, columns
        return known[1]

    def fan_out(self, name: str, columns: tuple[int, ...], arguments: Sequence[Expression] = (), /) -> float:
        """Estimated facts of a predicate that agree with the constants among some arguments, and with one
        value in each other column, from a sample."""
        number = self._numbers.get(name)
        count = self.store.count(number) if number is not None else 0
        if number is None or count == 0:
            return assumed_fan_out(columns)
        estimate = float(count)
        for column in columns:
            values = self._values_in(number, column, count)
            constant = arguments[column] if column < len(arguments) else None
            if isinstance(constant, Term):
                estimate *= values.share(self.dictionary.id_of(constant))
            else:
                estimate /= values.distinct
        return max(estimate, 1.0 / count)

    def _values_in(self, number: int, column: int, count: int) -> ColumnSample:
        known = self._samples.get((number, column))
        if known is None or known.facts != count:
            ids = self.store.ids(number)
            sample = np.ascontiguousarray(ids[:: max(1, len(ids) // _SAMPLE)])
            known = self._samples[number, column] = sample_of(self.store.column(sample, column), count)
        return known
