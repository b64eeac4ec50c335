"""What the kernels of deletion share: lists of facts, counters, one search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.jit import borrowed, float64_at, inlined, int32_table, int64_at, int64_table
from tidalog.engine.plan_compiler import Code
from tidalog.engine.tuple_executor import Scratch, borrowed_scratch, cursor_size, new_scratch
from tidalog.engine.undo_log import Log

Ints = npt.NDArray[np.int32]

# counters[…]: what an update has done, by the names of ALGORITHMS; see `Counters`.
DELETIONS: Final = 0  # present facts that a deletion made affected (a head found by block c, line 23)
BACKWARD: Final = 1  # instances looked at to prove their head
FORWARD: Final = 2  # instances of proved facts that proved another one
DERIVATIONS: Final = 3  # all instances found
CHECKS: Final = 4  # facts looked at for another proof
FROM_RECORD: Final = 5  # instances that were on record
SPARED: Final = 6  # facts that went without a search, because the record had no instance left
COUNTERS: Final = 7

INSTANCES_OF_A_STEP: Final = 2  # so many instances, as a power of two, take as long as to look at a fact
MOST_ATOMS: Final = 64  # of a body: kernels make room for so many facts, and one more, at a time


class Search(NamedTuple):
    """Room for a stack of searches."""

    registers: Ints  # [depth, register]
    cursors: npt.NDArray[np.int64]  # [depth, cursor]
    scratch: Scratch


def new_counters() -> npt.NDArray[np.int64]:
    return np.zeros(COUNTERS, np.int64)


def new_search(codes: Sequence[Code], depth: int = 2) -> Search:
    registers = max(code.registers for code in codes) + 1
    levels = max(code.levels for code in codes) + 1
    return Search(
        np.zeros((depth, registers), np.int32),
        np.zeros((depth, cursor_size(levels)), np.int64),
        new_scratch(),
    )


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def borrowed_search(search: Search) -> Search:
    return Search(borrowed(search.registers), borrowed(search.cursors), borrowed_scratch(search.scratch))


@inlined
def search_at(block: np.ndarray) -> Search:
    """A block that begins with the room of a search."""
    return Search(
        int32_table(block[0], block[1], block[2]),
        int64_table(block[4], block[5], block[6]),
        Scratch(
            int64_at(block[8], block[9]),
            int64_at(block[12], block[13]),
            float64_at(block[16], block[17]),
            int64_at(block[20], block[21]),
        ),
    )


@inlined
def borrowed_log(log: Log) -> Log:
    return Log(
        borrowed(log.touched),
        borrowed(log.before),
        borrowed(log.moved_from),
        borrowed(log.moved_to),
        borrowed(log.pairs),
        borrowed(log.counts),
        borrowed(log.book),
    )
