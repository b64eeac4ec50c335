"""Terms by value: out of a dictionary's arrays, and into them."""

from __future__ import annotations

from tidalog.engine.array_types import Int32s, Int64s, Uint8s
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
from tidalog.engine.hash_table import make_entry, put_entry, table_shift
from tidalog.engine.jit import entry


@entry
def gather_texts(terms: Terms, ids: Int32s, out: Uint8s) -> None:
    """The texts of terms one after the other."""
    at = 0
    for i in range(len(ids)):
        start = terms.start[ids[i]]
        for j in range(terms.length[ids[i]]):
            out[at + j] = terms.text[start + j]
        at += terms.length[ids[i]]


@entry
def intern_terms(
    terms: Terms,
    kinds: Uint8s,
    values: Uint8s,
    numbers: Int64s,
    lengths: Int32s,
    extras: Int32s,
    text: Uint8s,
    ids: Int32s,
) -> None:
    """The ids of terms, given out where they are new; there is capacity.  `extras` are positions in these
    very arrays, each before the term that has it."""
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


@entry
def fill_table(terms: Terms) -> None:
    """Enters all terms into an empty table that has capacity for them."""
    shift = table_shift(len(terms.slots))
    for t in range(terms.state[TERMS]):
        put_entry(terms.slots, make_entry(term_hash(terms, t), t + 1), shift)
