"""Emit during an update: heads go to the store through the log, and the algorithm may look at the bodies.

What is looked at is a set of bits in `control[OBSERVED]`:

    MARK    a head that an instance with a DOOMED explicit fact adds is MARKED and the pair (0, head) noted
            (marks of paper 001, block f)
    LINK    for a head that an instance adds the pair (0, head) is noted, then (fact, head) for each explicit
            fact of the body
    RECORD  instances are counted and put on record, see `book`

Pairs name facts by where their rows start, which a new id does not change.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.binding_blocks import OBSERVED, ROWS, Frame
from tidalog.engine.bits import DOOMED, EXPLICIT, MARKED
from tidalog.engine.derivation_log import has_room, record_instances
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.jit import compiled
from tidalog.engine.undo_log import PAIRS, Log, insert_changes

MARK: Final = 1
LINK: Final = 2
RECORD_BODIES: Final = 4


@compiled
def room_to_observe(facts: Facts, code: np.ndarray, pc: int, frame: Frame, log: Log, rows: int) -> bool:
    what, atoms = frame.control[OBSERVED], code[pc + 5 + code[pc + 4]]
    if what & ~RECORD_BODIES:
        return log.counts[PAIRS] + rows * (atoms + 1) <= len(log.pairs)
    return has_room(log.book, facts.state[FACTS] + rows, rows, rows * atoms)


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
    insert_changes(
        facts, log, predicate, frame.heads[:arity], rows, frame.hashes, status, frame.match, frame.source
    )
    what = frame.control[OBSERVED]
    if what & RECORD_BODIES:
        record_instances(facts, log.book, code, at + arity, block, rows, frame.match, frame.source)
    elif what & (MARK | LINK):
        observe(facts, log, code, at + arity, block, rows, frame.match, frame.source, what)


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
                if what & MARK and bits & DOOMED and not status[head] & MARKED:
                    status[head] |= MARKED
                    note(log, np.uint32(0), offset[head])
                if what & LINK:
                    note(log, offset[fact], offset[head])


@compiled
def note(log: Log, fact: np.uint32, head: np.uint32) -> None:
    at = log.counts[PAIRS]
    log.pairs[at] = np.uint64(fact) << np.uint64(32) | np.uint64(head)
    log.counts[PAIRS] = at + 1
