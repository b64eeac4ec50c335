"""Arithmetic has the meaning that the docstring of `tidalog.builtins` states."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalog.builtins import BUILTINS, CannotCompute
from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    XSD,
    Boolean,
    Double,
    Integer,
    Literal,
    String,
    Term,
)

INF, NAN = math.inf, math.nan


def term(value: object) -> Term:
    match value:
        case bool():
            return Boolean(value)
        case int():
            return Integer(value)
        case float():
            return Double(value)
        case str():
            return String(value)
    assert isinstance(value, IRI | Literal)
    return value


def call(name: str, *arguments: object) -> Term:
    return BUILTINS[name].evaluate([term(argument) for argument in arguments])


VALUES = [
    ("+", (1, 2), 3),
    ("+", (1, 2.0), 3.0),
    ("+", (INT64_MAX, 1.0), 9223372036854775808.0),
    ("+", (1e308, 1e308), INF),
    ("+", (NAN, 1), NAN),
    ("-", (2, 5), -3),
    ("-", (0.0, 0.0), 0.0),
    ("*", (-4, 3), -12),
    ("*", (-1.0, 0), 0.0),
    ("/", (6, 3), 2),
    ("/", (-7, 7), -1),
    ("/", (7, 2), 3.5),
    ("/", (1, 3), 1 / 3),
    ("/", (6.0, 3), 2.0),
    ("/", (0, 5), 0),
    ("%", (7, 3), 1),
    ("%", (-7, 3), -1),
    ("%", (7, -3), 1),
    ("%", (-6, 3), 0),
    ("%", (INT64_MIN, -1), 0),
    ("%", (7.5, 2), 1.5),
    ("%", (-7.5, 2), -1.5),
    ("%", (3.0, INF), 3.0),
    ("REM", (9, 4), 1),
    ("**", (2, 10), 1024),
    ("**", (-2, 63), INT64_MIN),
    ("**", (0, 0), 1),
    ("**", (1, INT64_MAX), 1),
    ("**", (-1, INT64_MAX), -1),
    ("**", (0, INT64_MAX), 0),
    ("**", (2, -1), 0.5),
    ("**", (2.0, 3), 8.0),
    ("**", (10.0, 400), INF),
    ("**", (-10.0, 401), -INF),
    ("POW", (3, 2), 9),
    ("neg", (5,), -5),
    ("neg", (0.0,), 0.0),
    ("ABS", (-3,), 3),
    ("ABS", (-2.5,), 2.5),
    ("ROUND", (2.5,), 3.0),
    ("ROUND", (-2.5,), -3.0),
    ("ROUND", (0.49999999999999994,), 0.0),
    ("ROUND", (7,), 7),
    ("ROUND", (INF,), INF),
    ("FLOOR", (-1.5,), -2.0),
    ("CEIL", (-1.5,), -1.0),
    ("FLOOR", (3,), 3),
    ("SQRT", (9,), 3.0),
    ("LOG", (1,), 0.0),
    ("LOG", (8, 2), 3.0),
    ("EXP", (0,), 1.0),
    ("EXP", (1000,), INF),
    ("SIN", (0,), 0.0),
    ("COS", (0,), 1.0),
    ("TAN", (0,), 0.0),
    ("MIN", (3, 1.5, 2), 1.5),
    ("MAX", (3, 1.5, 2), 3),
    ("MIN", (1.0, 1), 1),
    ("MAX", (1.0, 1), 1),
    ("MAX", (2**53 + 1, 2.0**53), 2**53 + 1),
    ("MAX", (1, NAN), NAN),
    ("SUM", (1, 2, 3), 6),
    ("SUM", (1, 2.5), 3.5),
    ("PROD", (2, 3, 4), 24),
    ("LUKA", (0.75, 0.5), 0.25),
    ("LUKA", (0.25, 0.5), 0),
    ("INT", (2.9,), 2),
    ("INT", (-2.9,), -2),
    ("INT", (" 42 ",), 42),
    ("INT", ("-9223372036854775808",), INT64_MIN),
    ("INT", ("1e3",), 1000),
    ("INT", (True,), 1),
    ("DOUBLE", (3,), 3.0),
    ("DOUBLE", ("2.5",), 2.5),
    ("DOUBLE", ("INF",), INF),
    ("FLOAT", (3,), 3.0),
    ("BITAND", (12, 10), 8),
    ("BITOR", (12, 10), 14),
    ("BITXOR", (12, 10), 6),
    ("BITNOT", (0,), -1),
    ("BITSHL", (1, 3), 8),
    ("BITSHL", (1, 63), INT64_MIN),
    ("BITSHL", (3, 63), INT64_MIN),
    ("BITSHR", (-8, 1), -4),
    ("BITSHRU", (-1, 1), INT64_MAX),
    ("BITSHRU", (-1, 0), -1),
    ("+", (Literal("5", XSD + "int"), 1), 6),
    ("+", (Literal("0.5", XSD + "decimal"), 1), Literal("1.5", XSD + "decimal")),
    ("+", (Literal("0.5", XSD + "decimal"), 1.0), 1.5),
    ("ABS", (Literal("-5", XSD + "short"),), 5),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), VALUES)
def test_values(name: str, arguments: tuple[object, ...], expected: object) -> None:
    assert call(name, *arguments) == term(expected)


NO_VALUE = [
    ("+", (INT64_MAX, 1)),
    ("+", (INF, -INF)),
    ("+", ("a", 1)),
    ("+", (True, 1)),
    ("-", (INT64_MIN, 1)),
    ("*", (2**62, 2)),
    ("*", (0, INF)),
    ("/", (1, 0)),
    ("/", (1.0, 0.0)),
    ("/", (INT64_MIN, -1)),
    ("/", (INF, INF)),
    ("%", (1, 0)),
    ("%", (1.0, 0)),
    ("%", (INF, 2)),
    ("**", (2, 63)),
    ("**", (2, INT64_MAX)),
    ("**", (0, -1)),
    ("**", (0.0, -0.5)),
    ("**", (-8, 1 / 3)),
    ("neg", (INT64_MIN,)),
    ("ABS", (INT64_MIN,)),
    ("SQRT", (-1,)),
    ("LOG", (0,)),
    ("LOG", (2, 1)),
    ("LOG", (2, -3)),
    ("SIN", (INF,)),
    ("INT", (NAN,)),
    ("INT", (1e300,)),
    ("INT", (9223372036854775808.0,)),
    ("INT", ("9223372036854775808",)),
    ("INT", ("9" * 5000,)),
    ("INT", ("four",)),
    ("INT", ("٤",)),
    ("INT", (IRI("a"),)),
    ("MIN", (1, "a")),
    ("BITAND", (1, 1.0)),
    ("BITSHL", (1, 64)),
    ("BITSHL", (1, -1)),
    ("ABS", (Literal("99999999999999999999", XSD + "integer"),)),
]


@pytest.mark.parametrize(("name", "arguments"), NO_VALUE)
def test_what_cannot_be_computed(name: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(CannotCompute) as failure:
        call(name, *arguments)
    assert str(failure.value)


int64 = st.integers(INT64_MIN, INT64_MAX) | st.integers(-10, 10)
number = int64 | st.floats()


@given(int64, int64)
def test_integer_arithmetic_is_exact_or_absent(a: int, b: int) -> None:
    exact = {"+": a + b, "-": a - b, "*": a * b}
    for name, value in exact.items():
        if INT64_MIN <= value <= INT64_MAX:
            assert call(name, a, b) == Integer(value)
        else:
            with pytest.raises(CannotCompute):
                call(name, a, b)


@given(int64, int64.filter(bool))
def test_quotient_and_remainder_make_the_dividend_again(a: int, b: int) -> None:
    remainder = call("%", a, b)
    assert isinstance(remainder, Integer)
    assert abs(remainder.value) < abs(b)
    assert remainder.value == 0 or (remainder.value < 0) == (a < 0)
    assert (a - remainder.value) % b == 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_gives_the_nearest_whole_number_halves_away_from_zero(x: float) -> None:
    exact = Fraction(x)
    nearest = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
    assert call("ROUND", x) == Double(float(nearest))


@given(st.sampled_from(sorted(n for n, b in BUILTINS.items() if b.accepts(2))), number, number)
def test_a_builtin_gives_a_term_or_says_why_not(name: str, a: float, b: float) -> None:
    try:
        result = call(name, a, b)
    except CannotCompute as failure:
        assert str(failure)
        return
    if isinstance(result, Double) and math.isnan(result.value):
        assert math.isnan(a) or math.isnan(b)
    if isinstance(result, Integer):
        assert INT64_MIN <= result.value <= INT64_MAX


@given(st.lists(number, min_size=1, max_size=6).flatmap(lambda v: st.tuples(st.just(v), st.permutations(v))))
def test_min_and_max_do_not_depend_on_the_order(case: tuple[list[float], list[float]]) -> None:
    values, shuffled = case
    for name in ("MIN", "MAX"):
        assert call(name, *values) == call(name, *shuffled)
