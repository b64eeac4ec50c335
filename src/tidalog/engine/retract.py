"""Emit during a deletion: the heads of instances that no longer hold have a derivation less.

A head of the old state that does not have the bit yet gets it and is added to the queue.  The bit is
the `status` of the scan: DELETED in overdeletion, WAITING where derivations are counted.
"""

from __future__ import annotations

import numpy as np

from tidalog.engine.binding_blocks import COUNTED, QUEUE_AT, QUEUE_CAPACITY, QUEUED, ROWS, BindingBlocks
from tidalog.engine.bits import NEW, PRESENT
from tidalog.engine.derivation_counts import FIELDS, uncount
from tidalog.engine.derivation_log import forget_count
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import compiled, int32_at, int64_at
from tidalog.engine.probe import find_members
from tidalog.engine.undo_log import Log, set_bits


@compiled
def retract_heads(
    facts: Facts, log: Log, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int, status: int
) -> None:
    block, rows, control = blocks.registers[level], blocks.cursors[level, ROWS], blocks.control
    heads, bit = blocks.match, np.uint16(status)
    find_members(facts, code[pc + 2], block, rows, code, pc + 5, code[pc + 4], blocks.hashes, heads)
    queue, queued = int32_at(control[QUEUE_AT], control[QUEUE_CAPACITY]), control[QUEUED]
    counted, counts = control[COUNTED] != 0, int64_at(control[COUNTED], FIELDS)
    for i in range(rows):
        head = heads[i]
        if head < 0:
            continue
        if counted:
            uncount(counts, head)
        else:
            forget_count(log.derivation_log, head)
        if (facts.status[head] & (PRESENT | NEW | bit)) == PRESENT:
            set_bits(facts, log, head, bit)
            queue[queued] = head
            queued += 1
    control[QUEUED] = queued
