"""One-step rederivation (DR4 of paper 003): which deleted facts an instance of what is left derives.

Few facts are proved one by one (`find_derivable`).  Of many, `find_known` says what needs no search; the
others are proved by blocks (`engine.prove`).
"""

from __future__ import annotations

from typing import Final

from tidalog.engine.array_types import Int32s, Int64s, Int64Table, Uint64s, int64
from tidalog.engine.bits import EXPLICIT, PROVED
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_log import derivations_of
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import entry
from tidalog.engine.mark_propagation import mark_derivable
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.tuple_executor import FOUND, FULL, Search, body_of, row_of
from tidalog.engine.tuple_view import code_of, fill_view
from tidalog.engine.undo_log import Log, set_bits
from tidalog.maintain.kernels.ranked import prove

# control[…]
NEXT: Final = 0  # the next fact of `gone`
BACK: Final = 1  # facts in `out`
BUDGET: Final = 2
PASSES_ON: Final = 3  # whether marks pass on to what is derivable
CONTROL: Final = 4


# --- compiled ---------------------------------------------------------------------------------------


@entry
def find_derivable(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    search: Search,
    plans: Plans,
    gone: Int32s,
    out: Int32s,
    control: Int64s,
    counters: Int64s,
    unmarked: Uint64s,
) -> int:
    """Lists in `out` the facts of `gone` that are explicit, or derived by an instance that the filters allow.
    DONE, or what is wanted.  Where the derivation log is exact it answers.  `unmarked`: hashes of facts that
    get no mark."""
    view = search.views[0]
    fill_view(view, facts, indexes, plans)
    while control[NEXT] < len(gone):
        control[BUDGET] -= 1
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(gone[control[NEXT]])
        derivable = True
        if not facts.status[fact] & EXPLICIT:
            known = derivations_of(log.derivation_log, fact)
            derivable = known > 0
            if known < 0:
                found = prove(terms, view, search, 0, fact, counters)
                if found == FULL:
                    return GROW_TERMS
                derivable = found == FOUND
                if derivable and control[PASSES_ON] != 0:
                    body, row = body_of(view, search, 0), row_of(search, 0)
                    mark_derivable(facts, log, code_of(view), body, row, 0, fact, unmarked)
        if derivable:
            out[control[BACK]] = fact
            control[BACK] += 1
        control[NEXT] += 1
    return DONE


@entry
def find_known(facts: Facts, log: Log, gone: Int32s, rest: Int32s) -> int:
    """Marks PROVED the facts of `gone` that are explicit, or that the derivation log has an instance of;
    `rest` gets those that the log cannot answer for.  Returns how many."""
    unknown = 0
    for i in range(len(gone)):
        known = derivations_of(log.derivation_log, gone[i])
        if known > 0 or facts.status[gone[i]] & EXPLICIT:
            set_bits(facts, log, gone[i], PROVED)
        elif known < 0:
            rest[unknown] = gone[i]
            unknown += 1
    return unknown
