"""Arithmetic on 64-bit integers and doubles.  The docstring of the package specifies it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import reduce

from tidalog.builtins.base import (
    Builtin,
    CannotCompute,
    double_result,
    integer_result,
    number_of,
    number_result,
    shown,
    whole_number_of,
)
from tidalog.model.terms import INT64_MAX, Boolean, Double, Integer, String, Term, double_value

_WORD = 64
_SHORT_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")  # longer ones are read as doubles


def add(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if isinstance(a, int) and isinstance(b, int):
        return integer_result(a + b)
    return double_result(float(a) + float(b), a, b)


def subtract(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if isinstance(a, int) and isinstance(b, int):
        return integer_result(a - b)
    return double_result(float(a) - float(b), a, b)


def multiply(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if isinstance(a, int) and isinstance(b, int):
        return integer_result(a * b)
    return double_result(float(a) * float(b), a, b)


def divide(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if b == 0:
        raise CannotCompute("division by zero")
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return integer_result(a // b)
    return double_result(float(a) / float(b), a, b)


def remainder(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if b == 0:
        raise CannotCompute("division by zero")
    if isinstance(a, int) and isinstance(b, int):
        magnitude = abs(a) % abs(b)
        return Integer(-magnitude if a < 0 else magnitude)
    if math.isinf(a):
        raise CannotCompute("the result is not a number")
    return Double(math.fmod(a, b))


def power(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if a == 0 and b < 0:
        raise CannotCompute("zero has no negative power")
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if b >= _WORD and abs(a) > 1:
            raise CannotCompute("the result does not fit 64 bits")
        return integer_result(a**b if abs(a) > 1 else _power_of_unit(a, b))
    base, exponent = float(a), float(b)
    try:
        return double_result(math.pow(base, exponent), base, exponent)
    except OverflowError:
        odd = math.fmod(exponent, 2.0) in (1.0, -1.0)
        return Double(-math.inf if base < 0 and odd else math.inf)
    except ValueError:
        raise CannotCompute("the result is not a number") from None


def _power_of_unit(base: int, exponent: int) -> int:
    """0, 1 or -1 to any power, without a loop over the exponent."""
    if base == 0:
        return 1 if exponent == 0 else 0
    return -1 if base < 0 and exponent % 2 == 1 else 1


def negate(term: Term) -> Term:
    value = number_of(term)
    return integer_result(-value) if isinstance(value, int) else Double(-value)


def absolute(term: Term) -> Term:
    value = number_of(term)
    return integer_result(abs(value)) if isinstance(value, int) else Double(abs(value))


def _to_whole(term: Term, rounding: Callable[[float], float]) -> Term:
    value = number_of(term)
    if isinstance(value, int):
        return Integer(value)
    return Double(rounding(value) if math.isfinite(value) else value)


def _round_half_away(value: float) -> float:
    """`value - whole` is exact, so 0.49999999999999994 is rounded to 0 and 0.5 to 1."""
    whole = float(math.trunc(value))
    return whole + math.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole


def rounded(term: Term) -> Term:
    return _to_whole(term, _round_half_away)


def floor(term: Term) -> Term:
    return _to_whole(term, lambda value: float(math.floor(value)))


def ceiling(term: Term) -> Term:
    return _to_whole(term, lambda value: float(math.ceil(value)))


def square_root(term: Term) -> Term:
    value = float(number_of(term))
    if value < 0:
        raise CannotCompute("a negative number has no square root")
    return Double(math.sqrt(value))


def _natural_logarithm(term: Term) -> float:
    value = float(number_of(term))
    if value <= 0:
        raise CannotCompute(f"{shown(term)} has no logarithm")
    return math.log(value)


def logarithm(arguments: Sequence[Term]) -> Term:
    value = _natural_logarithm(arguments[0])
    if len(arguments) == 1:
        return Double(value)
    base = _natural_logarithm(arguments[1])
    if base == 0:
        raise CannotCompute("a logarithm has no base 1")
    return double_result(value / base, value, base)


def exponential(term: Term) -> Term:
    try:
        return Double(math.exp(float(number_of(term))))
    except OverflowError:
        return Double(math.inf)


def _circular(function: Callable[[float], float]) -> Callable[[Term], Term]:
    def of(term: Term) -> Term:
        value = float(number_of(term))
        if math.isinf(value):
            raise CannotCompute("the result is not a number")
        return Double(function(value))

    return of


def smallest(arguments: Sequence[Term]) -> Term:
    return _extreme(arguments, lambda a, b: a < b)


def largest(arguments: Sequence[Term]) -> Term:
    return _extreme(arguments, lambda a, b: a > b)


def _extreme(arguments: Sequence[Term], better: Callable[[int | float, int | float], bool]) -> Term:
    """A NaN wins over everything; of equal numbers the integer is taken."""
    values = [number_of(term) for term in arguments]
    best = values[0]
    for value in values:
        if value != value:
            return Double(value)
        if better(value, best) or (value == best and isinstance(value, int)):
            best = value
    return number_result(best)


def total(arguments: Sequence[Term]) -> Term:
    start: Term = Integer(0)
    return reduce(add, arguments, start)


def product(arguments: Sequence[Term]) -> Term:
    start: Term = Integer(1)
    return reduce(multiply, arguments, start)


def lukasiewicz(arguments: Sequence[Term]) -> Term:
    """The Łukasiewicz t-norm: max(0, sum - (n - 1))."""
    return largest([Integer(0), subtract(total(arguments), Integer(len(arguments) - 1))])


def to_integer(term: Term) -> Term:
    value = _converted(term)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CannotCompute(f"{shown(term)} is not an integer")
        value = math.trunc(value)
    return integer_result(value)


def to_double(term: Term) -> Term:
    return Double(float(_converted(term)))


def _converted(term: Term) -> int | float:
    """A number, a boolean as 1 or 0, or the number that a string spells."""
    if isinstance(term, Boolean):
        return int(term.value)
    if not isinstance(term, String):
        return number_of(term)
    text = term.value.strip(" \t\r\n")
    if _SHORT_INTEGER.match(text):
        return int(text)
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


def _unary(name: str, function: Callable[[Term], Term], summary: str) -> Builtin:
    return Builtin(name, 1, 1, lambda arguments: function(arguments[0]), summary)


def _binary(name: str, function: Callable[[Term, Term], Term], summary: str) -> Builtin:
    return Builtin(name, 2, 2, lambda arguments: function(arguments[0], arguments[1]), summary)


BUILTINS: tuple[Builtin, ...] = (
    _binary("+", add, "sum"),
    _binary("-", subtract, "difference"),
    _binary("*", multiply, "product"),
    _binary("/", divide, "quotient: an integer when two integers divide evenly, else a double"),
    _binary("%", remainder, "remainder, with the sign of the dividend"),
    _binary("REM", remainder, "remainder, with the sign of the dividend"),
    _binary("**", power, "power"),
    _binary("POW", power, "power"),
    _unary("neg", negate, "the number with its sign turned"),
    _unary("ABS", absolute, "absolute value"),
    _unary("ROUND", rounded, "nearest whole number, halves away from zero"),
    _unary("FLOOR", floor, "largest whole number not above"),
    _unary("CEIL", ceiling, "smallest whole number not below"),
    _unary("SQRT", square_root, "square root"),
    Builtin("LOG", 1, 2, logarithm, "natural logarithm, or to the base given second"),
    _unary("EXP", exponential, "e to the power"),
    _unary("SIN", _circular(math.sin), "sine of an angle in radians"),
    _unary("COS", _circular(math.cos), "cosine of an angle in radians"),
    _unary("TAN", _circular(math.tan), "tangent of an angle in radians"),
    Builtin("MIN", 1, None, smallest, "smallest of the numbers"),
    Builtin("MAX", 1, None, largest, "largest of the numbers"),
    Builtin("SUM", 1, None, total, "sum of the numbers, from left to right"),
    Builtin("PROD", 1, None, product, "product of the numbers, from left to right"),
    Builtin("LUKA", 1, None, lukasiewicz, "Łukasiewicz t-norm of the numbers"),
    _unary("INT", to_integer, "integer: truncates a double, reads a string"),
    _unary("DOUBLE", to_double, "double: converts an integer, reads a string"),
    _unary("FLOAT", to_double, "double: converts an integer, reads a string"),
    Builtin("BITAND", 1, None, _bitwise(lambda a, b: a & b), "bits set in all of the integers"),
    Builtin("BITOR", 1, None, _bitwise(lambda a, b: a | b), "bits set in any of the integers"),
    Builtin("BITXOR", 1, None, _bitwise(lambda a, b: a ^ b), "bits set in an odd number of the integers"),
    _unary("BITNOT", invert_bits, "every bit of a 64-bit integer turned"),
    _binary("BITSHL", shift_left, "shifted left by 0 to 63 bits; what leaves 64 bits is lost"),
    _binary("BITSHR", shift_right, "shifted right by 0 to 63 bits, the sign copied in"),
    _binary("BITSHRU", shift_right_unsigned, "shifted right by 0 to 63 bits, zeros filled in"),
)
