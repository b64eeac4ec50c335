"""Retraction: what deleted facts derive joins a queue, by overdeletion (DR2 of paper 003) and by counting.

Every deleted fact is processed once, and is SPREAD (the paper's O) afterwards.  Every instance is visited
once, when the first of its deleted facts is processed. Few facts are processed one by one: facts in O match
nothing, and atoms before the pivot do not match the pivot.  Many facts are processed as a block N (WAITING),
in a scan by the block executor: atoms before the pivot match I - (O ∪ N), atoms after it I - O.

The queue is that of the blocks, and `engine.retract` says which heads join it.  In overdeletion it is the
list of deleted facts itself: those of lower components first, then those of this one as they are found.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Owner
from tidalog.engine.array_types import EACH, Int32s, Int64s, Int64Table, Uint8s, int64
from tidalog.engine.binding_blocks import BUDGET as ROW_BUDGET
from tidalog.engine.binding_blocks import COUNTED, QUEUED, BindingBlocks
from tidalog.engine.binding_blocks import DERIVATIONS as SCANNED
from tidalog.engine.bits import EXPLICIT, RECORDED, SPREAD, WAITING
from tidalog.engine.delta_scan import DeltaScan, Plans, scan_delta, scan_list
from tidalog.engine.derivation_counts import FIELDS, UNKNOWN, count_of, put_count
from tidalog.engine.derivation_log import END, chain_of, next_link, none_is_left, remove_instance
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import entry, inlined, int64_at
from tidalog.engine.opcodes import DONE, GROW_TERMS, PAUSE
from tidalog.engine.retract import queue_fact, retract_rows
from tidalog.engine.tuple_executor import (
    FOUND,
    FULL,
    IDLE,
    STATE,
    Search,
    emit_of,
    head_of,
    next_match,
    row_of,
)
from tidalog.engine.tuple_view import code_of, fill_view
from tidalog.engine.undo_log import Log, set_bits
from tidalog.maintain.kernels.counters import (
    DELETIONS,
    DERIVATIONS,
    FROM_RECORD,
    SPARED,
    Ints,
    new_counters,
    recorded_head,
    spend,
)

# control[…]
NEXT: Final = 0  # the next deleted fact
BLOCK_END: Final = 1  # where the block under way ends, if after NEXT
BUDGET: Final = 2
BIT: Final = 3  # of what is in the queue
IS_QUEUE: Final = 4  # whether the deleted facts are those in the queue
CONTROL: Final = 5

LEAST_BLOCK: Final = 16  # facts that are worth a block
MOST_BLOCK: Final = 4096
ROWS: Final = 4_000_000  # bindings between two checks of limits


class Retraction(NamedTuple):
    deleted: Int32s
    queue: Int32s
    own: Uint8s  # [predicate]: whether the component derives it
    control: Int64s
    counters: Int64s


class RetractionWork(Owner[Retraction]):
    """The state of one component, kept from one update to the next."""

    def __init__(self, codes: object) -> None:
        nothing, own = np.empty(0, np.int32), np.empty(0, np.uint8)
        super().__init__(Retraction(nothing, nothing, own, np.zeros(CONTROL, np.int64), new_counters()))

    def start(
        self, deleted: Ints, queue: Ints, own: npt.NDArray[np.uint8], bit: int, is_queue: bool
    ) -> npt.NDArray[np.int64]:
        control, counters = self.arrays.control, self.arrays.counters
        self.replace(Retraction(deleted, queue, own, control, counters))
        control[:] = counters[:] = 0
        control[BIT], control[IS_QUEUE] = bit, is_queue
        return control

    @property
    def queue_at(self) -> npt.NDArray[np.int64]:
        """Address and length of the queue."""
        return self._block[EACH : EACH + 2]


# --- compiled ---------------------------------------------------------------------------------------


@entry
def retract(
    facts: Facts,
    terms: Terms,
    log: Log,
    indexes: Int64Table,
    blocks: BindingBlocks,
    scan: DeltaScan,
    search: Search,
    work: Retraction,
    plans: Plans,
    block_plans: Plans,
) -> int:
    """Runs until every deleted fact is processed (DONE) or something is wanted, by plans for facts one by one
    and those for blocks."""
    view, queue = search.views[0], blocks.control
    fill_view(view, facts, indexes, plans)
    control, counters, bit = work.control, work.counters, work.control[BIT]
    queue[ROW_BUDGET] = ROWS
    billed = counters[DERIVATIONS]
    while True:
        if control[NEXT] < control[BLOCK_END]:
            before = queue[QUEUED]
            reason = scan_delta(facts, terms, log, indexes, block_plans, blocks, scan, bit)
            counters[DELETIONS] += queue[QUEUED] - before
            counters[DERIVATIONS] += queue[SCANNED]
            queue[SCANNED] = 0
            if reason != DONE:
                return reason
            billed = counters[DERIVATIONS]
            end_block(facts, work)
        end = queue[QUEUED] if control[IS_QUEUE] != 0 else len(work.deleted)
        if control[NEXT] == end:
            return DONE
        if end - control[NEXT] >= LEAST_BLOCK and search.cursors[0, STATE] == IDLE:
            begin_block(facts, log, work, queue, min(end, control[NEXT] + MOST_BLOCK))
            scan_list(scan, work.deleted, control[NEXT], control[BLOCK_END])
            continue
        billed = spend(control, BUDGET, counters, billed)
        if control[BUDGET] < 0:
            return PAUSE
        fact = int64(work.deleted[control[NEXT]])
        if facts.status[fact] & RECORDED:
            retract_recorded(facts, log, work, queue, fact)
        else:
            before = queue[QUEUED]
            while True:
                found = next_match(terms, view, search, 0, fact)
                if found != FOUND:
                    break
                counters[DERIVATIONS] += 1
                head = head_of(view, search, 0)
                if head >= 0:  # as a block of one row
                    pc, row = emit_of(search, 0), row_of(search, 0)
                    blocks.match[0] = head
                    retract_rows(facts, log, code_of(view), pc, blocks, row, 1, bit)
            counters[DELETIONS] += queue[QUEUED] - before
            if found == FULL:
                return GROW_TERMS
        set_bits(facts, log, fact, SPREAD)
        control[NEXT] += 1


@inlined
def begin_block(facts: Facts, log: Log, work: Retraction, queue: np.ndarray, end: int) -> None:
    """N gets the next deleted facts; those in the derivation log are processed at once."""
    work.control[BLOCK_END] = end
    for i in range(work.control[NEXT], end):
        fact = int64(work.deleted[i])
        if facts.status[fact] & RECORDED:
            retract_recorded(facts, log, work, queue, fact)
            set_bits(facts, log, fact, SPREAD)
        else:
            set_bits(facts, log, fact, WAITING)


@inlined
def end_block(facts: Facts, work: Retraction) -> None:
    """The facts of a block that has been scanned move from N to O."""
    control = work.control
    for i in range(control[NEXT], control[BLOCK_END]):
        facts.status[work.deleted[i]] = (facts.status[work.deleted[i]] | SPREAD) & ~WAITING
    control[NEXT] = control[BLOCK_END]


@inlined
def retract_recorded(facts: Facts, log: Log, work: Retraction, queue: np.ndarray, fact: int) -> None:
    """`retract` for a RECORDED fact, without a search.  The log says which heads lose instances, and not how
    many: an instance may have been found by a search before.  So counts of derivations become UNKNOWN."""
    derivation_log = log.derivation_log
    link = chain_of(derivation_log, fact)
    while link != END:
        head = recorded_head(facts, derivation_log, work.own, link)
        if head >= 0:
            remove_instance(derivation_log, link, head)
            work.counters[FROM_RECORD] += 1
            new = queue_fact(facts, log, head, queue, work.control[BIT])
            if queue[COUNTED] != 0:
                counts = int64_at(queue[COUNTED], FIELDS)
                if count_of(counts, head) != UNKNOWN:
                    put_count(counts, head, UNKNOWN)
            elif new and (facts.status[head] & (RECORDED | EXPLICIT)) == RECORDED:
                work.counters[SPARED] += none_is_left(derivation_log, head)
        link = next_link(derivation_log, link)


@entry
def queue_all(facts: Facts, log: Log, blocks: BindingBlocks, ids: Int32s, bit: int) -> None:
    """The queue gets facts of the component."""
    for i in range(len(ids)):
        queue_fact(facts, log, ids[i], blocks.control, bit)
