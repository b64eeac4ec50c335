"""Registered Python functions see Python values and answer with what has a term."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyoxigraph
import pytest
import rdflib

from tidalog.builtins import CannotCompute, evaluate
from tidalog.model.program import Call
from tidalog.model.terms import IRI, TRUE, XSD, Boolean, Double, Integer, LangString, Literal, String, Term


def answer(function: object, *arguments: Term) -> Term:
    assert callable(function)
    return evaluate(Call("F", arguments), {}, {"F": function})


def test_numbers_booleans_and_strings_arrive_as_python_values_other_terms_as_themselves() -> None:
    seen: list[object] = []

    def look(*arguments: object) -> int:
        seen.extend(arguments)
        return len(arguments)

    terms = (Integer(1), Double(2.5), TRUE, String("a"), IRI("a"))
    assert answer(look, *terms) == Integer(5)
    assert seen == [1, 2.5, True, "a", IRI("a")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, Integer(1)),
        (True, Boolean(True)),
        (0.5, Double(0.5)),
        ("http://a", String("http://a")),
        ("42", String("42")),
        (IRI("a"), IRI("a")),
        (np.int32(7), Integer(7)),
        (Decimal("1.5"), Literal("1.5", XSD + "decimal")),
        (rdflib.URIRef("http://a"), IRI("http://a")),
        (pyoxigraph.Literal("a", language="en"), LangString("a", "en")),
        (date(2024, 1, 2), Literal("2024-01-02", XSD + "date")),
        (datetime(2024, 1, 2, 3, 4, 5), Literal("2024-01-02T03:04:05", XSD + "dateTime")),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), Literal("2024-01-02T03:04:05Z", XSD + "dateTime")),
    ],
)
def test_answers_become_terms(given: object, expected: Term) -> None:
    assert answer(lambda: given) == expected


@pytest.mark.parametrize("given", [None, 2**64, object(), [1], "\ud800", rdflib.Variable("x")])
def test_an_answer_that_is_no_term_is_no_value(given: object) -> None:
    with pytest.raises(CannotCompute):
        answer(lambda: given)


def test_a_function_that_cannot_cope_with_its_argument_has_no_value() -> None:
    with pytest.raises(CannotCompute, match="ZeroDivisionError"):
        answer(lambda x: 1 // x, Integer(0))


def test_an_unknown_function_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(LookupError):
        evaluate(Call("NOSUCH", ()), {})
