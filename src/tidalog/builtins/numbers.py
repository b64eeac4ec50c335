"""Arithmetic on 64-bit integers, decimals and doubles.  The docstring of the package specifies it.  Points in
time and durations are added in `times`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import reduce
from typing import Any

from tidalog.builtins import times
from tidalog.builtins.base import (
    Builtin,
    CannotCompute,
    Number,
    binary,
    decimal_result,
    double_result,
    integer_result,
    number_of,
    number_result,
    shown,
    unary,
)
from tidalog.model.terms import (
    Double,
    Integer,
    Term,
    nearest_double,
    sort_key,
)
from tidalog.model.values import EXACT, ROUNDED

_WORD = 64
_TYPES = (int, Decimal, float)


def _numbers(left: Term, right: Term) -> tuple[Number, Number] | None:
    """Two numbers; None if a point in time or a duration is among the operands."""
    if times.is_temporal(left) or times.is_temporal(right):
        return None
    return number_of(left), number_of(right)


def add(left: Term, right: Term) -> Term:
    numbers = _numbers(left, right)
    return times.add(left, right) if numbers is None else _exactly(operator.add, EXACT.add, *numbers)


def subtract(left: Term, right: Term) -> Term:
    numbers = _numbers(left, right)
    return (
        times.subtract(left, right) if numbers is None else _exactly(operator.sub, EXACT.subtract, *numbers)
    )


def multiply(left: Term, right: Term) -> Term:
    numbers = _numbers(left, right)
    return (
        times.multiply(left, right) if numbers is None else _exactly(operator.mul, EXACT.multiply, *numbers)
    )


def _exactly(
    plain: Callable[[Any, Any], Any],
    of_decimals: Callable[[Decimal, Decimal], Decimal],
    a: Number,
    b: Number,
) -> Term:
    """Doubles if one of them is a double, else decimals if one is a decimal, else integers."""
    if isinstance(a, float) or isinstance(b, float):
        return double_result(plain(nearest_double(a), nearest_double(b)), a, b)
    if isinstance(a, int) and isinstance(b, int):
        return integer_result(plain(a, b))
    return decimal_result(of_decimals(Decimal(a), Decimal(b)))


def divide(left: Term, right: Term) -> Term:
    numbers = _numbers(left, right)
    if numbers is None:
        return times.divide(left, right)
    a, b = numbers
    if b == 0:
        raise CannotCompute("division by zero")
    if isinstance(a, Decimal | int) and isinstance(b, Decimal | int):
        if isinstance(a, Decimal) or isinstance(b, Decimal):
            return decimal_result(ROUNDED.divide(Decimal(a), Decimal(b)))
        if a % b == 0:
            return integer_result(a // b)
    return double_result(nearest_double(a) / _divisor(b), a, b)


def _divisor(value: Number) -> float:
    """As a double, a decimal may be too small to divide by."""
    if (divisor := nearest_double(value)) == 0:
        raise CannotCompute("division by zero")
    return divisor


def whole_quotient(left: Term, right: Term) -> Term:
    a, b = _dividend_and_divisor(left, right)
    quotient = abs(a) // abs(b)
    return integer_result(-quotient if (a < 0) != (b < 0) else quotient)


def whole_remainder(left: Term, right: Term) -> Term:
    return integer_result(_truncated_remainder(*_dividend_and_divisor(left, right)))


def _dividend_and_divisor(left: Term, right: Term) -> tuple[int, int]:
    a, b = number_of(left), number_of(right)
    if not isinstance(a, int) or not isinstance(b, int):
        raise CannotCompute(f"{shown(right if isinstance(a, int) else left)} is not an integer")
    if b == 0:
        raise CannotCompute("division by zero")
    return a, b


def _truncated_remainder(a: int, b: int) -> int:
    magnitude = abs(a) % abs(b)
    return -magnitude if a < 0 else magnitude


def remainder(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if b == 0:
        raise CannotCompute("division by zero")
    if isinstance(a, int) and isinstance(b, int):
        return integer_result(_truncated_remainder(a, b))
    if not isinstance(a, float) and not isinstance(b, float):
        return decimal_result(EXACT.remainder(Decimal(a), Decimal(b)))
    dividend = nearest_double(a)
    if math.isinf(dividend):
        raise CannotCompute("the result is not a number")
    return Double(math.fmod(dividend, _divisor(b)))


def power(left: Term, right: Term) -> Term:
    a, b = number_of(left), number_of(right)
    if a == 0 and b < 0:
        raise CannotCompute("zero has no negative power")
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if b >= _WORD and abs(a) > 1:
            raise CannotCompute("the result does not fit 64 bits")
        return integer_result(a**b if abs(a) > 1 else _power_of_unit(a, b))
    if isinstance(a, Decimal) and isinstance(b, int | Decimal) and b == math.trunc(b):
        return _decimal_power(a, math.trunc(b))
    base, exponent = nearest_double(a), nearest_double(b)
    try:
        return double_result(math.pow(base, exponent), base, exponent)
    except OverflowError:
        odd = math.fmod(exponent, 2.0) in (1.0, -1.0)
        return Double(-math.inf if base < 0 and odd else math.inf)
    except ValueError:
        raise CannotCompute("the result is not a number") from None


def _decimal_power(base: Decimal, exponent: int) -> Term:
    """Exact; for a negative exponent one over it, rounded."""
    if base.copy_abs() in (0, 1):
        return decimal_result(Decimal(_power_of_unit(int(base), abs(exponent))))
    result = Decimal(1)
    for bit in bin(abs(exponent))[2:]:
        result = EXACT.multiply(result, result)
        if bit == "1":
            result = EXACT.multiply(result, base)
        decimal_result(result)  # whose limit ends the loop soon
    return decimal_result(ROUNDED.divide(Decimal(1), result) if exponent < 0 else result)


def _power_of_unit(base: int, exponent: int) -> int:
    """0, 1 or -1 to any power, without a loop over the exponent."""
    if base == 0:
        return 1 if exponent == 0 else 0
    return -1 if base < 0 and exponent % 2 == 1 else 1


def negate(term: Term) -> Term:
    return times.negate(term) if times.is_temporal(term) else _turned(number_of(term))


def absolute(term: Term) -> Term:
    if times.is_temporal(term):
        return times.absolute(term)
    value = number_of(term)
    if isinstance(value, int):
        return integer_result(abs(value))
    return _turned(value) if value < 0 else number_result(value)


def _turned(value: Number) -> Term:
    if isinstance(value, int):
        return integer_result(-value)
    return number_result(value.copy_negate() if isinstance(value, Decimal) else -value)


def _to_whole(term: Term, of_doubles: Callable[[float], float], rounding: str) -> Term:
    value = number_of(term)
    if isinstance(value, Decimal):
        return decimal_result(value.to_integral_value(rounding, EXACT))
    if isinstance(value, int):
        return number_result(value)
    return Double(of_doubles(value) if math.isfinite(value) else value)


def _round_half_away(value: float) -> float:
    """`value - whole` is exact, so 0.49999999999999994 is rounded to 0 and 0.5 to 1."""
    whole = float(math.trunc(value))
    return whole + math.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole


def rounded(term: Term) -> Term:
    return _to_whole(term, _round_half_away, ROUND_HALF_UP)


def floor(term: Term) -> Term:
    return _to_whole(term, lambda value: float(math.floor(value)), ROUND_FLOOR)


def ceiling(term: Term) -> Term:
    return _to_whole(term, lambda value: float(math.ceil(value)), ROUND_CEILING)


def square_root(term: Term) -> Term:
    value = nearest_double(number_of(term))
    if value < 0:
        raise CannotCompute("a negative number has no square root")
    return Double(math.sqrt(value))


def _natural_logarithm(term: Term) -> float:
    value = nearest_double(number_of(term))
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
        return Double(math.exp(nearest_double(number_of(term))))
    except OverflowError:
        return Double(math.inf)


def _circular(function: Callable[[float], float]) -> Callable[[Term], Term]:
    def of(term: Term) -> Term:
        value = nearest_double(number_of(term))
        if math.isinf(value):
            raise CannotCompute("the result is not a number")
        return Double(function(value))

    return of


def smallest(arguments: Sequence[Term]) -> Term:
    return reduce(lambda a, b: _better(a, b, -1), arguments, arguments[0])


def largest(arguments: Sequence[Term]) -> Term:
    return reduce(lambda a, b: _better(a, b, 1), arguments, arguments[0])


def _better(left: Term, right: Term, sign: int) -> Term:
    """The smaller (-1) or larger (1).  Numbers by exact value: a NaN wins over everything; of equal ones an
    integer before a decimal before a double.  Times and durations by value, then in the order of terms."""
    if times.is_temporal(left) or times.is_temporal(right):
        found = times.order(left, right)
        if found is None:
            raise CannotCompute(f"{shown(left)} and {shown(right)} have no order")
        return (left if found == sign else right) if found else min(left, right, key=sort_key)
    a, b = number_of(left), number_of(right)
    if a != a or b != b:
        return Double(math.nan)
    if a == b:
        return number_result(min(a, b, key=lambda value: _TYPES.index(type(value))))
    return number_result(a if (a > b) == (sign > 0) else b)


def total(arguments: Sequence[Term]) -> Term:
    first = arguments[0] if times.is_temporal(arguments[0]) else add(Integer(0), arguments[0])
    return reduce(add, arguments[1:], first)


def product(arguments: Sequence[Term]) -> Term:
    first = arguments[0] if times.is_temporal(arguments[0]) else multiply(Integer(1), arguments[0])
    return reduce(multiply, arguments[1:], first)


def lukasiewicz(arguments: Sequence[Term]) -> Term:
    """The Łukasiewicz t-norm: max(0, sum - (n - 1))."""
    return largest([Integer(0), subtract(total(arguments), Integer(len(arguments) - 1))])


_QUOTIENT = (
    "quotient: an integer when two integers divide evenly, else a double; of decimals a decimal of 34 digits"
)
BUILTINS: tuple[Builtin, ...] = (
    binary("+", add, "sum"),
    binary("-", subtract, "difference"),
    binary("SUBTRACTION", subtract, "difference"),
    binary("*", multiply, "product"),
    binary("/", divide, _QUOTIENT),
    binary("DIVISION", divide, _QUOTIENT),
    binary("%", remainder, "remainder, with the sign of the dividend"),
    binary("REM", remainder, "remainder, with the sign of the dividend"),
    binary("DIV", whole_quotient, "quotient of two integers without its fraction, rounded toward zero"),
    binary("MOD", whole_remainder, "remainder of two integers after DIV, with the sign of the dividend"),
    binary("**", power, "power"),
    binary("POW", power, "power"),
    unary("neg", negate, "the number or duration with its sign turned"),
    unary("INVERTSIGN", negate, "the number or duration with its sign turned"),
    unary("ABS", absolute, "absolute value of a number or duration"),
    unary("ROUND", rounded, "nearest whole number, halves away from zero"),
    unary("FLOOR", floor, "largest whole number not above"),
    unary("CEIL", ceiling, "smallest whole number not below"),
    unary("SQRT", square_root, "square root"),
    Builtin("LOG", 1, 2, logarithm, "natural logarithm, or to the base given second"),
    unary("EXP", exponential, "e to the power"),
    unary("SIN", _circular(math.sin), "sine of an angle in radians"),
    unary("COS", _circular(math.cos), "cosine of an angle in radians"),
    unary("TAN", _circular(math.tan), "tangent of an angle in radians"),
    Builtin("MIN", 1, None, smallest, "smallest of the numbers, points in time or durations"),
    Builtin("MAX", 1, None, largest, "largest of the numbers, points in time or durations"),
    Builtin("SUM", 1, None, total, "sum of the numbers or durations, from left to right"),
    Builtin("PROD", 1, None, product, "product of the numbers, from left to right"),
    Builtin("PRODUCT", 1, None, product, "product of the numbers, from left to right"),
    Builtin("LUKA", 1, None, lukasiewicz, "Łukasiewicz t-norm of the numbers"),
)
