"""`Facts`: the one way a bundle of facts is passed, below the API."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
"""Ids of terms or of facts."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts of one predicate as columns of term ids.

    `count` is the number of facts, which the columns cannot tell if there are none.
    """

    predicate: str
    columns: list[Ids]
    count: int

    @cached_property
    def table(self) -> Ids:
        """The columns as the rows of one array, built once: look-ahead and the update itself both read it."""
        table = np.empty((len(self.columns), self.count), np.int32)
        for number, column in enumerate(self.columns):
            table[number] = column
        return table
