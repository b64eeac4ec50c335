"""Terms by value: out of a dictionary's arrays, and into them."""

from __future__ import annotations

import numpy as np

from tidalog.engine.dictionary_kernels import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    TERMS,
    Terms,
    intern_number,
    intern_text,
    term_hash,
)
from tidalog.engine.hash_table import EMPTY, ONE, make_entry, table_shift
from tidalog.storage.kernels.jit import compiled


@compiled
def gather_texts(terms: Terms, ids: np.ndarray, out: np.ndarray) -> None:
    """The texts of terms one behind the other."""
    at = 0
    for i in range(len(ids)):
        start = terms.start[ids[i]]
        for j in range(terms.length[ids[i]]):
            out[at + j] = terms.text[start + j]
        at += terms.length[ids[i]]


@compiled
def intern_terms(
    terms: Terms,
    kinds: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    lengths: np.ndarray,
    extras: np.ndarray,
    text: np.ndarray,
    ids: np.ndarray,
) -> None:
    """The ids of terms, given out where they are new; room has been made.  `extras` are places in these very
    arrays, each before the term that has it."""
    at = 0
    for i in range(len(kinds)):
        kind = kinds[i]
        if kind == INTEGER or kind == DOUBLE or kind == BOOLEAN:
            ids[i] = intern_number(terms, kind, values[i], numbers[i])
            continue
        before = terms.state[TERMS]
        extra = ids[extras[i]] if extras[i] >= 0 else -1
        ids[i] = intern_text(terms, kind, extra, text, at, lengths[i])
        at += lengths[i]
        if ids[i] == before:
            terms.value[before] = values[i]
            terms.number[before] = numbers[i]


@compiled
def fill_table(terms: Terms) -> None:
    """Enters all terms into an empty table that has room for them."""
    slots = terms.slots
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    for t in range(terms.state[TERMS]):
        h = term_hash(terms, t)
        s = h >> shift
        while slots[s] != EMPTY:
            s = (s + ONE) & mask
        slots[s] = make_entry(h, t + 1)
