"""The steps of an update on the store (`changes`), by the block of an engine (`addresses`)."""

from __future__ import annotations

import numpy as np

from tidalog.engine import undo_log as changes
from tidalog.engine.addresses import facts_at, indexes_at, log_at
from tidalog.engine.bits import DELETED, DOOMED, EXPLICIT, NEW, PRESENT, RECORDED
from tidalog.engine.fact_kernels import FACTS
from tidalog.engine.index import CAUGHT_UP, catch_up, take_out
from tidalog.engine.jit import compiled


@compiled
def ask_to_insert(
    shared: np.ndarray, predicate: int, rows: np.ndarray, absent: np.ndarray
) -> tuple[int, int]:
    return changes.ask_to_insert(facts_at(shared), log_at(shared), predicate, rows, rows.shape[1], absent)


@compiled
def ask_to_delete(shared: np.ndarray, predicate: int, rows: np.ndarray, out: np.ndarray) -> int:
    return changes.ask_to_delete(facts_at(shared), log_at(shared), predicate, rows, rows.shape[1], out)


@compiled
def put_rows(shared: np.ndarray, predicate: int, rows: np.ndarray, status: int) -> int:
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


@compiled
def set_bits_of(shared: np.ndarray, ids: np.ndarray, bits: int) -> None:
    changes.set_bits_of(facts_at(shared), log_at(shared), ids, bits)


@compiled
def clear_bits_of(shared: np.ndarray, ids: np.ndarray, bits: int) -> None:
    """Takes facts out of sets that they may be in.  What changes is in the log, so that it can be undone."""
    facts, log = facts_at(shared), log_at(shared)
    for i in range(len(ids)):
        if facts.status[ids[i]] & np.uint16(bits):
            changes.clear_bits(facts, log, ids[i], np.uint16(bits))


@compiled
def clear_bits_of_touched(shared: np.ndarray, bits: int) -> None:
    """The same for every fact in the log."""
    status, log, mask = facts_at(shared).status, log_at(shared), ~np.uint16(bits)
    for i in range(log.counts[changes.TOUCHES]):
        status[log.touched[i]] &= mask


@compiled
def record_rows(
    shared: np.ndarray, predicate: int, rows: np.ndarray, deleted: bool, out: np.ndarray, doomed: int
) -> tuple[int, int]:
    """Explicit facts among rows that are to be deleted are DOOMED until `count_doomed`, and RECORDED if they
    are new; among rows that are to be inserted, DOOMED no more.  `out` gets the former after the `doomed`
    ones it has; how many it has now, and how many are RECORDED."""
    facts = facts_at(shared)
    status, count = facts.status, rows.shape[1]
    ids = np.empty(count, np.int32)
    changes.find_rows(facts, predicate, rows, count, ids)
    recorded = 0
    for i in range(count):
        if ids[i] < 0:
            continue
        bits = status[ids[i]]
        if not deleted:
            status[ids[i]] = bits & ~DOOMED
        elif (bits & (EXPLICIT | DELETED | DOOMED)) == EXPLICIT:
            out[doomed] = ids[i]
            doomed += 1
            bits |= DOOMED
            if bits & NEW:
                bits |= RECORDED
                recorded += 1
            status[ids[i]] = bits
    return doomed, recorded


@compiled
def count_doomed(shared: np.ndarray, ids: np.ndarray, count: int) -> int:
    """How many of some facts are still DOOMED; none is so afterwards."""
    status = facts_at(shared).status
    found = 0
    for i in range(count):
        if status[ids[i]] & DOOMED:
            found += 1
            status[ids[i]] &= ~DOOMED
    return found


@compiled
def count_recorded(shared: np.ndarray, begin: int) -> int:
    """Implicit facts with ids from `begin` on that are on record."""
    facts = facts_at(shared)
    status, found = facts.status, 0
    for fact in range(begin, facts.state[FACTS]):
        found += (status[fact] & (RECORDED | PRESENT | DELETED | EXPLICIT)) == (RECORDED | PRESENT)
    return found


@compiled
def list_changes(
    shared: np.ndarray,
    begin: int,
    ids: np.ndarray,
    kinds: np.ndarray,
    predicates: np.ndarray,
    starts: np.ndarray,
) -> tuple[int, int]:
    """The facts that an update has changed and how, their predicates, and where each row starts if they are
    written one after the other; how many, and the end of the rows."""
    facts = facts_at(shared)
    count = changes.list_changes(facts, log_at(shared), begin, ids, kinds)
    return count, changes.list_rows(facts, ids[:count], predicates, starts)


@compiled
def finish(
    shared: np.ndarray,
    begin: int,
    ids: np.ndarray,
    kinds: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    dead: np.ndarray,
    of_predicate: np.ndarray,
) -> int:
    """Copies the rows of changed facts, then takes deleted facts away: see `changes.finish`."""
    facts = facts_at(shared)
    changes.copy_rows(facts, ids, starts, rows)
    return changes.finish(facts, log_at(shared), begin, ids, kinds, dead, of_predicate)


@compiled
def take_out_of(
    shared: np.ndarray, indexes: np.ndarray, begins: np.ndarray, ends: np.ndarray, ids: np.ndarray
) -> None:
    """Takes dead facts out of some indexes: of each those that lie between its begin and its end in `ids`."""
    facts, meta = facts_at(shared), indexes_at(shared)
    for i in range(len(indexes)):
        take_out(facts, meta[indexes[i]], ids[begins[i] : ends[i]])


@compiled
def catch_up_with(shared: np.ndarray, indexes: np.ndarray) -> int:
    """Brings indexes up to the last fact; the one that wants room, or -1."""
    facts, meta = facts_at(shared), indexes_at(shared)
    for i in range(len(indexes)):
        row = meta[indexes[i]]
        if row[CAUGHT_UP] < facts.state[FACTS] and not catch_up(facts, row):
            wanting: int = indexes[i]
            return wanting
    return -1


@compiled
def predicates_of(shared: np.ndarray, ids: np.ndarray, out: np.ndarray) -> None:
    changes.predicates_of(facts_at(shared), ids, out)
