"""What an update has changed so far, so that it can be finished (`finished_update`) or undone (`savepoint`).

Invariant.  Until an update is finished no fact leaves the table or an index: what is deleted is DELETED, what
is inserted is NEW, and the status that an older fact had is in the log (`touched`, `before`), once.  A fact
that was deleted and is derived again gets a new id, as if it were new, but keeps its row: `moved_from` and
`moved_to` say so, and the old id is dead.  So a derived fact always has a larger id than the facts of the
derivation that gave it that id.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Owner
from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Uint16s, Uint64s, int64
from tidalog.engine.binding_blocks import BLOCK
from tidalog.engine.bits import DELETED, LASTING, NEW, TOUCHED
from tidalog.engine.derivation_log import DerivationLog, move_row
from tidalog.engine.fact_kernels import (
    CACHED,
    COUNT,
    DEAD,
    ENTRIES,
    FACTS,
    FIRST,
    HEADER,
    LAST,
    NONE,
    TABLED,
    USED,
    Facts,
    add_row,
    find_row,
    hash_rows,
    look_ahead,
)
from tidalog.engine.hash_table import table_shift
from tidalog.engine.jit import entry, inlined

Ints = npt.NDArray[np.int32]
T = TypeVar("T", bound=np.generic)

TOUCHES: Final = 0  # counts[TOUCHES]: entries of `touched` and `before`
MOVES: Final = 1  # counts[MOVES]: entries of `moved_from` and `moved_to`
PAIRS: Final = 2  # counts[PAIRS]: entries of `pairs`
COUNTS: Final = 3
MOST_OBSERVED: Final = 65 * BLOCK  # pairs that a block of instances can give


class Log(NamedTuple):
    touched: Int32s
    before: Uint16s
    moved_from: Int32s
    moved_to: Int32s
    pairs: Uint64s  # fact << 32 | head each: instances that were observed, see `emit`
    counts: Int64s
    derivation_log: Int64s


class UndoLog(Owner[Log]):
    """Owns the arrays.  They hold every older fact under its id and under a new one, so compiled code
    never runs out of capacity; what is NEW is not logged."""

    def __init__(self) -> None:
        self.derivation_log = DerivationLog()
        super().__init__(_arrays(16, 16, self.derivation_log))

    def begin(self) -> None:
        """Nothing is logged."""
        self.arrays.counts[:] = 0

    def reserve(self, facts: int) -> None:
        """An update may change all facts of a store with this many ids."""
        arrays = self.arrays
        if 2 * facts > len(arrays.touched):
            touches, moves = int(arrays.counts[TOUCHES]), int(arrays.counts[MOVES])
            self.replace(
                arrays._replace(
                    touched=_enlarged(arrays.touched, 3 * facts, touches),
                    before=_enlarged(arrays.before, 3 * facts, touches),
                    moved_from=_enlarged(arrays.moved_from, 3 * facts, moves),
                    moved_to=_enlarged(arrays.moved_to, 3 * facts, moves),
                )
            )

    def ensure_capacity(self, facts: int, links: int = MOST_OBSERVED) -> None:
        """Capacity for what a block of instances of a store with this many ids can add, this many links at
        most."""
        if self.derivation_log.is_open:
            self.derivation_log.ensure_capacity(facts + BLOCK, BLOCK, links)
        elif self.arrays.counts[PAIRS] + MOST_OBSERVED > len(self.arrays.pairs):
            capacity = 2 * len(self.arrays.pairs) + 2 * MOST_OBSERVED
            pairs = _enlarged(self.arrays.pairs, capacity, int(self.arrays.counts[PAIRS]))
            self.replace(self.arrays._replace(pairs=pairs))

    @property
    def touched(self) -> Ints:
        return self.arrays.touched[: self.arrays.counts[TOUCHES]]

    @property
    def moved_from(self) -> Ints:
        return self.arrays.moved_from[: self.arrays.counts[MOVES]]

    @property
    def moved_to(self) -> Ints:
        return self.arrays.moved_to[: self.arrays.counts[MOVES]]

    @property
    def pairs(self) -> npt.NDArray[np.uint64]:
        """Observed instances: where the rows of a fact and of the head start, in one number."""
        return self.arrays.pairs[: self.arrays.counts[PAIRS]]

    @property
    def nbytes(self) -> int:
        return int(self.arrays.counts[TOUCHES]) * 6 + int(self.arrays.counts[MOVES]) * 8


def _enlarged(array: npt.NDArray[T], capacity: int, used: int) -> npt.NDArray[T]:
    result = np.empty(capacity, array.dtype)
    result[:used] = array[:used]
    return result


def _arrays(facts: int, pairs: int, derivation_log: DerivationLog) -> Log:
    return Log(
        touched=np.empty(facts, np.int32),
        before=np.empty(facts, np.uint16),
        moved_from=np.empty(facts, np.int32),
        moved_to=np.empty(facts, np.int32),
        pairs=np.empty(pairs, np.uint64),
        counts=np.zeros(COUNTS, np.int64),
        derivation_log=derivation_log.fields,
    )


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def set_bits(facts: Facts, log: Log, fact: int, bits: np.uint16) -> None:
    """Adds a fact to the sets of these bits."""
    status = facts.status[fact]
    if not status & (TOUCHED | NEW):
        at = log.counts[TOUCHES]
        log.touched[at] = fact
        log.before[at] = status
        log.counts[TOUCHES] = at + 1
    facts.status[fact] = status | bits | TOUCHED


@inlined
def clear_bits(facts: Facts, log: Log, fact: int, bits: np.uint16) -> None:
    """Removes a fact from the sets of these bits."""
    set_bits(facts, log, fact, TOUCHED)
    facts.status[fact] &= ~bits


@inlined
def move_fact(facts: Facts, log: Log, fact: int, at: int, new: int, bits: np.uint16) -> None:
    """Gives a deleted fact, whose arguments are at an offset, a new id; `bits` join its lasting status."""
    move = log.counts[MOVES]
    log.moved_from[move], log.moved_to[move] = fact, new
    log.counts[MOVES] = move + 1
    facts.offset[new] = np.uint32(at)
    facts.status[new] = (facts.status[fact] & LASTING) | bits
    facts.status[fact] = TOUCHED
    facts.arguments[at - HEADER] = new
    facts.state[DEAD] += 1
    move_row(log.derivation_log, fact, new)


@entry
def insert_changes(
    facts: Facts,
    log: Log,
    predicate: int,
    rows: Int32Table,
    count: int,
    hashes: Uint64s,
    status: int,
    out: Int32s,
    created: Int32s,
) -> None:
    """Adds rows (columns first) during an update; `out` has their ids, `created` whether each is new or came
    back.  What was deleted comes back under a new id; what is there stays as it is.  There is capacity, and
    the predicate is in the table."""
    arity = rows.shape[0]
    hash_rows(predicate, rows, count, hashes)
    slots, arguments, bits = facts.slots, facts.arguments, np.uint16(status)
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    extent = facts.extent[predicate]
    n, used = facts.state[FACTS], facts.state[USED]
    is_far = len(slots) > CACHED and count > 1
    for i in range(count):
        if is_far:
            look_ahead(slots, arguments, hashes, i, count - 1, shift, mask)
        s, at = find_row(slots, arguments, predicate, rows, i, hashes[i], shift)
        if at == NONE:
            add_row(facts, predicate, rows, i, hashes[i], s, n, used, bits)
            used += arity + HEADER
            if extent[COUNT] == 0:
                extent[FIRST] = n
            extent[COUNT] += 1
            facts.state[ENTRIES] += 1
            out[i] = n
            created[i] = 1
            n += 1
        else:
            fact = arguments[at - HEADER]
            created[i] = 0
            if facts.status[fact] & DELETED:
                move_fact(facts, log, fact, at, n, bits & ~NEW)
                created[i] = 1
                fact = n
                n += 1
            out[i] = fact
    if n > facts.state[FACTS]:
        extent[LAST] = n - 1
    extent[TABLED] = n
    facts.state[FACTS] = n
    facts.state[USED] = used


@entry
def revive(facts: Facts, log: Log, ids: Int32s, count: int) -> None:
    """Gives deleted facts that are derivable after all new ids at the end; there is capacity."""
    n = facts.state[FACTS]
    for i in range(count):
        at = int64(facts.offset[ids[i]])
        move_fact(facts, log, ids[i], at, n, np.uint16(0))
        extent = facts.extent[facts.arguments[at - 1]]
        extent[LAST] = n
        extent[TABLED] = n + 1
        n += 1
    facts.state[FACTS] = n


@entry
def undo(facts: Facts, log: Log) -> None:
    """Restores the id and the status of every older fact; the caller removes newer facts."""
    for i in range(log.counts[MOVES] - 1, -1, -1):
        at = int64(facts.offset[log.moved_to[i]])
        facts.arguments[at - HEADER] = log.moved_from[i]
    facts.state[DEAD] -= log.counts[MOVES]
    for i in range(log.counts[TOUCHES]):
        facts.status[log.touched[i]] = log.before[i]


@entry
def commit(facts: Facts, log: Log) -> None:
    """What has changed stays: clears the working bits of older facts, and the log."""
    for i in range(log.counts[TOUCHES]):
        facts.status[log.touched[i]] &= LASTING
    log.counts[:] = 0
