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
    retract_rows(facts, log, code, pc, blocks, block, rows, status)


@inlined
def retract_rows(
    facts: Facts,
    log: Log,
    code: np.ndarray,
    pc: int,
    blocks: BindingBlocks,
    block: np.ndarray,
    rows: int,
    status: int,
) -> None:
    """The heads of instances, which are rows of a block: `blocks.match` has them, and -1 for none."""
    heads, control = blocks.match, blocks.control
    if control[COUNTED] != 0:
        counts = int64_at(control[COUNTED], FIELDS)
        for i in range(rows):
            if heads[i] >= 0:
                uncount(counts, heads[i])
                queue_fact(facts, log, heads[i], control, status)
    elif control[OBSERVED] & PASS_ON:
        body = pc + 5 + code[pc + 4]
        for i in range(rows):
            if heads[i] >= 0:
                forget_count(log.derivation_log, heads[i])
                new = queue_fact(facts, log, heads[i], control, status)
                if new and comes_back(facts, code, body, block, i):
                    facts.status[heads[i]] |= POSITIVE
    else:
        for i in range(rows):
            if heads[i] >= 0:
                forget_count(log.derivation_log, heads[i])
                queue_fact(facts, log, heads[i], control, status)


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
