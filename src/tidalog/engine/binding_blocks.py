"""A plan under way: a binding block and a cursor for each level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import (
    Int32Levels,
    Int32s,
    Int32Table,
    Int64s,
    Int64Table,
    Uint8Table,
    Uint64s,
)

BLOCK: Final = 4096  # rows of a level
PIVOT_REGISTER: Final = 0

# Cursor of a level.
PC: Final = 0  # position of the next operator in the code
ROWS: Final = 1
ROW: Final = 2  # probe: the row being expanded
POSITION: Final = 3  # probe: how far into its run
EXPANDING: Final = 4  # probe: the runs have been found
CURSOR: Final = 5

# Control of a plan under way.
LEVEL: Final = 0  # -1: nothing under way
DERIVATIONS: Final = 1
BUDGET: Final = 2  # rows until the executor pauses
WANTED: Final = 3  # what is to grow: an index, the facts of a predicate, or this many links
FAILED: Final = 4  # computations that failed
IS_STRICT: Final = 5
MODE: Final = 6  # what emit does: FROM_SCRATCH, IN_UPDATE, RETRACT or PROVE
OBSERVED: Final = 7  # what emit does with the facts of a body, see `emit`
COUNTED: Final = 8  # address of the row of `derivation_counts`, if emit counts derivations; 0: it does not
UNMARKED_AT: Final = 9  # address of the hashes of rows whose facts get no mark, see `mark_propagation`
UNMARKED_COUNT: Final = 10  # how many
COUNTS_AT: Final = 11  # address of the counts of rows, see `count_rows`; 0: they are not counted
COUNTS_SIZE: Final = 12  # how many numbers are there
QUEUE_AT: Final = 13  # RETRACT: address of the list that heads are added to
QUEUE_CAPACITY: Final = 14
QUEUED: Final = 15  # heads in it
KEPT_BY: Final = 16  # bits that keep a head out of it
LEFT_AT: Final = 17  # address of the groups that a fold leaves to Python: (fact, operator) for each
LEFT_SIZE: Final = 18  # how many numbers are there
LEFT: Final = 19  # how many groups it has left so far
CONTROL: Final = 20

FROM_SCRATCH: Final = 0  # every fact is live, and heads are added
IN_UPDATE: Final = 1  # heads are added by `undo_log.insert_changes`, and what is dead or deleted is skipped
RETRACT: Final = 2  # heads are present facts with a derivation less, see `retract`
PROVE: Final = 3  # an instance proves its pivot, see `prove`


class BindingBlocks(NamedTuple):
    """Everything a plan under way consists of."""

    registers: Int32Levels  # [level, register, row]
    run_start: Int32Table  # [level, row]: position in the pool, or -1 - fact id
    run_length: Int32Table
    source: Int32s  # scratch: row of a match
    match: Int32s  # scratch: fact of a match
    hashes: Uint64s
    heads: Int32Table  # scratch: [column, row] of facts to insert
    cursors: Int64Table  # [level, CURSOR]
    bitmaps: Uint8Table  # [set, term // 8]: sets of terms, see `bitmaps`
    control: Int64s


def new_blocks(
    levels: int,
    registers: int,
    arity: int,
    block: int = BLOCK,
    bitmaps: Sequence[npt.NDArray[np.uint8]] = (),
) -> BindingBlocks:
    sets = np.zeros((max(len(bitmaps), 1), max((len(b) for b in bitmaps), default=0)), np.uint8)
    for number, bits in enumerate(bitmaps):
        sets[number, : len(bits)] = bits
    control = np.zeros(CONTROL, np.int64)
    control[LEVEL] = -1
    return BindingBlocks(
        registers=np.empty((levels, max(registers, 1), block), np.int32),
        run_start=np.empty((levels, block), np.int32),
        run_length=np.empty((levels, block), np.int32),
        source=np.empty(block, np.int32),
        match=np.empty(block, np.int32),
        hashes=np.empty(block, np.uint64),
        heads=np.empty((max(arity, 1), block), np.int32),
        cursors=np.zeros((levels, CURSOR), np.int64),
        bitmaps=sets,
        control=control,
    )
