"""The shard map: the grouping key of each bucket, chosen so that every task gets the same number of buckets.

Spark spreads groups over tasks by the hash of their key.  Consecutive numbers may fall unevenly: of four
buckets, one of two tasks easily gets three, and a batch takes as long as its longest task.  So bucket i has a
key (its entry) whose hash is i modulo the number of buckets, and therefore i modulo any number of tasks that
divides it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]


def entry_of_bucket(buckets: int) -> Numbers:
    """The entry of each bucket; depends only on the number of buckets."""
    found = np.full(buckets, -1, np.int32)
    start = 0
    while (found < 0).any():
        tried = np.arange(start, start + 4 * buckets + 64, dtype=np.int32)
        rest = hashed(tried).astype(np.int64) % buckets
        first, positions = np.unique(rest, return_index=True)
        new = first[found[first] < 0]
        found[new] = tried[positions[np.isin(first, new)]]
        start += len(tried)
    return found


def hashed(numbers: Numbers) -> Numbers:
    """Spark's `hash` of integers: Murmur3 with 32 bits and seed 42."""
    mixed = _rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    result = _rotated(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    result = result ^ np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        result = (result ^ (result >> np.uint32(shift))) * np.uint32(factor)
    return (result ^ (result >> np.uint32(16))).view(np.int32)


def _rotated(values: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
    return (values << np.uint32(by)) | (values >> np.uint32(32 - by))
