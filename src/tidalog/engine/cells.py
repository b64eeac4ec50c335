"""What a cell of a table holds, by its bytes.

The meaning is `term_text.parse_any`; compiled code decides the plain cases (integers, IRIs, texts that can be
nothing but strings) and leaves the rest to Python.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.jit import inlined

AS_IRI: Final = 0
AS_BLANK: Final = 1
AS_STRING: Final = 2
AS_INTEGER: Final = 3
AS_TRUE: Final = 4
AS_FALSE: Final = 5
AS_SLOW: Final = 6

_QUOTE, _LESS, _GREATER, _UNDERSCORE, _COLON, _MINUS, _BACKSLASH, _ZERO = (
    np.uint8(ord(c)) for c in '"<>_:-\\0'
)
_MAX_DIGITS: Final = 18  # every number of this many digits fits 64 bits
# What a byte may be, a bit for each; cells are many, so one look at a table says all.
_LETTER, _DIGIT, _DASH, _BEYOND_ASCII, _OTHER, _NO_NUMERAL, _NOT_IN_IRI = (np.uint8(1 << n) for n in range(7))


def _byte_class(c: int) -> np.uint8:
    found = np.uint8(0)
    if chr(c).isascii() and (chr(c).isalpha() or c == ord("_")):
        found |= _LETTER
    elif chr(c) in "0123456789":
        found |= _DIGIT
    elif chr(c) == "-":
        found |= _DASH
    else:
        found |= _BEYOND_ASCII if c >= 128 else _OTHER
    # A dot, a sign or an exponent may be part of a number.
    if chr(c) not in "0123456789.+-e":
        found |= _NO_NUMERAL
    if c <= 32 or c >= 127 or chr(c) in '"<>\\^`{|}':
        found |= _NOT_IN_IRI
    return found


_CLASS = np.array([_byte_class(c) for c in range(256)], np.uint8)
_TRUE = np.frombuffer(b"true", np.uint8)
_FALSE = np.frombuffer(b"false", np.uint8)


@inlined
def classes(text: np.ndarray, start: int, length: int) -> int:
    """The classes of all bytes of a text, as a set of bits."""
    found = np.uint8(0)
    for i in range(start, start + length):
        found |= _CLASS[text[i]]
    return int64(found)


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
    return AS_STRING, start, length


@inlined
def classify_word(text: np.ndarray, start: int, length: int) -> tuple[int, int, int]:
    """What begins with a letter: a boolean, a blank node, or a string."""
    if text[start] == _UNDERSCORE and length > 2 and text[start + 1] == _COLON:
        if classes(text, start + 2, length - 2) & (_DASH | _BEYOND_ASCII | _OTHER):
            return AS_SLOW, start, length
        return AS_BLANK, start + 2, length - 2
    if equals(text, start, length, _TRUE):
        return AS_TRUE, start, length
    if equals(text, start, length, _FALSE):
        return AS_FALSE, start, length
    return AS_STRING, start, length


@inlined
def classify_numeral(text: np.ndarray, start: int, length: int) -> tuple[int, int, int]:
    """What begins with a digit or a minus: an integer, something Python must read, or a string."""
    sign = 1 if text[start] == _MINUS else 0
    digits = length - sign
    found = classes(text, start + sign, digits)
    if found & _NO_NUMERAL:
        return AS_STRING, start, length
    if digits == 0 or (found == _DIGIT and text[start + sign] == _ZERO and length > 1):
        return AS_STRING, start, length
    if found == _DIGIT and digits <= _MAX_DIGITS:
        return AS_INTEGER, start, length
    return AS_SLOW, start, length


@inlined
def read_integer(text: np.ndarray, start: int, length: int) -> int:
    sign = text[start] == _MINUS
    value = int64(0)
    for i in range(1 if sign else 0, length):
        value = value * 10 + int64(text[start + i] - np.uint8(48))
    return -value if sign else value


@inlined
def is_letter(c: int) -> bool:
    """Of ASCII."""
    return bool(_CLASS[c] & _LETTER != 0 and c != _UNDERSCORE)


@inlined
def is_in_scheme(c: int) -> bool:
    """Whether a byte after the first letter may belong to the scheme of an IRI."""
    return bool((_CLASS[c] & (_LETTER | _DIGIT | _DASH) != 0 and c != _UNDERSCORE) or c == 43 or c == 46)


@inlined
def is_plain_in_iri(c: int) -> bool:
    """ASCII that an IRI reference may hold as it is; `iri_reference` escapes some more in relative ones."""
    return bool(_CLASS[c] & _NOT_IN_IRI == 0)
