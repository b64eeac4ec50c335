"""Groups with many facts: a change costs what changes, and the other facts are read once.

Of a large group that has changed before, what its aggregates need is kept: how many facts it has, exact sums,
the least and the greatest value.  A median, an aggregate of distinct values, and an extreme whose fact is
deleted are found by folding the group again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tidalog.engine.aggregates import fold_extreme
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.running_sums import RunningSum
from tidalog.model.facts import Ids
from tidalog.model.terms import Integer
from tidalog.plan.lowering import Fold, FoldColumn

_KEPT: Final = ("count", "sum", "avg", "min", "max")


@dataclass
class LargeGroup:
    """What is known about one group: its facts, by relation, and for every aggregate what it needs."""

    facts: dict[str, int]
    sums: dict[FoldColumn, RunningSum] = field(default_factory=dict)
    extremes: dict[FoldColumn, int] = field(default_factory=dict)


def can_be_kept(fold: Fold) -> bool:
    return all(column.operator in _KEPT and not column.distinct for column in fold.columns)


def read_group(engine: EmbeddedEngine, fold: Fold, facts: dict[str, Ids]) -> LargeGroup:
    """A group as it is; `facts` are those of each relation, and there are some."""
    group = LargeGroup({relation: len(ids) for relation, ids in facts.items()})
    for column in fold.columns:
        values = _values(engine, column, facts[column.relation])
        if column.operator in ("sum", "avg"):
            group.sums[column] = RunningSum()
            group.sums[column].add(engine.dictionary, values, 1)
        elif column.operator in ("min", "max"):
            group.extremes[column] = _extreme(engine, column, values)
    return group


def follow(
    engine: EmbeddedEngine, fold: Fold, group: LargeGroup, deleted: dict[str, Ids], new: dict[str, Ids]
) -> bool:
    """Brings a group up to date with the facts of each relation that are deleted and new.  False: it must be
    read again."""
    for relation in group.facts:
        group.facts[relation] += len(new[relation]) - len(deleted[relation])
    if min(group.facts.values()) <= 0:
        return False
    for column in fold.columns:
        gone = _values(engine, column, deleted[column.relation])
        come = _values(engine, column, new[column.relation])
        if column in group.sums:
            kept = group.sums[column]
            numbers = kept.add(engine.dictionary, gone, -1) + kept.add(engine.dictionary, come, 1)
            if numbers < len(gone) + len(come):
                return False
        elif column in group.extremes:
            if group.extremes[column] in gone:
                return False
            if len(come):
                both = np.append(come, np.int32(group.extremes[column]))
                group.extremes[column] = _extreme(engine, column, both)
    return True


def results(engine: EmbeddedEngine, fold: Fold, group: LargeGroup) -> list[int] | None:
    """The term of every aggregate; None: the group must be folded."""
    found: list[int] = []
    for column in fold.columns:
        if column in group.extremes:
            found.append(group.extremes[column])
            continue
        if column in group.sums:
            term = group.sums[column].result(column.operator == "avg")
        else:
            term = Integer(group.facts[column.relation])
        if term is None:
            return None
        found.append(engine.dictionary.id_of(term))
    return found


def _values(engine: EmbeddedEngine, column: FoldColumn, ids: Ids) -> Ids:
    return engine.store.column(ids, column.columns[0])


def _extreme(engine: EmbeddedEngine, column: FoldColumn, values: Ids) -> int:
    return int(fold_extreme(engine.dictionary.at, values, -1 if column.operator == "min" else 1))
