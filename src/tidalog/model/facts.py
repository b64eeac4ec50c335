"""`Facts`: the one form of a bundle of facts below the API."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
"""Ids of terms or of facts."""
Mask = npt.NDArray[np.bool_]
"""Which rows or ids are meant."""
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts of one predicate as columns of term ids.

    `count` is the number of facts, which the columns do not show if the predicate has no arguments.
    """

    predicate: str
    columns: list[Ids]
    count: int

    @cached_property
    def table(self) -> Ids:
        """The columns as the rows of one array, cached: both look-ahead and the update read it."""
        table = np.empty((len(self.columns), self.count), np.int32)
        for number, column in enumerate(self.columns):
            table[number] = column
        return table
