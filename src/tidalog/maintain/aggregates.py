"""Folds under maintenance: the groups that change are folded again, the others are not read.

A fold answers for every implicit fact of its predicate, and has one for each group.  The result of a group
that has changed is deleted, and the group folded again; an equal result comes back, which is not a change.
The result of a large group is updated instead, see `large_groups`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.bits import STATUS_NEW
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.plan_compiler import group_index
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.kernels.groups import find_groups, live_facts
from tidalog.maintain.large_groups import can_be_kept, follow, read_group, results
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.plan.lowering import Fold, FoldColumn

Keys = npt.NDArray[np.int32]
"""[group, variable of the group]."""

LARGE: Final = 256
"""Facts from which a group is large."""


class Folding:
    """One fold in one update."""

    def __init__(self, component: MaintainedComponent, txn: Transaction, evaluation: SemiNaive) -> None:
        assert component.stage.fold is not None
        self.component, self.fold = component, component.stage.fold
        self.txn, self.evaluation = txn, evaluation
        self.engine: EmbeddedEngine = component.engine
        (self.number,) = component.numbers
        self.head_columns = _head_columns(self.fold)
        self.positions = np.arange(len(self.fold.group) + 1, dtype=np.int32)
        self.relations = {column.relation: column for column in self.fold.columns}
        self.deleted = {name: txn.deleted_of([self._predicate(name)]) for name in self.relations}
        self.new = {name: txn.new_of([self._predicate(name)]) for name in self.relations}

    def _predicate(self, relation: str) -> int:
        return self.engine.predicate(relation)

    def maintain(self) -> None:
        keys = self._changed_groups()
        if not len(keys):
            self.txn.insert(self.number)
            return
        engine = self.engine
        first = self.fold.columns[0]
        relation = self._caught_up(group_index(first, engine.catalogue))
        heads = self._caught_up(engine.index(self.number, tuple(sorted(self.head_columns))))
        of_group, sizes = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        capacity = engine.store.count(self.number)
        found, owners = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
        count = find_groups(
            engine.store.at,
            engine.indexes.meta,
            self.positions,
            relation,
            _in_order(keys, first.group),
            heads,
            _in_order(keys, self.head_columns),
            of_group,
            sizes,
            found,
            owners,
        )
        found, owners = found[:count].copy(), owners[:count].copy()
        small = np.ones(len(keys), np.bool_)
        rows: list[list[int]] = []
        if self.component.carries_on:
            for group in np.flatnonzero((sizes >= LARGE) & (of_group >= 0)).tolist():
                mine = np.flatnonzero(owners == group)
                row = self._carried_on(keys[group])
                if row is None or len(mine) > 1:
                    continue
                small[group] = False
                if len(mine) and self._row(int(found[mine[0]])) == row:
                    found[mine[0]] = -1  # it stays
                else:
                    rows.append(row)
        for key in keys[small].tolist() if self.component.large_groups else ():
            self.component.large_groups.pop(tuple(key), None)
        self.txn.delete(self.number, found[found >= 0])
        self.txn.insert(self.number)
        if rows:
            table = np.ascontiguousarray(np.array(rows, np.int32).T)
            self.txn.put(self.number, table, len(rows), STATUS_NEW)
        self.evaluation.run_groups(self.fold, of_group[small & (of_group >= 0)])

    def _caught_up(self, index: int) -> int:
        self.engine.indexes.catch_up(index, self.engine.store)
        return index

    def _row(self, fact: int) -> list[int]:
        ids = np.array([fact], np.int32)
        columns = range(len(self.fold.head.arguments))
        return [int(self.engine.store.column(ids, column)[0]) for column in columns]

    # --- which groups -------------------------------------------------------------------------------

    def _changed_groups(self) -> Keys:
        """The groups that have other facts than before, or results that are no longer explicit."""
        parts: list[Keys] = []
        for name, column in self.relations.items():
            changed = (self.deleted[name], self.new[name])
            parts.extend(self._keys(ids, column.group) for ids in changed if len(ids))
        if self.number in self.txn.to_delete:
            parts.append(self._keys(self.txn.to_delete[self.number], self.head_columns))
        if not parts:
            return np.empty((0, len(self.fold.group)), np.int32)
        keys = np.concatenate(parts)
        return _distinct(keys)

    def _keys(self, ids: Ids, columns: Sequence[int]) -> Keys:
        keys = np.empty((len(ids), len(columns)), np.int32)
        for position, column in enumerate(columns):
            keys[:, position] = self.engine.store.column(ids, column)
        return keys

    # --- large groups -------------------------------------------------------------------------------

    def _carried_on(self, key: Keys) -> list[int] | None:
        """The updated result of a large group; None: it must be folded."""
        engine, fold, known = self.engine, self.fold, self.component.large_groups
        name = tuple(key.tolist())
        group = known.pop(name, None)
        if group is not None:
            deleted = {r: self._of(key, self.deleted[r], c) for r, c in self.relations.items()}
            new = {r: self._of(key, self.new[r], c) for r, c in self.relations.items()}
            if not follow(engine, fold, group, deleted, new):
                group = None
        if group is None:
            group = read_group(engine, fold, {r: self._live(key, c) for r, c in self.relations.items()})
        terms = results(engine, fold, group)
        if terms is None:
            return None
        known[name] = group
        of_variable = dict(zip(fold.group, key.tolist(), strict=True))
        of_variable |= {column.variable: term for column, term in zip(fold.columns, terms, strict=True)}
        return [
            of_variable[a] if isinstance(a, Variable) else engine.dictionary.id_of(a)
            for a in fold.head.arguments
        ]

    def _of(self, key: Keys, ids: Ids, column: FoldColumn) -> Ids:
        """Facts of a group among some."""
        return ids[(self._keys(ids, column.group) == key).all(axis=1)] if len(ids) else ids

    def _live(self, key: Keys, column: FoldColumn) -> Ids:
        engine = self.engine
        index = self._caught_up(group_index(column, engine.catalogue))
        out = np.empty(engine.store.count(engine.predicate(column.relation)), np.int32)
        ordered = _in_order(key[None, :], column.group)[0]
        found = live_facts(engine.store.at, engine.indexes.meta, self.positions, index, ordered, out)
        return out[:found].copy()


def maintain_groups(component: MaintainedComponent, txn: Transaction, evaluation: SemiNaive) -> None:
    """Strict runs report every value that is not a number, so they fold whole groups."""
    assert component.stage.fold is not None
    component.carries_on = can_be_kept(component.stage.fold) and not evaluation.runner.limits.strict
    if not component.carries_on:
        component.large_groups = {}
    Folding(component, txn, evaluation).maintain()


def _distinct(keys: Keys) -> Keys:
    """The rows, each once."""
    rows, width = keys.shape
    if not width or rows < 2:
        return keys[:1]
    order = np.lexsort(keys.T) if width > 1 else np.argsort(keys[:, 0], kind="stable")
    ordered = keys[order]
    result: Keys = ordered[np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])]
    return result


def _in_order(keys: Keys, columns: Sequence[int]) -> Keys:
    """The values of keys in the order of the columns that hold them, as an index has them."""
    return np.ascontiguousarray(keys[:, np.argsort(np.array(columns, np.int64), kind="stable")])


def _head_columns(fold: Fold) -> list[int]:
    """Where the head has each variable of the group."""
    column_of: dict[Variable, int] = {}
    for column, argument in enumerate(fold.head.arguments):
        if isinstance(argument, Variable):
            column_of.setdefault(argument, column)
    return [column_of[variable] for variable in fold.group]
