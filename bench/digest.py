"""Contents of a relation in two numbers, so that systems can be checked to agree cheaply.

The digest of a row folds its columns, h ← (h · 1009 + value) mod 1,000,003, and that of a relation is the
sum over its rows: independent of their order, dependent on the order of columns, and the same in SQL, in
Cozo and in numpy.  It is defined for integers that are not negative, which all results are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MULTIPLIER = 1009
MODULUS = 1_000_003


@dataclass(frozen=True)
class Content:
    """Number of facts and their digest; None where a system has no cheap way to its rows."""

    count: int
    digest: int | None = None


def agree(one: Content, other: Content) -> bool:
    if one.count != other.count:
        return False
    return one.digest is None or other.digest is None or one.digest == other.digest


def of_columns(columns: Sequence[npt.NDArray[np.int64]]) -> Content:
    folded = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        folded = (folded * MULTIPLIER + column) % MODULUS
    return Content(len(folded), int(folded.sum()))


def of_rows(rows: Iterable[Sequence[int]]) -> Content:
    count = total = 0
    for row in rows:
        folded = 0
        for value in row:
            folded = (folded * MULTIPLIER + value) % MODULUS
        total += folded
        count += 1
    return Content(count, total)


def expression(columns: Sequence[str]) -> str:
    """The digest of a row in the words that SQL and Cozo share."""
    folded = "0"
    for column in columns:
        folded = f"(({folded} * {MULTIPLIER} + {column}) % {MODULUS})"
    return folded
