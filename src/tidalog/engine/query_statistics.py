"""Estimates for the plans of queries, which look at constants.

Rules are planned by averages, for they run over all their constants alike.  A query names one class, one
property: how many facts these have may differ from the average by a factor of thousands, and decides which
atom comes first.  So facts are counted in a sample of the predicate, taken once for each number of facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.engine import EmbeddedEngine
from tidalog.model.facts import Ids
from tidalog.model.program import Aggregate, Call, Expression, Parameter, Variable
from tidalog.model.terms import Term

_SAMPLE: Final = 1 << 14
_SEEN: Final = 0.5  # facts in the sample that stand for constants which it has not
_SMALL: Final = 64  # facts of a predicate up to which an average will do


class QueryStatistics:
    """`term` gives the id of a constant."""

    def __init__(self, engine: EmbeddedEngine, term: Callable[[Term], int]) -> None:
        self._engine, self._term = engine, term

    def count(self, predicate: str, /) -> int:
        return self._engine.count(predicate)

    def fan_out(
        self, predicate: str, columns: tuple[int, ...], arguments: Sequence[Expression] = (), /
    ) -> float:
        """Estimated facts that agree with the constants, and with one value in each of the other columns."""
        average = self._engine.fan_out(predicate, columns)
        count = self._engine.count(predicate)
        constants = {c: a for c in columns if (a := _constant(arguments, c)) is not None}
        if count <= _SMALL or not constants:
            return average
        sample = self._engine.sample(predicate, _SAMPLE)
        rows = _rows_with(sample, {c: self._term(a) for c, a in constants.items()})
        size = count / len(sample[0])
        if not len(rows):
            return min(average, _SEEN * size)
        found = len(rows) * size
        for column in columns:
            if column not in constants:
                found /= min(found, _distinct(sample[column][rows], size))
        return max(found, 1.0 / count)


def _constant(arguments: Sequence[Expression], column: int) -> Term | None:
    argument = arguments[column] if column < len(arguments) else None
    if argument is None or isinstance(argument, Variable | Parameter | Call | Aggregate):
        return None
    return argument


def _rows_with(sample: Sequence[Ids], values: dict[int, int]) -> npt.NDArray[np.intp]:
    found = np.ones(len(sample[0]), np.bool_)
    for column, value in values.items():
        found &= sample[column] == value
    return np.flatnonzero(found)


def _distinct(values: Ids, size: float) -> float:
    """How many values there are, after Chao; a sample without repetitions is of a key."""
    _, times = np.unique(values, return_counts=True)
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    if once == len(values):
        return max(1.0, len(values) * size)
    return max(1.0, len(times) + once * (once - 1) / (2.0 * (twice + 1)))
