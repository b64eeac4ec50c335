"""Proofs by blocks: plans that begin with the head, where one instance for each pivot is enough.

A pivot is PROVED when an instance of the filters' facts derives it.  Probes expand runs by windows, each as
long as all before it together, and skip pivots that are PROVED: so a pivot costs at most one block more than
twice the matches that lead to its first proof.
"""

from __future__ import annotations

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.binding_blocks import (
    DERIVATIONS,
    EXPANDING,
    OBSERVED,
    PIVOT_REGISTER,
    POSITION,
    ROW,
    ROWS,
    UNMARKED_AT,
    UNMARKED_COUNT,
    BindingBlocks,
)
from tidalog.engine.bits import PROVED
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.index_kernels import POOL, POOL_SIZE
from tidalog.engine.jit import compiled, inlined, int32_at, uint64_at
from tidalog.engine.mark_propagation import PASS_ON, mark_derivable
from tidalog.engine.probe import has_operands
from tidalog.engine.undo_log import Log, set_bits


@compiled
def prove_pivots(
    facts: Facts, log: Log, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int
) -> None:
    """Emit: the pivots of instances whose heads they are.  DERIVATIONS counts instances up to the proof.  If
    marks pass on (`control[OBSERVED]`), a pivot may get MARKED too."""
    block, rows, control = blocks.registers[level], blocks.cursors[level, ROWS], blocks.control
    pivots = block[PIVOT_REGISTER]
    if control[OBSERVED] & PASS_ON:
        body, unmarked = pc + 5 + code[pc + 4], uint64_at(control[UNMARKED_AT], control[UNMARKED_COUNT])
        for i in range(rows):
            if is_first_proof(facts, code, pc, block, i, control):
                set_bits(facts, log, pivots[i], PROVED)
                mark_derivable(facts, log, code, body, block, i, pivots[i], unmarked)
    else:
        for i in range(rows):
            if is_first_proof(facts, code, pc, block, i, control):
                set_bits(facts, log, pivots[i], PROVED)


@inlined
def is_first_proof(
    facts: Facts, code: np.ndarray, pc: int, block: np.ndarray, row: int, control: np.ndarray
) -> bool:
    """Whether an instance derives its pivot, which none before it has proved."""
    fact = block[PIVOT_REGISTER, row]
    if facts.status[fact] & PROVED:
        return False
    control[DERIVATIONS] += 1
    offset = int64(facts.offset[fact])
    return has_operands(facts.arguments, offset, block, row, code, pc + 5, code[pc + 4])


@compiled
def expand_window(
    facts: Facts,
    meta: np.ndarray,
    pivots: np.ndarray,
    run_start: np.ndarray,
    run_length: np.ndarray,
    cursor: np.ndarray,
    mask: int,
    want: int,
    source: np.ndarray,
    match: np.ndarray,
) -> int:
    """Writes (row, fact) pairs of the window [POSITION, EXPANDING) of every run, at most a block, and moves
    the cursor.  0: no run has anything left."""
    pool, status = int32_at(meta[POOL], meta[POOL_SIZE]), facts.status
    rows, size = cursor[ROWS], len(source)
    m = 0
    while m == 0:
        if cursor[ROW] == rows:
            start = cursor[EXPANDING]
            more = False
            for i in range(rows):
                more = more or (run_length[i] > start and not status[pivots[i]] & PROVED)
            if not more:
                break
            cursor[POSITION], cursor[EXPANDING], cursor[ROW] = start, start + min(start, size), 0
        start, end = cursor[POSITION], cursor[EXPANDING]
        while cursor[ROW] < rows:
            i = cursor[ROW]
            stop = min(int64(run_length[i]), end)
            if stop > start and not status[pivots[i]] & PROVED:
                if m + stop - start > size:
                    break
                for k in range(start, stop):
                    fact = np.int32(-1 - run_start[i]) if run_start[i] < 0 else pool[run_start[i] + k]
                    if mask == 0 or (int64(status[fact]) & mask) == want:
                        source[m] = i
                        match[m] = fact
                        m += 1
            cursor[ROW] = i + 1
    return m
