"""Values as text in `any` form, from which the term can be read back.

Invariant.  The text of a value, read as `any`, is the same term: an integer has only digits, a double has a
point or an exponent (or is written as a literal, if it is not a finite number), dates and times are literals.
A value has one text, whether its column is native or mixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.model.native import day_time
from tidalog.model.term_text import format_any, from_python
from tidalog.model.terms import IRI, NAN, XSD, Double, String

_SPECIAL: Final = {
    "nan": format_any(Double(NAN)),
    "-nan": format_any(Double(NAN)),
    "inf": format_any(Double(float("inf"))),
    "-inf": format_any(Double(float("-inf"))),
    "-0.0": format_any(Double(0.0)),
}
_READS_AS_ANOTHER_TERM: Final = '^[-0-9"<_]|^true$|^false$'
"""Matches every string that would be read as another term, and a few others."""
_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
_SMALL, _LARGE = 1e-4, 1e10
"""Between these bounds Arrow and Python write a double in the same way."""


def value_text(value: object) -> str | None:
    """A Python value in `any` form.  None for a value that is not a term."""
    try:
        return format_any(from_python(value))
    except TypeError:
        return None


def column_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """An int64, float64, bool or text column in `any` form."""
    if pa.types.is_float64(column.type):
        return _double_column_text(column)
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def any_text(column: pa.ChunkedArray, reading: str) -> pa.ChunkedArray:
    """A column with its reading (`TermColumn`) as text in `any` form."""
    text = column_text(column)
    if reading == "iri":
        return pa.chunked_array([_of_distinct(chunk, _iri_text) for chunk in text.chunks], pa.string())
    if reading == "string":
        return pa.chunked_array([_strings_text(chunk) for chunk in text.chunks], pa.string())
    return text


def _strings_text(text: pa.Array) -> pa.Array:
    odd = pc.match_substring_regex(text, _READS_AS_ANOTHER_TERM)
    if not pc.any(odd, min_count=0).as_py():
        return text
    odd = pc.fill_null(odd, False)
    return pc.replace_with_mask(text, odd, _of_distinct(text.filter(odd), _string_text))


def _iri_text(value: str) -> str:
    return format_any(IRI(value))


def _string_text(value: str) -> str:
    return format_any(String(value))


def _of_distinct(text: pa.Array, write: Callable[[str], str]) -> pa.Array:
    encoded = text.dictionary_encode()
    words = pa.array([write(word) for word in encoded.dictionary.to_pylist()], pa.string())
    return words.take(encoded.indices)


def _double_column_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    whole = pc.match_substring_regex(text, "^-?[0-9]+$")
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    for special, literal in _SPECIAL.items():
        text = pc.if_else(pc.equal(text, special), literal, text)
    size = pc.abs(column)
    usual = pc.and_(pc.greater_equal(size, _SMALL), pc.less(size, _LARGE))
    unusual = pc.and_(pc.invert(pc.or_(usual, pc.equal(size, 0.0))), pc.is_finite(column))
    if not pc.any(unusual, min_count=0).as_py():
        return text
    # Arrow's choice of exponents differs from Python's.
    unusual = pc.fill_null(unusual, False)
    spelt = [format_any(Double(value)) for value in column.filter(unusual).to_pylist()]
    whole = pc.replace_with_mask(
        text.combine_chunks(), unusual.combine_chunks(), pa.array(spelt, pa.string())
    )
    return pa.chunked_array([whole])


def instants_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of timestamps as xsd:dateTime literals; with a zone they are instants in UTC."""
    zone = "Z" if column.type.tz is not None else ""
    naive = column.cast(pa.timestamp(column.type.unit))
    text = pc.strftime(naive, format="%Y-%m-%dT%H:%M:%S")
    text = pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1")
    text = pc.replace_substring_regex(text, r"\.$", "")
    return _as_literals(text, zone, "dateTime")


def days_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return _as_literals(column.cast(pa.string()), "", "date")


def times_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pc.replace_substring_regex(column.cast(pa.string()), r"(\.[0-9]*?)0+$", r"\1")
    return _as_literals(pc.replace_substring_regex(text, r"\.$", ""), "", "time")


def decimals_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals, exact, as xsd:decimal literals; these have no exponents."""
    text = column.cast(pa.string())
    if pc.any(pc.match_substring(text, "E")).as_py():
        plain = [None if value is None else f"{value:f}" for value in column.to_pylist()]
        text = pa.chunked_array([pa.array(plain, pa.string())])
    for zeros, kept in ((r"(\.[0-9]*?)0+$", r"\1"), (r"\.$", ""), ("^-0$", "0")):
        text = pc.replace_substring_regex(text, zeros, kept)
    return _as_literals(text, "", "decimal")


def durations_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Durations as xsd:dayTimeDuration literals."""
    unit = _NANOSECONDS[column.type.unit]
    encoded = column.cast(pa.int64()).combine_chunks().dictionary_encode()
    words = [format_any(day_time(count * unit)) for count in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(words, pa.string()).take(encoded.indices)])


def _as_literals(text: pa.ChunkedArray, zone: str, kind: str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise('"', text, f'{zone}"^^<{XSD}{kind}>', "")
