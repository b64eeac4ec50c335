"""Conversions to numbers, and integers as words of 64 bits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce

from tidalog.builtins import times
from tidalog.builtins.base import (
    Builtin,
    CannotCompute,
    Number,
    binary,
    decimal_result,
    integer_result,
    shown,
    unary,
    whole_number_of,
)
from tidalog.model.terms import (
    INT64_MAX,
    Boolean,
    Double,
    Integer,
    Literal,
    String,
    Term,
    double_value,
    nearest_double,
    numeric_value,
)
from tidalog.model.values import DECIMAL, canonical_decimal

_WORD = 64
_SHORT_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")  # longer ones are read as doubles
_RADIX = re.compile(r"[+-]?0(?:x[0-9a-f]{1,16}|o[0-7]{1,22}|b[01]{1,64})\Z", re.IGNORECASE)


def to_integer(term: Term) -> Term:
    value = _converted(term)
    if isinstance(value, float) and not math.isfinite(value):
        raise CannotCompute(f"{shown(term)} is not an integer")
    return integer_result(math.trunc(value))


def to_double(term: Term) -> Term:
    return Double(nearest_double(_converted(term)))


def to_decimal(term: Term) -> Term:
    """Of a double the decimal that it is written as: 0.1, not what the nearest double to it is."""
    value: Number | None
    if isinstance(term, String):
        text = canonical_decimal(term.value.strip(" \t\r\n"))
        value = None if text is None else numeric_value(Literal(text, DECIMAL))
    else:
        value = _converted(term)
        if isinstance(value, float):
            value = Decimal(repr(value)) if math.isfinite(value) else None
    if value is None:
        raise CannotCompute(f"{shown(term)} is not a decimal")
    return decimal_result(Decimal(value))


def _converted(term: Term) -> Number:
    """A number, a boolean as 1 or 0, or the number that the text of a string or of another literal spells."""
    if isinstance(term, Boolean):
        return int(term.value)
    value = numeric_value(term)
    if value is not None:
        return value
    if not isinstance(term, String | Literal) or times.is_temporal(term):
        raise CannotCompute(f"{shown(term)} is not a number")
    text = (term.value if isinstance(term, String) else term.lexical).strip(" \t\r\n")
    if _SHORT_INTEGER.match(text):
        return int(text)
    if _RADIX.match(text):
        return int(text, 0)
    real = double_value(text)
    if real is None:
        raise CannotCompute(f"{shown(term)} does not spell a number")
    return real


def _bitwise(operation: Callable[[int, int], int]) -> Callable[[Sequence[Term]], Term]:
    def of(arguments: Sequence[Term]) -> Term:
        return Integer(reduce(operation, map(whole_number_of, arguments)))

    return of


def _shift_distance(term: Term) -> int:
    distance = whole_number_of(term)
    if not 0 <= distance < _WORD:
        raise CannotCompute(f"a shift by {distance} is not within 0 to {_WORD - 1}")
    return distance


def _signed_word(value: int) -> int:
    """The lowest 64 bits, read as two's complement."""
    value &= (1 << _WORD) - 1
    return value - (1 << _WORD) if value > INT64_MAX else value


def shift_left(value: Term, distance: Term) -> Term:
    return Integer(_signed_word(whole_number_of(value) << _shift_distance(distance)))


def shift_right(value: Term, distance: Term) -> Term:
    return Integer(whole_number_of(value) >> _shift_distance(distance))


def shift_right_unsigned(value: Term, distance: Term) -> Term:
    word = whole_number_of(value) & ((1 << _WORD) - 1)
    return Integer(_signed_word(word >> _shift_distance(distance)))


def invert_bits(term: Term) -> Term:
    return Integer(~whole_number_of(term))


BUILTINS: tuple[Builtin, ...] = (
    unary("INT", to_integer, "integer: truncates, reads a string such as 42, 0x2A, 0o52 or 0b101010"),
    unary("DOUBLE", to_double, "double: converts a number, reads a string"),
    unary("FLOAT", to_double, "double: converts a number, reads a string"),
    unary("DECIMAL", to_decimal, "decimal: converts a number, a double as it is written; reads a string"),
    Builtin("BITAND", 1, None, _bitwise(lambda a, b: a & b), "bits set in all of the integers"),
    Builtin("BITOR", 1, None, _bitwise(lambda a, b: a | b), "bits set in any of the integers"),
    Builtin("BITXOR", 1, None, _bitwise(lambda a, b: a ^ b), "bits set in an odd number of the integers"),
    unary("BITNOT", invert_bits, "every bit of a 64-bit integer turned"),
    binary("BITSHL", shift_left, "shifted left by 0 to 63 bits; what leaves 64 bits is lost"),
    binary("BITSHR", shift_right, "shifted right by 0 to 63 bits, the sign copied in"),
    binary("BITSHRU", shift_right_unsigned, "shifted right by 0 to 63 bits, zeros filled in"),
)
