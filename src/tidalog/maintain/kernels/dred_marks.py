"""Overdeletion and rederivation with marks: the middle of DRed with marking, over one component.

An instance is met when the first of its facts in D has its turn.  A head moves to D unless it is explicit; it
is POSITIVE if it is sure to be true once the next update is done: every deleted fact of the body is POSITIVE,
every other is explicit and not DOOMED.  A fact that one step derives from what is left comes back, marked if
a fact of that body is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.bits import DELETED, DOOMED, EXPLICIT, MARKED, NEW, POSITIVE, PRESENT, SPREAD
from tidalog.engine.delta_scan import Plans
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts, fact_hash
from tidalog.engine.jit import borrowed, inlined
from tidalog.engine.mark_propagation import is_among
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import (
    FOUND,
    NO_ROOM,
    STEP,
    borrowed_facts,
    borrowed_plans,
    head_of,
    next_instance,
    start_search,
    view_of,
)
from tidalog.engine.undo_log import Log, set_bits
from tidalog.maintain.kernels import affected as steps
from tidalog.maintain.kernels.affected import predicate_of, prove
from tidalog.maintain.kernels.jit import compiled
from tidalog.maintain.kernels.search import (
    COUNTERS,
    DELETIONS,
    DERIVATIONS,
    Ints,
    Search,
    borrowed_log,
    borrowed_search,
)

NEXT: Final = 0  # the next fact of D
GONE: Final = 1  # facts of D
PLAN: Final = 2
SEARCHING: Final = 3
BUDGET: Final = 4
CURRENT: Final = 5
CONTROL: Final = 6


class Overdeletion(NamedTuple):
    gone: Ints  # D: deleted facts of lower components, then this one's
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


def new_overdeletion(gone: Ints) -> Overdeletion:
    return Overdeletion(gone, np.zeros(CONTROL, np.int64), np.zeros(COUNTERS, np.int64))


# --- compiled ---------------------------------------------------------------------------------------


@compiled
def delete_all(facts: Facts, log: Log, work: Overdeletion, ids: np.ndarray) -> None:
    """D gets facts that are not explicit."""
    for i in range(len(ids)):
        if (facts.status[ids[i]] & (PRESENT | NEW | DELETED | EXPLICIT)) == PRESENT:
            set_bits(facts, log, ids[i], DELETED)
            work.gone[work.control[GONE]] = ids[i]
            work.control[GONE] += 1


@inlined
def comes_back(facts: Facts, fact: int) -> bool:
    """Whether a fact is sure to be true once the next update is done."""
    status = facts.status[fact]
    if status & DELETED:
        return (status & POSITIVE) != 0
    return (status & (EXPLICIT | DOOMED)) == EXPLICIT


@compiled
def overdelete(
    owned_facts: Facts,
    terms: Terms,
    owned_indexes: np.ndarray,
    owned_plans: Plans,
    owned_search: Search,
    owned_log: Log,
    owned_work: Overdeletion,
) -> int:
    """Goes on until every fact of D has had its turn (DONE) or something is wanted."""
    facts, log, plans = borrowed_facts(owned_facts), borrowed_log(owned_log), borrowed_plans(owned_plans)
    search = borrowed_search(owned_search)
    gone, control, counters = (
        borrowed(owned_work.gone),
        borrowed(owned_work.control),
        borrowed(owned_work.counters),
    )
    view = view_of(facts, owned_indexes, plans)
    registers, cursor = search.registers[0], search.cursors[0]
    while control[NEXT] < control[GONE]:
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = np.int64(gone[control[NEXT]])
        if control[SEARCHING] == 0:
            predicate = predicate_of(facts, fact)
            j = plans.first[predicate] + control[PLAN]
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
        counters[DERIVATIONS] += 1
        head = head_of(view, registers, cursor)
        if head < 0 or (facts.status[head] & (PRESENT | NEW | DELETED | EXPLICIT)) != PRESENT:
            continue
        counters[DELETIONS] += 1
        pc = -1 - cursor[STEP]
        body = pc + 5 + plans.code[pc + 4]
        positive = True
        for j in range(plans.code[body]):
            if not comes_back(facts, registers[plans.code[body + 1 + j]]):
                positive = False
        set_bits(facts, log, head, DELETED | POSITIVE if positive else DELETED)
        gone[control[GONE]] = head
        control[GONE] += 1
    return DONE


@compiled
def rederive(
    owned_facts: Facts,
    terms: Terms,
    owned_indexes: np.ndarray,
    owned_plans: Plans,
    owned_search: Search,
    gone: np.ndarray,
    spared: np.ndarray,
    out: np.ndarray,
    marks: np.ndarray,
    control: np.ndarray,
    counters: np.ndarray,
) -> int:
    """Which deleted facts one step derives from what is left, in `out`, and whether each gets a mark by it.
    `control` is that of `affected`: SEED facts have been looked at, GONE found."""
    facts, plans = borrowed_facts(owned_facts), borrowed_plans(owned_plans)
    view = view_of(facts, owned_indexes, plans)
    search = borrowed_search(owned_search)
    registers, cursor = search.registers[1], search.cursors[1]
    while control[steps.SEED] < len(gone):
        control[steps.BUDGET] -= 1
        if control[steps.BUDGET] < 0:
            return PAUSE
        fact = gone[control[steps.SEED]]
        control[steps.FACT] = fact
        found = prove(facts, terms, view, plans, search, control, counters)
        if found == NO_ROOM:
            return GROW_TERMS
        if found == FOUND:
            pc = -1 - cursor[STEP]
            body = pc + 5 + plans.code[pc + 4]
            marked = False
            for j in range(plans.code[body]):
                if facts.status[registers[plans.code[body + 1 + j]]] & (DOOMED | MARKED):
                    marked = True
            out[control[steps.GONE]] = fact
            marks[control[steps.GONE]] = 1 if marked and not is_among(spared, fact_hash(facts, fact)) else 0
            control[steps.GONE] += 1
        control[steps.SEED] += 1
    return DONE
