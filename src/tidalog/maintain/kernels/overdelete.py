"""Overdeletion (DR2 of paper 003): whatever an instance with a deleted fact derives is deleted.

D is a list: deleted facts of lower components first, then those of this one as they are found; each has its
turn once, see `retraction`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import PLANS, block_of, facts_at, indexes_at, log_at, plans_at, terms_at
from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT, RECORDED, SPREAD, WAITING
from tidalog.engine.derivation_log import (
    END,
    chain_of,
    forget_count,
    next_link,
    none_is_left,
    remove_instance,
)
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import entry, inlined, int32_at, int64_at, uint8_at
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import FOUND, FULL, IDLE, STATE, head_of, next_match, search_at
from tidalog.engine.tuple_view import fill_view
from tidalog.engine.undo_log import Log, set_bits
from tidalog.maintain.kernels.counters import (
    DELETIONS,
    DERIVATIONS,
    FROM_RECORD,
    INSTANCES_PER_UNIT,
    SPARED,
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


class Overdeletion(NamedTuple):
    deleted: Ints  # D
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


class OverdeletionWork:
    """One overdeletion with its addresses."""

    def __init__(self, seeds: Ints, queue: Ints, own: npt.NDArray[np.uint8]) -> None:
        """`queue` has capacity for the seeds and for every fact of the component."""
        queue[: len(seeds)] = seeds
        control = np.zeros(RETRACTION, np.int64)
        control[QUEUED] = len(seeds)
        self.work = Overdeletion(queue, own, control, new_counters())
        self.at = block_of(self.work)


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> Overdeletion:
    return Overdeletion(
        int32_at(block[0], block[1]),
        uint8_at(block[4], block[5]),
        int64_at(block[8], block[9]),
        int64_at(block[12], block[13]),
    )


@entry
def overdelete(shared: Int64s, searches: Int64s, of_work: Int64s) -> int:
    """Runs until every fact of D has had its turn (DONE), a block is to be scanned or something is wanted."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    search, work = search_at(searches[2 * PLANS :]), work_at(of_work)
    view = search.views[0]
    fill_view(view, facts, indexes_at(shared), plans_at(searches))
    control, counters = work.control, work.counters
    end_block(facts, work.deleted, control)
    billed = counters[DERIVATIONS]
    while control[NEXT] < control[QUEUED]:
        if control[QUEUED] - control[NEXT] >= LEAST_BLOCK and search.cursors[0, STATE] == IDLE:
            begin_block(facts, log, work)
            return SCAN
        control[BUDGET] -= 1 + ((counters[DERIVATIONS] - billed) >> INSTANCES_PER_UNIT)
        billed = counters[DERIVATIONS]
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(work.deleted[control[NEXT]])
        if facts.status[fact] & RECORDED:
            spread_recorded(facts, log, work, fact)
        else:
            while True:
                found = next_match(terms, view, search, 0, fact)
                if found != FOUND:
                    break
                counters[DERIVATIONS] += 1
                head = head_of(view, search, 0)
                forget_count(log.derivation_log, head)
                if head >= 0 and is_left(facts, head):
                    counters[DELETIONS] += 1
                    delete(facts, log, work, head)
            if found == FULL:
                return GROW_TERMS
        set_bits(facts, log, fact, SPREAD)
        control[NEXT] += 1
    return DONE


@inlined
def begin_block(facts: Facts, log: Log, work: Overdeletion) -> None:
    """N gets the next facts of D; those in the derivation log have their turn at once."""
    control = work.control
    control[BLOCK_END] = min(control[QUEUED], control[NEXT] + MOST_BLOCK)
    for i in range(control[NEXT], control[BLOCK_END]):
        fact = int64(work.deleted[i])
        if facts.status[fact] & RECORDED:
            spread_recorded(facts, log, work, fact)
            set_bits(facts, log, fact, SPREAD)
        else:
            set_bits(facts, log, fact, WAITING)


@inlined
def spread_recorded(facts: Facts, log: Log, work: Overdeletion, fact: int) -> None:
    """Deletes the heads of the instances that the derivation log has of a fact."""
    derivation_log = log.derivation_log
    link = chain_of(derivation_log, fact)
    while link != END:
        head = recorded_head(facts, derivation_log, work.own, link)
        if head >= 0:
            remove_instance(derivation_log, link, head)
            work.counters[FROM_RECORD] += 1
            if is_left(facts, head):
                if (facts.status[head] & (RECORDED | EXPLICIT)) == RECORDED and none_is_left(
                    derivation_log, head
                ):
                    work.counters[SPARED] += 1
                delete(facts, log, work, head)
        link = next_link(derivation_log, link)


@inlined
def is_left(facts: Facts, fact: int) -> bool:
    """A fact of the old state that is not in D."""
    return bool((facts.status[fact] & (PRESENT | NEW | DELETED)) == PRESENT)


@inlined
def delete(facts: Facts, log: Log, work: Overdeletion, fact: int) -> None:
    """D gets a fact of the component."""
    set_bits(facts, log, fact, DELETED)
    work.deleted[work.control[QUEUED]] = fact
    work.control[QUEUED] += 1


@entry
def delete_all(shared: Int64s, of_work: Int64s, ids: Int32s) -> None:
    """D gets facts of the component."""
    facts, log, work = facts_at(shared), log_at(shared), work_at(of_work)
    for i in range(len(ids)):
        if not facts.status[ids[i]] & DELETED:
            delete(facts, log, work, ids[i])
