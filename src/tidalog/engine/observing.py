"""Emit during an update: heads go to the store through the log, and the algorithm may look at the bodies.

What is looked at is a set of bits in `control[OBSERVED]`:

    MARK    a new head of an instance with a DOOMED explicit fact is MARKED (marks of paper 001, block f)
    LINK    the pair (explicit fact of the body, new head) is noted
    RECORD  the pair (fact of the body, head) is noted where the fact is RECORDED; a new head of an instance
            with such a fact is RECORDED too, for every instance it takes part in is found from now on

Pairs name facts by where their rows start, which a new id does not change.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.bits import DOOMED, EXPLICIT, MARKED, NEW, RECORDED
from tidalog.engine.changes import PAIRS, Log, insert_changes
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.frame import OBSERVED, ROWS, Frame
from tidalog.engine.native import compiled

MARK: Final = 1
LINK: Final = 2
RECORD_BODIES: Final = 4


@compiled
def room_to_observe(code: np.ndarray, pc: int, frame: Frame, log: Log, rows: int) -> bool:
    if frame.control[OBSERVED] & (LINK | RECORD_BODIES) == 0:
        return True
    atoms = code[pc + 5 + code[pc + 4]]
    return log.counts[PAIRS] + rows * atoms <= len(log.pairs)


@compiled
def step_emit_changes(
    facts: Facts, log: Log, code: np.ndarray, pc: int, frame: Frame, level: int, status: int
) -> None:
    block, rows = frame.registers[level], frame.cursors[level, ROWS]
    predicate, arity, at = code[pc + 2], code[pc + 4], pc + 5
    for c in range(arity):
        operand = code[at + c]
        head = frame.heads[c]
        if operand >= 0:
            column = block[operand]
            for i in range(rows):
                head[i] = column[i]
        else:
            for i in range(rows):
                head[i] = -1 - operand
    before = facts.state[FACTS]
    insert_changes(facts, log, predicate, frame.heads[:arity], rows, frame.hashes, status, frame.match)
    if frame.control[OBSERVED] != 0:
        observe(facts, log, code, at + arity, block, rows, frame.match, before, frame.control[OBSERVED])


@compiled
def observe(
    facts: Facts,
    log: Log,
    code: np.ndarray,
    at: int,
    block: np.ndarray,
    rows: int,
    heads: np.ndarray,
    before: int,
    what: int,
) -> None:
    """Looks at the bodies of instances whose heads have been added; heads from `before` on are new here."""
    status, offset = facts.status, facts.offset
    for j in range(code[at]):
        column = block[code[at + 1 + j]]
        for i in range(rows):
            fact, head = column[i], heads[i]
            bits = status[fact]
            if what & MARK and head >= before and bits & DOOMED and bits & EXPLICIT:
                status[head] |= MARKED
            if what & LINK and head >= before and bits & EXPLICIT and not status[head] & EXPLICIT:
                note(log, offset[fact], offset[head])
            if what & RECORD_BODIES and bits & RECORDED:
                note(log, offset[fact], offset[head])
                if head >= before and status[head] & NEW:
                    status[head] |= RECORDED


@compiled
def note(log: Log, fact: np.uint32, head: np.uint32) -> None:
    at = log.counts[PAIRS]
    log.pairs[at, 0] = fact
    log.pairs[at, 1] = head
    log.counts[PAIRS] = at + 1
