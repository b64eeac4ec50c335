"""Marks that pass from body to head through implicit facts too (DRed).

A fact that an instance adds, or brings back, is MARKED if a fact of the body is DELETED_NEXT or MARKED,
unless the next update makes it explicit.  The facts that it makes explicit are known by the sorted hashes of
their rows: a fact that shares such a hash gets no mark, which only costs a search later.

A head that is deleted is POSITIVE if it is sure to be true after the next update: every deleted fact of the
body is POSITIVE, every other one explicit and not DELETED_NEXT.  The first instance found decides.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.binding_blocks import UNMARKED_AT, UNMARKED_COUNT, BindingBlocks
from tidalog.engine.bits import DELETED, DELETED_NEXT, EXPLICIT, MARKED, POSITIVE
from tidalog.engine.emit import note
from tidalog.engine.fact_kernels import Facts, fact_hash
from tidalog.engine.jit import compiled, uint64_at
from tidalog.engine.undo_log import Log, set_bits

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
    unmarked = uint64_at(blocks.control[UNMARKED_AT], blocks.control[UNMARKED_COUNT])
    for i in range(rows):
        passes = blocks.source[i] != 0 and has_mark(facts, code, at, block, i)
        if passes and not is_among(unmarked, blocks.hashes[i]):
            head = blocks.match[i]
            status[head] |= MARKED
            note(log, np.uint32(0), facts.offset[head])


@compiled
def has_mark(facts: Facts, code: np.ndarray, at: int, block: np.ndarray, row: int) -> bool:
    """Whether a fact of a body passes a mark on; the instance is a row of a block."""
    for j in range(code[at]):
        if facts.status[block[code[at + 1 + j], row]] & (DELETED_NEXT | MARKED):
            return True
    return False


@compiled
def mark_derivable(
    facts: Facts,
    log: Log,
    code: np.ndarray,
    at: int,
    block: np.ndarray,
    row: int,
    fact: int,
    unmarked: np.ndarray,
) -> None:
    """A deleted fact that an instance brings back gets the mark that this passes on."""
    if has_mark(facts, code, at, block, row) and not is_among(unmarked, fact_hash(facts, fact)):
        set_bits(facts, log, fact, MARKED)


@compiled
def comes_back(facts: Facts, code: np.ndarray, at: int, block: np.ndarray, row: int) -> bool:
    """Whether every fact of a body is sure to be true after the next update."""
    sure = True
    for j in range(code[at]):
        status = facts.status[block[code[at + 1 + j], row]]
        if status & DELETED:
            sure = sure and (status & POSITIVE) != 0
        else:
            sure = sure and (status & (EXPLICIT | DELETED_NEXT)) == EXPLICIT
    return sure
