"""Compaction: removes what deletions leave: unused ids and rows.

The order of ids stays, so what they say about the order of derivations stays true.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.bits import PRESENT
from tidalog.engine.derivation_counts import DerivationCounts
from tidalog.engine.fact_kernels import (
    ARITY,
    DEAD,
    ENTRIES,
    FACTS,
    FIRST,
    GARBAGE,
    HEADER,
    LAST,
    TABLED,
    USED,
    Facts,
    fact_hash,
)
from tidalog.engine.facts import FactStore
from tidalog.engine.hash_table import EMPTY, LOW32, make_entry, put_entry, table_shift
from tidalog.engine.index import Indexes
from tidalog.engine.index_kernels import CAUGHT_UP, GONE, IS_RECORD, LENGTH, RECORD, START, VALUE, index_at
from tidalog.engine.jit import entry
from tidalog.model.facts import Ids


def compact_ids(
    store: FactStore, indexes: Indexes, counts: DerivationCounts, follow: Callable[[Ids], None]
) -> None:
    """Renumbers facts 0, 1, … in the order of their ids; `follow` renumbers what else names them."""
    ranks = np.empty(len(store) + 1, np.int32)
    number_facts(store.at, ranks)
    for number in range(len(indexes)):
        renumber_index(store.at, indexes.meta[number], ranks)
    counts.renumber(store.at, ranks)
    follow(ranks)
    renumber_facts(store.at, ranks)


def compact_rows(store: FactStore) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Puts rows into the order of their facts, without gaps; every id has a fact.  Returns the old offsets of
    rows, ascending, and the new ones."""
    before = store.arrays.offset[: len(store)].copy()
    arena = store.arrays.arguments[: store.used].copy()
    copy_live_rows(store.at, arena)
    order = np.argsort(before)
    return before[order], store.arrays.offset[: len(store)][order]


# --- compiled ---------------------------------------------------------------------------------------


@entry
def number_facts(facts: Facts, ranks: Int32s) -> None:
    """How many facts have a smaller id."""
    n = 0
    for f in range(facts.state[FACTS]):
        ranks[f] = n
        if facts.status[f] & PRESENT:
            n += 1
    ranks[facts.state[FACTS]] = n


@entry
def renumber_index(facts: Facts, row: Int64s, ranks: Int32s) -> None:
    index = index_at(row)
    slots, records, pool = index.slots, index.records, index.pool
    for s in range(len(slots)):
        if slots[s] == EMPTY:
            continue
        value = slots[s] & LOW32
        if not value & IS_RECORD:
            slots[s] = make_entry(slots[s], ranks[int64(value) - 1] + 1)
            continue
        at = int64(value & VALUE) * RECORD
        start, kept = int64(records[at + START]), 0
        for k in range(start, start + records[at + LENGTH]):
            if facts.status[pool[k]] & PRESENT:
                pool[start + kept] = ranks[pool[k]]
                kept += 1
        records[at + LENGTH] = kept
        records[at + GONE] = 0
    row[CAUGHT_UP] = ranks[row[CAUGHT_UP]]


@entry
def renumber_facts(facts: Facts, ranks: Int32s) -> None:
    end = facts.state[FACTS]
    for f in range(end):
        if facts.status[f] & PRESENT:
            n = ranks[f]
            facts.offset[n] = facts.offset[f]
            facts.status[n] = facts.status[f]
            facts.arguments[int64(facts.offset[n]) - HEADER] = n
    for p in range(len(facts.extent)):
        extent = facts.extent[p]
        extent[FIRST] = ranks[min(extent[FIRST], end)]
        extent[LAST] = ranks[min(extent[LAST] + 1, end)] - 1
        extent[TABLED] = ranks[min(extent[TABLED], end)]
    facts.state[FACTS] = ranks[end]
    facts.state[DEAD] = 0


@entry
def copy_live_rows(facts: Facts, arena: Int32s) -> None:
    slots = facts.slots
    slots[:] = EMPTY
    shift = table_shift(len(slots))
    used = 0
    facts.state[ENTRIES] = 0
    for f in range(facts.state[FACTS]):
        if not facts.status[f] & PRESENT:
            facts.offset[f] = HEADER
            continue
        at = int64(facts.offset[f])
        predicate = arena[at - 1]
        extent = facts.extent[predicate]
        for c in range(-HEADER, extent[ARITY]):
            facts.arguments[used + HEADER + c] = arena[at + c]
        facts.offset[f] = used + HEADER
        used += extent[ARITY] + HEADER
        if f < extent[TABLED]:
            put_entry(slots, make_entry(fact_hash(facts, f), facts.offset[f]), shift)
            facts.state[ENTRIES] += 1
    facts.state[USED] = used
    facts.state[GARBAGE] = 0
