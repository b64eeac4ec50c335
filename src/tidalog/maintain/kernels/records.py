"""Instances on record: under a fact, every head of an instance that it takes part in.

A record is one number, fact << 32 | head; both are named by where their rows start, which a new id does not
change.  Records are sorted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.maintain.kernels.native import compiled

Places = npt.NDArray[np.uint32]
Records = npt.NDArray[np.uint64]

_HALF = np.uint64(32)


def no_records() -> Records:
    return np.empty(0, np.uint64)


def facts_of(records: Records) -> Places:
    return (records >> _HALF).astype(np.uint32)


def heads_of(records: Records) -> Places:
    return (records & np.uint64(0xFFFFFFFF)).astype(np.uint32)


# --- compiled ---------------------------------------------------------------------------------------


@compiled
def first_record(records: np.ndarray, fact: np.uint32) -> int:
    """Where the records of a fact begin."""
    wanted = np.uint64(fact) << _HALF
    low, high = 0, len(records)
    while low < high:
        middle = (low + high) >> 1
        if records[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def head_on_record(records: np.ndarray, at: int, fact: np.uint32) -> int:
    """The head of the record at a place, or -1 if that is none of the fact's."""
    if at >= len(records) or records[at] >> _HALF != np.uint64(fact):
        return -1
    return np.int64(records[at] & np.uint64(0xFFFFFFFF))
