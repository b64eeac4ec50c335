"""The state of `kernels.expire`, and what its phases share."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import int64
from tidalog.engine.bits import WAITING
from tidalog.engine.expiry_kernels import LOGGED, QUEUED, SIDE, SLOT, WAIT, Expiries
from tidalog.engine.fact_kernels import ENTRIES, FACTS, HEADER, USED, Facts
from tidalog.engine.hash_table import has_capacity
from tidalog.engine.jit import (
    compiled,
    inlined,
    int32_at,
    int32_table,
    int64_at,
    int64_table,
    uint8_at,
    uint64_at,
)
from tidalog.engine.tuple_executor import Search, body_of
from tidalog.engine.tuple_prefetch import PROBE_FIELDS
from tidalog.engine.tuple_view import code_of
from tidalog.engine.undo_log import Log, set_bits

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
BATCHED: Final = 13  # facts in the batch
AT: Final = 14  # which of them is that of the phase
IS_NEW: Final = 15  # whether the indexes have yet to catch up with the batch
HEADS: Final = 16  # instances whose heads are still to be lengthened
IS_FULL: Final = 17  # whether they are to be before any other
CONTROL: Final = 18

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
    batch: npt.NDArray[np.int32]  # facts that are settled together, and their slots before
    heads: npt.NDArray[np.int32]  # [argument, instance]
    ends: npt.NDArray[np.int32]  # [instance]: the predicate of its head, the slot that it gives it
    rows: npt.NDArray[np.int32]  # [argument, instance]: heads of one predicate
    hashes: npt.NDArray[np.uint64]  # of these
    found: npt.NDArray[np.int32]  # their ids
    created: npt.NDArray[np.int32]  # whether they are new
    probes: npt.NDArray[np.int64]  # of the batch, to be prefetched
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> Work:
    return Work(
        int32_table(block[0], block[1], PAIR),
        int32_table(block[4], block[5], PAIR),
        int32_table(block[8], block[9], PAIR),
        int32_at(block[12], block[13]),
        int32_table(block[16], block[17], PAIR),
        int32_table(block[20], block[21], ENTRY),
        int32_at(block[24], block[25]),
        int32_table(block[28], block[29], PAIR),
        uint8_at(block[32], block[33]),
        int64_at(block[36], block[37]),
        int32_table(block[40], block[41], PAIR),
        int32_table(block[44], block[45], MARGIN),
        int32_table(block[48], block[49], PAIR),
        int32_table(block[52], block[53], MARGIN),
        uint64_at(block[56], block[57]),
        int32_at(block[60], block[61]),
        int32_at(block[64], block[65]),
        int64_table(block[68], block[69], PROBE_FIELDS),
        int64_at(block[72], block[73]),
        int64_at(block[76], block[77]),
    )


@inlined
def has_room(facts: Facts, expiries: Expiries, work: Work) -> bool:
    """Whether all that a batch of instances may add has capacity."""
    state, ends = facts.state, min(len(facts.offset), len(facts.status))
    n, wide = state[FACTS] + MARGIN, MARGIN * (len(work.heads) + HEADER)
    return bool(
        n <= min(ends, len(expiries.life))
        and state[USED] + wide <= len(facts.arguments)
        and has_capacity(state[ENTRIES] + MARGIN, len(facts.slots))
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
        push_slot(expiries.when, work.queue, work.control[TIMES], slot)
        work.control[TIMES] += 1


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
