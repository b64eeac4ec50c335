"""Terms by value: read from a dictionary's arrays, and written to them."""

from __future__ import annotations

from typing import Final

from tidalog.engine.array_types import Int32s, Int64s, Uint8s
from tidalog.engine.dictionary_kernels import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    KINDS,
    LANGUAGE,
    LITERAL,
    TERMS,
    Terms,
    intern_number,
    intern_text,
    term_hash,
)
from tidalog.engine.hash_table import make_entry, put_entry, table_shift
from tidalog.engine.jit import entry, inlined
from tidalog.engine.value_kinds import MIXED_VALUE

MOST_VALUE: Final = MIXED_VALUE


@inlined
def is_number(kind: int) -> bool:
    return kind == INTEGER or kind == DOUBLE or kind == BOOLEAN


@inlined
def has_extra(kind: int) -> bool:
    """Whether it is a literal with a datatype or a language tag."""
    return kind == LITERAL or kind == LANGUAGE


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
) -> int:
    """The ids of terms, given out where they are new; there is capacity.  `extras` are positions in these
    very arrays, each before the term that has it.  Gives -1; or the first term whose numbers are impossible,
    and as many as there are terms if the text has another length: then no id is given out."""
    size = 0
    for i in range(len(kinds)):
        kind, length, extra = kinds[i], lengths[i], extras[i]
        if kind >= KINDS or values[i] > MOST_VALUE or length < 0 or extra < -1 or extra >= i:
            return i
        if (is_number(kind) and length != 0) or has_extra(kind) != (extra >= 0):
            return i
        size += length
    if size != len(text):
        return len(kinds)
    at = 0
    for i in range(len(kinds)):
        kind = kinds[i]
        if is_number(kind):
            ids[i] = intern_number(terms, kind, values[i], numbers[i])
            continue
        before = terms.state[TERMS]
        extra = ids[extras[i]] if extras[i] >= 0 else -1
        ids[i] = intern_text(terms, kind, extra, text, at, lengths[i])
        at += lengths[i]
        if ids[i] == before:
            terms.value[before] = values[i]
            terms.number[before] = numbers[i]
    return -1


@entry
def fill_table(terms: Terms) -> None:
    """Enters all terms into an empty table that has capacity for them."""
    shift = table_shift(len(terms.slots))
    for t in range(terms.state[TERMS]):
        put_entry(terms.slots, make_entry(term_hash(terms, t), t + 1), shift)
