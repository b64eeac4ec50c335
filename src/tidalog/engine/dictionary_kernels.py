"""The dictionary's arrays and what compiled code does with them.

A term is a 32-bit id.  Its *kind* says what it is; a number keeps its value in `number` (an integer, the bits
of a double), text lies in one arena of UTF-8 bytes.  What a typed literal counts as is its *value*, and then
`number` has as much of it as fits 64 bits; see `value_order` for the rest.  Invariants:

*  equal terms have equal ids: an integer or double is found by (kind, number), a text by (kind, extra,
   bytes), where `extra` is the term id of a literal's datatype or language tag;
*  it is found in the table `slots` (see `hash_table`; values are id + 1).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tidalog.engine.array_types import Int32s, Int64s, Uint8s, Uint64s, int64
from tidalog.engine.hash_table import (
    EMPTY,
    HALF,
    LOW32,
    ONE,
    has_capacity,
    make_entry,
    remove_entry,
    table_shift,
)
from tidalog.engine.jit import (
    compiled,
    double_bits,
    entry,
    hash_add,
    hash_end,
    hash_start,
    inlined,
)
from tidalog.engine.value_kinds import BOOLEAN_VALUE, DOUBLE_VALUE, INT_VALUE, NO_VALUE

IRI: Final = 0
BLANK: Final = 1
STRING: Final = 2
LANGUAGE: Final = 3
INTEGER: Final = 4
DOUBLE: Final = 5
BOOLEAN: Final = 6
LITERAL: Final = 7
KINDS: Final = 8

# What `state` says.
TERMS: Final = 0  # how many terms
TEXT: Final = 1  # how many bytes of text
CALLS_AT: Final = 2  # address of the calls of `questions`
ANSWERS_AT: Final = 3  # address of their answers
QUESTIONS: Final = 4  # how many slots these have
ASKED: Final = 5  # how many of them are used
STATE: Final = 6


class Terms(NamedTuple):
    """The arrays that compiled code sees."""

    kind: Uint8s
    value: Uint8s
    number: Int64s
    start: Int64s  # where the text begins
    length: Int32s  # bytes of text
    extra: Int32s
    text: Uint8s
    slots: Uint64s
    state: Int64s


@compiled
def has_term_capacity(terms: Terms, more: int) -> bool:
    """Whether `more` numbers can be interned without growth."""
    n = terms.state[TERMS] + more
    columns = min(len(terms.kind), len(terms.number), len(terms.start), len(terms.length), len(terms.extra))
    return n <= min(columns, len(terms.value)) and has_capacity(n, len(terms.slots))


@compiled
def number_hash(kind: int, bits: int) -> np.uint64:
    h = hash_start(kind)
    h = hash_add(h, bits & 0xFFFFFFFF)
    h = hash_add(h, (bits >> 32) & 0xFFFFFFFF)
    return hash_end(h)


@compiled
def text_hash(kind: int, extra: int, text: np.ndarray, start: int, length: int) -> np.uint64:
    h = hash_add(hash_start(kind), extra + 1)
    word = np.uint64(0)
    filled = 0
    for i in range(length):
        word = (word << np.uint64(8)) | np.uint64(text[start + i])
        filled += 1
        if filled == 8:
            h = hash_add(h, int64(word))
            word = np.uint64(0)
            filled = 0
    h = hash_add(h, int64(word))
    return hash_end(hash_add(h, length))


@compiled
def intern_number(terms: Terms, kind: int, value: int, bits: int) -> int:
    """The id of an integer, double or boolean; there is capacity."""
    h = number_hash(kind, bits)
    tag = h >> HALF
    mask = np.uint64(len(terms.slots) - 1)
    s = h >> table_shift(len(terms.slots))
    while True:
        entry = terms.slots[s]
        if entry == EMPTY:
            n = terms.state[TERMS]
            terms.slots[s] = make_entry(h, n + 1)
            terms.kind[n] = kind
            terms.value[n] = value
            terms.number[n] = bits
            terms.start[n] = 0
            terms.length[n] = 0
            terms.extra[n] = -1
            terms.state[TERMS] = n + 1
            return int64(n)
        if entry >> HALF == tag:
            t = int64(entry & LOW32) - 1
            if terms.kind[t] == kind and terms.number[t] == bits:
                return t
        s = (s + ONE) & mask


@entry
def intern_integer(terms: Terms, number: int) -> int:
    return intern_number(terms, INTEGER, INT_VALUE, number)


@entry
def intern_double(terms: Terms, number: float) -> int:
    """One NaN, and no negative zero."""
    if number != number:
        number = np.nan
    elif number == 0.0:
        number = 0.0
    return intern_number(terms, DOUBLE, DOUBLE_VALUE, double_bits(number))


@entry
def intern_boolean(terms: Terms, number: int) -> int:
    return intern_number(terms, BOOLEAN, BOOLEAN_VALUE, number)


@entry
def intern_text(terms: Terms, kind: int, extra: int, text: Uint8s, start: int, length: int) -> int:
    """The id of a text; there is capacity for the term and its bytes."""
    return intern_hashed(terms, text_hash(kind, extra, text, start, length), kind, extra, text, start, length)


@inlined
def intern_hashed(
    terms: Terms, h: np.uint64, kind: int, extra: int, text: np.ndarray, start: int, length: int
) -> int:
    """The same of a text whose hash is known."""
    tag = h >> HALF
    mask = np.uint64(len(terms.slots) - 1)
    s = h >> table_shift(len(terms.slots))
    while True:
        entry = terms.slots[s]
        if entry == EMPTY:
            n, at = terms.state[TERMS], terms.state[TEXT]
            terms.slots[s] = make_entry(h, n + 1)
            terms.kind[n] = kind
            terms.value[n] = NO_VALUE
            terms.number[n] = 0
            terms.start[n] = at
            terms.length[n] = length
            terms.extra[n] = extra
            for i in range(length):
                terms.text[at + i] = text[start + i]
            terms.state[TERMS] = n + 1
            terms.state[TEXT] = at + length
            return int64(n)
        if entry >> HALF == tag:
            t = int64(entry & LOW32) - 1
            if terms.kind[t] == kind and terms.extra[t] == extra and terms.length[t] == length:
                at = terms.start[t]
                same = True
                for i in range(length):
                    if terms.text[at + i] != text[start + i]:
                        same = False
                        break
                if same:
                    return t
        s = (s + ONE) & mask


@compiled
def term_hash(terms: Terms, t: int) -> np.uint64:
    kind = terms.kind[t]
    if kind == INTEGER or kind == DOUBLE or kind == BOOLEAN:
        return number_hash(kind, terms.number[t])
    return text_hash(kind, terms.extra[t], terms.text, terms.start[t], terms.length[t])


@entry
def truncate_terms(terms: Terms, length: int) -> None:
    mask, shift = np.uint64(len(terms.slots) - 1), table_shift(len(terms.slots))
    for t in range(terms.state[TERMS] - 1, length - 1, -1):
        s = term_hash(terms, t) >> shift
        while terms.slots[s] & LOW32 != np.uint64(t + 1):
            s = (s + ONE) & mask
        remove_entry(terms.slots, s)
        kind = terms.kind[t]
        if not (kind == INTEGER or kind == DOUBLE or kind == BOOLEAN):
            terms.state[TEXT] = terms.start[t]
        terms.state[TERMS] = t


# --- comparison -------------------------------------------------------------------------------------


@compiled
def compare_int_double(a: int, b: float) -> int:
    """-1, 0 or 1, exactly; b is not NaN."""
    if b >= 9223372036854775808.0:
        return -1
    if b < -9223372036854775808.0:
        return 1
    whole = int64(b)
    if a != whole:
        return -1 if a < whole else 1
    rest = b - np.float64(whole)
    if rest > 0.0:
        return -1
    return 1 if rest < 0.0 else 0


@compiled
def compare_text(terms: Terms, a: int, b: int) -> int:
    """By bytes of UTF-8, which is the order of code points."""
    at, bt = terms.start[a], terms.start[b]
    m, n = terms.length[a], terms.length[b]
    for i in range(min(m, n)):
        x, y = terms.text[at + i], terms.text[bt + i]
        if x != y:
            return -1 if x < y else 1
    if m == n:
        return 0
    return -1 if m < n else 1
