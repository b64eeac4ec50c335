"""Rows of term ids in the order that a query asks for, and cut; rows of term ids as columns of Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.io.term_columns import decoded
from tidalog.lang.sparql.answers import order_key
from tidalog.lang.sparql.solutions import UNBOUND
from tidalog.model.facts import Facts, Ids

Order = Sequence[tuple[int, bool]]
"""Columns, and whether each is descending."""


def in_order(dictionary: Dictionary, columns: Sequence[Ids], order: Order) -> npt.NDArray[np.intp] | None:
    """The rows in order; None if any order will do.  Equal ones stay as they are."""
    if not order:
        return None
    keys = []
    for column, descending in reversed(order):
        distinct, rows = np.unique(columns[column], return_inverse=True)
        terms = [order_key(dictionary.term(number)) for number in distinct.tolist()]
        ranks = np.empty(len(distinct), np.int64)
        ranks[sorted(range(len(terms)), key=terms.__getitem__)] = np.arange(len(terms))
        ranks = ranks[rows]
        keys.append(-ranks if descending else ranks)
    return np.lexsort(keys)


def cut(
    dictionary: Dictionary,
    facts: Facts,
    width: int,
    order: Order,
    limit: int | None,
    offset: int,
    *,
    distinct: bool,
) -> Facts:
    """The rows of an answer: ordered, without the columns that only order them, each once if they are
    `distinct`, and cut."""
    if not facts.count:
        return Facts(facts.predicate, [np.empty(0, np.int32)] * width, 0)
    rows = in_order(dictionary, facts.columns, order)
    columns = facts.columns[:width]
    if distinct and len(facts.columns) > width:
        rows = _first_of_each(columns, facts.count, rows)
    if limit is not None or offset:
        rows = np.arange(facts.count) if rows is None else rows
        rows = rows[offset : None if limit is None else offset + limit]
    if rows is None:
        return Facts(facts.predicate, columns, facts.count)
    return Facts(facts.predicate, [column[rows] for column in columns], len(rows))


def cut_by_key(
    dictionary: Dictionary, facts: Facts, keys: int, order: Order, limit: int | None, offset: int
) -> Facts:
    """The same for each value of the first columns, with all columns."""
    if not keys or not facts.count:
        width = len(facts.columns)
        return cut(dictionary, facts, width, order, limit, offset, distinct=False)
    rows = in_order(dictionary, facts.columns, order)
    rows = np.arange(facts.count) if rows is None else rows
    table = np.stack([column[rows] for column in facts.columns[:keys]])
    _, group = np.unique(table, axis=1, return_inverse=True)
    by_group = np.argsort(group, kind="stable")
    first = np.searchsorted(group[by_group], group[by_group])
    place = np.arange(facts.count) - first
    end = facts.count if limit is None else offset + limit
    kept = rows[np.sort(by_group[(place >= offset) & (place < end)])]
    return Facts(facts.predicate, [column[kept] for column in facts.columns], len(kept))


def _first_of_each(
    columns: Sequence[Ids], count: int, rows: npt.NDArray[np.intp] | None
) -> npt.NDArray[np.intp]:
    rows = np.arange(count) if rows is None else rows
    if not columns:
        return rows[:1]
    table = np.stack([column[rows] for column in columns], axis=1)
    _, first = np.unique(table, axis=0, return_index=True)
    return rows[np.sort(first)]


def decoded_columns(dictionary: Dictionary, columns: Sequence[Ids]) -> tuple[list[pa.Array], list[str]]:
    """Columns of Arrow, and what text in them holds.  Null is a variable without a value."""
    unbound = dictionary.id_of(UNBOUND)
    found = [_decoded(dictionary, column, unbound) for column in columns]
    return [array for array, _ in found], [reading for _, reading in found]


def _decoded(dictionary: Dictionary, column: Ids, unbound: int) -> tuple[pa.Array, str]:
    missing = column == unbound
    if not missing.any():
        return decoded(dictionary, column)
    array, reading = decoded(dictionary, column[~missing])
    positions = np.cumsum(~missing) - 1
    return array.take(pa.array(positions, pa.int64(), mask=missing)), reading
