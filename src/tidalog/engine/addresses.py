"""Arrays by their addresses: compiled code that is called often takes one block of numbers.

Every array that a call passes costs a third of a microsecond before any work is done, and a kernel reads
fifty of them.  A block names them all: four numbers for each, its address and its shape.  In compiled code
its arrays have no owner, so nothing counts references either.

Invariant.  The owner of a block keeps its arrays alive; the block of an engine follows its arrays when they
are replaced, and one thread at a time uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int64s
from tidalog.engine.binding_blocks import CURSOR, BindingBlocks
from tidalog.engine.delta_scan import DeltaScan, Plans, scan_delta
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import EXTENT, Facts
from tidalog.engine.jit import (
    entry,
    inlined,
    int32_at,
    int32_levels,
    int32_table,
    int64_at,
    int64_table,
    uint8_at,
    uint8_table,
    uint16_at,
    uint32_at,
    uint64_at,
)
from tidalog.engine.kernel_object import KernelError
from tidalog.engine.opcodes import FILTER_FIELDS
from tidalog.engine.undo_log import Log

Block = npt.NDArray[np.int64]
EACH: Final = 4  # numbers of an array: address, lengths
PLANS: Final = 5 * EACH  # numbers of plans

# The arrays of an engine's block.
_FACTS: Final = 0
_TERMS: Final = 6
_INDEXES: Final = 15
_LOG: Final = 16
_SHARED: Final = 23


def block_of(arrays: Iterable[np.ndarray]) -> Block:
    """A block of contiguous arrays; the caller keeps them alive."""
    numbers: list[int] = []
    for array in arrays:
        if not array.flags.c_contiguous:
            raise KernelError("a block names contiguous arrays only")
        shape = array.shape
        numbers += (array.ctypes.data, *shape, *(0,) * (EACH - 1 - len(shape)))
    return np.array(numbers, np.int64)


def follow(block: Block, before: Sequence[np.ndarray], now: Sequence[np.ndarray]) -> None:
    """Updates a block where arrays have been replaced."""
    for i, (old, new) in enumerate(zip(before, now, strict=True)):
        if new is not old:
            block[EACH * i : EACH * (i + 1)] = block_of((new,))


class SharedBlock:
    """The block of what all kernels read: facts, terms, indexes and the undo log."""

    def __init__(self) -> None:
        self._block: Block = np.zeros(_SHARED * EACH, np.int64)
        self._facts: Facts | None = None
        self._terms: Terms | None = None
        self._indexes: npt.NDArray[np.int64] | None = None
        self._log: Log | None = None

    def of(self, facts: Facts, terms: Terms, indexes: npt.NDArray[np.int64], log: Log) -> Block:
        """The block of these arrays, the same one every time."""
        if facts is not self._facts:
            self._put(_FACTS, facts)
            self._facts = facts
        if terms is not self._terms:
            self._put(_TERMS, terms)
            self._terms = terms
        if indexes is not self._indexes:
            self._put(_INDEXES, (indexes,))
            self._indexes = indexes
        if log is not self._log:
            self._put(_LOG, log)
            self._log = log
        return self._block

    def _put(self, first: int, arrays: Iterable[np.ndarray]) -> None:
        numbers = block_of(arrays)
        self._block[first * EACH : first * EACH + len(numbers)] = numbers


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def facts_at(block: np.ndarray) -> Facts:
    return Facts(
        int32_at(block[0], block[1]),
        uint32_at(block[4], block[5]),
        uint16_at(block[8], block[9]),
        uint64_at(block[12], block[13]),
        int64_at(block[16], block[17]),
        int64_table(block[20], block[21], EXTENT),
    )


@inlined
def terms_at(block: np.ndarray) -> Terms:
    return Terms(
        uint8_at(block[24], block[25]),
        uint8_at(block[28], block[29]),
        int64_at(block[32], block[33]),
        int64_at(block[36], block[37]),
        int32_at(block[40], block[41]),
        int32_at(block[44], block[45]),
        uint8_at(block[48], block[49]),
        uint64_at(block[52], block[53]),
        int64_at(block[56], block[57]),
    )


@inlined
def indexes_at(block: np.ndarray) -> np.ndarray:
    return int64_table(block[60], block[61], block[62])


@inlined
def log_at(block: np.ndarray) -> Log:
    return Log(
        int32_at(block[64], block[65]),
        uint16_at(block[68], block[69]),
        int32_at(block[72], block[73]),
        int32_at(block[76], block[77]),
        uint64_at(block[80], block[81]),
        int64_at(block[84], block[85]),
        int64_at(block[88], block[89]),
    )


@inlined
def plans_at(block: np.ndarray) -> Plans:
    """A block that begins with plans."""
    return Plans(
        int32_at(block[0], block[1]),
        int32_table(block[4], block[5], FILTER_FIELDS),
        int32_at(block[8], block[9]),
        int32_at(block[12], block[13]),
        int32_at(block[16], block[17]),
    )


@inlined
def blocks_at(block: np.ndarray) -> BindingBlocks:
    return BindingBlocks(
        int32_levels(block[0], block[1], block[2], block[3]),
        int32_table(block[4], block[5], block[6]),
        int32_table(block[8], block[9], block[10]),
        int32_at(block[12], block[13]),
        int32_at(block[16], block[17]),
        uint64_at(block[20], block[21]),
        int32_table(block[24], block[25], block[26]),
        int64_table(block[28], block[29], CURSOR),
        uint8_table(block[32], block[33], block[34]),
        int64_at(block[36], block[37]),
    )


@inlined
def scan_at(block: np.ndarray) -> DeltaScan:
    return DeltaScan(
        int64_at(block[0], block[1]),
        int32_at(block[4], block[5]),
        int32_at(block[8], block[9]),
        int32_at(block[12], block[13]),
        int32_at(block[16], block[17]),
        int32_at(block[20], block[21]),
    )


@entry
def run_delta_scan(shared: Int64s, plans: Int64s, blocks: Int64s, scan: Int64s, status: int) -> int:
    """Scans until the end (DONE) or until something is wanted (see `opcodes`)."""
    return scan_delta(
        facts_at(shared),
        terms_at(shared),
        indexes_at(shared),
        plans_at(plans),
        blocks_at(blocks),
        scan_at(scan),
        log_at(shared),
        status,
    )
