"""Overdeletion and rederivation with marks: the middle of DRed with marking, over one component.

An instance is visited when the first of its facts in D has its turn.  A head moves to D unless it is
explicit.  It is POSITIVE if it is sure to be true after the next update: every deleted fact of the body is
POSITIVE, every other is explicit and not DELETED_NEXT.  A fact that one instance derives from what is left is
rederived, marked if a fact of that body is.  The first instance decides, so facts keep the order of D.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import PLANS, block_of, facts_at, indexes_at, log_at, plans_at, terms_at
from tidalog.engine.array_types import Int32s, Int64s, Uint8s, Uint64s, int64
from tidalog.engine.bits import DELETED, DELETED_NEXT, EXPLICIT, MARKED, NEW, POSITIVE, PRESENT, SPREAD
from tidalog.engine.fact_kernels import Facts, fact_hash
from tidalog.engine.jit import entry, inlined, int32_at, int64_at
from tidalog.engine.mark_propagation import is_among
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import FOUND, FULL, Search, body_of, head_of, next_match, search_at
from tidalog.engine.tuple_view import code_of, fill_view
from tidalog.engine.undo_log import set_bits
from tidalog.maintain.kernels import rederive as steps
from tidalog.maintain.kernels.counters import DELETIONS, DERIVATIONS, Ints, new_counters
from tidalog.maintain.kernels.ranked import prove

NEXT: Final = 0  # the next fact of D
GONE: Final = 1  # facts of D
BUDGET: Final = 2
CONTROL: Final = 3


class MarkedOverdeletion(NamedTuple):
    gone: Ints  # D: deleted facts of lower components, then this one's
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


class MarkedOverdeletionWork:
    """One overdeletion with its addresses."""

    def __init__(self, seeds: Ints, queue: Ints) -> None:
        """`queue` has capacity for the seeds and for every fact of the component."""
        queue[: len(seeds)] = seeds
        control = np.zeros(CONTROL, np.int64)
        control[GONE] = len(seeds)
        self.work = MarkedOverdeletion(queue, control, new_counters())
        self.at = block_of(self.work)


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> MarkedOverdeletion:
    return MarkedOverdeletion(
        int32_at(block[0], block[1]), int64_at(block[4], block[5]), int64_at(block[8], block[9])
    )


@entry
def delete_all(shared: Int64s, of_work: Int64s, ids: Int32s) -> None:
    """D gets facts that are not explicit."""
    facts, log, work = facts_at(shared), log_at(shared), work_at(of_work)
    for i in range(len(ids)):
        if (facts.status[ids[i]] & (PRESENT | NEW | DELETED | EXPLICIT)) == PRESENT:
            set_bits(facts, log, ids[i], DELETED)
            work.gone[work.control[GONE]] = ids[i]
            work.control[GONE] += 1


@entry
def overdelete(shared: Int64s, searches: Int64s, of_work: Int64s) -> int:
    """Runs until every fact of D has had its turn (DONE) or something is wanted."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    search, work = search_at(searches[PLANS:]), work_at(of_work)
    gone, control, counters = work.gone, work.control, work.counters
    view = search.views[0]
    fill_view(view, facts, indexes_at(shared), plans_at(searches))
    while control[NEXT] < control[GONE]:
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(gone[control[NEXT]])
        found = next_match(terms, view, search, 0, fact)
        if found == FULL:
            return GROW_TERMS
        if found != FOUND:
            set_bits(facts, log, fact, SPREAD)
            control[NEXT] += 1
            continue
        counters[DERIVATIONS] += 1
        head = head_of(view, search, 0)
        if head < 0 or (facts.status[head] & (PRESENT | NEW | DELETED | EXPLICIT)) != PRESENT:
            continue
        counters[DELETIONS] += 1
        set_bits(facts, log, head, DELETED | POSITIVE if comes_back(facts, view, search) else DELETED)
        gone[control[GONE]] = head
        control[GONE] += 1
    return DONE


@inlined
def comes_back(facts: Facts, view: np.ndarray, search: Search) -> bool:
    """Whether every fact of a body is sure to be true after the next update."""
    code, at = code_of(view), body_of(view, search, 0)
    sure = True
    for j in range(code[at]):
        status = facts.status[search.registers[0, code[at + 1 + j]]]
        if status & DELETED:
            sure = sure and (status & POSITIVE) != 0
        else:
            sure = sure and (status & (EXPLICIT | DELETED_NEXT)) == EXPLICIT
    return sure


@entry
def rederive(
    shared: Int64s,
    searches: Int64s,
    gone: Int32s,
    spared: Uint64s,
    out: Int32s,
    marks: Uint8s,
    control: Int64s,
    counters: Int64s,
) -> int:
    """`rederive.find_derivable`, with a mark for each fact found if its instance passes one on; facts whose
    hashes are `spared` get none."""
    facts, terms = facts_at(shared), terms_at(shared)
    search = search_at(searches[PLANS:])
    view = search.views[0]
    fill_view(view, facts, indexes_at(shared), plans_at(searches))
    while control[steps.NEXT] < len(gone):
        control[steps.BUDGET] -= 1
        if control[steps.BUDGET] < 0:
            return PAUSE
        fact = int64(gone[control[steps.NEXT]])
        found = prove(terms, view, search, 0, fact, counters)
        if found == FULL:
            return GROW_TERMS
        if found == FOUND:
            code, at = code_of(view), body_of(view, search, 0)
            marked = False
            for j in range(code[at]):
                if facts.status[search.registers[0, code[at + 1 + j]]] & (DELETED_NEXT | MARKED):
                    marked = True
            out[control[steps.BACK]] = fact
            marks[control[steps.BACK]] = marked and not is_among(spared, fact_hash(facts, fact))
            control[steps.BACK] += 1
        control[steps.NEXT] += 1
    return DONE
