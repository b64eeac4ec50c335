"""`Code`: compiled plans as integers, and the filters that their atoms match facts by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tidalog.engine import opcodes as op
from tidalog.engine.array_types import Int32s
from tidalog.engine.bitmaps import Bits
from tidalog.engine.delta_scan import Plans

Filter = tuple[int, int, int]
"""Mask, wanted value, id order (ANY_ID …)."""
ANY_FACT: Final[Filter] = (0, 0, op.ANY_ID)
_DROPPED: Final = -2  # the predicate of a pivot that no fact has


@dataclass(slots=True)
class Code:
    """Compiled plans, one after the other."""

    numbers: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    operators: list[list[int]] = field(default_factory=list)
    """Plan → where each of its operators starts, the last of them EMIT."""
    names: list[str] = field(default_factory=list)
    """Plan → the name of its rule."""
    pivots: list[int] = field(default_factory=list)
    """Plan → the predicate of its pivot, or -1."""
    weights: list[int] = field(default_factory=list)
    """Plan → weight: of the plans of one predicate, the heaviest run first; empty: all weigh the same."""
    filters: dict[Filter, int] = field(default_factory=dict)
    """Each that the plans use, with its number."""
    indexes: set[int] = field(default_factory=set)
    """Indexes that the plans probe."""
    looked_up: set[int] = field(default_factory=set)
    """Predicates whose facts the plans look up in the fact table."""
    bitmaps: list[Bits] = field(default_factory=list)
    """Sets of terms that anti-joins test."""
    levels: int = 1
    registers: int = 1
    arity: int = 1
    _array: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    """The first `_written` of `numbers`, and capacity for more."""
    _written: int = 0

    def plans(self, filters: Sequence[Filter] | None = None) -> Plans:
        """The plans as arrays, found by the predicate of their pivots.  `filters` replace those that the
        plans were compiled with."""
        pivots = np.array(self.pivots, np.int32)
        keys = (-np.array(self.weights, np.int64), pivots) if self.weights else (pivots,)
        order = np.lexsort(keys).astype(np.int32)
        ordered = pivots[order]
        begins = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        first = begins.nonzero()[0]
        count = len(first)
        table = np.empty(2 * count + 2, np.int32)
        table[0], table[1 : count + 1], table[count + 1 : -1], table[-1] = (
            count,
            ordered[first],
            first,
            len(order),
        )
        return Plans(
            code=self._code() if self.numbers else np.zeros(1, np.int32),
            filters=np.array(list(self.filters if filters is None else filters) or [ANY_FACT], np.int32),
            starts=np.array(self.starts, np.int32),
            first=table,
            order=order,
        )

    def _code(self) -> Int32s:
        """`numbers` as an array; only what came since the last time is copied."""
        written, size = self._written, len(self.numbers)
        if size > len(self._array):
            self._array = np.resize(self._array[:written], size + size // 4 * (written > 0))
        self._array[written:size] = self.numbers[written:]
        self._written = size
        return self._array[:size]

    def drop(self, plans: Iterable[int]) -> None:
        """No fact finds these plans any more; the others keep their numbers."""
        for plan in plans:
            self.pivots[plan] = _DROPPED
