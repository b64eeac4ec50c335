"""The order of terms by value in compiled code: numbers, points in time, durations; see `terms.sort_key`.

A literal's value is kept as one number (`dictionary_kernels`): of a decimal or a large integer the nearest
double, of a time its microseconds, of a duration its seconds or months.  Where two of these are equal, the
digits of the texts decide.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.dictionary_kernels import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    LITERAL,
    Terms,
    compare_int_double,
    compare_text,
)
from tidalog.engine.jit import bits_double, compiled, inlined
from tidalog.engine.value_kinds import (
    BIG_ABOVE,
    BIG_BELOW,
    DAY_TIME_VALUE,
    DECIMAL_ABOVE,
    DECIMAL_BELOW,
    DOUBLE_VALUE,
    INSTANT_VALUE,
    INT_VALUE,
    MIXED_VALUE,
    TIME_VALUE,
    YEAR_MONTH_VALUE,
)

_MINUS: Final = 45
_PLUS: Final = 43
_POINT: Final = 46
_ZERO: Final = 48
_NINE: Final = 57
_MICROSECONDS: Final = 6  # digits of a fraction that a time's number has
_NANOSECONDS: Final = 9
_MONTH: Final = 2_629_746  # seconds, see `values.MONTH`
_DIGITS: Final = 20

NAN: Final = 2
"""What a comparison gives where one of two numbers is NaN."""


@inlined
def is_exact(value: int) -> bool:
    """Whether a number is a decimal or an integer beyond 64 bits."""
    return value >= DECIMAL_BELOW and value <= BIG_ABOVE


@inlined
def is_decimal(value: int) -> bool:
    return value >= DECIMAL_BELOW and value <= DECIMAL_ABOVE


@inlined
def is_duration(value: int) -> bool:
    return value >= DAY_TIME_VALUE and value <= MIXED_VALUE


@inlined
def side(value: int) -> int:
    """-1, 0, 1: an exact number is less than its double, equal to it, or greater."""
    first = DECIMAL_BELOW if value <= DECIMAL_ABOVE else BIG_BELOW
    return int64(value) - first - 1


# --- digits -------------------------------------------------------------------------------------------------


@compiled
def decimal_parts(text: np.ndarray, start: int, length: int) -> tuple[int, int, int, int, int]:
    """(sign, begin and end of the digits before the point, begin and end of those after it), without zeros at
    either end."""
    at, end = start, start + length
    sign = 1
    if at < end and (text[at] == _MINUS or text[at] == _PLUS):
        if text[at] == _MINUS:
            sign = -1
        at += 1
    while at < end and text[at] == _ZERO:
        at += 1
    whole = at
    while at < end and text[at] != _POINT:
        at += 1
    fraction = min(at + 1, end)
    last = end
    while last > fraction and text[last - 1] == _ZERO:
        last -= 1
    if whole == at and last == fraction:
        sign = 0
    return sign, whole, at, fraction, last


@compiled
def compare_digits(
    a: np.ndarray, a_start: int, a_length: int, b: np.ndarray, b_start: int, b_length: int
) -> int:
    """-1, 0 or 1 of two decimal numerals."""
    a_sign, a_whole, a_point, a_fraction, a_end = decimal_parts(a, a_start, a_length)
    b_sign, b_whole, b_point, b_fraction, b_end = decimal_parts(b, b_start, b_length)
    if a_sign != b_sign:
        return -1 if a_sign < b_sign else 1
    if a_point - a_whole != b_point - b_whole:
        return -a_sign if a_point - a_whole < b_point - b_whole else a_sign
    for i in range(a_point - a_whole):
        x, y = a[a_whole + i], b[b_whole + i]
        if x != y:
            return -a_sign if x < y else a_sign
    m, n = a_end - a_fraction, b_end - b_fraction
    for i in range(min(m, n)):
        x, y = a[a_fraction + i], b[b_fraction + i]
        if x != y:
            return -a_sign if x < y else a_sign
    if m == n:
        return 0
    return -a_sign if m < n else a_sign


@compiled
def write_digits(number: int, digits: np.ndarray) -> int:
    """Writes an integer at the end of `digits`; where it begins."""
    at = len(digits)
    rest = np.uint64(-(number + 1)) + np.uint64(1) if number < 0 else np.uint64(number)
    while rest > np.uint64(0) or at == len(digits):
        at -= 1
        digits[at] = _ZERO + np.uint8(rest % np.uint64(10))
        rest = rest // np.uint64(10)
    if number < 0:
        at -= 1
        digits[at] = _MINUS
    return at


@compiled
def compare_exact(terms: Terms, a_value: int, a_int: int, a: int, b_value: int, b_int: int, b: int) -> int:
    """-1, 0 or 1 of two numbers that are not doubles, of which one is exact; `a` and `b` are terms where they
    are exact.  The nearest doubles decide unless they are equal."""
    x = np.float64(a_int) if a_value == INT_VALUE else bits_double(a_int)
    y = np.float64(b_int) if b_value == INT_VALUE else bits_double(b_int)
    if x != y:
        return -1 if x < y else 1
    if a_value == INT_VALUE:
        digits = np.empty(_DIGITS, np.uint8)
        at = write_digits(a_int, digits)
        return compare_digits(digits, at, _DIGITS - at, terms.text, terms.start[b], terms.length[b])
    if b_value == INT_VALUE:
        digits = np.empty(_DIGITS, np.uint8)
        at = write_digits(b_int, digits)
        return compare_digits(terms.text, terms.start[a], terms.length[a], digits, at, _DIGITS - at)
    return compare_digits(
        terms.text, terms.start[a], terms.length[a], terms.text, terms.start[b], terms.length[b]
    )


@compiled
def compare_with_double(value: int, number: int, x: float, exactly: bool) -> int:
    """-1, 0 or 1 of an integer, decimal or large integer and a double; or NAN.  `exactly`: a decimal is
    compared as it is, not as the nearest double."""
    if x != x:
        return NAN
    if value == INT_VALUE:
        return compare_int_double(number, x)
    y = bits_double(number)
    if y != x:
        return -1 if y < x else 1
    return side(value) if exactly or not is_decimal(value) else 0


@compiled
def compare_numbers(
    terms: Terms, a_value: int, a_int: int, a: int, b_value: int, b_int: int, b: int, exactly: bool
) -> int:
    """-1, 0 or 1 of two numbers of any kind; or NAN.  `a_int` is an integer, or the bits of a double."""
    if a_value == DOUBLE_VALUE and b_value == DOUBLE_VALUE:
        x, y = bits_double(a_int), bits_double(b_int)
        if x != x or y != y:
            return NAN
        return -1 if x < y else (1 if x > y else 0)
    if b_value == DOUBLE_VALUE:
        return compare_with_double(a_value, a_int, bits_double(b_int), exactly)
    if a_value == DOUBLE_VALUE:
        c = compare_with_double(b_value, b_int, bits_double(a_int), exactly)
        return c if c == NAN else -c
    if a_value == INT_VALUE and b_value == INT_VALUE:
        return -1 if a_int < b_int else (1 if a_int > b_int else 0)
    return compare_exact(terms, a_value, a_int, a, b_value, b_int, b)


# --- times --------------------------------------------------------------------------------------------------


@compiled
def rest_of(terms: Terms, term: int) -> int:
    """The nanoseconds that a time or duration has beyond its number, with the sign of a duration."""
    start, end = terms.start[term], terms.start[term] + terms.length[term]
    at = start
    while at < end and terms.text[at] != _POINT:
        at += 1
    at += 1
    found = 0
    for i in range(0 if is_duration(terms.value[term]) else _MICROSECONDS, _NANOSECONDS):
        digit = _ZERO
        if at + i < end and terms.text[at + i] >= _ZERO and terms.text[at + i] <= _NINE:
            digit = terms.text[at + i]
        else:
            end = at  # no digit follows
        found = 10 * found + (digit - _ZERO)
    return -found if terms.text[start] == _MINUS else found


@compiled
def compare_times(terms: Terms, a: int, b: int) -> int:
    """-1, 0 or 1 of two terms whose numbers count the same."""
    if a == b:
        return 0
    x, y = length(terms, a), length(terms, b)
    if x == y:
        x, y = rest_of(terms, a), rest_of(terms, b)
    return -1 if x < y else (1 if x > y else 0)


@inlined
def length(terms: Terms, term: int) -> int:
    """Seconds of a duration, a month taken as the average one; of a time its number."""
    number = terms.number[term]
    return int64(number * _MONTH if terms.value[term] == YEAR_MONTH_VALUE else number)


# --- all terms ----------------------------------------------------------------------------------------------

_RANK: Final = (8, 9, 2, 7, 1, 1, 0, 6)  # kind → rank in the order of terms (`terms.sort_key`)


@compiled
def rank(terms: Terms, term: int) -> int:
    if terms.kind[term] == LITERAL:
        value = terms.value[term]
        if value == INT_VALUE or value == DOUBLE_VALUE or is_exact(value):
            return 1
        if value == INSTANT_VALUE:
            return 3
        if value == TIME_VALUE:
            return 4
        if is_duration(value):
            return 5
    return _RANK[terms.kind[term]]


@compiled
def compare_terms(terms: Terms, a: int, b: int) -> int:
    """The total order of terms: see `terms.sort_key`."""
    if a == b:
        return 0
    ra, rb = rank(terms, a), rank(terms, b)
    if ra != rb:
        return -1 if ra < rb else 1
    c = 0
    if terms.kind[a] == BOOLEAN:
        return -1 if terms.number[a] < terms.number[b] else 1
    if ra == 1:
        c = compare_numbers(
            terms, terms.value[a], terms.number[a], a, terms.value[b], terms.number[b], b, True
        )
        if c == NAN:
            c = nan_last(terms, a) - nan_last(terms, b)
        if c == 0:
            c = among_equals(terms, a) - among_equals(terms, b)
    elif ra >= 3 and ra <= 5:
        c = compare_times(terms, a, b)
    if c != 0:
        return -1 if c < 0 else 1
    if terms.kind[a] == LITERAL and terms.extra[a] != terms.extra[b]:
        return compare_text(terms, terms.extra[a], terms.extra[b])
    c = compare_text(terms, a, b)
    if c == 0:
        return compare_text(terms, terms.extra[a], terms.extra[b])
    return c


@compiled
def nan_last(terms: Terms, term: int) -> int:
    x = bits_double(terms.number[term])
    return 1 if terms.value[term] == DOUBLE_VALUE and x != x else 0


@compiled
def among_equals(terms: Terms, term: int) -> int:
    """Of equal numbers integers come first, then typed literals, then doubles."""
    kind = terms.kind[term]
    return 0 if kind == INTEGER else (2 if kind == DOUBLE else 1)
