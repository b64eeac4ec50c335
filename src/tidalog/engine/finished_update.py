"""The end of an update: which facts have changed and how, and how deleted ones are removed from the store.

The undo log says what happened to older facts; facts with ids from the beginning of the update on are new.
"""

from __future__ import annotations

from typing import Final

from tidalog.engine.array_types import Int8s, Int32s, Int64s, Int64Table, int64
from tidalog.engine.bits import DELETED, EXPLICIT, LASTING, NEW, PRESENT
from tidalog.engine.fact_kernels import (
    ARITY,
    CACHED,
    DEAD,
    FACTS,
    FAR_AHEAD,
    GARBAGE,
    HEADER,
    Facts,
    fact_hash,
    forget_row,
)
from tidalog.engine.hash_table import table_shift
from tidalog.engine.index_kernels import remove_facts
from tidalog.engine.jit import entry, inlined, prefetch
from tidalog.engine.undo_log import MOVES, TOUCHES, Log

# Kinds of changes.
INSERTED_IMPLICIT: Final = 0
INSERTED_EXPLICIT: Final = 1
DELETED_IMPLICIT: Final = 2
DELETED_EXPLICIT: Final = 3
NOW_IMPLICIT: Final = 4
NOW_EXPLICIT: Final = 5


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def predicate_of(facts: Facts, fact: int) -> int:
    return int64(facts.arguments[int64(facts.offset[fact]) - 1])


@entry
def predicates_of(facts: Facts, ids: Int32s, out: Int32s) -> None:
    for i in range(len(ids)):
        out[i] = predicate_of(facts, ids[i])


@entry
def list_changes(
    facts: Facts,
    log: Log,
    begin: int,
    ids: Int32s,
    kinds: Int8s,
    predicates: Int32s,
    starts: Int64s,
) -> tuple[int, int]:
    """The facts that an update has changed and how, see INSERTED …; their predicates, and where each row
    starts if they are written one after the other.  How many, and the end of the rows."""
    count = 0
    for i in range(log.counts[TOUCHES]):
        fact = log.touched[i]
        explicit = log.before[i] & EXPLICIT
        if facts.status[fact] & DELETED:
            ids[count] = fact
            kinds[count] = DELETED_EXPLICIT if explicit else DELETED_IMPLICIT
            count += 1
            continue
        fact = facts.arguments[int64(facts.offset[fact]) - HEADER]
        status = facts.status[fact]
        if status & PRESENT and not status & DELETED:
            if explicit and not status & EXPLICIT:
                ids[count] = fact
                kinds[count] = NOW_IMPLICIT
                count += 1
            elif status & EXPLICIT and not explicit:
                ids[count] = fact
                kinds[count] = NOW_EXPLICIT
                count += 1
    for fact in range(begin, facts.state[FACTS]):
        if facts.status[fact] & NEW:
            ids[count] = fact
            kinds[count] = INSERTED_EXPLICIT if facts.status[fact] & EXPLICIT else INSERTED_IMPLICIT
            count += 1
    end = 0
    for i in range(count):
        predicates[i] = predicate_of(facts, ids[i])
        starts[i] = end
        end += facts.extent[predicates[i], ARITY]
    return count, end


@entry
def finish(
    facts: Facts, log: Log, begin: int, ids: Int32s, kinds: Int8s, starts: Int64s, rows: Int32s, dead: Int32s
) -> int:
    """Copies the rows of changed facts, removes deleted ones from the table and clears every set.  The caller
    updates the indexes, which still find the rows.  `dead` gets the unused ids, those of deleted facts first;
    returns how many these are."""
    is_far, shift = len(facts.slots) > CACHED, table_shift(len(facts.slots))
    count = 0
    for i in range(len(ids)):
        if is_far:
            prefetch(facts.slots, fact_hash(facts, ids[min(i + FAR_AHEAD, len(ids) - 1)]) >> shift)
        fact = ids[i]
        at = int64(facts.offset[fact])
        arity = facts.extent[facts.arguments[at - 1], ARITY]
        for c in range(arity):
            rows[starts[i] + c] = facts.arguments[at + c]
        if (kinds[i] | 1) == DELETED_EXPLICIT:
            forget_row(facts, fact)
            facts.status[fact] = 0
            facts.state[DEAD] += 1
            facts.state[GARBAGE] += arity + HEADER
            dead[count] = fact
            count += 1
    for i in range(log.counts[MOVES]):
        dead[count + i] = log.moved_from[i]
    for i in range(log.counts[TOUCHES]):
        facts.status[log.touched[i]] &= LASTING
    for fact in range(begin, facts.state[FACTS]):
        facts.status[fact] &= LASTING
    log.counts[:] = 0
    return count


@entry
def remove_from_indexes(
    facts: Facts, meta: Int64Table, indexes: Int64s, begins: Int64s, ends: Int64s, ids: Int32s
) -> None:
    """Removes dead facts from some indexes: of each those that lie between its begin and its end in `ids`."""
    for i in range(len(indexes)):
        remove_facts(facts, meta[indexes[i]], ids[begins[i] : ends[i]])
