"""Deletion by counts, for a component that reads only lower ones.

`lose_instances` meets every instance that a deletion takes away once, when the first of its deleted facts has
its turn: facts that have had it (SPREAD) match nothing, and the atoms before the pivot do not match the pivot
itself.  A head whose derivations are counted has one less.  Then new instances are inserted and counted
(`engine.counts`).  Last, `judge` deletes the affected facts that have no derivation left; one whose
derivations are not counted is looked at for them, in the new state, and has its count from then on.  If there
are more than MOST_COUNTED the look ends there and nothing is known, for one derivation is enough to stay.

A head that is on record (see `engine.book`) is affected, but not how often: what was known about it is
forgotten.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT, RECORDED, SPREAD, WAITING
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_counts import NO_DERIVATION, UNKNOWN, count_of, put_count
from tidalog.engine.derivation_log import END, chain_of, head_of_link, next_link
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.jit import borrowed, inlined
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import (
    FOUND,
    NO_ROOM,
    borrowed_facts,
    borrowed_plans,
    derives,
    head_of,
    next_instance,
    start_search,
    view_of,
)
from tidalog.engine.undo_log import Log, clear_bits, set_bits
from tidalog.maintain.kernels.affected import predicate_of
from tidalog.maintain.kernels.jit import compiled
from tidalog.maintain.kernels.search import (
    BACKWARD,
    CHECKS,
    COUNTERS,
    DELETIONS,
    DERIVATIONS,
    FROM_RECORD,
    Ints,
    Search,
    borrowed_log,
    borrowed_search,
)

MOST_COUNTED: Final = 64

# control[…]
NEXT: Final = 0  # the next seed, or the next affected fact
PLAN: Final = 1  # the plan at work
SEARCHING: Final = 2
AFFECTED: Final = 3  # affected facts
GONE: Final = 4  # deleted facts
HERE: Final = 5  # derivations found of the fact at work
BUDGET: Final = 6
CURRENT: Final = 7  # number of the plan last started
CONTROL: Final = 8


class Counting(NamedTuple):
    """`seeds` are deleted facts of lower components."""

    seeds: Ints
    affected: Ints
    gone: Ints
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    row: npt.NDArray[np.int64]  # of `engine.counts`
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


def new_counting(
    seeds: Ints, affected: Ints, gone: Ints, own: npt.NDArray[np.uint8], row: npt.NDArray[np.int64]
) -> Counting:
    """`affected` and `gone` have room for every fact of the component."""
    return Counting(
        seeds, affected, gone, own, row, np.zeros(CONTROL, np.int64), np.zeros(COUNTERS, np.int64)
    )


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def borrowed_counting(work: Counting) -> Counting:
    return Counting(
        borrowed(work.seeds),
        borrowed(work.affected),
        borrowed(work.gone),
        borrowed(work.own),
        borrowed(work.row),
        borrowed(work.control),
        borrowed(work.counters),
    )


@compiled
def affect(facts: Facts, log: Log, work: Counting, fact: int) -> bool:
    """Makes a fact of the old state affected; False if it is already."""
    if (facts.status[fact] & (PRESENT | NEW | WAITING)) != PRESENT:
        return False
    set_bits(facts, log, fact, WAITING)
    work.affected[work.control[AFFECTED]] = fact
    work.control[AFFECTED] += 1
    return True


@compiled
def affect_all(facts: Facts, log: Log, work: Counting, ids: np.ndarray) -> None:
    for i in range(len(ids)):
        affect(facts, log, work, ids[i])


@compiled
def lose(facts: Facts, log: Log, work: Counting, head: int) -> None:
    """One derivation less."""
    number = count_of(work.row, head)
    if number != UNKNOWN:
        put_count(work.row, head, number - 1)
    if affect(facts, log, work, head):
        work.counters[DELETIONS] += 1
        if number == UNKNOWN:
            work.control[BUDGET] -= 1  # for the look at its derivations that will come


@compiled
def lose_recorded(facts: Facts, log: Log, work: Counting, fact: int) -> None:
    """What a deleted fact affects, if all its instances are on record."""
    link = chain_of(log.book, fact)
    while link != END:
        at = head_of_link(log.book, link)
        if at >= 0 and work.own[facts.arguments[at - 1]] != 0:
            head = np.int64(facts.arguments[at - HEADER])
            if count_of(work.row, head) != UNKNOWN:
                put_count(work.row, head, UNKNOWN)
            if affect(facts, log, work, head):
                work.counters[FROM_RECORD] += 1
                work.control[BUDGET] -= 1
        link = next_link(log.book, link)


@compiled
def lose_instances(
    owned_facts: Facts,
    terms: Terms,
    owned_indexes: np.ndarray,
    owned_plans: Plans,
    owned_search: Search,
    owned_log: Log,
    owned_work: Counting,
) -> int:
    """Goes on until every seed has had its turn (DONE) or something is wanted."""
    facts, log, plans = borrowed_facts(owned_facts), borrowed_log(owned_log), borrowed_plans(owned_plans)
    search, work = borrowed_search(owned_search), borrowed_counting(owned_work)
    view = view_of(facts, owned_indexes, plans)
    control = work.control
    registers, cursor = search.registers[0], search.cursors[0]
    while control[NEXT] < len(work.seeds):
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = np.int64(work.seeds[control[NEXT]])
        if control[SEARCHING] == 0:
            predicate = predicate_of(facts, fact)
            j = plans.first[predicate] + control[PLAN]
            if facts.status[fact] & RECORDED:
                lose_recorded(facts, log, work, fact)
                j = plans.first[predicate + 1]
            if j >= plans.first[predicate + 1]:
                set_bits(facts, log, fact, SPREAD)
                control[PLAN] = 0
                control[NEXT] += 1
                continue
            control[PLAN] += 1
            control[CURRENT] = plans.order[j]
            if not start_search(view, plans.starts[plans.order[j]], fact, registers, cursor):
                continue
            control[SEARCHING] = 1
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return GROW_TERMS
        if found != FOUND:
            control[SEARCHING] = 0
            continue
        work.counters[DERIVATIONS] += 1
        lose(facts, log, work, head_of(view, registers, cursor))
    return DONE


@compiled
def count_derivations(
    facts: Facts, terms: Terms, view: np.ndarray, plans: Plans, search: Search, work: Counting, fact: int
) -> int:
    """FOUND: control[HERE] derivations of a fact are all there are, or more than MOST_COUNTED; else what is
    wanted."""
    control, counters = work.control, work.counters
    registers, cursor = search.registers[0], search.cursors[0]
    predicate = predicate_of(facts, fact)
    while True:
        if control[SEARCHING] == 0:
            j = plans.first[predicate] + control[PLAN]
            if j >= plans.first[predicate + 1] or control[HERE] > MOST_COUNTED:
                control[PLAN] = 0
                return FOUND
            control[PLAN] += 1
            control[CURRENT] = plans.order[j]
            if not start_search(view, plans.starts[plans.order[j]], fact, registers, cursor):
                continue
            control[SEARCHING] = 1
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return NO_ROOM
        if found != FOUND or control[HERE] > MOST_COUNTED:
            control[SEARCHING] = 0
            continue
        counters[BACKWARD] += 1
        counters[DERIVATIONS] += 1
        if derives(view, registers, cursor, fact):
            control[HERE] += 1


@compiled
def judge(
    owned_facts: Facts,
    terms: Terms,
    owned_indexes: np.ndarray,
    owned_plans: Plans,
    owned_search: Search,
    owned_log: Log,
    owned_work: Counting,
) -> int:
    """Goes on until every affected fact is known to stay or is deleted (DONE) or something is wanted."""
    facts, log, plans = borrowed_facts(owned_facts), borrowed_log(owned_log), borrowed_plans(owned_plans)
    search, work = borrowed_search(owned_search), borrowed_counting(owned_work)
    view = view_of(facts, owned_indexes, plans)
    control = work.control
    while control[NEXT] < control[AFFECTED]:
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = np.int64(work.affected[control[NEXT]])
        number = count_of(work.row, fact)
        if number == UNKNOWN and not facts.status[fact] & EXPLICIT:
            if control[SEARCHING] == 0 and control[PLAN] == 0:
                work.counters[CHECKS] += 1
            if count_derivations(facts, terms, view, plans, search, work, fact) == NO_ROOM:
                return GROW_TERMS
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
