"""Texts of tables in bulk: which term a cell holds, and how a term is written into one.

The meaning is `termtext.parse_any` and `format_any`; compiled code decides the plain cases (numbers in base
ten, ASCII names, IRIs, texts that can be nothing but strings) and leaves the rest to them, distinct by
distinct.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.dictionary_kernels import (
    BLANK,
    INTEGER,
    IRI,
    STRING,
    TEXT,
    Terms,
    intern_boolean,
    intern_double,
    intern_hashed,
    intern_integer,
    number_hash,
    room_for_terms,
    text_hash,
)
from tidalog.engine.fact_kernels import CACHED, FAR_AHEAD
from tidalog.engine.native import compiled, inlined, prefetch
from tidalog.engine.table import table_shift

AS_IRI: Final = 0
AS_BLANK: Final = 1
AS_STRING: Final = 2
AS_INTEGER: Final = 3
AS_TRUE: Final = 4
AS_FALSE: Final = 5
AS_SLOW: Final = 6

_QUOTE, _LESS, _GREATER, _UNDERSCORE, _COLON, _MINUS, _BACKSLASH = (np.uint8(ord(c)) for c in '"<>_:-\\')
_ZERO, _TEN = np.uint8(ord("0")), np.uint64(10)
_REMEMBERED: Final = 1 << 12  # integers whose ids are kept in mind; a power of two
_MAX_DIGITS: Final = 18  # every number of so many digits fits 64 bits
# What a byte may be, a bit for each; cells are many, so one look at a table says all.
_LETTER, _DIGIT, _DASH, _BEYOND_ASCII, _OTHER, _NO_NUMERAL, _NOT_IN_IRI = (np.uint8(1 << n) for n in range(7))


def _byte_class(c: int) -> int:
    found = 0
    if chr(c).isascii() and (chr(c).isalpha() or c == ord("_")):
        found |= _LETTER
    elif chr(c) in "0123456789":
        found |= _DIGIT
    elif chr(c) == "-":
        found |= _DASH
    else:
        found |= _BEYOND_ASCII if c >= 128 else _OTHER
    # A dot, a sign, or a letter of an exponent or a radix may be part of a number.
    if chr(c) not in "0123456789.+-ABCDEFabcdefoOxX":
        found |= _NO_NUMERAL
    if c <= 32 or c >= 127 or chr(c) in '"<>\\^`{|}':
        found |= _NOT_IN_IRI
    return found


_CLASS = np.array([_byte_class(c) for c in range(256)], np.uint8)
_TRUE = np.frombuffer(b"true", np.uint8)
_FALSE = np.frombuffer(b"false", np.uint8)

READ_ANY: Final = AS_SLOW
READ_STRING: Final = AS_STRING
READ_IRI: Final = AS_IRI
TEXTS_AT_ONCE: Final = 128
_TERM_KINDS: Final = (IRI, BLANK, STRING)
"""Kinds of terms by readings."""


@inlined
def classes(text: np.ndarray, start: int, length: int) -> int:
    """What the bytes of a text are, all in all."""
    found = np.uint8(0)
    for i in range(start, start + length):
        found |= _CLASS[text[i]]
    return found


@inlined
def equals(text: np.ndarray, start: int, length: int, word: np.ndarray) -> bool:
    if length != len(word):
        return False
    for i in range(length):
        if text[start + i] != word[i]:
            return False
    return True


@inlined
def classify(text: np.ndarray, start: int, length: int) -> tuple[int, int, int]:
    """(reading, start and length of its inner text); AS_SLOW where only Python knows."""
    if length == 0:
        return AS_STRING, start, 0
    first = text[start]
    if _CLASS[first] & _LETTER:
        return classify_word(text, start, length)
    if _CLASS[first] & (_DIGIT | _DASH):
        return classify_numeral(text, start, length)
    if first == _QUOTE:
        if length >= 2 and text[start + length - 1] == _QUOTE:
            for i in range(1, length - 1):
                c = text[start + i]
                if c == _QUOTE or c == _BACKSLASH:
                    return AS_SLOW, start, length
            return AS_STRING, start + 1, length - 2
        return AS_SLOW, start, length
    if first == _LESS:
        if text[start + length - 1] != _GREATER:
            return AS_SLOW, start, length
        if classes(text, start + 1, length - 2) & _NOT_IN_IRI:
            return AS_SLOW, start, length
        return AS_IRI, start + 1, length - 2
    if first >= 128:
        return AS_SLOW, start, length
    return AS_STRING, start, length


@inlined
def classify_word(text: np.ndarray, start: int, length: int) -> tuple[int, int, int]:
    """What begins with a letter: a name, a boolean, a blank node, or a string."""
    if text[start] == _UNDERSCORE and (length == 1 or text[start + 1] == _COLON):
        if length < 3:
            return AS_SLOW, start, length
        if classes(text, start + 2, length - 2) & (_DASH | _BEYOND_ASCII | _OTHER):
            return AS_SLOW, start, length
        return AS_BLANK, start + 2, length - 2
    found = classes(text, start, length)
    if found & _OTHER:
        return AS_STRING, start, length
    if found & (_DASH | _BEYOND_ASCII):
        return AS_SLOW, start, length
    if equals(text, start, length, _TRUE):
        return AS_TRUE, start, length
    if equals(text, start, length, _FALSE):
        return AS_FALSE, start, length
    return AS_IRI, start, length


@inlined
def classify_numeral(text: np.ndarray, start: int, length: int) -> tuple[int, int, int]:
    """What begins with a digit or a minus: an integer, something Python must read, or a string."""
    sign = 1 if text[start] == _MINUS else 0
    digits = length - sign
    found = classes(text, start + sign, digits)
    if found & _NO_NUMERAL:
        return AS_STRING, start, length
    if found == _DIGIT and digits <= _MAX_DIGITS:
        return AS_INTEGER, start, length
    if digits == 0:
        return AS_STRING, start, length
    return AS_SLOW, start, length


@inlined
def read_integer(text: np.ndarray, start: int, length: int) -> int:
    sign = text[start] == _MINUS
    value = np.int64(0)
    for i in range(1 if sign else 0, length):
        value = value * 10 + np.int64(text[start + i] - np.uint8(48))
    return -value if sign else value


@inlined
def is_plain_in_iri(c: int) -> bool:
    """ASCII that an IRI reference may hold as it is; `iri_reference` escapes some more in relative ones."""
    return _CLASS[c] & _NOT_IN_IRI == 0


@compiled
def encode_texts(
    terms: Terms,
    offsets: np.ndarray,
    data: np.ndarray,
    begin: int,
    reading: int,
    ids: np.ndarray,
    slow: np.ndarray,
    slow_count: np.ndarray,
) -> int:
    """Interns the cells from `begin` on; stops and says where when room runs out.  Rows that Python must
    read are appended to `slow`.

    A large dictionary lies outside the cache: of a block of cells it is found out what they hold, and their
    places are asked for, before the first is looked up.
    """
    rows = len(ids)
    readings = np.empty(TEXTS_AT_ONCE, np.uint8)
    starts, sizes = np.empty(TEXTS_AT_ONCE, np.int64), np.empty(TEXTS_AT_ONCE, np.int64)
    hashes = np.empty(TEXTS_AT_ONCE, np.uint64)
    shift = table_shift(len(terms.slots))
    for first in range(begin, rows, TEXTS_AT_ONCE):
        count = min(TEXTS_AT_ONCE, rows - first)
        more = np.int64(offsets[first + count]) - np.int64(offsets[first])
        if not room_for_terms(terms, count) or terms.state[TEXT] + more > len(terms.text):
            return first
        for k in range(count):
            start = np.int64(offsets[first + k])
            kind, at, size = reading, start, np.int64(offsets[first + k + 1]) - start
            if reading == READ_ANY:
                kind, at, size = classify(data, start, size)
            if kind == AS_INTEGER:
                at = read_integer(data, at, size)
                hashes[k] = number_hash(INTEGER, at)
            elif kind < AS_INTEGER:
                hashes[k] = text_hash(_TERM_KINDS[kind], -1, data, at, size)
            readings[k], starts[k], sizes[k] = kind, at, size
            if kind <= AS_INTEGER:
                prefetch(terms.slots, hashes[k] >> shift)
        for k in range(count):
            kind = readings[k]
            if kind < AS_INTEGER:
                term_kind = _TERM_KINDS[kind]
                ids[first + k] = intern_hashed(terms, hashes[k], term_kind, -1, data, starts[k], sizes[k])
            elif kind == AS_INTEGER:
                ids[first + k] = intern_integer(terms, starts[k])
            elif kind == AS_TRUE or kind == AS_FALSE:
                ids[first + k] = intern_boolean(terms, 1 if kind == AS_TRUE else 0)
            else:
                ids[first + k] = -1
                slow[slow_count[0]] = first + k
                slow_count[0] += 1
    return rows


@compiled
def encode_integers(terms: Terms, values: np.ndarray, begin: int, ids: np.ndarray) -> int:
    """Interns integers from `begin` on; stops and says where when room runs out.  Columns repeat values, and
    a large dictionary lies outside the cache: the last row with a value of the same low bits is kept in
    mind, and the places of coming values are asked for ahead."""
    rows = len(ids)
    last = np.full(_REMEMBERED, -1, np.int32)
    shift = table_shift(len(terms.slots))
    is_far = len(terms.slots) > CACHED
    for i in range(begin, rows):
        value = values[i]
        if is_far and i + FAR_AHEAD < rows:
            coming = values[i + FAR_AHEAD]
            before = last[coming & (_REMEMBERED - 1)]
            if before < 0 or values[before] != coming:
                prefetch(terms.slots, number_hash(INTEGER, coming) >> shift)
        place = value & (_REMEMBERED - 1)
        before = last[place]
        if before >= 0 and values[before] == value:
            ids[i] = ids[before]
            continue
        if not room_for_terms(terms, 1):
            return i
        ids[i] = intern_integer(terms, value)
        last[place] = i
    return rows


@compiled
def encode_doubles(terms: Terms, values: np.ndarray, begin: int, ids: np.ndarray) -> int:
    for i in range(begin, len(ids)):
        if not room_for_terms(terms, 1):
            return i
        ids[i] = intern_double(terms, values[i])
    return len(ids)


# --- out --------------------------------------------------------------------------------------------

RAW: Final = 0
BRACKETED: Final = 1
BY_PYTHON: Final = 2
DIGITS: Final = 3


@inlined
def written_form(kind: int, text: np.ndarray, start: int, length: int) -> int:
    """How a term stands in a cell of format `any`."""
    if kind == STRING:
        reading, _, size = classify(text, start, length)
        return RAW if reading == AS_STRING and size == length else BY_PYTHON
    if kind == IRI:
        reading, _, size = classify(text, start, length)
        if reading == AS_IRI and size == length:
            return RAW
        if reading == AS_SLOW:
            return BY_PYTHON  # a name or not: only `format_any` knows
        absolute = False
        for i in range(length):
            c = text[start + i]
            if not is_plain_in_iri(c):
                return BY_PYTHON
            if c == _COLON:
                absolute = True
            # Parentheses, commas, `?`, `=` and `$` are escaped in relative IRIs, `,?` in all.
            if c == 44 or c == 63 or (not absolute and (c == 40 or c == 41 or c == 61 or c == 36)):
                return BY_PYTHON
        return BRACKETED
    return DIGITS if kind == INTEGER else BY_PYTHON


@inlined
def magnitude(number: int) -> np.uint64:
    """Without the sign; of the least integer too, whose negative is none."""
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


@compiled
def measure_texts(terms: Terms, ids: np.ndarray, forms: np.ndarray, sizes: np.ndarray) -> None:
    """Form and size of each cell; 0 for those left to Python."""
    kinds, text, starts, lengths, numbers = terms.kind, terms.text, terms.start, terms.length, terms.number
    for i in range(len(ids)):
        term = ids[i]
        length = np.int64(lengths[term])
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


@compiled
def write_texts(
    terms: Terms, ids: np.ndarray, forms: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Copies the cells that compiled code writes itself to their places."""
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


@compiled
def place_texts(
    rows: np.ndarray,
    which: np.ndarray,
    starts: np.ndarray,
    text: np.ndarray,
    offsets: np.ndarray,
    out: np.ndarray,
) -> None:
    """Copies the texts that Python wrote, distinct ones once, to the rows that have them."""
    for r in range(len(rows)):
        begin, end = starts[which[r]], starts[which[r] + 1]
        at = offsets[rows[r]]
        for k in range(end - begin):
            out[at + k] = text[begin + k]


@compiled
def kinds_among(terms: Terms, ids: np.ndarray) -> int:
    """A bit for each kind of term that occurs."""
    found = 0
    for i in range(len(ids)):
        found |= 1 << np.int64(terms.kind[ids[i]])
    return found


@compiled
def gather_numbers(terms: Terms, ids: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(ids)):
        out[i] = terms.number[ids[i]]
