"""Deletion by derivation counts, for a component that reads only lower ones (strategy `counting`).

`retract_instances` visits every instance with a deleted fact once (see `retraction`); a head whose
derivations are counted has one less.  Then insertion counts the new instances (`engine.derivation_counts`).
Last, `delete_underived` deletes the affected facts without a derivation.  A fact whose derivations are not
counted is searched for them, in the new state, and counted from then on; if it has more than MOST_COUNTED the
search ends and its count stays UNKNOWN, for one derivation is enough to stay.

The derivation log says which heads lose instances, not how many: their counts become UNKNOWN.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import PLANS, block_of, facts_at, indexes_at, log_at, plans_at, terms_at
from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT, RECORDED, SPREAD, WAITING
from tidalog.engine.derivation_counts import NO_DERIVATION, UNKNOWN, count_of, put_count, uncount
from tidalog.engine.derivation_log import END, chain_of, next_link
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import entry, inlined, int32_at, int64_at, uint8_at
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import (
    FOUND,
    FULL,
    IDLE,
    STATE,
    Search,
    derives,
    head_of,
    next_match,
    search_at,
    stop_matching,
)
from tidalog.engine.tuple_view import fill_view
from tidalog.engine.undo_log import Log, clear_bits, set_bits
from tidalog.maintain.kernels.counters import (
    BACKWARD,
    CHECKS,
    DELETIONS,
    DERIVATIONS,
    FROM_RECORD,
    Ints,
    new_counters,
    recorded_head,
)
from tidalog.maintain.kernels.retraction import (
    BLOCK_END,
    BUDGET,
    LEAST_BLOCK,
    MOST_BLOCK,
    NEXT,
    QUEUED,
    RETRACTION,
    SCAN,
    end_block,
)

MOST_COUNTED: Final = 64

# control[…], beside those of `retraction`: NEXT is the next seed, later the next affected fact
GONE: Final = RETRACTION  # deleted facts
HERE: Final = RETRACTION + 1  # derivations found of the fact under check
CONTROL: Final = RETRACTION + 2


class Counting(NamedTuple):
    seeds: Ints  # deleted facts of lower components
    affected: Ints
    gone: Ints
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    row: npt.NDArray[np.int64]  # of `engine.derivation_counts`
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


class CountingWork:
    """One deletion with its addresses."""

    def __init__(
        self,
        seeds: Ints,
        affected: Ints,
        gone: Ints,
        own: npt.NDArray[np.uint8],
        row: npt.NDArray[np.int64],
    ) -> None:
        """`affected` and `gone` have capacity for every fact of the component."""
        self.work = Counting(seeds, affected, gone, own, row, np.zeros(CONTROL, np.int64), new_counters())
        self.at = block_of(self.work)


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> Counting:
    return Counting(
        int32_at(block[0], block[1]),
        int32_at(block[4], block[5]),
        int32_at(block[8], block[9]),
        uint8_at(block[12], block[13]),
        int64_at(block[16], block[17]),
        int64_at(block[20], block[21]),
        int64_at(block[24], block[25]),
    )


@entry
def retract_instances(shared: Int64s, searches: Int64s, of_work: Int64s) -> int:
    """Runs until every seed has had its turn (DONE), a block is to be scanned or something is wanted."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    search, work = search_at(searches[2 * PLANS :]), work_at(of_work)
    view = search.views[0]
    fill_view(view, facts, indexes_at(shared), plans_at(searches))
    control = work.control
    end_block(facts, work.seeds, control)
    while control[NEXT] < len(work.seeds):
        if len(work.seeds) - control[NEXT] >= LEAST_BLOCK and search.cursors[0, STATE] == IDLE:
            begin_block(facts, log, work)
            return SCAN
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(work.seeds[control[NEXT]])
        if facts.status[fact] & RECORDED:
            retract_recorded(facts, log, work, fact)
        else:
            found = next_match(terms, view, search, 0, fact)
            if found == FULL:
                return GROW_TERMS
            if found == FOUND:
                work.counters[DERIVATIONS] += 1
                retract(facts, log, work, head_of(view, search, 0))
                continue
        set_bits(facts, log, fact, SPREAD)
        control[NEXT] += 1
    return DONE


@inlined
def begin_block(facts: Facts, log: Log, work: Counting) -> None:
    """N gets the next seeds; those in the derivation log have their turn at once."""
    control = work.control
    control[BLOCK_END] = min(len(work.seeds), control[NEXT] + MOST_BLOCK)
    for i in range(control[NEXT], control[BLOCK_END]):
        fact = int64(work.seeds[i])
        if facts.status[fact] & RECORDED:
            retract_recorded(facts, log, work, fact)
            set_bits(facts, log, fact, SPREAD)
        else:
            set_bits(facts, log, fact, WAITING)


@inlined
def retract(facts: Facts, log: Log, work: Counting, head: int) -> None:
    """A fact has one derivation less."""
    uncount(work.row, head)
    if affect(facts, log, work, head):
        work.counters[DELETIONS] += 1


@inlined
def retract_recorded(facts: Facts, log: Log, work: Counting, fact: int) -> None:
    """Affects the heads of the instances that the derivation log has of a deleted fact."""
    link = chain_of(log.derivation_log, fact)
    while link != END:
        head = recorded_head(facts, log.derivation_log, work.own, link)
        if head >= 0:
            if count_of(work.row, head) != UNKNOWN:
                put_count(work.row, head, UNKNOWN)
            if affect(facts, log, work, head):
                work.counters[FROM_RECORD] += 1
        link = next_link(log.derivation_log, link)


@inlined
def affect(facts: Facts, log: Log, work: Counting, fact: int) -> bool:
    """Makes a fact of the old state affected; False if it is already."""
    new = bool((facts.status[fact] & (PRESENT | NEW | WAITING)) == PRESENT)
    if new:
        set_bits(facts, log, fact, WAITING)
        work.affected[work.control[QUEUED]] = fact
        work.control[QUEUED] += 1
    return new


@entry
def affect_all(shared: Int64s, of_work: Int64s, ids: Int32s) -> None:
    facts, log, work = facts_at(shared), log_at(shared), work_at(of_work)
    for i in range(len(ids)):
        affect(facts, log, work, ids[i])


@entry
def delete_underived(shared: Int64s, searches: Int64s, of_work: Int64s) -> int:
    """Runs until every affected fact is deleted or known to stay (DONE) or something is wanted."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    search, work = search_at(searches[PLANS:]), work_at(of_work)
    view = search.views[0]
    fill_view(view, facts, indexes_at(shared), plans_at(searches))
    control = work.control
    while control[NEXT] < control[QUEUED]:
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(work.affected[control[NEXT]])
        number = count_of(work.row, fact)
        if number == UNKNOWN and not facts.status[fact] & EXPLICIT:
            if count_derivations(terms, view, search, work, fact) == FULL:
                return GROW_TERMS
            work.counters[CHECKS] += 1
            if control[HERE] <= MOST_COUNTED:
                number = NO_DERIVATION + control[HERE]
                put_count(work.row, fact, number)
            control[HERE] = 0
        if number == NO_DERIVATION and not facts.status[fact] & EXPLICIT:
            set_bits(facts, log, fact, DELETED)
            put_count(work.row, fact, UNKNOWN)
            work.gone[control[GONE]] = fact
            control[GONE] += 1
        clear_bits(facts, log, fact, WAITING)
        control[NEXT] += 1
    return DONE


@inlined
def count_derivations(terms: Terms, view: np.ndarray, search: Search, work: Counting, fact: int) -> int:
    """Counts the derivations of a fact in control[HERE], all or more than MOST_COUNTED.  FULL if it has to go
    on later."""
    control, counters = work.control, work.counters
    while True:
        found = next_match(terms, view, search, 0, fact)
        if found != FOUND:
            break
        counters[BACKWARD] += 1
        counters[DERIVATIONS] += 1
        if derives(view, search, 0, fact):
            control[HERE] += 1
            if control[HERE] > MOST_COUNTED:
                stop_matching(search, 0)
                break
    return found
