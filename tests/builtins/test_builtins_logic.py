"""Comparison and connectives: numbers by value, other terms by identity, failures contained."""

import math

import pytest
from hypothesis import given

from generators import terms
from tidalog.builtins import CannotCompute, evaluate, holds
from tidalog.model.program import Call, Expression, Variable
from tidalog.model.terms import (
    FALSE,
    IRI,
    TRUE,
    XSD,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
)

FAILS = Call("/", (Integer(1), Integer(0)))
NAN = Double(math.nan)
NOON = Literal("2024-05-01T12:00:00Z", XSD + "dateTime")
ALSO_NOON = Literal("2024-05-01T14:00:00+02:00", XSD + "dateTime")
MIDNIGHT = Literal("2024-05-01", XSD + "date")


def value(function: str, *arguments: Expression) -> Term | None:
    try:
        return evaluate(Call(function, arguments), {})
    except CannotCompute:
        return None


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (Integer(1), "=", Double(1.0), TRUE),
        (Integer(1), "!=", Double(1.0), FALSE),
        (Integer(2**53 + 1), "=", Double(2.0**53), FALSE),
        (Integer(2**53 + 1), ">", Double(2.0**53), TRUE),
        (Literal("5", XSD + "int"), "=", Integer(5), TRUE),
        (NAN, "=", NAN, TRUE),
        (NAN, "<=", NAN, FALSE),
        (NAN, ">", Integer(1), FALSE),
        (String("a"), "=", IRI("a"), FALSE),
        (String("a"), "=", LangString("a", "en"), FALSE),
        (Boolean(True), "=", Integer(1), FALSE),
        (String("Z"), "<", String("a"), TRUE),
        (String("a"), "<", String("é"), TRUE),
        (String(""), "<=", String(""), TRUE),
        (FALSE, "<", TRUE, TRUE),
        (NOON, "<=", ALSO_NOON, TRUE),
        (NOON, "=", ALSO_NOON, TRUE),
        (MIDNIGHT, "<", NOON, TRUE),
        (IRI("a"), "<", IRI("b"), None),
        (String("1"), "<", Integer(2), None),
        (TRUE, "<", Integer(2), None),
        (NOON, "<", Integer(2), None),
    ],
)
def test_comparison(left: Term, operator: str, right: Term, expected: Term | None) -> None:
    assert value(operator, left, right) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("AND", (TRUE, TRUE), TRUE),
        ("AND", (TRUE, FALSE), FALSE),
        ("AND", (FAILS, FALSE), FALSE),
        ("AND", (FAILS, TRUE), None),
        ("AND", (Integer(1), TRUE), None),
        ("AND", (Integer(1), FALSE), FALSE),
        ("OR", (FALSE, TRUE), TRUE),
        ("OR", (FAILS, TRUE), TRUE),
        ("OR", (FAILS, FALSE), None),
        ("OR", (FALSE, FALSE), FALSE),
        ("NOT", (TRUE,), FALSE),
        ("NOT", (FAILS,), None),
        ("NOT", (Integer(0),), None),
        ("IF", (TRUE, Integer(1), FAILS), Integer(1)),
        ("IF", (FALSE, FAILS, Integer(2)), Integer(2)),
        ("IF", (TRUE, FAILS, Integer(2)), None),
        ("IF", (FAILS, Integer(1), Integer(2)), None),
        ("IF", (Integer(1), Integer(1), Integer(2)), None),
        ("COALESCE", (FAILS, Integer(2), Integer(3)), Integer(2)),
        ("COALESCE", (FAILS, FAILS), None),
        ("BOUND", (Variable("x"),), FALSE),
        ("BOUND", (Integer(1),), TRUE),
        ("SAMETERM", (Integer(1), Double(1.0)), FALSE),
        ("SAMETERM", (Integer(1), Integer(1)), TRUE),
    ],
)
def test_connectives_contain_failures(
    function: str, arguments: tuple[Expression, ...], expected: Term | None
) -> None:
    assert value(function, *arguments) == expected


def test_a_condition_that_fails_or_is_no_truth_value_does_not_hold() -> None:
    assert not holds(FAILS, {})
    assert not holds(Integer(1), {})
    assert holds(TRUE, {})


def test_depth_of_an_expression_is_not_limited_by_the_stack() -> None:
    deep: Expression = Integer(0)
    for _ in range(50_000):
        deep = Call("+", (deep, Integer(1)))
    assert evaluate(deep, {}) == Integer(50_000)


@given(terms(), terms())
def test_equality_is_symmetric_and_negated_by_inequality(a: Term, b: Term) -> None:
    assert value("=", a, b) == value("=", b, a)
    assert value("=", a, b) != value("!=", a, b)
    assert value("=", a, a) == TRUE


@given(terms(), terms())
def test_orders_agree_with_each_other(a: Term, b: Term) -> None:
    less, greater = value("<", a, b), value(">", b, a)
    assert less == greater
    at_most = value("<=", a, b)
    assert (less is None) == (at_most is None)
    if less == TRUE:
        assert at_most == TRUE
        assert value("<", b, a) == FALSE
