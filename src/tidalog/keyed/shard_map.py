"""Which entry of Spark's state is that of a bucket, so that every task gets as many buckets.

Spark spreads entries over tasks by the hash of their number.  Consecutive numbers fall as they may: four
buckets on two tasks are easily three and one, and a batch takes as long as its longest task.  So bucket i has
a number whose hash is i modulo the number of buckets, and with it i modulo any number of tasks that divides
that one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]


def entries_of(buckets: int) -> Numbers:
    """The number of the entry of each bucket; it depends on nothing but how many there are."""
    found = np.full(buckets, -1, np.int32)
    start = 0
    while (found < 0).any():
        tried = np.arange(start, start + 4 * buckets + 64, dtype=np.int32)
        rest = hashed(tried).astype(np.int64) % buckets
        first, places = np.unique(rest, return_index=True)
        new = first[found[first] < 0]
        found[new] = tried[places[np.isin(first, new)]]
        start += len(tried)
    return found


def hashed(numbers: Numbers) -> Numbers:
    """What Spark's `hash` gives for integers: Murmur3 with 32 bits and the seed 42."""
    mixed = _turned(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    result = _turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    result = result ^ np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        result = (result ^ (result >> np.uint32(shift))) * np.uint32(factor)
    return (result ^ (result >> np.uint32(16))).view(np.int32)


def _turned(values: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
    return (values << np.uint32(by)) | (values >> np.uint32(32 - by))
