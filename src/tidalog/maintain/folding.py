"""Folds under maintenance: the groups that change are folded anew, the others are not looked at.

A fold answers for every implicit fact of its predicate, and has one for each group.  Whatever it holds for a
group that has changed is deleted, and the group folded; a result that is the same comes back, and is no
change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidalog.engine.compile import group_index
from tidalog.maintain.kernels.groups import find_groups
from tidalog.maintain.node import Node
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.transaction import Ids, Transaction
from tidalog.plan.lowered import Fold
from tidalog.program import Variable


def maintain_groups(node: Node, change: Transaction, evaluation: SemiNaive) -> None:
    fold, engine = node.stage.fold, node.engine
    assert fold is not None
    (number,) = node.numbers
    keys = _changed_groups(fold, node, change)
    if not keys.shape[1]:
        change.insert(number)
        return
    head_columns = _head_columns(fold)
    relation = group_index(fold.columns[0], engine.catalogue)
    heads = engine.index(number, tuple(sorted(head_columns)))
    arrays = engine.store.arrays
    engine.indexes.catch_up(relation, arrays)
    engine.indexes.catch_up(heads, arrays)
    of_group, results = np.empty(keys.shape[1], np.int32), np.empty(engine.store.count(number), np.int32)
    groups, found = find_groups(
        arrays,
        engine.indexes.meta,
        np.arange(len(keys) + 1, dtype=np.int32),
        relation,
        np.ascontiguousarray(keys[np.argsort(fold.columns[0].group, kind="stable")]),
        heads,
        np.ascontiguousarray(keys[np.argsort(head_columns, kind="stable")]),
        of_group,
        results,
    )
    change.delete(number, results[:found].copy())
    change.insert(number)
    evaluation.run_groups(fold, of_group[:groups])


def _changed_groups(fold: Fold, node: Node, change: Transaction) -> npt.NDArray[np.int32]:
    """The groups that have other facts than before, or results that are no longer explicit: a column each,
    a row for every variable of the group."""
    store = node.engine.store
    parts: list[npt.NDArray[np.int32]] = []

    def add(ids: Ids, columns: Sequence[int]) -> None:
        if len(ids):
            part = np.empty((len(columns), len(ids)), np.int32)
            for place, column in enumerate(columns):
                part[place] = store.column(ids, column)
            parts.append(part)

    done: set[str] = set()
    for column in fold.columns:
        if column.relation not in done:
            done.add(column.relation)
            number = node.engine.predicate(column.relation)
            add(change.deleted_of([number]), column.group)
            add(change.new_of([number]), column.group)
    (own,) = node.numbers
    if own in change.to_delete:
        add(change.to_delete[own], _head_columns(fold))
    if not parts:
        return np.empty((len(fold.group), 0), np.int32)
    keys = np.concatenate(parts, axis=1)
    return np.unique(keys, axis=1) if len(keys) else keys[:, :1]


def _head_columns(fold: Fold) -> list[int]:
    """Where the head has each variable of the group."""
    place: dict[Variable, int] = {}
    for column, argument in enumerate(fold.head.arguments):
        if isinstance(argument, Variable):
            place.setdefault(argument, column)
    return [place[variable] for variable in fold.group]
