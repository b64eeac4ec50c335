"""Expressions in compiled code have the value that `builtins.evaluate` gives them, or none where it has none.

Compared are terms, not numbers: 1, 1.0, "1"^^xsd:int and true are four different results.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tidalog.builtins import CannotCompute, evaluate, holds
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.expressions import encode, evaluate_rows
from tidalog.engine.functions import NATIVE, STACK, is_native
from tidalog.model.program import Call, Expression, Variable
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
        *(("2024-13-01", "date"), ("P1D", "duration"), ("-0.0", "decimal")),
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

terms = st.one_of(
    st.sampled_from(CORNERS),
    st.integers(INT64_MIN, INT64_MAX).map(Integer),
    st.integers(-20, 20).map(Integer),
    st.floats().map(Double),
    st.text(max_size=3).map(String),
)
rows = st.lists(st.tuples(terms, terms, terms), min_size=1, max_size=12)

UNARY = ("neg", "ABS", "ROUND", "FLOOR", "CEIL", "SQRT", "EXP", "NOT")
KINDS = ("ISIRI", "ISURI", "ISBLANK", "ISNULL", "ISSTRING", "ISNUMERIC", "ISDOUBLE")
ARITHMETIC = ("+", "-", "*", "/", "%", "REM", "**", "POW")
COMPARISON = ("=", "!=", "<", "<=", ">", ">=")
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
    dictionary.ensure(len(table))
    selected, values = np.empty(len(table), np.int32), np.empty(len(table), np.int32)
    program = np.array([len(code), *code], np.int32)
    kept, failed = evaluate_rows(dictionary.arrays, program, 0, block, len(table), compute, selected, values)
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
