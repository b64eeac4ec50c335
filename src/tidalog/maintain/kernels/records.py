"""Instances on record: under a fact, every head of an instance that it takes part in.

Facts are named by where their rows start, which a new id does not change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.native import borrowed, inlined
from tidalog.maintain.kernels.native import compiled

Places = npt.NDArray[np.uint32]


class Records(NamedTuple):
    facts: Places  # ascending
    heads: Places  # beside them


def no_records() -> Records:
    return Records(np.empty(0, np.uint32), np.empty(0, np.uint32))


def records_of(pairs: Places) -> Records:
    """Pairs (fact, head) as records, each once."""
    if len(pairs) == 0:
        return no_records()
    distinct = np.unique(pairs, axis=0)
    return Records(np.ascontiguousarray(distinct[:, 0]), np.ascontiguousarray(distinct[:, 1]))


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def borrowed_records(records: Records) -> Records:
    return Records(borrowed(records.facts), borrowed(records.heads))


@compiled
def record_range(records: Records, fact: np.uint32) -> tuple[int, int]:
    """Where the heads of a fact stand."""
    low, high = 0, len(records.facts)
    while low < high:
        middle = (low + high) >> 1
        if records.facts[middle] < fact:
            low = middle + 1
        else:
            high = middle
    end = low
    while end < len(records.facts) and records.facts[end] == fact:
        end += 1
    return low, end
