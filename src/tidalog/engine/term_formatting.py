"""Terms to texts of tables, in bulk.

The meaning is `term_text.format_any`; what compiled code does not write is left to Python, once for each
distinct term.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Int32s, Int64s, Uint8s, int64
from tidalog.engine.cells import (
    AS_STRING,
    classify,
    is_in_scheme,
    is_letter,
    is_plain_in_iri,
)
from tidalog.engine.dictionary_kernels import INTEGER, IRI, STRING, Terms
from tidalog.engine.jit import entry, inlined

_LESS, _GREATER, _COLON, _MINUS = (np.uint8(ord(c)) for c in "<>:-")
_ZERO, _TEN = np.uint8(ord("0")), np.uint64(10)
RAW: Final = 0
BRACKETED: Final = 1
BY_PYTHON: Final = 2
DIGITS: Final = 3


@inlined
def written_form(kind: int, text: np.ndarray, start: int, length: int) -> int:
    """How a term is written in a cell of format `any`."""
    if kind == STRING:
        reading, _, size = classify(text, start, length)
        return RAW if reading == AS_STRING and size == length else BY_PYTHON
    if kind == IRI:
        absolute, scheme = False, length > 0 and is_letter(text[start])
        for i in range(length):
            c = text[start + i]
            if not is_plain_in_iri(c):
                return BY_PYTHON
            if c == _COLON and scheme:
                absolute = True
            scheme = scheme and is_in_scheme(c)
            # Parentheses, commas, `?`, `=` and `$` are escaped in relative IRIs, `,?` in all.
            if c == 44 or c == 63 or (not absolute and (c == 40 or c == 41 or c == 61 or c == 36)):
                return BY_PYTHON
        return BRACKETED
    return DIGITS if kind == INTEGER else BY_PYTHON


@inlined
def magnitude(number: int) -> np.uint64:
    """The absolute value, unsigned: that of the least integer fits too."""
    return np.uint64(0) - np.uint64(number) if number < 0 else np.uint64(number)


@inlined
def digits_of(number: int) -> int:
    """The length of a number in base ten, with its sign."""
    size = 2 if number < 0 else 1
    rest = magnitude(number) // _TEN
    while rest > np.uint64(0):
        rest //= _TEN
        size += 1
    return size


@entry
def measure_texts(terms: Terms, ids: Int32s, forms: Uint8s, sizes: Int64s) -> None:
    """Form and size of each cell; 0 for those left to Python."""
    kinds, text, starts, lengths, numbers = terms.kind, terms.text, terms.start, terms.length, terms.number
    for i in range(len(ids)):
        term = ids[i]
        length = int64(lengths[term])
        form = written_form(kinds[term], text, starts[term], length)
        forms[i] = form
        if form == RAW:
            sizes[i] = length
        elif form == BRACKETED:
            sizes[i] = length + 2
        elif form == DIGITS:
            sizes[i] = digits_of(numbers[term])
        else:
            sizes[i] = 0


@entry
def write_texts(terms: Terms, ids: Int32s, forms: Uint8s, offsets: Int64s, out: Uint8s) -> None:
    """Writes the cells that need no Python to their offsets."""
    for i in range(len(ids)):
        if forms[i] == BY_PYTHON:
            continue
        at = offsets[i]
        if forms[i] == DIGITS:
            number = terms.number[ids[i]]
            if number < 0:
                out[at] = _MINUS
                at += 1
            rest = magnitude(number)
            for k in range(offsets[i + 1] - 1, at - 1, -1):
                out[k] = np.uint8(rest % _TEN) + _ZERO
                rest //= _TEN
            continue
        start, length = terms.start[ids[i]], terms.length[ids[i]]
        if forms[i] == BRACKETED:
            out[at] = _LESS
            out[at + 1 + length] = _GREATER
            at += 1
        for k in range(length):
            out[at + k] = terms.text[start + k]


@entry
def place_texts(
    rows: Int64s,
    which: Int64s,
    starts: Int64s,
    text: Uint8s,
    offsets: Int64s,
    out: Uint8s,
) -> None:
    """Copies the texts that Python wrote, distinct ones once, to the rows that have them."""
    for r in range(len(rows)):
        begin, end = starts[which[r]], starts[which[r] + 1]
        at = offsets[rows[r]]
        for k in range(end - begin):
            out[at + k] = text[begin + k]


@entry
def kinds_among(terms: Terms, ids: Int32s) -> int:
    """A bit for each kind of term that occurs."""
    found = 0
    for i in range(len(ids)):
        found |= 1 << int64(terms.kind[ids[i]])
    return found


@entry
def gather_numbers(terms: Terms, ids: Int32s, out: Int64s) -> None:
    for i in range(len(ids)):
        out[i] = terms.number[ids[i]]
