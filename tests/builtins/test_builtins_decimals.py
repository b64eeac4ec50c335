"""Decimals are exact: in one text, in arithmetic, in comparison and in aggregates."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidalog.builtins import BUILTINS, CannotCompute, aggregate
from tidalog.model.term_text import from_python
from tidalog.model.terms import TRUE, XSD, Boolean, Double, Integer, Literal, String, Term, literal, sort_key

decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20)


def term(value: object) -> Term:
    """A text is a decimal."""
    if isinstance(value, str):
        return literal(value, XSD + "decimal")
    return value if isinstance(value, Term) else from_python(value)


def call(name: str, *arguments: object) -> Term:
    return BUILTINS[name].evaluate([term(argument) for argument in arguments])


def exact(found: Term) -> Fraction:
    assert isinstance(found, Literal)
    assert found.datatype == XSD + "decimal"
    return Fraction(found.lexical)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("2.50", "2.5"), ("+2.5", "2.5"), ("002.5", "2.5"), ("2.0", "2"), ("2.", "2"), (".5", "0.5")),
        *(("-0.0", "0"), ("-00.10", "-0.1"), ("0", "0"), ("100", "100"), ("1e3", "1e3"), ("x", "x")),
    ],
)
def test_a_decimal_has_one_text(text: str, canonical: str) -> None:
    assert literal(text, XSD + "decimal") == Literal(canonical, XSD + "decimal")
    assert Literal(text, XSD + "decimal").lexical == canonical


@given(decimals, decimals)
def test_sums_and_products_are_exact(a: Decimal, b: Decimal) -> None:
    assert exact(call("+", a, b)) == Fraction(a) + Fraction(b)
    assert exact(call("-", a, b)) == Fraction(a) - Fraction(b)
    assert exact(call("*", a, b)) == Fraction(a) * Fraction(b)
    if b:
        remainder = exact(call("%", a, b))
        assert abs(remainder) < abs(b)
        assert (Fraction(a) - remainder) % Fraction(b) == 0
        assert remainder == 0 or (remainder < 0) == (a < 0)


@given(decimals, decimals.filter(bool))
@example(Decimal(1), Decimal(3))
@example(Decimal(1), Decimal(8))
def test_a_quotient_is_rounded_to_34_digits_half_to_even(a: Decimal, b: Decimal) -> None:
    try:
        found = exact(call("/", a, b))
    except CannotCompute:
        return
    wanted = Fraction(a) / Fraction(b)
    if wanted:
        scale = Fraction(10) ** (34 - len(str(int(abs(wanted)))) if abs(wanted) >= 1 else 34 + _zeros(wanted))
        assert found == Fraction(round(wanted * scale)) / scale  # Python rounds half to even


def _zeros(value: Fraction) -> int:
    """Zeros between the point and the first digit."""
    count = 0
    while abs(value) * 10 < 1:
        value *= 10
        count += 1
    return count


@given(decimals, decimals, st.integers(-(2**63), 2**63 - 1))
def test_comparison_is_exact_among_decimals_and_integers(a: Decimal, b: Decimal, n: int) -> None:
    for left, right in ((a, b), (a, n), (n, b), (a, a.to_integral_value())):
        assert call("<", left, right) == Boolean(Fraction(left) < Fraction(right))
        assert call("=", left, right) == Boolean(Fraction(left) == Fraction(right))


@given(decimals, st.floats(allow_nan=False))
def test_with_a_double_everything_is_a_double(a: Decimal, x: float) -> None:
    for name in ("+", "-", "*"):
        try:
            found = call(name, a, x)
        except CannotCompute:
            assert BUILTINS[name] is not None
            continue
        assert found == BUILTINS[name].evaluate([Double(float(a)), Double(x)])
    assert call("=", a, x) == Boolean(float(a) == x)
    assert call("<", a, x) == Boolean(float(a) < x)


@given(st.lists(decimals, min_size=1, max_size=10))
def test_aggregates_are_exact(values: list[Decimal]) -> None:
    rows = [(term(value), Integer(n)) for n, value in enumerate(values)]
    assert exact(aggregate("sum", rows)) == sum(map(Fraction, values))
    assert call("=", aggregate("avg", rows), call("/", sum_of(values), len(values))) == TRUE
    low, high = aggregate("min", rows), aggregate("max", rows)
    assert exact(low) == Fraction(min(values))
    assert exact(high) == Fraction(max(values))


def sum_of(values: list[Decimal]) -> Term:
    return call("SUM", *values)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("+", ("0.1", "0.2"), "0.3"),
        ("+", ("0.1", 1), "1.1"),
        ("+", ("0.5", 1.0), 1.5),
        ("*", ("1.50", 2), "3"),
        ("/", ("1", 3), "0." + "3" * 34),
        ("/", ("2", 3), "0." + "6" * 33 + "7"),
        ("/", (1, "8"), "0.125"),
        ("%", ("-7.5", 2), "-1.5"),
        ("**", ("1.1", 2), "1.21"),
        ("**", ("2", -2), "0.25"),
        ("**", ("2.5", "2"), "6.25"),
        ("**", ("-1", 2**62), "1"),
        ("**", ("4", "0.5"), 2.0),
        ("**", (4, "0.5"), 2.0),
        ("neg", ("0.0",), "0"),
        ("ABS", ("-2.50",), "2.5"),
        ("ROUND", ("2.5",), "3"),
        ("ROUND", ("-2.5",), "-3"),
        ("FLOOR", ("-2.5",), "-3"),
        ("CEIL", ("-2.5",), "-2"),
        ("SQRT", ("2.25",), 1.5),
        ("MIN", ("0.1", 0.1), "0.1"),
        ("MAX", ("1", 1, 1.0), 1),
        ("INT", ("-2.9",), -2),
        ("DOUBLE", ("0.1",), 0.1),
        ("DECIMAL", (0.1,), "0.1"),
        ("DECIMAL", (5,), "5"),
        ("DECIMAL", (String(" +02.50 "),), "2.5"),
        ("DECIMAL", (1e22,), "1" + "0" * 22),
        ("ISNUMERIC", ("0.1",), True),
        ("ISINTEGER", ("2",), False),
        ("DIV", (7, 2), 3),
        ("DIV", (-7, 2), -3),
        ("DIV", (7, -2), -3),
        ("MOD", (-7, 2), -1),
        ("MOD", (7, -2), 1),
        ("MOD", (-(2**63), -1), 0),
        ("DIV", (10**20, 10**10), 10**10),
        ("INT", (String("0x1F"),), 31),
        ("INT", (String("-0b101"),), -5),
        ("INT", (String("0O17"),), 15),
        ("INT", (Literal("42", XSD + "gYear"),), 42),
        ("DOUBLE", (String("0x10"),), 16.0),
        (">", (10**20, 1e19), True),
        ("=", (2**63, 2.0**63), True),
        ("=", (2**63 + 1, 2.0**63), False),
        ("-", (2**63, 1), 2**63 - 1),
        ("MAX", (10**20, 1), 10**20),
    ],
)
def test_values(name: str, arguments: tuple[object, ...], expected: object) -> None:
    assert call(name, *arguments) == term(expected)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("/", ("1", "0")),
        ("/", (1.0, "0." + "0" * 400 + "1")),
        ("%", ("1", "0.0")),
        ("**", ("0", -1)),
        ("**", ("1.0000001", 10**6)),
        ("*", ("9" * 600, "9" * 600)),
        ("+", ("9" * 2000, 1)),
        ("DECIMAL", (float("nan"),)),
        ("DECIMAL", (String("1e3"),)),
        ("DIV", (7, 2.0)),
        ("DIV", ("7", 2)),
        ("DIV", (1, 0)),
        ("DIV", (-(2**63), -1)),
        ("MOD", (1, 0)),
        ("INT", (String("0x"),)),
        ("INT", (String("0xFFFFFFFFFFFFFFFFF"),)),
        ("INT", (String("0b2"),)),
        ("*", (10**20, 2)),
        ("BITAND", (10**20, 1)),
    ],
)
def test_what_cannot_be_computed(name: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(CannotCompute) as failure:
        call(name, *arguments)
    assert str(failure.value)


def test_a_product_in_a_cycle_ends() -> None:
    found = term("1.1")
    with pytest.raises(CannotCompute, match="1,000 digits"):
        for _ in range(20):
            found = call("*", found, found)


@given(st.lists(decimals | st.integers() | st.floats(), min_size=2, max_size=6))
def test_the_order_of_terms_is_by_exact_value(values: list[Decimal | int | float]) -> None:
    ordered = sorted((value for value in values if value == value), key=lambda v: sort_key(term(v)))
    for a, b in pairwise(ordered):
        assert a <= b


NEMO = {
    "EQUALITY": "=",
    "UNEQUALITY": "!=",
    "NUMGREATER": ">",
    "NUMGREATEREQ": ">=",
    "NUMLESS": "<",
    "NUMLESSEQ": "<=",
    "SUBTRACTION": "-",
    "DIVISION": "/",
    "INVERTSIGN": "neg",
    "PRODUCT": "PROD",
}
OF_NEMO = """
isInteger isFloat isDouble isIri isNumeric isNull isString ABS SQRT NOT fullStr STR SIN COS TAN
STRLEN STRREV UCASE LCASE URIENCODE URIDECODE ROUND CEIL FLOOR DATATYPE LANG INT DOUBLE FLOAT IRI
LOG POW COMPARE CONTAINS SUBSTR STRSTARTS STRENDS STRBEFORE STRAFTER REGEX REM BITAND BITOR BITXOR
BITSHL BITSHRU BITSHR MAX MIN LUKA SUM AND OR CONCAT LEVENSHTEIN
"""


@pytest.mark.parametrize(("name", "same"), NEMO.items())
def test_names_of_nemo_mean_the_same(name: str, same: str) -> None:
    for arguments in ((6, 4), ("2.5", 2), (1, 0), (2, 2.0)):
        given = arguments[: BUILTINS[name].max_arity]
        try:
            expected = call(same, *given)
        except CannotCompute:
            with pytest.raises(CannotCompute):
                call(name, *given)
            continue
        assert call(name, *given) == expected


def test_every_function_of_nemo_is_there() -> None:
    assert {name.upper() for name in (*OF_NEMO.split(), *NEMO)} <= set(BUILTINS)
