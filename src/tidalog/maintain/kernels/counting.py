"""Deletion by derivation counts, for a component that reads only lower ones (strategy `counting`).

Retraction visits every instance with a deleted fact once (`kernels.retraction`); a head whose derivations are
counted has one less.  Then insertion counts the new instances (`engine.derivation_counts`).  Last,
`delete_underived` deletes the affected facts without a derivation.  A fact whose derivations are not counted
is searched for them, in the new state, and counted from then on; if it has more than MOST_COUNTED the search
ends and its count stays UNKNOWN, for one derivation is enough to stay.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Int32s, Int64s, Int64Table, int64
from tidalog.engine.bits import DELETED, EXPLICIT, WAITING
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_counts import NO_DERIVATION, UNKNOWN, count_of, put_count
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import entry, inlined
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import FOUND, FULL, Search, derives, next_match, stop_matching
from tidalog.engine.tuple_view import fill_view
from tidalog.engine.undo_log import Log, clear_bits, set_bits
from tidalog.maintain.kernels.counters import BACKWARD, CHECKS, DERIVATIONS

MOST_COUNTED: Final = 64

# control[…]
NEXT: Final = 0  # the next affected fact
GONE: Final = 1  # deleted facts
HERE: Final = 2  # derivations found of the fact under check
BUDGET: Final = 3
CONTROL: Final = 4


# --- compiled ---------------------------------------------------------------------------------------


@entry
def delete_underived(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    search: Search,
    plans: Plans,
    affected: Int32s,
    counts: Int64s,
    control: Int64s,
    counters: Int64s,
) -> int:
    """Runs until every affected fact is deleted or known to stay (DONE) or something is wanted; deleted facts
    move to the front.  `counts` is the row of `engine.derivation_counts`."""
    view = search.views[0]
    fill_view(view, facts, indexes, plans)
    while control[NEXT] < len(affected):
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(affected[control[NEXT]])
        number = count_of(counts, fact)
        if number == UNKNOWN and not facts.status[fact] & EXPLICIT:
            if count_derivations(terms, view, search, fact, control, counters) == FULL:
                return GROW_TERMS
            counters[CHECKS] += 1
            if control[HERE] <= MOST_COUNTED:
                number = NO_DERIVATION + control[HERE]
                put_count(counts, fact, number)
            control[HERE] = 0
        if number == NO_DERIVATION and not facts.status[fact] & EXPLICIT:
            set_bits(facts, log, fact, DELETED)
            put_count(counts, fact, UNKNOWN)
            affected[control[GONE]] = fact
            control[GONE] += 1
        clear_bits(facts, log, fact, WAITING)
        control[NEXT] += 1
    return DONE


@inlined
def count_derivations(
    terms: Terms, view: np.ndarray, search: Search, fact: int, control: np.ndarray, counters: np.ndarray
) -> int:
    """Counts the derivations of a fact in control[HERE], all or more than MOST_COUNTED.  FULL if it has to go
    on later."""
    while True:
        found = next_match(terms, view, search, 0, fact)
        if found != FOUND:
            break
        counters[BACKWARD] += 1
        counters[DERIVATIONS] += 1
        if derives(view, search, 0, fact):
            control[HERE] += 1
            if control[HERE] > MOST_COUNTED:
                stop_matching(search, 0)
                break
    return found
