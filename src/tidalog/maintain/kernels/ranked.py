"""Deletion in rank order, with one-step proofs (strategy `ranked`).

Invariant.  Every implicit fact of the component has an instance whose body facts of the same component all
have smaller ids.  Affected facts wait in a heap by id, so when F is popped every smaller id is final.  If F
is explicit, or an instance with a present body of smaller ids derives it, F stays and nothing spreads.
Otherwise F is deleted, and the heads with larger ids of the instances that F takes part in are affected.

Every instance is visited once, when the first of its deleted facts spreads: facts that are SPREAD match
nothing, and atoms before the pivot do not match the pivot itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Owner
from tidalog.engine.array_types import Int32s, Int64s, Int64Table, Uint8s, int64
from tidalog.engine.bits import DELETED, EXPLICIT, NEW, PRESENT, RECORDED, SPREAD, WAITING
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_log import (
    END,
    chain_of,
    derivations_below,
    forget_count,
    next_link,
    none_is_left,
    remove_instance,
)
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import entry, inlined
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import (
    FOUND,
    FULL,
    Search,
    derives,
    head_of,
    next_match,
    stop_matching,
)
from tidalog.engine.tuple_view import fill_view
from tidalog.engine.undo_log import Log, clear_bits, set_bits
from tidalog.maintain.kernels.counters import (
    BACKWARD,
    CHECKS,
    COUNTERS,
    DELETIONS,
    DERIVATIONS,
    FROM_RECORD,
    SPARED,
    Ints,
    recorded_head,
    spend,
)
from tidalog.maintain.kernels.heap import pop, push
from tidalog.maintain.workspace import Workspace

# Depths of the search, and its views.
FORWARD_SEARCH: Final = 0  # instances that a deleted fact takes part in
PROOF_SEARCH: Final = 1  # instances with smaller ids that derive an affected fact

# control[…]
PHASE: Final = 0
SEED: Final = 1  # the next seed
WAIT: Final = 2  # facts in the heap
GONE: Final = 3  # facts in `gone`
FACT: Final = 4  # the fact of the phase
BUDGET: Final = 5
UNSURE: Final = 6  # facts in `gone` that an instance of any rank may still derive
CONTROL: Final = 7

# Phases.
SEEDS: Final = 0
POP: Final = 1
PROVE: Final = 2
SPREAD_SEED: Final = 3
SPREAD_GONE: Final = 4


_FEW: Final = 64  # capacity for seeds to begin with


class Ranked(NamedTuple):
    seeds: Int32s  # deleted facts of lower components
    heap: Int32s
    gone: Int32s
    own: Uint8s  # [predicate]: whether the component derives it
    control: Int64s
    counters: Int64s


class RankedWork(Owner[Ranked]):
    """The state of a deletion, kept from one component to the next."""

    def __init__(self) -> None:
        nothing = np.empty(0, np.int32)
        self._numbers = np.zeros(CONTROL + COUNTERS, np.int64)
        control, counters = self._numbers[:CONTROL], self._numbers[CONTROL:]
        super().__init__(Ranked(nothing, nothing, nothing, np.empty(0, np.uint8), control, counters))
        self.seeds = 0

    def start(self, seeds: Ints, own: npt.NDArray[np.uint8], workspace: Workspace, capacity: int) -> Ranked:
        """`capacity`: of every list, the facts there are."""
        count, work = len(seeds), self.arrays
        known = min(len(work.heap), len(work.gone))
        if capacity > known or count > len(work.seeds) or own is not work.own:
            heap, gone = workspace.ids("queue", capacity), workspace.ids("gone", capacity)
            given = workspace.ids("seeds", max(count, _FEW))
            work = Ranked(given, heap, gone, own, work.control, work.counters)
            self.replace(work)
        work.seeds[:count] = seeds
        self.seeds = self._block[1] = count  # the length of the first array
        self._numbers[:] = 0
        return work


# --- compiled ---------------------------------------------------------------------------------------


@entry
def delete_ranked(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    search: Search,
    work: Ranked,
    forward_plans: Plans,
    proof_plans: Plans,
) -> int:
    """Runs until no fact is affected (DONE) or something is wanted."""
    forward, proof = search.views[FORWARD_SEARCH], search.views[PROOF_SEARCH]
    fill_view(forward, facts, indexes, forward_plans)
    fill_view(proof, facts, indexes, proof_plans)
    control, counters = work.control, work.counters
    billed = counters[DERIVATIONS]
    while True:
        billed = spend(control, BUDGET, counters, billed)
        if control[BUDGET] < 0:
            return PAUSE
        phase = control[PHASE]
        if phase == SEEDS:
            if control[SEED] < len(work.seeds):
                control[FACT] = work.seeds[control[SEED]]
                control[PHASE] = SPREAD_SEED
            else:
                control[PHASE] = POP
        elif phase == SPREAD_SEED or phase == SPREAD_GONE:
            above = control[FACT] if phase == SPREAD_GONE else int64(-1)
            if spread(facts, terms, log, forward, search, work, above) == FULL:
                return GROW_TERMS
            control[SEED] += phase == SPREAD_SEED
            control[PHASE] = SEEDS if phase == SPREAD_SEED else POP
        elif phase == POP:
            if control[WAIT] == 0:
                return DONE
            control[FACT] = pop(work.heap, control[WAIT], is_smaller, None)
            control[WAIT] -= 1
            check(facts, log, work)
        else:
            found = prove(terms, proof, search, PROOF_SEARCH, control[FACT], counters)
            if found == FULL:
                return GROW_TERMS
            if found == FOUND:
                control[PHASE] = POP
            else:
                delete(facts, log, work)


@inlined
def check(facts: Facts, log: Log, work: Ranked) -> None:
    """The fact popped stays if it is explicit or the derivation log has a rank proof of it, is deleted if the
    log has none, and otherwise is to be proved."""
    fact = work.control[FACT]
    clear_bits(facts, log, fact, WAITING)
    if not facts.status[fact] & EXPLICIT:
        left = derivations_below(log.derivation_log, fact)
        if left == 0:
            work.counters[SPARED] += 1
            delete(facts, log, work)
        elif left < 0:
            work.counters[CHECKS] += 1
            work.control[PHASE] = PROVE


@inlined
def delete(facts: Facts, log: Log, work: Ranked) -> None:
    """The fact of the phase has no rank proof: it is deleted, and spreads next."""
    set_bits(facts, log, work.control[FACT], DELETED)
    work.gone[work.control[GONE]] = work.control[FACT]
    work.control[GONE] += 1
    work.control[UNSURE] += 1
    work.control[PHASE] = SPREAD_GONE


@inlined
def prove(terms: Terms, view: np.ndarray, search: Search, depth: int, fact: int, counters: np.ndarray) -> int:
    """FOUND: an instance that the filters allow derives a fact; NO_MORE: none does; or FULL."""
    while True:
        found = next_match(terms, view, search, depth, fact)
        if found != FOUND:
            break
        counters[BACKWARD] += 1
        counters[DERIVATIONS] += 1
        if derives(view, search, depth, fact):
            stop_matching(search, depth)
            break
    return found


@inlined
def spread(
    facts: Facts, terms: Terms, log: Log, view: np.ndarray, search: Search, work: Ranked, above: int
) -> int:
    """Affects the heads with ids larger than `above` of the instances that a deleted fact takes part in.
    NO_MORE, or FULL."""
    fact, counters = work.control[FACT], work.counters
    if facts.status[fact] & RECORDED:
        return spread_recorded(facts, log, work, above)
    while True:
        found = next_match(terms, view, search, FORWARD_SEARCH, fact)
        if found != FOUND:
            break
        counters[DERIVATIONS] += 1
        head = head_of(view, search, FORWARD_SEARCH)
        forget_count(log.derivation_log, head)
        if head > above and is_unaffected(facts, head):
            counters[DELETIONS] += 1
            affect(facts, log, work, head)
    if found != FULL:
        set_bits(facts, log, fact, SPREAD)
    return found


@inlined
def spread_recorded(facts: Facts, log: Log, work: Ranked, above: int) -> int:
    """`spread` for a RECORDED fact, without a search.  A head with another rank proof in the derivation log
    is not affected; one that no instance derives is deleted at once, and spreads in turn."""
    derivation_log, gone, control = log.derivation_log, work.gone, work.control
    fact = control[FACT]
    next_gone = control[GONE]
    while True:
        link = chain_of(derivation_log, fact)
        while link != END:
            head = recorded_head(facts, derivation_log, work.own, link)
            if head >= 0:
                left = remove_instance(derivation_log, link, head)
                work.counters[FROM_RECORD] += 1
                if is_unaffected(facts, head):
                    if (facts.status[head] & (RECORDED | EXPLICIT)) == RECORDED and none_is_left(
                        derivation_log, head
                    ):
                        set_bits(facts, log, head, DELETED)
                        gone[control[GONE]] = head
                        control[GONE] += 1
                        work.counters[SPARED] += 1
                    elif head > above and left <= 0:
                        affect(facts, log, work, head)
            link = next_link(derivation_log, link)
        set_bits(facts, log, fact, SPREAD)
        if next_gone == control[GONE]:
            return 0
        fact = int64(gone[next_gone])
        next_gone += 1
        above = fact


@inlined
def is_unaffected(facts: Facts, fact: int) -> bool:
    """A fact of the old state that is neither in the heap nor deleted."""
    return bool((facts.status[fact] & (PRESENT | NEW | DELETED | WAITING)) == PRESENT)


@inlined
def affect(facts: Facts, log: Log, work: Ranked, fact: int) -> None:
    set_bits(facts, log, fact, WAITING)
    push(work.heap, work.control[WAIT], fact, is_smaller, None)
    work.control[WAIT] += 1


@entry
def affect_all(facts: Facts, log: Log, work: Ranked, ids: Int32s) -> None:
    for i in range(len(ids)):
        if not facts.status[ids[i]] & (WAITING | DELETED):
            affect(facts, log, work, ids[i])


@inlined
def is_smaller(_: None, one: int, other: int) -> bool:
    return one < other
