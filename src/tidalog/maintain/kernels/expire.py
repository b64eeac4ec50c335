"""Expiries of a component (strategy `expire`; ALGORITHMS.md 8, after paper 002).

T[f] is the time at which a fact goes, R[f] its rank among facts of one expiry.  g comes before f if
T[g] > T[f], or if T[g] = T[f] and R[g] < R[f]; a fact of a lower component with T[g] = T[f] comes before f.
Invariant.  f is explicit until T[f], or some instance derives it whose body facts all come before f.

    SEEDS, POP, PROVE, DOUBT    lower: facts that lost an instance wait in a heap, first ones first.  f stays
                                if it is explicit until T[f] or an instance of facts before it derives it.
                                Else it is a suspect, and each head that comes after it may be one
    LEFT, LOWER                 each suspect gets the best expiry that facts which are no suspects give it
    RAISE, SPREAD               facts with larger expiries wait in lists, the latest time first.  One that
                                leaves its list is settled, and lengthens the heads of its instances of
                                settled facts

Facts whose time has come are dropped when all this is done, so that what comes back in the same update is
never gone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import PLANS, facts_at, indexes_at, log_at, plans_at, terms_at
from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.bits import CHECKED, DELAYED, NEW, PRESENT, STATUS_NEW, WAITING
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.expiry_kernels import (
    GIVEN,
    GONE,
    LINK,
    LOGGED,
    NOW,
    QUEUED,
    RANK,
    SIDE,
    SLOT,
    UNLISTED,
    WAIT,
    Expiries,
    expiries_at,
    expiry_of,
    list_fact,
    note_life,
    put_slot,
)
from tidalog.engine.fact_kernels import ENTRIES, FACTS, HEADER, USED, Facts
from tidalog.engine.hash_table import has_capacity
from tidalog.engine.index_kernels import CAUGHT_UP, catch_up
from tidalog.engine.jit import compiled, entry, inlined, int32_at, int32_table, int64_at, uint8_at, uint64_at
from tidalog.engine.opcodes import DONE, GROW_FACTS, GROW_INDEX, GROW_TERMS, PAUSE
from tidalog.engine.probe import operand_of
from tidalog.engine.tuple_executor import (
    FOUND,
    FULL,
    IDLE,
    STATE,
    Search,
    body_of,
    derives,
    emit_of,
    head_of,
    next_match,
    row_of,
    search_at,
    stop_matching,
)
from tidalog.engine.tuple_view import code_of, fill_view
from tidalog.engine.undo_log import Log, clear_bits, insert_changes, set_bits
from tidalog.maintain.kernels.counters import BACKWARD, CHECKS, DELETIONS, DERIVATIONS, INSTANCES_PER_UNIT

# Depths of the search, and its views.
RAISING: Final = 0  # instances of settled facts that a fact takes part in
DOUBTING: Final = 1  # instances of the state before that a fact takes part in
PROVING: Final = 2  # instances without suspects that derive a fact
WAYS: Final = 3

# control[…]
PHASE: Final = 0
NEXT: Final = 1  # position in the list of the phase
DOUBTED: Final = 2  # facts in the heap
SUSPECTS: Final = 3
WAITS: Final = 4  # entries of `waits`
TIMES: Final = 5  # slots in the queue of slots
FACT: Final = 6  # the fact of the phase
OLD: Final = 7  # the slot that it had before
BEST: Final = 8  # the best slot found for it
BUDGET: Final = 9
CHANGED: Final = 10  # entries of `changed`
WANTED: Final = 11  # what is to grow
GROWN: Final = 12  # facts that only stay longer
CONTROL: Final = 13

SEEDS: Final = 0
POP: Final = 1
PROVE: Final = 2
DOUBT: Final = 3
LEFT: Final = 4
LOWER: Final = 5
RAISE: Final = 6
SPREAD: Final = 7

MARGIN: Final = 8  # entries that one instance may need, at most


class Work(NamedTuple):
    seeds: npt.NDArray[np.int32]  # lower facts that are gone or go sooner, and their slots before
    raised: npt.NDArray[np.int32]  # lower facts that stay longer, and their slots before
    given: npt.NDArray[np.int32]  # facts of the component with other expiries as explicit facts; these before
    heap: npt.NDArray[np.int32]  # facts that may have lost their proof
    suspects: npt.NDArray[np.int32]  # [suspect]: the fact, the slot that is left to it
    waits: npt.NDArray[np.int32]  # [entry]: a fact, its slot before, 1 + the next entry
    queue: npt.NDArray[np.int32]  # slots with facts that wait
    changed: npt.NDArray[np.int32]  # facts whose expiry has changed, and their slots before
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    reads: npt.NDArray[np.int64]  # the number of indexes, these, then the predicates that are looked up
    row: npt.NDArray[np.int32]  # [argument, 1]: the head of an instance
    hashes: npt.NDArray[np.uint64]
    found: npt.NDArray[np.int32]  # its id, and whether it is new
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> Work:
    return Work(
        int32_table(block[0], block[1], 2),
        int32_table(block[4], block[5], 2),
        int32_table(block[8], block[9], 2),
        int32_at(block[12], block[13]),
        int32_table(block[16], block[17], 2),
        int32_table(block[20], block[21], 3),
        int32_at(block[24], block[25]),
        int32_table(block[28], block[29], 2),
        uint8_at(block[32], block[33]),
        int64_at(block[36], block[37]),
        int32_table(block[40], block[41], 1),
        uint64_at(block[44], block[45]),
        int32_at(block[48], block[49]),
        int64_at(block[52], block[53]),
        int64_at(block[56], block[57]),
    )


@entry
def change_expiries(shared: Int64s, of: Int64s, searches: Int64s, of_search: Int64s, of_work: Int64s) -> int:
    """Runs until the expiries of a component are right (DONE) or something is wanted.  `searches` begins with
    the plans of the ways to search."""
    facts, terms, log, indexes = facts_at(shared), terms_at(shared), log_at(shared), indexes_at(shared)
    expiries, search, work = expiries_at(of), search_at(of_search), work_at(of_work)
    control, counters = work.control, work.counters
    for way in range(WAYS):
        fill_view(search.views[way], facts, indexes, plans_at(searches[way * PLANS :]))
    if not has_room(facts, expiries, work):
        return GROW_FACTS
    billed = counters[DERIVATIONS]
    while True:
        control[BUDGET] -= 1 + ((counters[DERIVATIONS] - billed) >> INSTANCES_PER_UNIT)
        billed = counters[DERIVATIONS]
        if control[BUDGET] < 0:
            return PAUSE
        phase = control[PHASE]
        if phase == SPREAD:
            if search.cursors[RAISING, STATE] == IDLE:
                if not take_next(facts, log, expiries, work):
                    return DONE
                if not all_caught_up(facts, indexes, work):
                    control[PHASE] = SPREAD + 1
                    return GROW_INDEX
            reason = spread(facts, terms, log, expiries, search, work)
            if reason != DONE:
                return reason
        elif phase > SPREAD:  # an index has grown
            if not all_caught_up(facts, indexes, work):
                return GROW_INDEX
            control[PHASE] = SPREAD
            reason = spread(facts, terms, log, expiries, search, work)
            if reason != DONE:
                return reason
        elif phase == RAISE:
            if not raise_given(facts, log, expiries, work):
                return GROW_FACTS
        else:
            reason = lower(facts, terms, log, expiries, search, work)
            if reason != DONE:
                return reason


@inlined
def has_room(facts: Facts, expiries: Expiries, work: Work) -> bool:
    """Whether all that one instance may add has capacity."""
    state, ends = facts.state, min(len(facts.offset), len(facts.status))
    n, wide = state[FACTS] + 1, len(work.row) + HEADER
    return bool(
        n <= min(ends, len(expiries.life))
        and state[USED] + wide <= len(facts.arguments)
        and has_capacity(state[ENTRIES] + 1, len(facts.slots))
        and work.control[WAITS] + MARGIN <= len(work.waits)
        and work.control[CHANGED] + MARGIN <= len(work.changed)
        and work.control[SUSPECTS] + MARGIN <= len(work.suspects)
        and work.control[DOUBTED] + MARGIN <= len(work.heap)
        and expiries.state[LOGGED] + MARGIN <= len(expiries.log)
        and expiries.state[SIDE] + MARGIN <= len(expiries.side)
    )


@compiled
def all_caught_up(facts: Facts, indexes: np.ndarray, work: Work) -> bool:
    """Brings the indexes up to the last fact.  False: one must grow."""
    reads, end = work.reads, facts.state[FACTS]
    for i in range(1, reads[0] + 1):
        row = indexes[reads[i]]
        if row[CAUGHT_UP] < end and not catch_up(facts, row):
            work.control[WANTED] = reads[i]
            return False
    return True


# --- lower ------------------------------------------------------------------------------------------


@compiled
def lower(facts: Facts, terms: Terms, log: Log, expiries: Expiries, search: Search, work: Work) -> int:
    """One move of the phases before RAISE."""
    control, life, now = work.control, expiries.life, expiries.state[NOW]
    phase = control[PHASE]
    if not has_room(facts, expiries, work):
        return GROW_FACTS
    if phase == SEEDS:
        if control[NEXT] == len(work.seeds):
            control[PHASE] = POP
            return DONE
        control[FACT] = work.seeds[control[NEXT], 0]
        expiry = expiries.when[work.seeds[control[NEXT], 1]]
        found = doubt_heads(facts, terms, log, expiries, search, work, expiry, int64(-1))
        if found == DONE:
            control[NEXT] += 1
        return found
    if phase == POP:
        if control[DOUBTED] == 0:
            control[PHASE], control[NEXT] = LEFT, 0
            return DONE
        fact = pop(expiries, work.heap, control[DOUBTED])
        control[DOUBTED] -= 1
        control[FACT] = fact
        clear_bits(facts, log, fact, DELAYED)
        work.counters[CHECKS] += 1
        if life[fact, GIVEN] != life[fact, SLOT] + 1:
            control[PHASE] = PROVE
        return DONE
    if phase == PROVE:
        fact = control[FACT]
        expiry, rank = expiry_of(expiries, fact), int64(life[fact, RANK])
        while True:
            found = next_match(terms, search.views[PROVING], search, PROVING, fact)
            if found != FOUND:
                break
            work.counters[BACKWARD] += 1
            work.counters[DERIVATIONS] += 1
            if all_before(expiries, search, expiry, rank) and derives(
                search.views[PROVING], search, PROVING, fact
            ):
                stop_matching(search, PROVING)
                control[PHASE] = POP
                return DONE
        if found == FULL:
            return GROW_TERMS
        set_bits(facts, log, fact, CHECKED)
        work.suspects[control[SUSPECTS], 0] = fact
        control[SUSPECTS] += 1
        note_change(expiries, work, fact)
        work.counters[DELETIONS] += 1
        control[PHASE] = DOUBT
        return DONE
    if phase == DOUBT:
        fact = control[FACT]
        rank = int64(life[fact, RANK])
        found = doubt_heads(facts, terms, log, expiries, search, work, expiry_of(expiries, fact), rank)
        if found == DONE:
            control[PHASE] = POP
        return found
    if phase == LEFT:
        if control[NEXT] == control[SUSPECTS]:
            control[PHASE], control[NEXT] = LOWER, 0
            return DONE
        fact = int64(work.suspects[control[NEXT], 0])
        if search.cursors[PROVING, STATE] == IDLE:
            control[BEST] = life[fact, GIVEN] - 1 if life[fact, GIVEN] > 0 else GONE
        while True:
            found = next_match(terms, search.views[PROVING], search, PROVING, fact)
            if found != FOUND:
                break
            work.counters[DERIVATIONS] += 1
            slot = first_to_go(expiries, search, PROVING)
            best = max(now, expiries.when[control[BEST]])
            if expiries.when[slot] > best and derives(search.views[PROVING], search, PROVING, fact):
                control[BEST] = slot
        if found == FULL:
            return GROW_TERMS
        work.suspects[control[NEXT], 1] = control[BEST]
        control[NEXT] += 1
        return DONE
    if control[NEXT] == control[SUSPECTS]:
        control[PHASE], control[NEXT] = RAISE, 0
        return DONE
    fact, slot = int64(work.suspects[control[NEXT], 0]), int64(work.suspects[control[NEXT], 1])
    note_life(expiries, fact)
    life[fact, SLOT], life[fact, RANK] = GONE, 0
    if expiries.when[slot] > now:
        put_slot(expiries, fact, slot)
        list_fact(expiries, fact)
        wait(facts, log, expiries, work, fact, GONE)
    control[NEXT] += 1
    return DONE


@compiled
def doubt_heads(
    facts: Facts,
    terms: Terms,
    log: Log,
    expiries: Expiries,
    search: Search,
    work: Work,
    expiry: int,
    rank: int,
) -> int:
    """The heads of the instances of a fact that come after it, which had this expiry and this rank, may have
    lost their proof.  DONE, GROW_FACTS or GROW_TERMS."""
    view, now, life = search.views[DOUBTING], expiries.state[NOW], expiries.life
    while True:
        if not has_room(facts, expiries, work):
            return GROW_FACTS
        found = next_match(terms, view, search, DOUBTING, work.control[FACT])
        if found != FOUND:
            break
        work.counters[DERIVATIONS] += 1
        head = head_of(view, search, DOUBTING)
        if head < 0 or (facts.status[head] & (PRESENT | NEW | CHECKED | DELAYED)) != PRESENT:
            continue
        of_head = expiry_of(expiries, head)
        if of_head > now and (expiry > of_head or (expiry == of_head and rank < life[head, RANK])):
            set_bits(facts, log, head, DELAYED)
            push(expiries, work.heap, work.control[DOUBTED], head)
            work.control[DOUBTED] += 1
    return DONE if found != FULL else GROW_TERMS


@inlined
def all_before(expiries: Expiries, search: Search, expiry: int, rank: int) -> bool:
    """Whether the body of the instance just found comes before a fact with this expiry and rank."""
    view, registers, life = search.views[PROVING], search.registers[PROVING], expiries.life
    code, at = code_of(view), body_of(view, search, PROVING)
    atoms = code[at]
    before = True
    for j in range(atoms):
        fact = registers[code[at + 1 + j]]
        of_fact = expiry_of(expiries, fact)
        is_own = code[at + 1 + atoms + j] != 0
        if of_fact < expiry or (is_own and of_fact == expiry and life[fact, RANK] >= rank):
            before = False
            break
    return before


@inlined
def first_to_go(expiries: Expiries, search: Search, way: int) -> int:
    """The slot of the fact that expires first in the body of the instance just found."""
    view, registers, life, when = search.views[way], search.registers[way], expiries.life, expiries.when
    code, at = code_of(view), body_of(view, search, way)
    slot = int64(life[registers[code[at + 1]], SLOT])
    for j in range(1, code[at]):
        other = int64(life[registers[code[at + 1 + j]], SLOT])
        if when[other] < when[slot]:
            slot = other
    return slot


@inlined
def comes_before(expiries: Expiries, one: int, other: int) -> bool:
    life, first, second = expiries.life, expiry_of(expiries, one), expiry_of(expiries, other)
    return bool(first > second or (first == second and life[one, RANK] < life[other, RANK]))


@compiled
def push(expiries: Expiries, heap: np.ndarray, size: int, fact: int) -> None:
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if not comes_before(expiries, fact, heap[parent]):
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = fact


@compiled
def pop(expiries: Expiries, heap: np.ndarray, size: int) -> int:
    """Removes the first of `size` facts."""
    first, last = heap[0], heap[size - 1]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and comes_before(expiries, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(expiries, heap[child], last):
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = last
    return int64(first)


# --- raise ------------------------------------------------------------------------------------------


@inlined
def note_change(expiries: Expiries, work: Work, fact: int) -> None:
    at = work.control[CHANGED]
    work.changed[at, 0], work.changed[at, 1] = fact, expiries.life[fact, SLOT]
    work.control[CHANGED] = at + 1


@inlined
def wait(facts: Facts, log: Log, expiries: Expiries, work: Work, fact: int, old: int) -> None:
    """A fact waits until all that expire later are settled; `old` is the slot that it had."""
    set_bits(facts, log, fact, WAITING)
    slots, slot, at = expiries.slots, expiries.life[fact, SLOT], work.control[WAITS]
    work.waits[at, 0], work.waits[at, 1], work.waits[at, 2] = fact, old, slots[slot, WAIT]
    work.control[WAITS] = at + 1
    slots[slot, WAIT] = at + 1
    if slots[slot, QUEUED] == 0:
        slots[slot, QUEUED] = 1
        push_slot(expiries.when, work.queue, work.control[TIMES], slot)
        work.control[TIMES] += 1


@inlined
def lengthen(facts: Facts, log: Log, expiries: Expiries, work: Work, fact: int, slot: int) -> None:
    """A fact stays at least until the time of a slot."""
    life, when = expiries.life, expiries.when
    old = int64(life[fact, SLOT])
    if when[old] < when[slot]:
        if facts.status[fact] & WAITING:
            old = GONE  # what it had is no longer at hand, and this is always right
        elif not facts.status[fact] & CHECKED:
            note_change(expiries, work, fact)
            work.control[GROWN] += not facts.status[fact] & NEW
        put_slot(expiries, fact, slot)
        if life[fact, LINK] == UNLISTED:
            list_fact(expiries, fact)
        wait(facts, log, expiries, work, fact, old)


@compiled
def raise_given(facts: Facts, log: Log, expiries: Expiries, work: Work) -> bool:
    """Facts that are explicit for longer, and lower facts that stay longer, wait.  False: no capacity."""
    control, life = work.control, expiries.life
    explicit = len(work.given)
    while control[NEXT] < explicit + len(work.raised):
        if not has_room(facts, expiries, work):
            return False
        i = control[NEXT]
        if i < explicit:
            fact = int64(work.given[i, 0])
            if life[fact, GIVEN] > 0:
                lengthen(facts, log, expiries, work, fact, int64(life[fact, GIVEN] - 1))
        else:
            fact, old = int64(work.raised[i - explicit, 0]), int64(work.raised[i - explicit, 1])
            wait(facts, log, expiries, work, fact, old)
        control[NEXT] += 1
    control[PHASE] = SPREAD
    return True


@inlined
def take_next(facts: Facts, log: Log, expiries: Expiries, work: Work) -> bool:
    """The next fact that waits is settled, and is that of the phase.  False: there is none."""
    control, slots, waits = work.control, expiries.slots, work.waits
    while control[TIMES] > 0:
        slot = int64(work.queue[0])
        at = int64(slots[slot, WAIT]) - 1
        if at < 0:
            slots[slot, QUEUED] = 0
            pop_slot(expiries.when, work.queue, control[TIMES])
            control[TIMES] -= 1
            continue
        slots[slot, WAIT] = waits[at, 2]
        fact = int64(waits[at, 0])
        if facts.status[fact] & WAITING and expiries.life[fact, SLOT] == slot:  # else it was raised further
            clear_bits(facts, log, fact, WAITING)
            control[FACT], control[OLD] = fact, waits[at, 1]
            return True
    return False


@compiled
def spread(facts: Facts, terms: Terms, log: Log, expiries: Expiries, search: Search, work: Work) -> int:
    """Lengthens the heads of the instances that the fact of the phase has with settled facts.  DONE,
    GROW_FACTS or GROW_TERMS."""
    control, view, when = work.control, search.views[RAISING], expiries.when
    now, fact = expiries.state[NOW], control[FACT]
    low = max(now, when[control[OLD]])
    while True:
        if not has_room(facts, expiries, work):
            return GROW_FACTS
        found = next_match(terms, view, search, RAISING, fact)
        if found != FOUND:
            return DONE if found != FULL else GROW_TERMS
        work.counters[DERIVATIONS] += 1
        slot = first_to_go(expiries, search, RAISING)
        # With two facts, the other has been there as long as this one had been meant to stay; of more, one
        # may be new, and the instance too.
        of_pair = code_of(view)[body_of(view, search, RAISING)] <= 2
        if when[slot] > (low if of_pair else now):
            head = put_head(facts, log, expiries, search, work)
            lengthen(facts, log, expiries, work, head, slot)


@inlined
def put_head(facts: Facts, log: Log, expiries: Expiries, search: Search, work: Work) -> int:
    """The fact that the instance just found derives; a new one has no expiry yet."""
    code, pc, block = code_of(search.views[RAISING]), emit_of(search, RAISING), row_of(search, RAISING)
    arity, row, out = code[pc + 4], work.row, work.found
    for j in range(arity):
        row[j, 0] = operand_of(block, 0, code, pc + 5 + j)
    insert_changes(facts, log, code[pc + 2], row[:arity], 1, work.hashes, int64(STATUS_NEW), out[:1], out[1:])
    fact = int64(out[0])
    if out[1] != 0:
        expiries.life[fact, SLOT] = GONE
    return fact


@compiled
def push_slot(when: np.ndarray, heap: np.ndarray, size: int, slot: int) -> None:
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if when[heap[parent]] >= when[slot]:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = slot


@compiled
def pop_slot(when: np.ndarray, heap: np.ndarray, size: int) -> None:
    """Removes the latest of `size` slots."""
    last = heap[size - 1]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and when[heap[child + 1]] > when[heap[child]]:
            child += 1
        if when[heap[child]] <= when[last]:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = last


@entry
def begin_again(shared: Int64s, of: Int64s, of_work: Int64s, ids: Int32s) -> None:
    """Facts of the component have no expiry until they get one; there is capacity."""
    facts, log, expiries, work = facts_at(shared), log_at(shared), expiries_at(of), work_at(of_work)
    for i in range(len(ids)):
        fact = int64(ids[i])
        note_change(expiries, work, fact)
        note_life(expiries, fact)
        expiries.life[fact, SLOT], expiries.life[fact, RANK] = GONE, 0
        expiries.life[fact, GIVEN] = 0
        set_bits(facts, log, fact, CHECKED)


@entry
def doubt_given(shared: Int64s, of: Int64s, of_work: Int64s) -> None:
    """Facts that are not explicit for as long any more may have lost their proof."""
    facts, log, expiries, work = facts_at(shared), log_at(shared), expiries_at(of), work_at(of_work)
    life, when, control = expiries.life, expiries.when, work.control
    for i in range(len(work.given)):
        fact, before = int64(work.given[i, 0]), work.given[i, 1]
        slot = life[fact, SLOT]
        if before == slot + 1 and when[slot] > expiries.state[NOW] and life[fact, GIVEN] != before:
            is_doubted = facts.status[fact] & DELAYED
            if not is_doubted and (life[fact, GIVEN] == 0 or when[life[fact, GIVEN] - 1] < when[slot]):
                set_bits(facts, log, fact, DELAYED)
                push(expiries, work.heap, control[DOUBTED], fact)
                control[DOUBTED] += 1
