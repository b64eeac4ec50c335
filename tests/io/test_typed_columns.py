"""Columns and types: whole columns do what model/column_types.py says about one value."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.engine.dictionary import Dictionary
from tidalog.io.typed_columns import Converted, checked, declared_text, from_text
from tidalog.io.values import column_of
from tidalog.lang.names import iri_named
from tidalog.model.column_types import TYPES, fitted, suggestion, term_of_text, type_named
from tidalog.model.term_text import format_any, from_python, parse_any
from tidalog.model.terms import (
    IRI,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
    literal,
)

KINDS = [kind for kind in TYPES if kind != "any"]
TEXTS = (
    "",
    " ",
    "a",
    "42",
    "+42",
    " 42 ",
    "-007",
    "0x1F",
    "0b1",
    "0o17",
    "99999999999999999999",
    "1e3",
    "2.50",
    ".5",
    "5.",
    "-0",
    "inf",
    "NaN",
    "-Infinity",
    "1_000",
    "٣",
    "true",
    "FALSE",
    "1",
    "0",
    "yes",
    "2026-05-31",
    "2026-02-30",
    "2024-02-29",
    "0000-01-01",
    "2026-05-31Z",
    "2026-05-31+14:00",
    "2026-05-31+15:00",
    "2026-05-31T18:30:00",
    "2026-05-31 18:30:00",
    "2026-05-31T18:30:00.123456789Z",
    "2026-05-31T24:00:00",
    "2026-05-31T18:30",
    "2026-05-31T18:30:60",
    "18:30:00",
    "18:30:00.5+01:00",
    "24:00:00",
    "7:30:00",
    "P1D",
    "PT5S",
    "-P1Y2M",
    "P1Y1D",
    "P",
    "PT",
    "P1.5D",
    "PT0.1234567891S",
    "P99999999999999999Y",
    "http://e/a",
    "<http://e/a>",
    "<a b>",
    "a b",
    '"x"',
    '"42"',
    '"a"@en',
    '"x',
    '"say \\"x\\""',
    "_:b",
    "é",
    "a\nb",
    f'"2026-05-31"^^<{XSD}date>',
    f'"2.50"^^<{XSD}decimal>',
    f'"INF"^^<{XSD}double>',
    f'"P1D"^^<{XSD}dayTimeDuration>',
    f'"PT24H"^^<{XSD}duration>',
    f'"x"^^<{XSD}date>',
)
TERMS: tuple[Term, ...] = (
    IRI("http://e/a"),
    BlankNode("b"),
    String(""),
    String("42"),
    String("2026-05-31"),
    String("2026-05-28"),
    String("2026-05-28T18:30:00Z"),
    String("18:30:00"),
    String("http://e/a"),
    LangString("a", "en"),
    Integer(5),
    Integer(2**53),
    Integer(2**53 + 1),
    Integer(2**63 - 1),
    Integer(-(2**63)),
    integer(2**63),
    integer(2**63 + 1),
    integer(10**400),
    Double(2.5),
    Double(float("nan")),
    Boolean(True),
    literal("2.50", XSD + "decimal"),
    literal("x", XSD + "decimal"),
    literal("2026-05-31", XSD + "date"),
    literal("2026-02-30", XSD + "date"),
    literal("2026-05-31T18:30:00Z", XSD + "dateTime"),
    literal("18:30:00", XSD + "time"),
    literal("P1D", XSD + "dayTimeDuration"),
    literal("P1M", XSD + "duration"),
    literal("P1M", XSD + "dayTimeDuration"),
    literal("5", XSD + "int"),
    literal("1.5", XSD + "float"),
    Literal("a", "http://e/type"),
)


def terms_of(column: Converted) -> list[Term | None]:
    dictionary = Dictionary()
    ids = dictionary.encode(column.array, column.reading)
    bad = column.bad if column.bad is not None else [False] * len(ids)
    return [None if wrong else dictionary.term(int(number)) for number, wrong in zip(ids, bad, strict=True)]


def chunked(texts: Sequence[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_text_is_read_as_each_of_its_texts(kind: str) -> None:
    assert terms_of(from_text(chunked(TEXTS), kind)) == [_as_text(text, kind) for text in TEXTS]
    for text in TEXTS:  # alone, in which case Arrow may read the column as a whole
        assert terms_of(from_text(chunked([text]), kind)) == [_as_text(text, kind)], text


def _as_text(text: str, kind: str) -> Term | None:
    """Text that is a literal of the type is read as it."""
    if kind in ("date", "dateTime", "time", "decimal", "duration"):
        term = parse_any(text)
        inner = term.lexical if isinstance(term, Literal) and fitted(term, kind) == term else None
        return term if inner is not None and text.startswith('"') else term_of_text(text, kind)
    return iri_named(text, {}) if kind == "iri" else term_of_text(text, kind)


def _as_value(term: Term, kind: str) -> Term | None:
    """A string of data that names an IRI is one where IRIs are asked for."""
    names_one = kind == "iri" and isinstance(term, String) and ":" in term.value
    return iri_named(term.value, {}) if names_one and isinstance(term, String) else fitted(term, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_values_is_checked_as_each_of_them(kind: str) -> None:
    texts = [format_any(term) for term in TERMS]
    expected = [_as_value(term, kind) for term in TERMS]
    assert terms_of(checked(chunked(texts), "any", kind)) == expected
    for text, wanted in zip(texts, expected, strict=True):
        assert terms_of(checked(chunked([text]), "any", kind)) == [wanted], text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [[1, 2**53 + 1, -(2**63)], [2**63 - 1], [1.5, float("nan")], [True], ["a", "42"]],
    ids=["int", "large", "float", "bool", "str"],
)
def test_a_native_column_is_checked_as_its_values(kind: str, values: list[object]) -> None:
    array, reading, odd = column_of(values)
    assert not odd
    native = [from_python(value) for value in values]
    reading = "native" if not pa.types.is_string(array.type) else reading
    assert terms_of(checked(array, reading, kind)) == [fitted(term, kind) for term in native]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_in_the_form_any_is_read_by_a_declared_column(kind: str) -> None:
    own = [term for term in TERMS if fitted(term, kind) == term and term != integer(10**400)]
    texts = [format_any(term) for term in own]
    assert terms_of(declared_text(chunked(texts), kind)) == own


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=12)))
def test_any_text_is_a_string_in_a_declared_column_and_comes_back(texts: list[str]) -> None:
    texts = [text for text in texts if text.isprintable()]
    strings: list[Term | None] = [String(text) for text in texts]
    written = chunked([format_any(String(text)) for text in texts])
    assert terms_of(declared_text(written, "string")) == strings
    assert terms_of(from_text(chunked(texts), "string")) == strings


def test_promotions_lose_nothing() -> None:
    assert fitted(Integer(5), "double") == Double(5.0)
    assert fitted(Integer(2**53 + 1), "double") is None
    assert fitted(integer(2**70), "double") == Double(float(2**70))
    assert fitted(Integer(5), "decimal") == literal("5", XSD + "decimal")
    assert fitted(Double(5.0), "int") is None
    assert fitted(literal("5", XSD + "decimal"), "double") is None
    assert fitted(String("5"), "int") is None


def test_a_suggestion_is_of_the_type() -> None:
    for kind in KINDS:
        for term in TERMS:
            meant = suggestion(term, kind)
            assert meant is None or fitted(meant, kind) == meant


def test_aliases_are_names_of_types() -> None:
    assert [type_named(name) for name in ("integer", "long", "float", "bool", "skip", "Double")] == [
        "int",
        "int",
        "double",
        "boolean",
        None,
        None,
    ]
