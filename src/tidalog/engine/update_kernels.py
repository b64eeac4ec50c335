"""What an update does to the store; what it changes is in the undo log."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine import undo_log as changes
from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Int64Table
from tidalog.engine.bits import DELETED, DELETED_NEXT, EXPLICIT, KEPT, NEW, PRESENT, RECORDED
from tidalog.engine.block_executor import ensure_tabled
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.index_kernels import CAUGHT_UP, catch_up
from tidalog.engine.jit import entry
from tidalog.engine.probe import find_rows
from tidalog.engine.undo_log import Log

READY: Final = 1 << 40  # no index has this number


@entry
def make_explicit(
    facts: Facts, log: Log, predicate: int, rows: Int32Table, absent: Int64s
) -> tuple[int, int]:
    """Facts among rows that an update inserts are explicit, and its deletions leave them alone.  `absent`
    gets the numbers of the rows that are not facts yet; how many, and how many were explicit before."""
    count = rows.shape[1]
    ids = np.empty(count, np.int32)
    find_rows(facts, predicate, rows, count, ids)
    new, explicit = 0, 0
    for i in range(count):
        if ids[i] < 0:
            absent[new] = i
            new += 1
        elif not facts.status[ids[i]] & KEPT:
            if facts.status[ids[i]] & EXPLICIT:
                explicit += 1
            changes.set_bits(facts, log, ids[i], EXPLICIT | KEPT)
    return new, explicit


@entry
def make_implicit(facts: Facts, log: Log, predicate: int, rows: Int32Table, out: Int32s) -> int:
    """Facts among rows that an update deletes are explicit no longer; those that were, in the order of the
    update, and how many."""
    count, found = rows.shape[1], 0
    find_rows(facts, predicate, rows, count, out)
    for i in range(count):
        fact = out[i]
        if fact >= 0 and (facts.status[fact] & (EXPLICIT | KEPT)) == EXPLICIT:
            changes.clear_bits(facts, log, fact, EXPLICIT)
            out[found] = fact
            found += 1
    return found


@entry
def put_rows(facts: Facts, log: Log, predicate: int, rows: Int32Table, status: int) -> int:
    """Adds rows; how many are new or came back."""
    count = rows.shape[1]
    created, ids = np.empty(count, np.int32), np.empty(count, np.int32)
    hashes = np.empty(count, np.uint64)
    changes.insert_changes(facts, log, predicate, rows, count, hashes, status, ids, created)
    new = 0
    for i in range(count):
        new += created[i]
    return new


@entry
def set_bits_of(facts: Facts, log: Log, ids: Int32s, bits: int) -> None:
    """Adds facts to sets.  What changes is in the log, so that it can be undone."""
    for i in range(len(ids)):
        changes.set_bits(facts, log, ids[i], np.uint16(bits))


@entry
def clear_bits_of(facts: Facts, log: Log, ids: Int32s, bits: int) -> None:
    """Removes facts from sets that they may be in."""
    for i in range(len(ids)):
        if facts.status[ids[i]] & np.uint16(bits):
            changes.clear_bits(facts, log, ids[i], np.uint16(bits))


@entry
def clear_bits_of_touched(facts: Facts, log: Log, bits: int) -> None:
    """The same for every fact in the log."""
    status, mask = facts.status, ~np.uint16(bits)
    for i in range(log.counts[changes.TOUCHES]):
        status[log.touched[i]] &= mask


@entry
def flag_deleted_next(
    facts: Facts,
    log: Log,
    predicate: int,
    rows: Int32Table,
    deleted: bool,
    bits_of_new: int,
    out: Int32s,
    found: int,
) -> tuple[int, int]:
    """Sets DELETED_NEXT on the explicit facts among rows of a coming update that `deleted` them, with
    `bits_of_new` on those that are NEW; clears it on those among rows that it inserts.  Appends the former to
    the `found` ids in `out`; how many ids it holds now, and how many of the added ones are NEW."""
    count, new = rows.shape[1], 0
    ids = np.empty(count, np.int32)
    find_rows(facts, predicate, rows, count, ids)
    for i in range(count):
        if ids[i] < 0:
            continue
        status = facts.status[ids[i]]
        if not deleted:
            if status & DELETED_NEXT:
                changes.clear_bits(facts, log, ids[i], DELETED_NEXT)
        elif (status & (EXPLICIT | DELETED | DELETED_NEXT)) == EXPLICIT:
            out[found] = ids[i]
            found += 1
            changes.set_bits(facts, log, ids[i], DELETED_NEXT)
            if status & NEW:
                changes.set_bits(facts, log, ids[i], np.uint16(bits_of_new))
                new += 1
    return found, new


@entry
def count_deleted_next(facts: Facts, log: Log, ids: Int32s, count: int) -> int:
    """How many of some facts are still DELETED_NEXT; none is so afterwards."""
    found = 0
    for i in range(count):
        if facts.status[ids[i]] & DELETED_NEXT:
            found += 1
            changes.clear_bits(facts, log, ids[i], DELETED_NEXT)
    return found


@entry
def count_recorded(facts: Facts, begin: int) -> int:
    """Implicit facts with ids from `begin` on that are on record."""
    status, found = facts.status, 0
    for fact in range(begin, facts.state[FACTS]):
        found += (status[fact] & (RECORDED | PRESENT | DELETED | EXPLICIT)) == (RECORDED | PRESENT)
    return found


@entry
def catch_up_with(facts: Facts, meta: Int64Table, wanted: Int64s) -> int:
    """Brings indexes up to the last fact, and predicates into the table.  `wanted` has the number of indexes,
    these, then the predicates.  READY; or the index that must grow, or -1 - the predicate that does."""
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
