"""Expressions in compiled code have the value that `builtins.evaluate` gives them, or none where it has none.

Compared are terms, not numbers: 1, 1.0, "1"^^xsd:int and true are four different results.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tidalog.builtins import CannotCompute, evaluate, holds
from tidalog.engine.aggregates import fold_extreme
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.expressions import encode, evaluate_rows
from tidalog.engine.functions import NATIVE, STACK, is_native
from tidalog.model.program import Call, Expression, Variable
from tidalog.model.term_text import from_python
from tidalog.model.terms import (
    FALSE,
    INT64_MAX,
    INT64_MIN,
    IRI,
    TRUE,
    XSD,
    BlankNode,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
    literal,
    sort_key,
)

MANY = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
VARIABLES = tuple(map(Variable, "xyz"))
X, Y, Z = VARIABLES
Row = tuple[Term, Term, Term]

LIMITS = (0, 1, -1, 2, -2, 3, -3, 7, 10, 63, 64, 2**31, -(2**31), 2**32, 2**53, 2**53 + 1, -(2**53) - 1)
INTEGERS = (*LIMITS, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 3_037_000_500, 2**62, -(2**62))
DOUBLES = (
    *(0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 0.49999999999999994, 1.0, -1.0, 2.0, 3.0, 1e16, 2.0**53),
    *(2.0**63, -(2.0**63), 9223372036854774784.0, 2.0**64, 1.7976931348623157e308, -1.7976931348623157e308),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1e154, 1e-200, 709.9, -745.2),
    *(float("inf"), float("-inf"), float("nan")),
)
LITERALS = tuple(
    Literal(lexical, XSD + name)
    for lexical, name in (
        *(("2", "int"), ("+2", "int"), ("-9223372036854775808", "long"), ("9223372036854775807", "long")),
        *(("9223372036854775808", "unsignedLong"), ("x", "int"), ("2.0", "decimal"), ("0.1", "decimal")),
        *(("1.5", "float"), ("INF", "float"), ("NaN", "float"), ("12345678901234567890", "integer")),
        *(("2024-05-01", "date"), ("2024-05-01T00:00:00Z", "dateTime"), ("2024-05-01T00:00:00", "dateTime")),
        *(("2024-05-01T02:00:00+02:00", "dateTime"), ("1969-12-31T23:59:59.5Z", "dateTime")),
        *(("2024-13-01", "date"), ("P1D", "duration"), ("-0.0", "decimal"), ("2.5", "decimal")),
        *(("-2.5", "decimal"), ("0.10000000000000001", "decimal"), ("0.1000000000000000055", "decimal")),
        *(("9223372036854775807.5", "decimal"), ("-9223372036854775808", "decimal"), ("x", "decimal")),
        *(("9007199254740993", "decimal"), ("9007199254740992.5", "decimal"), ("1" + "0" * 400, "decimal")),
        *(("0." + "0" * 400 + "1", "decimal"), ("-12345678901234567890", "integer"), ("1" * 400, "integer")),
        *(("18446744073709551616", "integer"), ("18446744073709551617", "integer"), ("-7", "decimal")),
        *(("2024-05-01Z", "date"), ("2024-02-29", "date"), ("2024-05-01T00:00:00.000000001Z", "dateTime")),
        *(("9999-12-31T23:59:59.999999999Z", "dateTime"), ("0001-01-01T00:00:00+14:00", "dateTime")),
        *(("00:00:00", "time"), ("02:00:00+02:00", "time"), ("23:59:59.5", "time"), ("25:00:00", "time")),
        *(("P1D", "dayTimeDuration"), ("-PT0.5S", "dayTimeDuration"), ("PT0S", "dayTimeDuration")),
        *(("PT0.0000005S", "dayTimeDuration"), ("-PT0.0000005S", "duration"), ("P31D", "dayTimeDuration")),
        *(("P1M", "yearMonthDuration"), ("P0M", "yearMonthDuration"), ("-P14M", "yearMonthDuration")),
        *(("P1M", "duration"), ("P1M1D", "duration"), ("P30DT10H29M7S", "duration"), ("-P1M1D", "duration")),
        *(
            ("P292000000000Y", "yearMonthDuration"),
            ("P1Y1M", "dayTimeDuration"),
            ("P106751991167300DT4H", "duration"),
            ("PT0.9999999S", "duration"),
            ("PT0.9999998S", "dayTimeDuration"),
        ),
    )
)
OTHERS = (
    *(
        TRUE,
        FALSE,
        String(""),
        String("a"),
        String("ab"),
        String("ü"),
        String("\U0001f600"),
        String("\uffff"),
    ),
    *(
        String("1"),
        String("true"),
        LangString("a", "en"),
        IRI("a"),
        IRI("http://example.org/"),
        BlankNode("a"),
    ),
)
CORNERS: tuple[Term, ...] = (*map(Integer, INTEGERS), *map(Double, DOUBLES), *LITERALS, *OTHERS)


def _typed(name: str) -> Callable[[object], Term]:
    return lambda value: literal(f"{value:f}" if isinstance(value, Decimal) else str(value), XSD + name)


def _of_python(least: int, most: int) -> st.SearchStrategy[Term]:
    """Durations of whole microseconds."""
    return st.integers(least, most).map(lambda n: from_python(timedelta(microseconds=n)))


decimals = st.decimals(allow_nan=False, allow_infinity=False).map(_typed("decimal"))
short_decimals = st.decimals(-100, 100, places=2).map(_typed("decimal"))
times = st.one_of(
    st.datetimes().map(from_python),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3))])).map(
        lambda moment: Literal(moment.isoformat(), XSD + "dateTime")
    ),
    st.dates().map(from_python),
    st.times().map(from_python),
    _of_python(-(10**14), 10**14),
    _of_python(-100, 100),
    st.integers(-30, 30).map(
        lambda n: literal(f"{'-' if n < 0 else ''}P{abs(n)}M", XSD + "yearMonthDuration")
    ),
    st.tuples(st.integers(0, 14), st.integers(0, 40)).map(
        lambda pair: literal(f"P{pair[0]}M{pair[1]}DT1S", XSD + "duration")
    ),
)
terms = st.one_of(
    st.sampled_from(CORNERS),
    decimals,
    short_decimals,
    times,
    st.integers(-(10**30), 10**30).map(integer),
    st.integers(INT64_MIN, INT64_MAX).map(Integer),
    st.integers(-20, 20).map(Integer),
    st.floats().map(Double),
    st.text(max_size=3).map(String),
)
rows = st.lists(st.tuples(terms, terms, terms), min_size=1, max_size=12)

UNARY = ("neg", "INVERTSIGN", "ABS", "ROUND", "FLOOR", "CEIL", "SQRT", "EXP", "NOT")
KINDS = ("ISIRI", "ISURI", "ISBLANK", "ISNULL", "ISSTRING", "ISNUMERIC", "ISDOUBLE")
ARITHMETIC = (
    *("+", "-", "*", "/", "%", "REM", "**", "POW", "DIV", "MOD"),
    *("SUBTRACTION", "DIVISION"),
)
COMPARISON = (
    *("=", "!=", "<", "<=", ">", ">="),
    *("EQUALITY", "UNEQUALITY", "NUMLESS", "NUMLESSEQ", "NUMGREATER", "NUMGREATEREQ"),
)
SEVERAL = ("MIN", "MAX", "AND", "OR", "COALESCE")


def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def call(names: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[Expression]:
        arguments = st.lists(inner, min_size=least, max_size=most).map(tuple)
        return st.builds(Call, st.sampled_from(names), arguments)

    return st.one_of(
        call(ARITHMETIC, 2, 2),
        call(COMPARISON, 2, 2),
        call((*UNARY, *KINDS), 1, 1),
        call(SEVERAL, 1, 4),
        call(("IF",), 3, 3),
    )


expressions = st.recursive(st.one_of(st.sampled_from(VARIABLES), terms), calls, max_leaves=12)


def by_machine(expression: Expression, table: list[Row], compute: bool) -> list[Term | None]:
    """Row by row the value in compiled code; as a test, TRUE for the rows that pass."""
    dictionary = Dictionary()
    block = np.empty((4, len(table)), np.int32)
    for register in range(1, 4):
        block[register] = dictionary.ids_of(row[register - 1] for row in table)
    code = encode(expression, lambda v: 1 + VARIABLES.index(v), dictionary.id_of)
    selected, values = np.empty(len(table), np.int32), np.empty(len(table), np.int32)
    program = np.array([len(code), *code], np.int32)
    kept = -1
    while kept < 0:
        dictionary.ensure(len(table))
        kept, failed = evaluate_rows(dictionary.at, program, 0, block, len(table), compute, selected, values)
        dictionary.answer_questions()
    found: list[Term | None] = [None] * len(table)
    for place in range(kept):
        found[selected[place]] = term = dictionary.term(int(values[place])) if compute else TRUE
        assert not compute or dictionary.id_of(term) == values[place], "a term has one id"
    assert selected[:kept].tolist() == sorted(set(selected[:kept].tolist()))
    assert failed == sum(outcome(expression, row) is None for row in table)
    return found


def outcome(expression: Expression, row: Row) -> Term | None:
    try:
        return evaluate(expression, dict(zip(VARIABLES, row, strict=True)))
    except CannotCompute:
        return None


def shown(found: list[Term | None]) -> list[str]:
    """Equality of NaN and of 1, 1.0 and true is not Python's here."""
    return [repr(term) for term in found]


def assert_same(expression: Expression, table: list[Row]) -> None:
    assert is_native(expression)
    assert shown(by_machine(expression, table, True)) == shown([outcome(expression, row) for row in table])
    passes = [TRUE if holds(expression, dict(zip(VARIABLES, row, strict=True))) else None for row in table]
    assert by_machine(expression, table, False) == passes


@MANY
@given(expressions, rows)
@example(Call("%", (X, Y)), [(Double(float("inf")), Double(float("nan")), TRUE)])
@example(Call("COALESCE", (Call("/", (X, Y)), Z)), [(Integer(1), Integer(0), LITERALS[0])])
def test_any_expression_over_any_terms(expression: Expression, table: list[Row]) -> None:
    assert_same(expression, table)


ARITIES = {
    **dict.fromkeys((*UNARY, *KINDS), (1,)),
    **dict.fromkeys((*ARITHMETIC, *COMPARISON), (2,)),
    **dict.fromkeys(SEVERAL, (1, 2)),
    "IF": (3,),
}


def test_every_native_function_is_tried() -> None:
    assert set(NATIVE) == set(ARITIES)


@pytest.mark.parametrize("function", ARITIES)
def test_every_function_on_every_pair_of_corners(function: str) -> None:
    """All pairs of the values where arithmetic goes wrong."""
    table: list[Row] = [(a, b, TRUE) for a in CORNERS for b in CORNERS]
    for arity in ARITIES[function]:
        expression = Call(function, {1: (X,), 2: (X, Y), 3: (Call("=", (X, Y)), X, Y)}[arity])
        for begin in range(0, len(table) if arity > 1 else 1, 2000):
            assert_same(
                expression, table[begin : begin + 2000] if arity > 1 else [(t, t, t) for t in CORNERS]
            )


def test_a_term_that_passes_through_unchanged_keeps_its_form() -> None:
    """IF and COALESCE hand on the term itself; arithmetic on it gives a plain number."""
    two = Literal("2", XSD + "int")
    assert by_machine(Call("COALESCE", (X,)), [(two, two, two)], True) == [two]
    assert by_machine(Call("IF", (TRUE, X, Y)), [(two, TRUE, TRUE)], True) == [two]
    assert by_machine(Call("MAX", (X,)), [(two, two, two)], True) == [Integer(2)]


def nested(depth: int, function: str = "+") -> Expression:
    """Leans to the right, so that every level needs one more place on the stack."""
    expression: Expression = X
    for _ in range(depth):
        expression = Call(function, (Y, expression))
    return expression


def test_the_stack_holds_what_is_called_native_and_no_more() -> None:
    deepest = nested(STACK - 1)
    assert_same(deepest, [(Integer(1), Integer(2), TRUE), (Integer(INT64_MAX), Integer(1), TRUE)])
    assert not is_native(nested(STACK))
    left: Expression = X
    for _ in range(5_000):
        left = Call("+", (left, Integer(1)))
    assert_same(left, [(Integer(0), TRUE, TRUE), (String("a"), TRUE, TRUE)])


def test_wide_calls_use_the_stack_too() -> None:
    fits = Call("AND", (*[X] * (STACK - 1), Y))
    assert_same(fits, [(TRUE, FALSE, TRUE), (Integer(1), FALSE, TRUE), (TRUE, TRUE, TRUE)])
    assert not is_native(Call("AND", (X,) * (STACK + 1)))


def by_kernel(first: Term, second: Term) -> Term:
    """The smaller of two terms in compiled code."""
    dictionary = Dictionary()
    return dictionary.term(int(fold_extreme(dictionary.at, dictionary.ids_of((first, second)), -1)))


def test_the_order_of_all_pairs_of_corners_is_that_of_terms() -> None:
    for a in CORNERS:
        for b in CORNERS:
            assert repr(by_kernel(a, b)) == repr(min(a, b, key=sort_key)), (a, b)


@MANY
@given(terms, terms)
def test_the_order_of_any_two_terms_is_that_of_terms(a: Term, b: Term) -> None:
    assert repr(by_kernel(a, b)) == repr(min(a, b, key=sort_key))


def test_an_answer_is_asked_for_once() -> None:
    """And again after the terms that it names were forgotten."""
    dictionary = Dictionary()
    two = Literal("2", XSD + "decimal")
    ids = dictionary.ids_of([two, Integer(3)])
    before = len(dictionary)
    program = np.array(
        [6, *encode(Call("+", (X, Y)), lambda v: VARIABLES.index(v), dictionary.id_of)], np.int32
    )
    selected, values = np.empty(1, np.int32), np.empty(1, np.int32)

    def ask() -> tuple[int, int]:
        block = np.ascontiguousarray(ids.reshape(2, 1))
        dictionary.ensure(1)
        return evaluate_rows(dictionary.at, program, 0, block, 1, True, selected, values)

    assert ask() == (-1, 0)
    dictionary.answer_questions()
    assert ask() == ask() == (1, 0)
    assert dictionary.term(int(values[0])) == Literal("5", XSD + "decimal")
    dictionary.truncate(before)
    assert ask() == (-1, 0)


def test_many_questions_are_answered_in_one_round() -> None:
    table: list[Row] = [(literal(f"{n}.5", XSD + "decimal"), Integer(n % 7), TRUE) for n in range(5000)]
    assert_same(Call("*", (X, Y)), table)
