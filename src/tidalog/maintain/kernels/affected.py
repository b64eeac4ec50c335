"""Deletion by affected facts: in rank order with one-step proofs, or all of them at once.

RANKED.  Invariant of a component in this mode: every implicit fact has an instance whose body facts of its
own component all have smaller ids.  Affected facts wait in a heap by id.  When F comes out, every smaller id
is final: if F is explicit, or an instance with a present body of smaller ids derives it, F stays and nothing
spreads.  Otherwise F goes, and the heads with larger ids of the instances it takes part in are affected.

OVERDELETE (DR2).  Whatever an instance with a deleted fact derives is deleted, first come, first served.

Both look at an instance once, when the first of its facts to go spreads: facts that have spread match
nothing, and the atoms before the pivot do not match the pivot itself.  Afterwards `find_derivable` says which
of the deleted facts one step derives from what is left (DR4).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import (
    PLANS,
    block_of,
    facts_at,
    indexes_at,
    log_at,
    plans_at,
    terms_at,
)
from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT, RECORDED, SPREAD, WAITING
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_log import (
    END,
    chain_of,
    derivations_below,
    derivations_of,
    head_of_link,
    lose_count,
    next_link,
    none_is_left,
    take_off,
)
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.jit import inlined, int32_at, int64_at, uint8_at
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import (
    FOUND,
    NO_ROOM,
    derives,
    head_of,
    next_instance,
    start_search,
    view_of,
)
from tidalog.engine.undo_log import Log, clear_bits, set_bits
from tidalog.maintain.kernels.jit import compiled
from tidalog.maintain.kernels.search import (
    BACKWARD,
    CHECKS,
    COUNTERS,
    DELETIONS,
    DERIVATIONS,
    FROM_RECORD,
    INSTANCES_OF_A_STEP,
    SPARED,
    Ints,
    Search,
    search_at,
)

RANKED: Final = 0
OVERDELETE: Final = 1

# control[…]
MODE: Final = 0
PHASE: Final = 1
SEED: Final = 2  # the next seed
WAIT: Final = 3  # facts in the heap, or the next one in the queue
QUEUED: Final = 4  # facts in the queue
GONE: Final = 5  # facts in `gone`
FACT: Final = 6  # the fact at work
PLAN: Final = 7  # its plan at work
SEARCHING: Final = 8
BUDGET: Final = 9  # steps that may be taken yet
CURRENT: Final = 10  # number of the plan last started
UNSURE: Final = 11  # facts in `gone` of which it is not known that no instance at all derives them
CONTROL: Final = 12

# Phases.
SEEDS: Final = 0
POP: Final = 1
PROVE: Final = 2
FORWARD_FROM_SEED: Final = 3
FORWARD_FROM_GONE: Final = 4


class Affected(NamedTuple):
    """`seeds` are deleted facts of lower components; facts to be looked at are in `queue` from the start."""

    seeds: Ints
    queue: Ints
    gone: Ints
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


class AffectedRoom:
    """The work of one component, kept from one update to the next, with its addresses."""

    def __init__(self) -> None:
        nothing = np.empty(0, np.int32)
        control, counters = np.zeros(CONTROL, np.int64), np.zeros(COUNTERS, np.int64)
        self.work = Affected(nothing, nothing, nothing, np.empty(0, np.uint8), control, counters)
        self.at = block_of(self.work)

    def start(self, mode: int, seeds: Ints, queue: Ints, gone: Ints, own: npt.NDArray[np.uint8]) -> Affected:
        """`queue` and `gone` have room for every fact of the component."""
        before = self.work
        work = self.work = Affected(seeds, queue, gone, own, before.control, before.counters)
        if queue is not before.queue or gone is not before.gone or own is not before.own:
            self.at = block_of(work)
        else:
            self.at[0], self.at[1] = seeds.ctypes.data, len(seeds)
        work.control[:] = 0
        work.counters[:] = 0
        work.control[MODE] = mode
        return work


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def affected_at(block: np.ndarray) -> Affected:
    return Affected(
        int32_at(block[0], block[1]),
        int32_at(block[4], block[5]),
        int32_at(block[8], block[9]),
        uint8_at(block[12], block[13]),
        int64_at(block[16], block[17]),
        int64_at(block[20], block[21]),
    )


@compiled
def push(heap: np.ndarray, size: int, fact: int) -> None:
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= fact:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = fact


@compiled
def pop(heap: np.ndarray, size: int) -> int:
    """Takes the smallest of `size` facts out."""
    smallest = heap[0]
    last = heap[size - 1]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = last
    return smallest


@inlined
def add_affected(facts: Facts, log: Log, work: Affected, fact: int) -> None:
    """A fact that may have lost its proof; it is present and neither waiting nor deleted."""
    control = work.control
    if control[MODE] == RANKED:
        set_bits(facts, log, fact, WAITING)
        push(work.queue, control[WAIT], fact)
        control[WAIT] += 1
    else:
        set_bits(facts, log, fact, DELETED)
        work.queue[control[QUEUED]] = fact
        control[QUEUED] += 1


@compiled
def add_all_affected(shared: np.ndarray, of_work: np.ndarray, ids: np.ndarray) -> None:
    facts, log, work = facts_at(shared), log_at(shared), affected_at(of_work)
    for i in range(len(ids)):
        if not facts.status[ids[i]] & (WAITING | DELETED):
            add_affected(facts, log, work, ids[i])


@inlined
def predicate_of(facts: Facts, fact: int) -> int:
    return facts.arguments[np.int64(facts.offset[fact]) - 1]


@inlined
def take_off_record(facts: Facts, log: Log, work: Affected, fact: int, above: int) -> None:
    """Does what `spread` does for a fact that is RECORDED: no rule is applied, and a head that has another
    rank proof on record is not affected.  One that no instance derives any more goes at once, and so on."""
    status, arguments, book = facts.status, facts.arguments, log.book
    own, gone, control = work.own, work.gone, work.control
    ranked = control[MODE] == RANKED
    next_gone = control[GONE]
    taken = 0
    while True:
        link = chain_of(book, fact)
        while link != END:
            at = head_of_link(book, link)
            if at >= 0 and own[arguments[at - 1]] != 0:
                head = np.int64(arguments[at - HEADER])
                left = take_off(book, link, head)
                taken += 1
                bits = status[head]
                if (bits & (PRESENT | NEW | DELETED | WAITING)) == PRESENT:
                    if (bits & (RECORDED | EXPLICIT)) == RECORDED and none_is_left(book, head):
                        set_bits(facts, log, head, DELETED)
                        gone[control[GONE]] = head
                        control[GONE] += 1
                        work.counters[SPARED] += 1
                    elif head > above and not (ranked and left > 0):
                        add_affected(facts, log, work, head)
            link = next_link(book, link)
        set_bits(facts, log, fact, SPREAD)
        if next_gone == control[GONE]:
            break
        fact = np.int64(gone[next_gone])
        next_gone += 1
        if ranked:
            above = fact
    work.counters[FROM_RECORD] += taken


@inlined
def spread(
    facts: Facts,
    terms: Terms,
    view: np.ndarray,
    plans: Plans,
    search: Search,
    log: Log,
    work: Affected,
    above: int,
) -> int:
    """Makes the heads of the instances that a deleted fact takes part in affected, if their ids are larger
    than `above`.  DONE, or what is wanted."""
    control, counters = work.control, work.counters
    fact = control[FACT]
    if facts.status[fact] & RECORDED:
        take_off_record(facts, log, work, fact, above)
        return DONE
    registers, cursor = search.registers[0], search.cursors[0]
    predicate = predicate_of(facts, fact)
    while True:
        if control[SEARCHING] == 0:
            j = plans.first[predicate] + control[PLAN]
            if j >= plans.first[predicate + 1]:
                break
            control[PLAN] += 1
            control[CURRENT] = plans.order[j]
            at = plans.starts[plans.order[j]]
            if not start_search(view, at, fact, registers, cursor):
                continue
            control[SEARCHING] = 1
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return GROW_TERMS
        if found != FOUND:
            control[SEARCHING] = 0
            continue
        counters[DERIVATIONS] += 1
        head = head_of(view, registers, cursor)
        lose_count(log.book, head)
        if head > above and (facts.status[head] & (PRESENT | NEW | DELETED | WAITING)) == PRESENT:
            counters[DELETIONS] += 1
            add_affected(facts, log, work, head)
    control[PLAN] = 0
    set_bits(facts, log, fact, SPREAD)
    return DONE


@inlined
def prove(
    facts: Facts,
    terms: Terms,
    view: np.ndarray,
    plans: Plans,
    search: Search,
    control: np.ndarray,
    counters: np.ndarray,
) -> int:
    """FOUND: one step derives the fact at work from what the plans' filters allow; 0: none does; NO_ROOM."""
    fact = control[FACT]
    registers, cursor = search.registers[1], search.cursors[1]
    predicate = predicate_of(facts, fact)
    while True:
        if control[SEARCHING] == 0:
            j = plans.first[predicate] + control[PLAN]
            if j >= plans.first[predicate + 1]:
                control[PLAN] = 0
                return 0
            control[PLAN] += 1
            control[CURRENT] = plans.order[j]
            at = plans.starts[plans.order[j]]
            if not start_search(view, at, fact, registers, cursor):
                continue
            control[SEARCHING] = 1
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return NO_ROOM
        if found != FOUND:
            control[SEARCHING] = 0
            continue
        counters[BACKWARD] += 1
        counters[DERIVATIONS] += 1
        if derives(view, registers, cursor, fact):
            control[SEARCHING] = 0
            control[PLAN] = 0
            return FOUND


@inlined
def delete_fact(facts: Facts, log: Log, work: Affected, fact: int) -> None:
    """A fact without a rank proof goes, and what it takes part in is looked at next."""
    set_bits(facts, log, fact, DELETED)
    work.gone[work.control[GONE]] = fact
    work.control[GONE] += 1
    work.control[UNSURE] += 1
    work.control[PHASE] = FORWARD_FROM_GONE


@compiled
def delete_affected(shared: np.ndarray, searches: np.ndarray, of_work: np.ndarray) -> int:
    """Goes on until nothing is affected any more (DONE) or something is wanted.  `searches` has the plans to
    search forward by, and those to search backward by."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    forward, backward = plans_at(searches), plans_at(searches[PLANS:])
    search, work = search_at(searches[2 * PLANS :]), affected_at(of_work)
    indexes = indexes_at(shared)
    forward_view, backward_view = view_of(facts, indexes, forward), view_of(facts, indexes, backward)
    control, counters = work.control, work.counters
    billed = counters[DERIVATIONS]
    while True:
        control[BUDGET] -= 1 + ((counters[DERIVATIONS] - billed) >> INSTANCES_OF_A_STEP)
        billed = counters[DERIVATIONS]
        if control[BUDGET] < 0:
            return PAUSE
        phase = control[PHASE]
        if phase == SEEDS:
            if control[SEED] < len(work.seeds):
                control[FACT] = work.seeds[control[SEED]]
                control[PHASE] = FORWARD_FROM_SEED
            else:
                control[PHASE] = POP
        elif phase == FORWARD_FROM_SEED or phase == FORWARD_FROM_GONE:
            above = -1
            if phase == FORWARD_FROM_GONE and control[MODE] == RANKED:
                above = control[FACT]
            reason = spread(facts, terms, forward_view, forward, search, log, work, above)
            if reason != DONE:
                return reason
            if phase == FORWARD_FROM_SEED:
                control[SEED] += 1
                control[PHASE] = SEEDS
            else:
                control[PHASE] = POP
        elif phase == POP:
            if control[MODE] == RANKED:
                if control[WAIT] == 0:
                    return DONE
                fact = pop(work.queue, control[WAIT])
                control[WAIT] -= 1
                clear_bits(facts, log, fact, WAITING)
                if facts.status[fact] & EXPLICIT:
                    continue
                left = derivations_below(log.book, fact)
                if left > 0:
                    continue
                if left == 0:
                    counters[SPARED] += 1
                    delete_fact(facts, log, work, fact)
                else:
                    counters[CHECKS] += 1
                    control[PHASE] = PROVE
            else:
                if control[WAIT] == control[QUEUED]:
                    return DONE
                fact = work.queue[control[WAIT]]
                control[WAIT] += 1
                work.gone[control[GONE]] = fact
                control[GONE] += 1
                control[UNSURE] += 1
                control[PHASE] = FORWARD_FROM_GONE
            control[FACT] = fact
        else:
            found = prove(facts, terms, backward_view, backward, search, control, counters)
            if found == NO_ROOM:
                return GROW_TERMS
            if found == FOUND:
                control[PHASE] = POP
            else:
                delete_fact(facts, log, work, control[FACT])


@compiled
def find_derivable(
    shared: np.ndarray,
    searches: np.ndarray,
    gone: np.ndarray,
    out: np.ndarray,
    control: np.ndarray,
    counters: np.ndarray,
) -> int:
    """Which deleted facts are explicit or derived by one step: control[SEED] of `gone` have been looked at,
    control[GONE] facts found, in `out`."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    backward, search = plans_at(searches), search_at(searches[PLANS:])
    view = view_of(facts, indexes_at(shared), backward)
    while control[SEED] < len(gone):
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = gone[control[SEED]]
        control[FACT] = fact
        known = derivations_of(log.book, fact)
        if known == 0 and not facts.status[fact] & EXPLICIT:
            control[SEED] += 1
            continue
        if known < 0 and not facts.status[fact] & EXPLICIT:
            found = prove(facts, terms, view, backward, search, control, counters)
            if found == NO_ROOM:
                return GROW_TERMS
            if found != FOUND:
                control[SEED] += 1
                continue
        out[control[GONE]] = fact
        control[GONE] += 1
        control[SEED] += 1
    return DONE
