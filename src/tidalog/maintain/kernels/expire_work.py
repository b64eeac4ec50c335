"""The state of `kernels.expire`, and what its phases share."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tidalog.engine import hash_table
from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Int64Table, Uint8s, Uint64s, int64
from tidalog.engine.bits import WAITING
from tidalog.engine.expiry_kernels import LOGGED, QUEUED, SIDE, SLOT, WAIT, Expiries
from tidalog.engine.fact_kernels import ENTRIES, FACTS, HEADER, USED, Facts
from tidalog.engine.jit import inlined
from tidalog.engine.tuple_executor import Search, body_of
from tidalog.engine.tuple_view import code_of
from tidalog.engine.undo_log import Log, set_bits
from tidalog.maintain.kernels.heap import push

# Depths of the search, and its views.
RAISING: Final = 0  # instances of settled facts that a fact takes part in
DOUBTING: Final = 1  # instances of the state before that a fact takes part in
PROVING: Final = 2  # instances without suspects that derive a fact

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
BATCHED: Final = 12  # facts in the batch
AT: Final = 13  # which of them is that of the phase
IS_NEW: Final = 14  # whether the indexes have yet to catch up with the batch
HEADS: Final = 15  # instances whose heads are still to be lengthened
IS_FULL: Final = 16  # whether they are to be before any other
CONTROL: Final = 17

SEEDS: Final = 0
POP: Final = 1
PROVE: Final = 2
DOUBT: Final = 3
LEFT: Final = 4
LOWER: Final = 5
RAISE: Final = 6
SPREAD: Final = 7

BATCH: Final = 64  # facts of one expiry that are settled together
PAIR: Final = 2  # fields of a fact with its slot
ENTRY: Final = 3  # fields of a fact that waits
MARGIN: Final = 256  # instances whose heads are lengthened together


class Work(NamedTuple):
    seeds: Int32Table  # lower facts that are gone or go sooner, and their slots before
    raised: Int32Table  # lower facts that stay longer, and their slots before
    given: Int32Table  # facts of the component with other expiries as explicit facts; these before
    heap: Int32s  # facts that may have lost their proof
    suspects: Int32Table  # [suspect]: the fact, the slot that is left to it
    waits: Int32Table  # [entry]: a fact, its slot before, 1 + the next entry
    queue: Int32s  # slots with facts that wait
    changed: Int32Table  # facts whose expiry has changed, and their slots before
    own: Uint8s  # [predicate]: whether the component derives it
    reads: Int64s  # the number of indexes, these, then the predicates that are looked up
    batch: Int32Table  # facts that are settled together, and their slots before
    heads: Int32Table  # [argument, instance]
    ends: Int32Table  # [instance]: the predicate of its head, the slot that it gives it
    rows: Int32Table  # [argument, instance]: heads of one predicate
    hashes: Uint64s  # of these
    found: Int32s  # their ids
    created: Int32s  # whether they are new
    probes: Int64Table  # of the batch, to be prefetched
    control: Int64s
    counters: Int64s


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def has_capacity(facts: Facts, expiries: Expiries, work: Work) -> bool:
    """Whether all that a batch of instances may add has capacity."""
    state, ends = facts.state, min(len(facts.offset), len(facts.status))
    n, wide = state[FACTS] + MARGIN, MARGIN * (len(work.heads) + HEADER)
    return bool(
        n <= min(ends, len(expiries.life))
        and state[USED] + wide <= len(facts.arguments)
        and hash_table.has_capacity(state[ENTRIES] + MARGIN, len(facts.slots))
        and work.control[WAITS] + MARGIN <= len(work.waits)
        and work.control[CHANGED] + MARGIN <= len(work.changed)
        and work.control[SUSPECTS] + MARGIN <= len(work.suspects)
        and work.control[DOUBTED] + MARGIN <= len(work.heap)
        and expiries.state[LOGGED] + MARGIN <= len(expiries.log)
        and expiries.state[SIDE] + MARGIN <= len(expiries.side)
    )


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
        push(work.queue, work.control[TIMES], slot, is_later, expiries.when)
        work.control[TIMES] += 1


@inlined
def is_later(when: np.ndarray, slot: int, other: int) -> bool:
    return bool(when[slot] > when[other])


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
