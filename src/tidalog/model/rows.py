"""Rows of a table that are equal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.model.facts import Numbers


def distinct_rows(table: npt.NDArray[np.int32]) -> tuple[Numbers, Numbers]:
    """The first of each kind of row, the rows ascending; and for every row the number of its kind.  There is
    a column."""
    order = np.lexsort(table.T[::-1])
    in_order = table[order]
    is_first = np.ones(len(table), np.bool_)
    is_first[1:] = (in_order[1:] != in_order[:-1]).any(axis=1)
    kinds = np.empty(len(table), np.int64)
    kinds[order] = np.cumsum(is_first) - 1
    return order[is_first], kinds
