"""Emit during an update: heads are inserted through the undo log, and the algorithm may observe the bodies.

`control[OBSERVED]` is a set of bits:

    MARK           a head that an instance with a DELETED_NEXT explicit fact adds is MARKED, and the pair
                   (0, head) is logged (marks of paper 001, block f)
    LINK           for a head that an instance adds the pair (0, head) is logged, then (fact, head) for each
                   explicit fact of the body
    RECORD_BODIES  instances are counted and recorded, see `derivation_log`

Pairs name facts by their offsets in the store, which a new id does not change.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.binding_blocks import OBSERVED, ROWS, BindingBlocks
from tidalog.engine.bits import DELETED_NEXT, EXPLICIT, MARKED
from tidalog.engine.derivation_log import has_capacity, record_instances
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.jit import compiled
from tidalog.engine.undo_log import PAIRS, Log, insert_changes

MARK: Final = 1
LINK: Final = 2
RECORD_BODIES: Final = 4


@compiled
def can_observe(facts: Facts, code: np.ndarray, pc: int, blocks: BindingBlocks, log: Log, rows: int) -> bool:
    what, atoms = blocks.control[OBSERVED], code[pc + 5 + code[pc + 4]]
    if what & ~RECORD_BODIES:
        return bool(log.counts[PAIRS] + rows * (atoms + 1) <= len(log.pairs))
    return has_capacity(log.derivation_log, facts.state[FACTS] + rows, rows, rows * atoms)


@compiled
def gather_heads(code: np.ndarray, pc: int, blocks: BindingBlocks, level: int) -> np.ndarray:
    """The heads that an emit names, columns first: its operands for all rows of a level."""
    block, rows, arity, at = blocks.registers[level], blocks.cursors[level, ROWS], code[pc + 4], pc + 5
    for c in range(arity):
        operand = code[at + c]
        head = blocks.heads[c]
        if operand >= 0:
            column = block[operand]
            for i in range(rows):
                head[i] = column[i]
        else:
            for i in range(rows):
                head[i] = -1 - operand
    heads: np.ndarray = blocks.heads[:arity]
    return heads


@compiled
def run_emit_changes(
    facts: Facts, log: Log, code: np.ndarray, pc: int, blocks: BindingBlocks, level: int, status: int
) -> None:
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    heads, body = gather_heads(code, pc, blocks, level), pc + 5 + code[pc + 4]
    insert_changes(facts, log, code[pc + 2], heads, rows, blocks.hashes, status, blocks.match, blocks.source)
    what = blocks.control[OBSERVED]
    if what & RECORD_BODIES:
        record_instances(facts, log.derivation_log, code, body, block, rows, blocks.match, blocks.source)
    elif what & (MARK | LINK):
        observe(facts, log, code, body, block, rows, blocks.match, blocks.source, what)


@compiled
def observe(
    facts: Facts,
    log: Log,
    code: np.ndarray,
    at: int,
    block: np.ndarray,
    rows: int,
    heads: np.ndarray,
    created: np.ndarray,
    what: int,
) -> None:
    """Looks at the bodies of instances whose heads have been added; `created`: by this very instance."""
    status, offset = facts.status, facts.offset
    if what & LINK:
        for i in range(rows):
            if created[i] != 0:
                note(log, np.uint32(0), offset[heads[i]])
    for j in range(code[at]):
        column = block[code[at + 1 + j]]
        for i in range(rows):
            fact, head = column[i], heads[i]
            bits = status[fact]
            if created[i] != 0 and bits & EXPLICIT:
                if what & MARK and bits & DELETED_NEXT and not status[head] & MARKED:
                    status[head] |= MARKED
                    note(log, np.uint32(0), offset[head])
                if what & LINK:
                    note(log, offset[fact], offset[head])


@compiled
def note(log: Log, fact: np.uint32, head: np.uint32) -> None:
    at = log.counts[PAIRS]
    log.pairs[at] = np.uint64(fact) << np.uint64(32) | np.uint64(head)
    log.counts[PAIRS] = at + 1
