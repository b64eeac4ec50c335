"""Groups of an aggregate: the size of each, one of its facts, and the results it has."""

from __future__ import annotations

import numpy as np

from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Int64Table
from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.index_kernels import fact_of_run, pool_at
from tidalog.engine.jit import compiled, entry
from tidalog.engine.tuple_view import (
    ARGUMENTS,
    ARGUMENTS_SIZE,
    CODE,
    CODE_SIZE,
    FACT_CAPACITY,
    OFFSET,
    VIEW,
    find_run,
)

IMPLICIT = PRESENT | DELETED | NEW | EXPLICIT
LIVE = PRESENT | DELETED


@compiled
def _view_of(facts: Facts, columns: np.ndarray) -> np.ndarray:
    """What `find_run` reads where a key is a row of registers: `columns` are 0, 1, 2 and so on."""
    view = np.zeros(VIEW, np.int64)
    view[ARGUMENTS], view[ARGUMENTS_SIZE] = facts.arguments.ctypes.data, len(facts.arguments)
    view[OFFSET], view[FACT_CAPACITY] = facts.offset.ctypes.data, len(facts.offset)
    view[CODE], view[CODE_SIZE] = columns.ctypes.data, len(columns)
    return view


@entry
def find_groups(
    facts: Facts,
    indexes: Int64Table,
    columns: Int32s,
    relation: int,
    relation_keys: Int32Table,
    heads: int,
    head_keys: Int32Table,
    of_group: Int32s,
    sizes: Int64s,
    results: Int32s,
    owners: Int32s,
) -> int:
    """A key is a row of a group's values, in the order of each index.  Gives for every group a fact of the
    new state or -1 (`of_group`), and the size of its run (`sizes`).  `results` gets the implicit facts of all
    groups, `owners` their groups; returns how many."""
    view = _view_of(facts, columns)
    status = facts.status
    found = 0
    for i in range(len(relation_keys)):
        start, length = find_run(view, indexes[relation], 0, relation_keys[i])
        pool = pool_at(indexes[relation])
        of_group[i] = -1
        sizes[i] = length
        for k in range(length):
            fact = fact_of_run(pool, start, k)
            if (status[fact] & LIVE) == PRESENT:
                of_group[i] = fact
                break
        start, length = find_run(view, indexes[heads], 0, head_keys[i])
        pool = pool_at(indexes[heads])
        for k in range(length):
            fact = fact_of_run(pool, start, k)
            if (status[fact] & IMPLICIT) == PRESENT:
                results[found] = fact
                owners[found] = i
                found += 1
    return found


@entry
def live_facts(
    facts: Facts, indexes: Int64Table, columns: Int32s, relation: int, key: Int32s, out: Int32s
) -> int:
    """Lists the facts of one group in the new state; returns how many."""
    view = _view_of(facts, columns)
    start, length = find_run(view, indexes[relation], 0, key)
    pool = pool_at(indexes[relation])
    found = 0
    for k in range(length):
        fact = fact_of_run(pool, start, k)
        if (facts.status[fact] & LIVE) == PRESENT:
            out[found] = fact
            found += 1
    return found
