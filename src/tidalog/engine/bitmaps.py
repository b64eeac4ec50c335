"""Sets of terms as bits: which terms a column of a predicate holds.

A negated atom that is bound in one column only asks whether there is a fact.  From scratch its predicate is
complete, and none of its facts is deleted, before the rule runs.  So one bit per term replaces an index
lookup, and the bits stay in cache.  Terms that come later are in no such fact: a number past the end is not
in the set.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Uint8s, int64
from tidalog.engine.binding_blocks import ROWS, BindingBlocks
from tidalog.engine.fact_kernels import COUNT, FIRST, LAST, Facts
from tidalog.engine.jit import compiled, entry
from tidalog.engine.operators import keep_rows

Bits = npt.NDArray[np.uint8]


def terms_of_column(facts: Facts, predicate: int, column: int, terms: int) -> Bits:
    """The terms among the first `terms` that a column of a predicate holds now; no fact of it is deleted."""
    bits = np.zeros((terms + 7) // 8, np.uint8)
    set_bits(facts, predicate, column, bits)
    return bits


# --- compiled ---------------------------------------------------------------------------------------


@entry
def set_bits(facts: Facts, predicate: int, column: int, bits: Uint8s) -> None:
    extent = facts.extent[predicate]
    if extent[COUNT] == 0:
        return
    arguments, offset = facts.arguments, facts.offset
    for f in range(extent[FIRST], extent[LAST] + 1):
        at = int64(offset[f])
        if facts.status[f] != 0 and arguments[at - 1] == predicate:
            term = arguments[at + column]
            bits[term >> 3] |= np.uint8(1 << (term & 7))


@compiled
def run_outside(code: np.ndarray, pc: int, blocks: BindingBlocks, level: int) -> int:
    """Keeps the rows whose term is not in a set."""
    block, rows = blocks.registers[level], blocks.cursors[level, ROWS]
    bits, column, source = blocks.bitmaps[code[pc + 2]], block[code[pc + 3]], blocks.source
    end = 8 * len(bits)
    kept = 0
    for i in range(rows):
        term = column[i]
        inside = term < end and (bits[term >> 3] >> (term & 7)) & 1
        source[kept] = i
        kept += 0 if inside else 1
    keep_rows(block, code, pc + 4, source, kept)
    return kept
