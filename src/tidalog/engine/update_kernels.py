"""What an update does to the store (`undo_log`), by the block of an engine (`addresses`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine import undo_log as changes
from tidalog.engine.addresses import facts_at, indexes_at, log_at
from tidalog.engine.array_types import Int32s, Int32Table, Int64s
from tidalog.engine.bits import DELETED, DELETED_NEXT, EXPLICIT, NEW, PRESENT, RECORDED
from tidalog.engine.block_executor import ensure_tabled
from tidalog.engine.fact_kernels import FACTS
from tidalog.engine.index_kernels import CAUGHT_UP, catch_up
from tidalog.engine.jit import entry
from tidalog.engine.probe import find_rows

READY: Final = 1 << 40  # no index has this number


@entry
def make_explicit(shared: Int64s, predicate: int, rows: Int32Table, absent: Int64s) -> tuple[int, int]:
    return changes.make_explicit(facts_at(shared), log_at(shared), predicate, rows, rows.shape[1], absent)


@entry
def make_implicit(shared: Int64s, predicate: int, rows: Int32Table, out: Int32s) -> int:
    return changes.make_implicit(facts_at(shared), log_at(shared), predicate, rows, rows.shape[1], out)


@entry
def put_rows(shared: Int64s, predicate: int, rows: Int32Table, status: int) -> int:
    """Adds rows; how many are new or came back."""
    count = rows.shape[1]
    created, ids = np.empty(count, np.int32), np.empty(count, np.int32)
    hashes = np.empty(count, np.uint64)
    changes.insert_changes(
        facts_at(shared), log_at(shared), predicate, rows, count, hashes, status, ids, created
    )
    new = 0
    for i in range(count):
        new += created[i]
    return new


@entry
def set_bits_of(shared: Int64s, ids: Int32s, bits: int) -> None:
    """Adds facts to sets.  What changes is in the log, so that it can be undone."""
    facts, log = facts_at(shared), log_at(shared)
    for i in range(len(ids)):
        changes.set_bits(facts, log, ids[i], np.uint16(bits))


@entry
def clear_bits_of(shared: Int64s, ids: Int32s, bits: int) -> None:
    """Removes facts from sets that they may be in."""
    facts, log = facts_at(shared), log_at(shared)
    for i in range(len(ids)):
        if facts.status[ids[i]] & np.uint16(bits):
            changes.clear_bits(facts, log, ids[i], np.uint16(bits))


@entry
def clear_bits_of_touched(shared: Int64s, bits: int) -> None:
    """The same for every fact in the log."""
    status, log, mask = facts_at(shared).status, log_at(shared), ~np.uint16(bits)
    for i in range(log.counts[changes.TOUCHES]):
        status[log.touched[i]] &= mask


@entry
def record_rows(
    shared: Int64s, predicate: int, rows: Int32Table, deleted: bool, out: Int32s, found: int
) -> tuple[int, int]:
    """Sets DELETED_NEXT (until `count_deleted_next`) on the explicit facts among rows of a coming update that
    `deleted` them, and RECORDED on those that are NEW; clears DELETED_NEXT on those among rows that it
    inserts. Appends the former to the `found` ids in `out`; how many ids it holds now, and how many are
    RECORDED."""
    facts, log = facts_at(shared), log_at(shared)
    status, count = facts.status, rows.shape[1]
    ids = np.empty(count, np.int32)
    find_rows(facts, predicate, rows, count, ids)
    recorded = 0
    for i in range(count):
        if ids[i] < 0:
            continue
        bits = status[ids[i]]
        if not deleted:
            if bits & DELETED_NEXT:
                changes.clear_bits(facts, log, ids[i], DELETED_NEXT)
        elif (bits & (EXPLICIT | DELETED | DELETED_NEXT)) == EXPLICIT:
            out[found] = ids[i]
            found += 1
            changes.set_bits(facts, log, ids[i], DELETED_NEXT)
            if bits & NEW:
                changes.set_bits(facts, log, ids[i], RECORDED)
                recorded += 1
    return found, recorded


@entry
def count_deleted_next(shared: Int64s, ids: Int32s, count: int) -> int:
    """How many of some facts are still DELETED_NEXT; none is so afterwards."""
    facts, log = facts_at(shared), log_at(shared)
    found = 0
    for i in range(count):
        if facts.status[ids[i]] & DELETED_NEXT:
            found += 1
            changes.clear_bits(facts, log, ids[i], DELETED_NEXT)
    return found


@entry
def count_recorded(shared: Int64s, begin: int) -> int:
    """Implicit facts with ids from `begin` on that are on record."""
    facts = facts_at(shared)
    status, found = facts.status, 0
    for fact in range(begin, facts.state[FACTS]):
        found += (status[fact] & (RECORDED | PRESENT | DELETED | EXPLICIT)) == (RECORDED | PRESENT)
    return found


@entry
def catch_up_with(shared: Int64s, wanted: Int64s) -> int:
    """Brings indexes up to the last fact, and predicates into the table.  `wanted` has the number of indexes,
    these, then the predicates.  READY; or the index that must grow, or -1 - the predicate that does."""
    facts, meta = facts_at(shared), indexes_at(shared)
    indexes = wanted[0]
    for i in range(1, len(wanted)):
        number: int = wanted[i]
        if i <= indexes:
            row = meta[number]
            if row[CAUGHT_UP] < facts.state[FACTS] and not catch_up(facts, row):
                return number
        elif not ensure_tabled(facts, number, 0):
            return -1 - number
    return READY
