"""Groups of a fold: how many facts each has, one that stands for it, and the results that are there."""

from __future__ import annotations

import numpy as np

from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.index import POOL
from tidalog.engine.jit import int32_at
from tidalog.engine.tuple_executor import ARGUMENTS, CODE, MANY, OFFSET, VIEW, find_run
from tidalog.maintain.kernels.jit import compiled

IMPLICIT = PRESENT | DELETED | NEW | EXPLICIT
LIVE = PRESENT | DELETED


@compiled
def _view_of(facts: Facts, places: np.ndarray) -> np.ndarray:
    """What `find_run` looks at where keys are rows of their own."""
    view = np.zeros(VIEW, np.int64)
    view[ARGUMENTS] = facts.arguments.ctypes.data
    view[OFFSET] = facts.offset.ctypes.data
    view[CODE] = places.ctypes.data
    return view


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
    sizes: np.ndarray,
    results: np.ndarray,
    owners: np.ndarray,
) -> int:
    """A key is a row of a group's values, in the order of each index; `places` are 0, 1, 2 and so on.  Of
    every group: `of_group`, a fact of the new state or -1, and `sizes`, how many facts its run has.
    `results` are the implicit facts of all groups, `owners` whose; how many."""
    view = _view_of(facts, places)
    status = facts.status
    found = 0
    for i in range(len(relation_keys)):
        start, length = find_run(view, indexes[relation], 0, relation_keys[i])
        pool = int32_at(indexes[relation, POOL], MANY)
        of_group[i] = -1
        sizes[i] = length
        for k in range(length):
            fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
            if (status[fact] & LIVE) == PRESENT:
                of_group[i] = fact
                break
        start, length = find_run(view, indexes[heads], 0, head_keys[i])
        pool = int32_at(indexes[heads, POOL], MANY)
        for k in range(length):
            fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
            if (status[fact] & IMPLICIT) == PRESENT:
                results[found] = fact
                owners[found] = i
                found += 1
    return found


@compiled
def live_facts(
    facts: Facts, indexes: np.ndarray, places: np.ndarray, relation: int, key: np.ndarray, out: np.ndarray
) -> int:
    """The facts of one group in the new state; how many."""
    view = _view_of(facts, places)
    start, length = find_run(view, indexes[relation], 0, key)
    pool = int32_at(indexes[relation, POOL], MANY)
    found = 0
    for k in range(length):
        fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
        if (facts.status[fact] & LIVE) == PRESENT:
            out[found] = fact
            found += 1
    return found
