"""Prefetching for the tuple executor: the memory that the first probes of a list of pivots will read.

A search reads a slot of an index, then a record, then a run, then a fact: each a miss of the cache that waits
for the one before.  For a list of pivots that are searched one after the other, the misses of all of them are
under way at the same time.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.delta_scan import plans_of
from tidalog.engine.hash_table import EMPTY, LOW32
from tidalog.engine.index_kernels import IS_RECORD, RECORD, SHIFT, SIZE, START, VALUE, WIDTH, index_at
from tidalog.engine.jit import compiled, inlined, int32_at, prefetch
from tidalog.engine.opcodes import PROBE
from tidalog.engine.tuple_executor import PC, Search, start_plan
from tidalog.engine.tuple_view import (
    FIRST,
    FIRST_SIZE,
    ORDER,
    PLANS,
    STARTS,
    arguments_of,
    as_block,
    code_of,
    hash_of,
    index_of,
    offsets_of,
)

CACHED: Final = 1 << 15  # an index of this many slots stays in a processor's cache anyway
PROBE_FIELDS: Final = 2  # of a probe: the number of its index, the home of its key


@inlined
def fact_of_entry(view: np.ndarray, index: int, home: int) -> int:
    """The first fact of the key that has this home, if its record is at hand; -1: there is none."""
    read = index_at(index_of(view, index))
    entry, fact = read.slots[home], int64(-1)
    if entry != EMPTY:
        value = entry & LOW32
        if value & IS_RECORD:
            fact = int64(read.pool[read.records[int64(value & VALUE) * RECORD + START]])
        else:
            fact = int64(value) - 1
    return fact


@compiled
def prefetch_probes(
    view: np.ndarray, search: Search, depth: int, pivots: np.ndarray, count: int, probes: np.ndarray
) -> int:
    """Prefetches what the first probes of the plans of some pivots read; the search at this depth is idle.
    `probes` gets the probes, as many as fit; returns their number."""
    registers, cursor = search.registers[depth], search.cursors[depth]
    code, arguments, offsets = code_of(view), arguments_of(view), offsets_of(view)
    first, block = int32_at(view[FIRST], view[FIRST_SIZE]), as_block(registers)
    order, starts = int32_at(view[ORDER], view[PLANS]), int32_at(view[STARTS], view[PLANS])
    size = 0
    for i in range(count):
        fact = int64(pivots[i, 0])
        begin, end = plans_of(first, arguments[int64(offsets[fact]) - 1])
        for plan in range(begin, min(end, begin + len(probes) - size)):
            if not start_plan(view, starts[order[plan]], fact, registers, cursor):
                continue
            pc = cursor[PC]
            if code[pc] != PROBE:
                continue
            row = index_of(view, code[pc + 2])
            if row[SIZE] <= CACHED:
                continue
            home = hash_of(0, block, code, pc + 6, row[WIDTH]) >> np.uint64(row[SHIFT])
            prefetch(index_at(row).slots, home)
            probes[size, 0], probes[size, 1] = code[pc + 2], int64(home)
            size += 1
    for i in range(size):
        read = index_at(index_of(view, probes[i, 0]))
        entry = read.slots[probes[i, 1]]
        if entry != EMPTY:
            value = entry & LOW32
            if value & IS_RECORD:
                prefetch(read.records, int64(value & VALUE) * RECORD)
            else:
                prefetch(offsets, int64(value) - 1)
    for i in range(size):
        read = index_at(index_of(view, probes[i, 0]))
        entry = read.slots[probes[i, 1]]
        if entry != EMPTY and entry & IS_RECORD:
            prefetch(read.pool, int64(read.records[int64(entry & VALUE) * RECORD + START]))
    return size


@compiled
def prefetch_rows(view: np.ndarray, probes: np.ndarray, size: int, table: np.ndarray) -> None:
    """Prefetches the first facts that these probes find, and what a table by fact has of them."""
    arguments, offsets = arguments_of(view), offsets_of(view)
    for i in range(size):
        fact = fact_of_entry(view, probes[i, 0], probes[i, 1])
        if fact >= 0:
            prefetch(offsets, fact)
            prefetch(table[fact], 0)
    for i in range(size):
        fact = fact_of_entry(view, probes[i, 0], probes[i, 1])
        if fact >= 0:
            prefetch(arguments, int64(offsets[fact]))
