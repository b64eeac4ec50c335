"""Lowering expiries: the phases of `kernels.expire` when something is gone, or goes sooner than before."""

from __future__ import annotations

from tidalog.engine.array_types import int64
from tidalog.engine.bits import CHECKED, DELAYED, NEW, PRESENT
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.expiry_kernels import (
    GIVEN,
    GONE,
    NOW,
    RANK,
    SLOT,
    Expiries,
    expiry_of,
    list_fact,
    note_life,
    put_slot,
)
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import compiled, entry, inlined
from tidalog.engine.opcodes import DONE, GROW_FACTS, GROW_TERMS
from tidalog.engine.tuple_executor import (
    FOUND,
    FULL,
    IDLE,
    STATE,
    Search,
    body_of,
    derives,
    head_of,
    next_match,
    stop_matching,
)
from tidalog.engine.tuple_view import code_of
from tidalog.engine.undo_log import Log, clear_bits, set_bits
from tidalog.maintain.kernels.counters import BACKWARD, CHECKS, DELETIONS, DERIVATIONS
from tidalog.maintain.kernels.expire_work import (
    BEST,
    DOUBT,
    DOUBTED,
    DOUBTING,
    FACT,
    LEFT,
    LOWER,
    NEXT,
    PHASE,
    POP,
    PROVE,
    PROVING,
    RAISE,
    SEEDS,
    SUSPECTS,
    Work,
    first_to_go,
    has_capacity,
    note_change,
    wait,
)
from tidalog.maintain.kernels.heap import pop, push

# --- compiled ---------------------------------------------------------------------------------------


@compiled
def lower(facts: Facts, terms: Terms, log: Log, expiries: Expiries, search: Search, work: Work) -> int:
    """One move of the phases before RAISE."""
    control, life, now = work.control, expiries.life, expiries.state[NOW]
    phase = control[PHASE]
    if not has_capacity(facts, expiries, work):
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
        fact = pop(work.heap, control[DOUBTED], comes_before, expiries)
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
        if not has_capacity(facts, expiries, work):
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
            push(work.heap, work.control[DOUBTED], head, comes_before, expiries)
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
def comes_before(expiries: Expiries, one: int, other: int) -> bool:
    life, first, second = expiries.life, expiry_of(expiries, one), expiry_of(expiries, other)
    return bool(first > second or (first == second and life[one, RANK] < life[other, RANK]))


@entry
def doubt_given(facts: Facts, log: Log, expiries: Expiries, work: Work) -> None:
    """Facts that are not explicit for as long any more may have lost their proof."""
    life, when, control = expiries.life, expiries.when, work.control
    for i in range(len(work.given)):
        fact, before = int64(work.given[i, 0]), work.given[i, 1]
        slot = life[fact, SLOT]
        if before == slot + 1 and when[slot] > expiries.state[NOW] and life[fact, GIVEN] != before:
            is_doubted = facts.status[fact] & DELAYED
            if not is_doubted and (life[fact, GIVEN] == 0 or when[life[fact, GIVEN] - 1] < when[slot]):
                set_bits(facts, log, fact, DELAYED)
                push(work.heap, control[DOUBTED], fact, comes_before, expiries)
                control[DOUBTED] += 1
