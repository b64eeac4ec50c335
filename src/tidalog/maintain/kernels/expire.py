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

import numpy as np

from tidalog.engine.array_types import Int32s, Int64Table, int64
from tidalog.engine.bits import CHECKED, STATUS_NEW, WAITING
from tidalog.engine.delta_scan import Plans
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.expiry_kernels import (
    GIVEN,
    GONE,
    LINK,
    NOW,
    QUEUED,
    RANK,
    SLOT,
    UNLISTED,
    WAIT,
    Expiries,
    list_fact,
    note_life,
    put_slot,
)
from tidalog.engine.fact_kernels import ARITY, FACTS, Facts
from tidalog.engine.index_kernels import CAUGHT_UP, catch_up
from tidalog.engine.jit import compiled, entry, inlined
from tidalog.engine.opcodes import DONE, GROW_FACTS, GROW_INDEX, GROW_TERMS, PAUSE
from tidalog.engine.probe import operand_of
from tidalog.engine.tuple_executor import FOUND, FULL, Search, body_of, emit_of, next_match, row_of
from tidalog.engine.tuple_prefetch import prefetch_probes, prefetch_rows
from tidalog.engine.tuple_view import code_of, fill_view
from tidalog.engine.undo_log import Log, clear_bits, insert_changes, set_bits
from tidalog.maintain.kernels.counters import DERIVATIONS, spend
from tidalog.maintain.kernels.expire_lower import lower
from tidalog.maintain.kernels.expire_work import (
    AT,
    BATCH,
    BATCHED,
    BUDGET,
    DOUBTING,
    HEADS,
    IS_FULL,
    IS_NEW,
    MARGIN,
    NEXT,
    PHASE,
    PROVING,
    RAISE,
    RAISING,
    SPREAD,
    TIMES,
    WANTED,
    Work,
    first_to_go,
    has_capacity,
    is_later,
    note_change,
    wait,
)
from tidalog.maintain.kernels.heap import pop

# --- compiled ---------------------------------------------------------------------------------------


@entry
def change_expiries(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    expiries: Expiries,
    search: Search,
    work: Work,
    raising: Plans,
    doubting: Plans,
    proving: Plans,
) -> int:
    """Runs until the expiries of a component are right (DONE) or something is wanted.  Last come the plans of
    the ways to search."""
    control, counters = work.control, work.counters
    fill_view(search.views[RAISING], facts, indexes, raising)
    fill_view(search.views[DOUBTING], facts, indexes, doubting)
    fill_view(search.views[PROVING], facts, indexes, proving)
    billed = counters[DERIVATIONS]
    while True:
        billed = spend(control, BUDGET, counters, billed)
        if control[BUDGET] < 0:
            return PAUSE
        if control[PHASE] == SPREAD:
            reason = spread(facts, terms, log, expiries, search, work, indexes)
            if reason != PAUSE:
                return reason
        elif control[PHASE] == RAISE:
            if not raise_given(facts, log, expiries, work):
                return GROW_FACTS
        else:
            reason = lower(facts, terms, log, expiries, search, work)
            if reason != DONE:
                return reason


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
        if not has_capacity(facts, expiries, work):
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


@compiled
def spread(
    facts: Facts,
    terms: Terms,
    log: Log,
    expiries: Expiries,
    search: Search,
    work: Work,
    indexes: np.ndarray,
) -> int:
    """Settles the facts of one batch, or goes on with it: the heads of the instances that they have with
    settled facts are lengthened.  PAUSE: there is more to do; DONE; or what is wanted."""
    control = work.control
    if control[IS_FULL] != 0:
        return lengthen_heads(facts, log, expiries, work)
    if control[AT] == control[BATCHED]:
        if control[HEADS] > 0:
            control[IS_FULL] = 1
            return PAUSE
        if not take_batch(facts, log, expiries, work):
            return DONE
    if control[IS_NEW] != 0:
        if not all_caught_up(facts, indexes, work):
            return GROW_INDEX
        control[IS_NEW] = 0
        view, probes = search.views[RAISING], work.probes
        size = prefetch_probes(view, search, RAISING, work.batch, control[BATCHED], probes)
        prefetch_rows(view, probes, size, expiries.life)
    while control[AT] < control[BATCHED]:
        found = find_heads(terms, expiries, search, work)
        if found == FULL:
            return GROW_TERMS
        if found == FOUND:
            control[IS_FULL] = 1
            break
        control[AT] += 1
    return PAUSE


@inlined
def find_heads(terms: Terms, expiries: Expiries, search: Search, work: Work) -> int:
    """Notes the heads of the instances of one fact.  NO_MORE; FOUND: there may be others, but no capacity; or
    FULL."""
    control, view, when, ends = work.control, search.views[RAISING], expiries.when, work.ends
    fact, now = int64(work.batch[control[AT], 0]), expiries.state[NOW]
    low = max(now, when[work.batch[control[AT], 1]])
    code = code_of(view)
    found = FOUND
    while control[HEADS] < MARGIN:
        found = next_match(terms, view, search, RAISING, fact)
        if found != FOUND:
            break
        work.counters[DERIVATIONS] += 1
        slot = first_to_go(expiries, search, RAISING)
        # In a body of two, the other fact has been there since before this one's old expiry was set; in a
        # larger body another fact, and so the instance, may be new.
        of_pair = code[body_of(view, search, RAISING)] <= 2
        if when[slot] > (low if of_pair else now):
            at, pc, block = control[HEADS], emit_of(search, RAISING), row_of(search, RAISING)
            for j in range(code[pc + 4]):
                work.heads[j, at] = operand_of(block, 0, code, pc + 5 + j)
            ends[at, 0], ends[at, 1] = code[pc + 2], slot
            control[HEADS] = at + 1
    return found


@compiled
def lengthen_heads(facts: Facts, log: Log, expiries: Expiries, work: Work) -> int:
    """Lengthens the heads that were noted; new ones have no expiry yet.  PAUSE or GROW_FACTS."""
    if not has_capacity(facts, expiries, work):
        return GROW_FACTS
    control, life, ends, found, created = work.control, expiries.life, work.ends, work.found, work.created
    begin, count = 0, control[HEADS]
    while begin < count:
        predicate, end = int64(ends[begin, 0]), begin
        arity = facts.extent[predicate, ARITY]
        while end < count and ends[end, 0] == predicate:
            for j in range(arity):
                work.rows[j, end - begin] = work.heads[j, end]
            end += 1
        insert_changes(
            facts,
            log,
            predicate,
            work.rows[:arity],
            end - begin,
            work.hashes,
            int64(STATUS_NEW),
            found,
            created,
        )
        for i in range(end - begin):
            if created[i] != 0:
                life[found[i], SLOT] = GONE
        for i in range(end - begin):
            lengthen(facts, log, expiries, work, int64(found[i]), int64(ends[begin + i, 1]))
        begin = end
    control[HEADS] = control[IS_FULL] = 0
    return PAUSE


@inlined
def take_batch(facts: Facts, log: Log, expiries: Expiries, work: Work) -> bool:
    """The next facts that wait are settled: some of those that expire last.  False: there are none."""
    control, slots, waits, batch = work.control, expiries.slots, work.waits, work.batch
    count = 0
    while control[TIMES] > 0 and count == 0:
        slot = int64(work.queue[0])
        while slots[slot, WAIT] > 0 and count < BATCH:
            at = int64(slots[slot, WAIT]) - 1
            slots[slot, WAIT] = waits[at, 2]
            fact = int64(waits[at, 0])
            if facts.status[fact] & WAITING and expiries.life[fact, SLOT] == slot:
                clear_bits(facts, log, fact, WAITING)
                batch[count, 0], batch[count, 1] = fact, waits[at, 1]
                count += 1  # a fact that was raised further waits elsewhere
        if slots[slot, WAIT] == 0:
            slots[slot, QUEUED] = 0
            pop(work.queue, control[TIMES], is_later, expiries.when)
            control[TIMES] -= 1
    control[BATCHED], control[AT], control[IS_NEW] = count, 0, 1
    return count > 0


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


@entry
def begin_again(facts: Facts, log: Log, expiries: Expiries, work: Work, ids: Int32s) -> None:
    """Facts of the component have no expiry until they get one; there is capacity."""
    for i in range(len(ids)):
        fact = int64(ids[i])
        note_change(expiries, work, fact)
        note_life(expiries, fact)
        expiries.life[fact, SLOT], expiries.life[fact, RANK] = GONE, 0
        expiries.life[fact, GIVEN] = 0
        set_bits(facts, log, fact, CHECKED)
