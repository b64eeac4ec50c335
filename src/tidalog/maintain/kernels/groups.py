"""Groups of a fold: a fact that stands for each, and the results that are there."""

from __future__ import annotations

import numpy as np

from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.index import POOL
from tidalog.engine.native import int32_at
from tidalog.engine.tuples import ARGUMENTS, CODE, MANY, OFFSET, VIEW, find_run
from tidalog.maintain.kernels.native import compiled


@compiled
def find_groups(
    facts: Facts,
    indexes: np.ndarray,
    places: np.ndarray,
    relation: int,
    relation_keys: np.ndarray,
    heads: int,
    head_keys: np.ndarray,
    of_group: np.ndarray,
    results: np.ndarray,
) -> tuple[int, int]:
    """Keys are rows of a group's values, in the order of each index; `places` are 0, 1, 2 and so on.
    `of_group` gets one fact of the new state for every group that has any, `results` the implicit facts of
    the groups; how many of both."""
    count = relation_keys.shape[1]
    view = np.zeros(VIEW, np.int64)
    view[ARGUMENTS] = facts.arguments.ctypes.data
    view[OFFSET] = facts.offset.ctypes.data
    view[CODE] = places.ctypes.data
    status = facts.status
    groups = found = 0
    for i in range(count):
        start, length = find_run(view, indexes[relation], 0, np.ascontiguousarray(relation_keys[:, i]))
        pool = int32_at(indexes[relation, POOL], MANY)
        for k in range(length):
            fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
            if (status[fact] & (PRESENT | DELETED)) == PRESENT:
                of_group[groups] = fact
                groups += 1
                break
        start, length = find_run(view, indexes[heads], 0, np.ascontiguousarray(head_keys[:, i]))
        pool = int32_at(indexes[heads, POOL], MANY)
        for k in range(length):
            fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
            if (status[fact] & (PRESENT | DELETED | NEW | EXPLICIT)) == PRESENT:
                results[found] = fact
                found += 1
    return groups, found
