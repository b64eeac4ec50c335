"""Facts in order of id as plain columns: read from a store's arrays, and written to them."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Bools, Int32s, Int64s, Uint8s, Uint16s, Uint32s, int64
from tidalog.engine.bits import EXPLICIT, PRESENT
from tidalog.engine.fact_kernels import (
    COUNT,
    ENTRIES,
    FACTS,
    FIRST,
    HEADER,
    LAST,
    TABLED,
    Facts,
    fact_hash,
)
from tidalog.engine.hash_table import make_entry, put_entry, table_shift
from tidalog.engine.jit import entry, prefetch

BLOCK: Final = 1024  # facts whose slots are prefetched before the first is read


@entry
def gather_facts(
    arguments: Int32s,
    offset: Uint32s,
    status: Uint16s,
    arities: Int64s,
    wanted: Bools,
    required: int,
    predicates: Int32s,
    explicit: Uint8s,
    out: Int32s,
) -> tuple[int, int]:
    """Facts of wanted predicates that have all bits required, in order of id.  Gives how many there are and
    how many arguments they have in all."""
    bits = np.uint16(required) | PRESENT
    count, used = 0, 0
    for f in range(len(status)):
        if (status[f] & bits) != bits:
            continue
        at = int64(offset[f])
        predicate = arguments[at - 1]
        if not wanted[predicate]:
            continue
        predicates[count] = predicate
        explicit[count] = 1 if status[f] & EXPLICIT else 0
        for c in range(arities[predicate]):
            out[used + c] = arguments[at + c]
        used += arities[predicate]
        count += 1
    return count, used


@entry
def place_facts(facts: Facts, predicates: Int32s, explicit: Uint8s, arities: Int64s, flat: Int32s) -> int:
    """Makes facts of columns, with ids from 0, in an empty store that has capacity.  None is in the table
    yet. Gives how much of the arena they take."""
    used, read = 0, 0
    for f in range(len(predicates)):
        predicate = predicates[f]
        at = used + HEADER
        facts.arguments[used] = f
        facts.arguments[used + 1] = predicate
        for c in range(arities[predicate]):
            facts.arguments[at + c] = flat[read + c]
        read += arities[predicate]
        used = at + arities[predicate]
        facts.offset[f] = at
        facts.status[f] = PRESENT | EXPLICIT if explicit[f] else PRESENT
        extent = facts.extent[predicate]
        if extent[COUNT] == 0:
            extent[FIRST] = f
            extent[TABLED] = f
        extent[COUNT] += 1
        extent[LAST] = f
    return used


@entry
def fill_fact_table(facts: Facts) -> None:
    """Enters all facts of a store as `place_facts` leaves it into its table, which has capacity."""
    slots, count = facts.slots, facts.state[FACTS]
    shift = table_shift(len(slots))
    hashes = np.empty(BLOCK, np.uint64)
    for begin in range(0, count, BLOCK):
        rows = min(BLOCK, count - begin)
        for i in range(rows):
            hashes[i] = fact_hash(facts, begin + i)
            prefetch(slots, hashes[i] >> shift)
        for i in range(rows):
            put_entry(slots, make_entry(hashes[i], facts.offset[begin + i]), shift)
    facts.state[ENTRIES] = count
    for p in range(len(facts.extent)):
        if facts.extent[p, COUNT] > 0:
            facts.extent[p, TABLED] = facts.extent[p, LAST] + 1
