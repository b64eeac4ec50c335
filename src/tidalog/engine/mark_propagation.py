"""Marks that pass from body to head while instances are inserted, through implicit facts too (DRed).

A fact that an instance adds, or brings back, is MARKED if a fact of the body is DELETED_NEXT or MARKED,
unless the next update makes it explicit.  The facts that it makes explicit are known by the sorted hashes of
their rows: a fact that shares such a hash gets no mark, which costs a search and no more.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.binding_blocks import SPARED, SPARED_AT, BindingBlocks
from tidalog.engine.bits import DELETED_NEXT, MARKED
from tidalog.engine.emit import note
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import compiled, uint64_at
from tidalog.engine.undo_log import Log

PASS_ON: Final = 64  # a bit of control[OBSERVED], beside those of `emit`


@compiled
def is_among(hashes: np.ndarray, wanted: np.uint64) -> bool:
    low, high = 0, len(hashes)
    while low < high:
        middle = (low + high) >> 1
        if hashes[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < len(hashes) and hashes[low] == wanted


@compiled
def pass_marks_on(
    facts: Facts, log: Log, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int, rows: int
) -> None:
    """After heads have been added: `blocks.match` has their ids, `blocks.source` whether this very instance
    added each, `blocks.hashes` the hashes of their rows."""
    block = blocks.registers[level]
    at = pc + 5 + code[pc + 4]
    status = facts.status
    spared = uint64_at(blocks.control[SPARED_AT], blocks.control[SPARED])
    for i in range(rows):
        if blocks.source[i] == 0:
            continue
        for j in range(code[at]):
            if status[block[code[at + 1 + j], i]] & (DELETED_NEXT | MARKED):
                if not is_among(spared, blocks.hashes[i]):
                    head = blocks.match[i]
                    status[head] |= MARKED
                    note(log, np.uint32(0), facts.offset[head])
                break
