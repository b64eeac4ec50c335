"""Groups whose aggregates compiled code leaves to Python: decimals, durations, sums beyond 64 bits, and
registered aggregates.

The group is read as it is in the new state, and `builtins.aggregate` folds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidalog.builtins import CannotCompute, PythonFunction, aggregate, rows_left_out
from tidalog.engine.bits import NEW
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.interrupts import anywhere
from tidalog.engine.plan_compiler import group_index
from tidalog.maintain.kernels.groups import live_facts
from tidalog.maintain.runner import Runner
from tidalog.maintain.transaction import put_rows
from tidalog.model.program import AGGREGATES, Variable
from tidalog.model.terms import Term
from tidalog.plan.lowering import Fold, FoldColumn

Tuples = npt.NDArray[np.int32]
_AT_ONCE = 256
"""Groups between two looks at limits."""


def fold_groups_exactly(
    engine: EmbeddedEngine,
    runner: Runner,
    functions: Mapping[str, PythonFunction],
    fold: Fold,
    groups: Sequence[tuple[int, int]],
    status: int,
) -> None:
    """Derives the facts of some groups.  Each is given by one of its facts and the first column of the fold
    that is left: what failed in those before has been counted."""
    number = engine.predicate(fold.head.predicate, len(fold.head.arguments))
    runner.rule = fold.name
    terms: dict[int, Term] = {}
    rows: list[list[int]] = []
    for position, (fact, column) in enumerate(groups):
        if position % _AT_ONCE == _AT_ONCE - 1:
            runner.look()
        row = _fold_group(engine, runner, functions, fold, fact, column, terms)
        if row is not None:
            rows.append(row)
    if not rows:
        return
    table = np.ascontiguousarray(np.array(rows, np.int32).reshape(len(rows), -1).T)
    if status & NEW:
        put_rows(engine, number, table, len(rows), status)
    else:
        engine.store.insert(number, list(table), len(rows), status)
    runner.stats.derivations += len(rows)
    runner.look()


def _fold_group(
    engine: EmbeddedEngine,
    runner: Runner,
    functions: Mapping[str, PythonFunction],
    fold: Fold,
    fact: int,
    left: int,
    terms: dict[int, Term],
) -> list[int] | None:
    """The head fact of a group; None if an aggregate has no value."""
    first = fold.columns[0]
    pivot = np.array([fact], np.int32)
    key = [int(engine.store.column(pivot, c)[0]) for c in first.group]
    known: dict[Variable, int] = dict(zip(fold.group, key, strict=True))
    for position, column in enumerate(fold.columns):
        table = _tuples(engine, column, key).tolist()
        rows = [tuple(_term(engine, number, terms) for number in row) for row in table]
        failures = rows_left_out(column.operator, rows)
        try:
            with anywhere():  # functions of the user run here
                result = aggregate(column.operator, rows, functions)
            known[column.variable] = engine.dictionary.id_of(result)
        except CannotCompute:
            failures += failures < len(rows)
        if failures and position >= left:
            runner.count_failures(failures)
        if column.variable not in known:
            return None
    return [known[a] if isinstance(a, Variable) else engine.dictionary.id_of(a) for a in fold.head.arguments]


def _term(engine: EmbeddedEngine, number: int, terms: dict[int, Term]) -> Term:
    if number not in terms:
        terms[number] = engine.dictionary.term(number)
    return terms[number]


def _tuples(engine: EmbeddedEngine, column: FoldColumn, key: list[int]) -> Tuples:
    """The tuples of a group, each once: of a registered aggregate whole, of any other the value alone."""
    index = group_index(column, engine.catalogue)
    engine.indexes.catch_up(index, engine.store)
    out = np.empty(engine.store.count(engine.predicate(column.relation)), np.int32)
    order = np.argsort(np.array(column.group, np.int64), kind="stable")
    positions = np.arange(len(key) + 1, dtype=np.int32)
    ordered = np.array(key, np.int32)[order]
    found = live_facts(engine.store.at, engine.indexes.meta, positions, index, ordered, out)
    facts = out[:found]
    tuples: Tuples = np.stack([engine.store.column(facts, c) for c in column.columns], axis=1)
    if column.distinct:
        tuples = np.unique(tuples, axis=0)
    return tuples[:, :1] if column.operator in AGGREGATES else tuples
