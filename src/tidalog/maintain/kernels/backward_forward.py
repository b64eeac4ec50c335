"""Backward/Forward: Algorithm 1 of paper 001, blocks a to d, over one component.

Facts of lower components count as explicit.  Every instance is visited once: by block a when the last of its
facts in V is processed, by block c when the first in D is.  A fact in W has a search of its own.  D and W ∪ C
only grow before the end, so an instance that was skipped once is skipped for good, and the search goes on
where it stopped.

Block a takes one fact at a time, not a block of them: a proof is used before the next fact is checked, so V
seldom has more than one waiting fact.  If proofs waited until there are many, they would come too late to end
checks, and several times as many facts would be checked.

Orders of work:

PAPER   blocks by their letters: what stays unproved is deleted when nothing is left to be affected.
OURS    what stays unproved is deleted at once, so that it supports no later search.
LAYERS  all facts that one step reaches from what is deleted are affected before any is checked (F/B/F).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Int32s, Int64Table, int64
from tidalog.engine.bits import (
    CHECKED,
    DELAYED,
    DELETED,
    DELETED_NEXT,
    EXPLICIT,
    MARKED,
    NEW,
    PRESENT,
    PROVED,
    RECORDED,
    SATURATED,
    SPREAD,
    WAITING,
)
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_log import END, chain_of, next_link, none_is_left, remove_instance
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.emit import LINK, MARK, note
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import compiled, entry, inlined
from tidalog.engine.opcodes import DONE, GROW_LOG, GROW_TERMS, MOST_ATOMS, PAUSE
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
from tidalog.engine.tuple_view import code_of, fill_view
from tidalog.engine.undo_log import PAIRS, Log, clear_bits, set_bits
from tidalog.maintain.kernels.backward_forward_work import (
    AFFECTED,
    AFFECTED_NEXT,
    BACKWARD_VIEW,
    BUDGET,
    CHECKED_COUNT,
    CHECKED_NEXT,
    GONE,
    GONE_NEXT,
    LAYER_DONE,
    MARKED_COUNT,
    MATCH_DEPTH,
    MATCH_VIEW,
    OBSERVES,
    ORDER,
    PROVEN,
    PROVEN_NEXT,
    RECORD_NEXT,
    SPREAD_DEPTH,
    SPREAD_VIEW,
    STACK_DEPTH,
    TOP,
    BackwardForward,
)
from tidalog.maintain.kernels.counters import (
    BACKWARD,
    CHECKS,
    DELETIONS,
    DERIVATIONS,
    FORWARD,
    FROM_RECORD,
    SPARED,
    recorded_head,
    spend,
)

PAPER: Final = 0
OURS: Final = 1
LAYERS: Final = 2

# What a block returns, beside reasons to come back.
NOTHING: Final = -1
APPLIED: Final = -2
GROW_STACK: Final = 7  # beside the reasons of `opcodes`


# --- compiled ---------------------------------------------------------------------------------------


@entry
def run_backward_forward(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    search: Search,
    work: BackwardForward,
    to_match: Plans,
    backward: Plans,
    to_spread: Plans,
) -> int:
    """Lines 10 to 25, until nothing is left to be deleted (DONE) or something is wanted, by the plans of line
    11, of line 20 and of line 23."""
    views = search.views
    fill_view(views[MATCH_VIEW], facts, indexes, to_match)
    fill_view(views[BACKWARD_VIEW], facts, indexes, backward)
    fill_view(views[SPREAD_VIEW], facts, indexes, to_spread)
    control = work.control
    order = control[ORDER]
    billed = work.counters[DERIVATIONS]
    while True:
        billed = spend(control, BUDGET, work.counters, billed)
        if control[BUDGET] < 0:
            return PAUSE
        reason = has_capacity(work, search, log)
        if reason != DONE:
            return reason
        layer = order == LAYERS and control[LAYER_DONE] == 0
        said = prove_forward(facts, terms, views[MATCH_VIEW], search, log, work)
        if said == NOTHING and not layer:
            said = check_backward(facts, terms, views[BACKWARD_VIEW], search, log, work)
            if said == NOTHING and order != PAPER:
                said = delete_unproved(facts, log, work)
                control[LAYER_DONE] = 0
        if said == NOTHING and (layer or order != LAYERS):
            said = affect_next(facts, terms, views[SPREAD_VIEW], search, log, work)
            if said == NOTHING and layer:
                control[LAYER_DONE] = 1
                said = APPLIED
        if said == NOTHING and order == PAPER:
            said = delete_unproved(facts, log, work)
        if said == NOTHING:
            return DONE
        if said != APPLIED:
            return said


@inlined
def has_capacity(work: BackwardForward, search: Search, log: Log) -> int:
    """DONE if there is capacity for whatever one block may add."""
    top = work.control[TOP]
    if top + MOST_ATOMS + 1 > len(work.stack) or top + MOST_ATOMS + STACK_DEPTH > len(search.registers):
        return GROW_STACK
    if work.control[OBSERVES] & LINK and log.counts[PAIRS] + MOST_ATOMS + 1 > len(log.pairs):
        return GROW_LOG
    return DONE


@inlined
def prove_forward(
    facts: Facts, terms: Terms, view: np.ndarray, search: Search, log: Log, work: BackwardForward
) -> int:
    """Block a, lines 11 to 16: one instance of proved facts that proves another."""
    control = work.control
    while control[PROVEN_NEXT] < control[PROVEN]:
        fact = int64(work.proven[control[PROVEN_NEXT]])
        if search.cursors[MATCH_DEPTH, STATE] == IDLE:
            set_bits(facts, log, fact, SATURATED)
        found = next_match(terms, view, search, MATCH_DEPTH, fact)
        if found == FULL:
            return GROW_TERMS
        if found != FOUND:
            control[PROVEN_NEXT] += 1
            continue
        work.counters[DERIVATIONS] += 1
        head = head_of(view, search, MATCH_DEPTH)
        if head < 0 or facts.status[head] & (PROVED | DELAYED):
            continue
        work.counters[FORWARD] += 1
        if control[OBSERVES] != 0:
            at = body_of(view, search, MATCH_DEPTH)
            observe_proof(facts, log, work, code_of(view), at, search.registers[MATCH_DEPTH], head)
        if facts.status[head] & WAITING:
            check_fact(facts, log, work, head)
            prove_fact(facts, log, work, head)
        elif facts.status[head] & CHECKED:
            prove_fact(facts, log, work, head)
        else:
            set_bits(facts, log, head, DELAYED)
        return APPLIED
    return NOTHING


@compiled
def observe_proof(
    facts: Facts, log: Log, work: BackwardForward, code: np.ndarray, at: int, registers: np.ndarray, head: int
) -> None:
    """Line 12: marks or links from the explicit facts of a proof; the log has capacity for them."""
    control, what = work.control, work.control[OBSERVES]
    if what & LINK:
        note(log, np.uint32(0), facts.offset[head])
    for j in range(code[at]):
        fact = registers[code[at + 1 + j]]
        bits = facts.status[fact]
        if not bits & EXPLICIT:
            continue
        if what & LINK:
            note(log, facts.offset[fact], facts.offset[head])
        if what & MARK and bits & DELETED_NEXT and not facts.status[head] & MARKED:
            set_bits(facts, log, head, MARKED)
            work.marked[control[MARKED_COUNT]] = head
            control[MARKED_COUNT] += 1


@inlined
def check_backward(
    facts: Facts, terms: Terms, view: np.ndarray, search: Search, log: Log, work: BackwardForward
) -> int:
    """Block b, lines 17 to 22, for the last fact of W."""
    control = work.control
    while control[TOP] > 0 and not facts.status[work.stack[control[TOP] - 1]] & WAITING:
        control[TOP] -= 1
    if control[TOP] == 0:
        return NOTHING
    fact = int64(work.stack[control[TOP] - 1])
    depth = STACK_DEPTH + control[TOP] - 1
    predicate = facts.arguments[int64(facts.offset[fact]) - 1]
    if facts.status[fact] & (EXPLICIT | DELAYED) or work.own[predicate] == 0:
        check_fact(facts, log, work, fact)
        prove_fact(facts, log, work, fact)
        return APPLIED
    if search.cursors[depth, STATE] == IDLE:
        work.counters[CHECKS] += 1
    while True:
        found = next_match(terms, view, search, depth, fact)
        if found == FULL:
            return GROW_TERMS
        if found != FOUND:
            check_fact(facts, log, work, fact)
            return APPLIED
        work.counters[DERIVATIONS] += 1
        if not derives(view, search, depth, fact):
            continue
        code, at = code_of(view), body_of(view, search, depth)
        if code[at] == 0:  # a rule without atoms: true whatever the facts are
            check_fact(facts, log, work, fact)
            prove_fact(facts, log, work, fact)
            return APPLIED
        added = 0
        for j in range(code[at]):
            other = search.registers[depth, code[at + 1 + j]]
            if not facts.status[other] & (WAITING | CHECKED):
                wait(facts, search, log, work, other)
                added += 1
        if added > 0:
            work.counters[BACKWARD] += 1
            return APPLIED


@inlined
def affect_next(
    facts: Facts, terms: Terms, view: np.ndarray, search: Search, log: Log, work: BackwardForward
) -> int:
    """Block c, lines 23 and 24: one fact that an instance with a deleted fact derives."""
    control = work.control
    while control[AFFECTED_NEXT] < control[AFFECTED]:
        fact = int64(work.affected[control[AFFECTED_NEXT]])
        control[AFFECTED_NEXT] += 1
        if affect(facts, search, log, work, fact, DELETIONS):
            return APPLIED
    while control[GONE_NEXT] < control[GONE]:
        fact = int64(work.gone[control[GONE_NEXT]])
        if facts.status[fact] & RECORDED:
            if affect_recorded(facts, search, log, work, fact):
                return APPLIED
        else:
            while True:
                found = next_match(terms, view, search, SPREAD_DEPTH, fact)
                if found != FOUND:
                    break
                work.counters[DERIVATIONS] += 1
                head = head_of(view, search, SPREAD_DEPTH)
                if head >= 0 and affect(facts, search, log, work, head, DELETIONS):
                    return APPLIED
            if found == FULL:
                return GROW_TERMS
        set_bits(facts, log, fact, SPREAD)
        control[GONE_NEXT] += 1
    return NOTHING


@inlined
def affect_recorded(facts: Facts, search: Search, log: Log, work: BackwardForward, fact: int) -> bool:
    """Block c for a RECORDED fact, without a search; False when its chain has ended.  Except in the order of
    the paper, a head that no instance derives is deleted at once."""
    control, derivation_log = work.control, log.derivation_log
    if control[RECORD_NEXT] < 0:
        control[RECORD_NEXT] = chain_of(derivation_log, fact)
    affected = False
    while control[RECORD_NEXT] != END and not affected:
        link = control[RECORD_NEXT]
        control[RECORD_NEXT] = next_link(derivation_log, link)
        head = recorded_head(facts, derivation_log, work.own, link)
        if head < 0:
            continue
        remove_instance(derivation_log, link, head)
        bits = facts.status[head] & (PRESENT | NEW | DELETED | WAITING | CHECKED | EXPLICIT)
        if control[ORDER] != PAPER and bits == PRESENT and none_is_left(derivation_log, head):
            work.counters[FROM_RECORD] += 1
            work.counters[SPARED] += 1
            set_bits(facts, log, head, DELETED)
            work.gone[control[GONE]] = head
            control[GONE] += 1
        else:
            affected = affect(facts, search, log, work, head, FROM_RECORD)
    if not affected:
        control[RECORD_NEXT] = -1
    return affected


@inlined
def delete_unproved(facts: Facts, log: Log, work: BackwardForward) -> int:
    """Block d, line 25: D gets what was checked and stays unproved."""
    control = work.control
    before = control[GONE]
    for i in range(control[CHECKED_NEXT], control[CHECKED_COUNT]):
        fact = work.checked[i]
        if not facts.status[fact] & (PROVED | DELETED):
            set_bits(facts, log, fact, DELETED)
            work.gone[control[GONE]] = fact
            control[GONE] += 1
    control[CHECKED_NEXT] = control[CHECKED_COUNT]
    return APPLIED if control[GONE] > before else NOTHING


@inlined
def affect(facts: Facts, search: Search, log: Log, work: BackwardForward, head: int, counter: int) -> bool:
    """Line 24, if the fact is neither in W nor in C."""
    new = bool((facts.status[head] & (PRESENT | NEW | DELETED | WAITING | CHECKED)) == PRESENT)
    if new:
        work.counters[counter] += 1
        wait(facts, search, log, work, head)
    return new


@inlined
def wait(facts: Facts, search: Search, log: Log, work: BackwardForward, fact: int) -> None:
    """W gets a fact; the stack has capacity."""
    set_bits(facts, log, fact, WAITING)
    top = work.control[TOP]
    work.stack[top] = fact
    stop_matching(search, STACK_DEPTH + top)
    work.control[TOP] = top + 1


@inlined
def check_fact(facts: Facts, log: Log, work: BackwardForward, fact: int) -> None:
    """A fact leaves W for C."""
    clear_bits(facts, log, fact, WAITING)
    if not facts.status[fact] & CHECKED:
        set_bits(facts, log, fact, CHECKED)
        work.checked[work.control[CHECKED_COUNT]] = fact
        work.control[CHECKED_COUNT] += 1


@inlined
def prove_fact(facts: Facts, log: Log, work: BackwardForward, fact: int) -> None:
    """V gets a fact."""
    if not facts.status[fact] & PROVED:
        set_bits(facts, log, fact, PROVED)
        work.proven[work.control[PROVEN]] = fact
        work.control[PROVEN] += 1


@entry
def wait_all(facts: Facts, log: Log, search: Search, work: BackwardForward, ids: Int32s) -> None:
    """W gets facts before anything else, the last one on top; the stack has capacity."""
    for i in range(len(ids)):
        if (facts.status[ids[i]] & (PRESENT | DELETED | WAITING)) == PRESENT:
            wait(facts, search, log, work, ids[i])
