"""Terms as text: what is written reads back, and a bare name is one string everywhere."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib
import strategies
from hypothesis import given

from generators import spelt_literals
from tidalog.lang import parse_fact
from tidalog.model.term_text import format_any, from_python, parse_any, term_text, to_python
from tidalog.model.terms import (
    FALSE,
    IRI,
    TRUE,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    literal,
)


@given(strategies.terms)
def test_a_cell_reads_back_as_the_term_that_was_written(term: Term) -> None:
    assert parse_any(format_any(term)) == term


@given(spelt_literals())
def test_a_literal_of_any_spelling_is_the_term_that_it_spells(term: Literal) -> None:
    """`Literal("007", xsd:integer)` is 7 in Python, in a cell and in a program."""
    wanted = literal(term.lexical, term.datatype)
    assert from_python(term) == parse_any(format_any(term)) == wanted
    assert parse_fact(f"p({term_text(term)})").arguments == (wanted,)


@given(strategies.texts)
def test_every_text_is_some_term_and_stays_itself(text: str) -> None:
    term = parse_any(text)
    assert parse_any(format_any(term)) == term


@given(strategies.terms)
def test_the_main_dialect_reads_what_term_text_writes(term: Term) -> None:
    assert parse_fact(f"p({term_text(term)})").arguments == (term,)


@given(strategies.texts)
def test_quoted_text_is_a_string_in_tables_and_programs_alike(text: str) -> None:
    written = term_text(String(text))
    assert parse_any(written) == String(text) == parse_fact(f"p({written})").arguments[0]


@given(strategies.terms)
def test_python_values_come_back_as_the_same_term(term: Term) -> None:
    """Numbers, booleans and strings as values of Python; every other term as itself, or by its text."""
    assert from_python(term) == term
    value = to_python(term)
    if isinstance(term, Integer | Double | Boolean | String):
        assert type(value) is type(term.value)
        assert from_python(value) == term
    else:
        assert value == format_any(term) or from_python(value) == term


@given(strategies.texts)
def test_a_text_of_python_is_that_string(text: str) -> None:
    assert from_python(text) == String(text)
    assert to_python(String(text)) == text


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("42", Integer(42)),
        ("-7", Integer(-7)),
        ("0", Integer(0)),
        ("9223372036854775808", Literal("9223372036854775808", XSD + "integer")),
        ("2.5", Double(2.5)),
        ("-0.015", Double(-0.015)),
        ("1e-05", Double(0.00001)),
        ("1e+16", Double(1e16)),
        ("0.0", Double(0.0)),
        ("true", TRUE),
        ("false", FALSE),
        ("<http://example.org/a>", IRI("http://example.org/a")),
        ("<http://example.org/\\u00E9>", IRI("http://example.org/é")),
        ("_:b1", BlankNode("b1")),
        ('"text"', String("text")),
        ('"a \\"b\\" \\u00e9\\n"', String('a "b" é\n')),
        ('"text"@EN', LangString("text", "en")),
        ('"5"^^<http://www.w3.org/2001/XMLSchema#int>', Literal("5", XSD + "int")),
        ('"5"^^xsd:integer', Integer(5)),
        ('"INF"^^xsd:double', Double(math.inf)),
        # anything else is a string, a number in another spelling than ours included
        ("a", String("a")),
        ("node_7", String("node_7")),
        ("007", String("007")),
        ("00501", String("00501")),
        ("0x1F", String("0x1F")),
        ("-0b11", String("-0b11")),
        ("1e3", String("1e3")),
        ("1E+16", String("1E+16")),
        ("1000000000000000000000.0", String("1000000000000000000000.0")),
        ("2.50", String("2.50")),
        ("0.30000000000000000001", String("0.30000000000000000001")),
        ("-0", String("-0")),
        ("-0.0", String("-0.0")),
        ("1e999", String("1e999")),
        ("٣", String("٣")),
        ("", String("")),
        ("New York", String("New York")),
        ("ex:a", String("ex:a")),
        ("+5", String("+5")),
        (".5", String(".5")),
        ("12ab", String("12ab")),
        ("1,5", String("1,5")),
        (" a", String(" a")),
        ("_", String("_")),
        ('"open', String('"open')),
        ('"bad \\q"', String('"bad \\q"')),
        ("<a b>", String("<a b>")),
        ("2024-01-01", String("2024-01-01")),
    ],
)
def test_a_cell_of_any_format_means(text: str, term: Term) -> None:
    assert parse_any(text) == term


def test_an_integer_may_be_longer_than_python_likes_to_convert() -> None:
    numeral = "1" + "0" * 6000
    assert format_any(parse_any(numeral)) == numeral
    assert parse_any("0" * 6000 + "7") == String("0" * 6000 + "7")


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (3, Integer(3)),
        (True, TRUE),
        (2.5, Double(2.5)),
        ("a", String("a")),
        ("a b", String("a b")),
        ("007", String("007")),
        ("<x>", String("<x>")),
        ("true", String("true")),
        (np.int32(4), Integer(4)),
        (np.float32(0.5), Double(0.5)),
        (np.bool_(True), TRUE),
        (Decimal("1.50"), Literal("1.50", XSD + "decimal")),
        (date(2024, 2, 29), Literal("2024-02-29", XSD + "date")),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), Literal("2024-02-29T12:00:00Z", XSD + "dateTime")),
        (String("7"), String("7")),
    ],
)
def test_a_python_value_stands_for(value: object, term: Term) -> None:
    assert from_python(value) == term


@pytest.mark.parametrize(
    ("ours", "pyoxigraph_term", "rdflib_term"),
    [
        (IRI("http://e/a"), ox.NamedNode("http://e/a"), rdflib.URIRef("http://e/a")),
        (BlankNode("b1"), ox.BlankNode("b1"), rdflib.BNode("b1")),
        (String("42"), ox.Literal("42"), rdflib.Literal("42")),
        (String("a"), ox.Literal("a"), rdflib.Literal("a", datatype=rdflib.XSD.string)),
        (LangString("a", "en"), ox.Literal("a", language="en"), rdflib.Literal("a", lang="en")),
        (Integer(42), ox.Literal(42), rdflib.Literal(42)),
        (Double(2.5), ox.Literal(2.5), rdflib.Literal(2.5)),
        (TRUE, ox.Literal(True), rdflib.Literal(True)),
        (
            Literal("2024-02-29", XSD + "date"),
            ox.Literal("2024-02-29", datatype=ox.NamedNode(XSD + "date")),
            rdflib.Literal(date(2024, 2, 29)),
        ),
    ],
)
def test_terms_of_other_packages_are_the_same_terms(
    ours: Term, pyoxigraph_term: object, rdflib_term: object
) -> None:
    assert from_python(pyoxigraph_term) == from_python(rdflib_term) == ours


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (rdflib.Literal(float("inf")), Double(math.inf)),
        (rdflib.Literal(float("-inf")), Double(-math.inf)),
        (rdflib.Literal(float("nan")), Double(math.nan)),
        (rdflib.Literal("INF", datatype=rdflib.XSD.float), Literal("INF", XSD + "float")),
        (rdflib.Literal("inf"), String("inf")),
    ],
)
def test_numbers_that_rdflib_spells_in_its_own_way_are_numbers(value: object, term: Term) -> None:
    assert from_python(value) == term


def test_a_literal_with_a_direction_is_refused_and_not_read_without_it() -> None:
    with pytest.raises(TypeError, match="cannot be a term"):
        from_python(ox.Literal("a", language="en", direction=ox.BaseDirection.RTL))


def test_a_term_that_could_only_stand_for_another_one_raises() -> None:
    with pytest.raises(ValueError, match="a blank node has a label"):
        BlankNode("")
    with pytest.raises(ValueError, match="half a surrogate pair"):
        BlankNode("\ud800")
    with pytest.raises(ValueError, match="no double has exactly the value 9007199254740993"):
        Double(2**53 + 1)
    with pytest.raises(TypeError, match="Integer takes an int"):
        Integer(True)
    assert Double(2**53).value == 2.0**53


def test_a_class_that_extends_a_term_of_another_package_is_one() -> None:
    class Place(rdflib.URIRef):
        pass

    assert from_python(Place("http://e/a")) == IRI("http://e/a")


def test_other_packages_are_recognised_without_importing_them() -> None:
    code = (
        "import sys; from tidalog.model.term_text import from_python; from_python('a'); from_python(1);"
        "print([name for name in ('rdflib', 'pyoxigraph') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    "value",
    [
        None,
        object(),
        [1],
        {"a": 1},
        b"bytes",
        1j,
        rdflib.Variable("x"),
        ox.DefaultGraph(),
        rdflib.Graph(),
        rdflib.BNode(""),
    ],
)
def test_other_python_values_are_refused_in_words(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be a term"):
        from_python(value)


def test_prefixes_shorten_only_where_the_short_form_reads_back() -> None:
    prefixes = {"ex": "http://example.org/", "": "http://example.org/deep/"}
    assert term_text(IRI("http://example.org/a"), prefixes) == "ex:a"
    assert term_text(IRI("http://example.org/deep/a"), prefixes) == ":a"
    assert term_text(IRI("http://example.org/a/b"), prefixes) == "<http://example.org/a/b>"
    assert term_text(IRI("http://example.org/"), prefixes) == "<http://example.org/>"
    assert term_text(Literal("5", XSD + "int")) == '"5"^^xsd:int'
    assert term_text(Literal("5", XSD + "int"), {"xsd": "http://other.org/"}) == f'"5"^^<{XSD}int>'
