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
from tidalog.model.terms import IRI, NAN, Double, String
from tidalog.model.values import DATE, DATE_TIME, DAY_TIME, DECIMAL, TIME

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
    """A column in `any` form: numbers, booleans, decimals, dates, times and durations as the terms that they
    are, text as it is."""
    kind = column.type
    if pa.types.is_float64(kind):
        return _double_column_text(column)
    if is_dated(kind) or pa.types.is_decimal(kind):
        text, datatype = lexical_text(column)
        return pc.binary_join_element_wise('"', text, f'"^^<{datatype}>', "")
    return column if pa.types.is_string(kind) else column.cast(pa.string())


def is_dated(kind: pa.DataType) -> bool:
    """Whether a type is one of dates, times and durations."""
    types = pa.types
    return bool(
        types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind)
    )


def any_text(column: pa.ChunkedArray, reading: str) -> pa.ChunkedArray:
    """A column with its reading (`reading_of`) as text in `any` form."""
    text = column.cast(pa.string()) if reading == "int" else column_text(column)
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


# --- decimals, dates, times, durations ----------------------------------------------------------------------


def lexical_text(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str]:
    """The texts of a column of decimals, dates, times or durations, and the XML Schema type of which they
    are."""
    kind, types = column.type, pa.types
    if types.is_decimal(kind):
        return _decimals_text(column), DECIMAL
    if types.is_timestamp(kind):
        return _instants_text(column), DATE_TIME
    if types.is_date(kind):
        return column.cast(pa.string()), DATE
    if types.is_time(kind):
        return _clocks_text(column), TIME
    return _durations_text(column), DAY_TIME


def _without_zeros(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers that have a fraction, without zeros at its end, and without an empty one."""
    return pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")


def _clocks_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times, with as many digits of a second as they need."""
    text = column.cast(pa.string())
    return text if column.type.unit == "s" else _without_zeros(text)


def _instants_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """With a zone, timestamps are instants, which are written in UTC."""
    text = _clocks_text(column.cast(pa.timestamp(column.type.unit)))
    text = pc.replace_substring(text, " ", "T")
    return text if column.type.tz is None else pc.binary_join_element_wise(text, "Z", "")


def _decimals_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Exact, and without exponents."""
    text = column.cast(pa.string())
    if pc.any(pc.match_substring(text, "E")).as_py():
        plain = [None if value is None else f"{value:f}" for value in column.to_pylist()]
        text = pa.chunked_array([pa.array(plain, pa.string())])
    text = _without_zeros(text) if column.type.scale > 0 else text
    return pc.replace_substring_regex(text, "^-0$", "0")


def _durations_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    unit = _NANOSECONDS[column.type.unit]
    encoded = column.cast(pa.int64()).combine_chunks().dictionary_encode()
    words = [day_time(count * unit).lexical for count in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(words, pa.string()).take(encoded.indices)])
