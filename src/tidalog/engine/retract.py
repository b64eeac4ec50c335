"""Emit during a deletion: the heads of instances that no longer hold have a derivation less.

A head of the old state that has neither the bit nor one of `control[KEPT_BY]` gets the bit and is added to
the queue of the blocks.  The bit is the `status` of the scan: DELETED in overdeletion, WAITING where
derivations are counted.  If marks pass on (`control[OBSERVED]`), it may get POSITIVE too.
"""

from __future__ import annotations

import numpy as np

from tidalog.engine.binding_blocks import (
    COUNTED,
    KEPT_BY,
    OBSERVED,
    QUEUE_AT,
    QUEUE_CAPACITY,
    QUEUED,
    ROWS,
    BindingBlocks,
)
from tidalog.engine.bits import NEW, POSITIVE, PRESENT
from tidalog.engine.derivation_counts import FIELDS, uncount
from tidalog.engine.derivation_log import forget_count
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import compiled, inlined, int32_at, int64_at
from tidalog.engine.mark_propagation import PASS_ON, comes_back
from tidalog.engine.probe import find_members
from tidalog.engine.undo_log import Log, set_bits


@compiled
def retract_heads(
    facts: Facts, log: Log, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int, status: int
) -> None:
    block, rows, heads = blocks.registers[level], blocks.cursors[level, ROWS], blocks.match
    find_members(facts, code[pc + 2], block, rows, code, pc + 5, code[pc + 4], blocks.hashes, heads)
    for i in range(rows):
        if heads[i] >= 0:
            retract_head(facts, log, code, pc, block, i, heads[i], blocks.control, status)


@inlined
def retract_head(
    facts: Facts,
    log: Log,
    code: np.ndarray,
    pc: int,
    block: np.ndarray,
    row: int,
    head: int,
    control: np.ndarray,
    status: int,
) -> None:
    """The head of one instance, which is a row of a block."""
    if control[COUNTED] != 0:
        uncount(int64_at(control[COUNTED], FIELDS), head)
    else:
        forget_count(log.derivation_log, head)
    marked = queue_fact(facts, log, head, control, status) and control[OBSERVED] & PASS_ON != 0
    if marked and comes_back(facts, code, pc + 5 + code[pc + 4], block, row):
        facts.status[head] |= POSITIVE


@inlined
def queue_fact(facts: Facts, log: Log, fact: int, control: np.ndarray, status: int) -> bool:
    """Gives a fact the bit and adds it to the queue; False if it is kept out."""
    bit = np.uint16(status)
    new = bool((facts.status[fact] & (PRESENT | NEW | bit | np.uint16(control[KEPT_BY]))) == PRESENT)
    if new:
        set_bits(facts, log, fact, bit)
        int32_at(control[QUEUE_AT], control[QUEUE_CAPACITY])[control[QUEUED]] = fact
        control[QUEUED] += 1
    return new
