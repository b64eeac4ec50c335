"""Folds from scratch: all groups of a relation at once, in one pass over its columns.

Groups are in the order of their first facts, as in an index, so derived facts have the same ids either way.
What a relation's folds share – its columns, the numbers of its groups – is kept until the folds of another
relation come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.aggregates import AVG, COUNT, EXACT_AVERAGE, MAX, MIN, OPERATORS, SUM
from tidalog.engine.bits import STATUS_DERIVED
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import COUNT as FACT_COUNT
from tidalog.engine.fact_kernels import LAST
from tidalog.engine.group_aggregates import fold_groups, is_key, number_by_key, number_by_term
from tidalog.maintain.runner import Runner
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.plan.lowering import Fold, FoldColumn

_WIDE = 8  # terms for each fact from which a table of groups is smaller than an array by term


class _Relation:
    """The facts of a predicate, column by column, as they are at a moment."""

    def __init__(self, engine: EmbeddedEngine, predicate: int) -> None:
        self.engine = engine
        self.ids = engine.store.ids(predicate)
        self._columns: dict[int, Ids] = {}
        self._keys: dict[int, bool] = {}
        self._groups: dict[tuple[int, ...], tuple[Ids, Ids]] = {}

    def column(self, number: int) -> Ids:
        if number not in self._columns:
            self._columns[number] = self.engine.store.column(self.ids, number)
        return self._columns[number]

    def is_key(self, number: int) -> bool:
        """Whether no two facts agree in a column."""
        if number not in self._keys:
            column = self.column(number)
            self._keys[number] = bool(is_key(column, np.zeros(len(self.engine.dictionary), np.uint8)))
        return self._keys[number]

    def groups(self, columns: tuple[int, ...]) -> tuple[Ids, Ids]:
        """The group of every row, and the first row of every group."""
        if columns not in self._groups:
            rows, terms = len(self.ids), len(self.engine.dictionary)
            group_of, first = np.empty(rows, np.int32), np.empty(rows, np.int32)
            if len(columns) == 1 and terms <= _WIDE * rows:
                numbers = np.zeros(terms, np.int32)
                count = number_by_term(self.column(columns[0]), numbers, group_of, first)
            else:
                table = np.empty((len(columns), rows), np.int32)
                for position, number in enumerate(columns):
                    table[position] = self.column(number)
                count = number_by_key(table, group_of, first)
            self._groups[columns] = group_of, first[:count].copy()
        return self._groups[columns]


class GroupedFolds:
    """Runs the folds that a pass over columns can do."""

    def __init__(self, engine: EmbeddedEngine, runner: Runner) -> None:
        self.engine, self.runner = engine, runner
        self._key: tuple[int, ...] = ()
        self._relation: _Relation | None = None

    def run(self, fold: Fold, is_new: bool) -> bool:
        """Derives the facts of a fold, or does nothing and returns False.  `is_new`: none is there before."""
        first = fold.columns[0]
        if any((c.relation, c.group) != (first.relation, first.group) for c in fold.columns):
            return False
        if any(c.operator == "median" or c.operator not in OPERATORS for c in fold.columns):
            return False
        relation = self._relation_of(first)
        if len(relation.ids) == 0:
            return True
        results: dict[Variable, Ids] = {}
        for column in fold.columns:
            result = self._fold(relation, column)
            if result is None:
                return False
            results[column.variable] = result
        self._emit(fold, relation, results, is_new)
        return True

    def _relation_of(self, column: FoldColumn) -> _Relation:
        predicate = self.engine.predicate(column.relation, column.arity)
        extent = self.engine.store.arrays.extent[predicate]
        key = (predicate, int(extent[FACT_COUNT]), int(extent[LAST]))
        if self._relation is None or key != self._key:
            self._key, self._relation = key, _Relation(self.engine, predicate)
        return self._relation

    def _fold(self, relation: _Relation, column: FoldColumn) -> Ids | None:
        """The term of every group."""
        if column.distinct and not any(relation.is_key(c) for c in column.columns):
            return None
        operator = OPERATORS[column.operator]
        if operator in (MIN, MAX):
            terms = self._numbers(relation, column, operator)
            return None if terms is None else terms.astype(np.int32)
        total = self._numbers(relation, column, SUM if operator == AVG else operator)
        if total is None:
            return None
        if operator == AVG:
            if np.abs(total).max() > EXACT_AVERAGE:
                return None
            count = self._numbers(relation, column, COUNT)
            assert count is not None
            return self.engine.dictionary.encode(pa.array(total.astype(np.float64) / count), "native")
        return self.engine.dictionary.encode(pa.array(total), "native")

    def _numbers(
        self, relation: _Relation, column: FoldColumn, operator: int
    ) -> npt.NDArray[np.int64] | None:
        group_of, first = relation.groups(column.group)
        result = np.zeros(len(first), np.int64)
        values = relation.column(column.columns[0])
        folded = fold_groups(self.engine.dictionary.at, operator, values, group_of, result)
        return result if folded else None

    def _emit(self, fold: Fold, relation: _Relation, results: dict[Variable, Ids], is_new: bool) -> None:
        engine, first = self.engine, fold.columns[0]
        _, rows = relation.groups(first.group)
        known = dict(results)
        for variable, number in zip(fold.group, first.group, strict=True):
            known[variable] = relation.column(number)[rows]
        columns: Sequence[Ids] = [
            known[a] if isinstance(a, Variable) else np.full(len(rows), engine.dictionary.id_of(a), np.int32)
            for a in fold.head.arguments
        ]
        predicate = engine.predicate(fold.head.predicate, len(columns))
        add = engine.store.append if is_new else engine.store.insert
        add(predicate, list(columns), len(rows), STATUS_DERIVED)
        self.runner.rule = fold.name
        self.runner.stats.derivations += len(rows)
        self.runner.look()
