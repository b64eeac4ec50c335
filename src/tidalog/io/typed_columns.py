"""Columns and types: text read as values of a type, and typed values checked against a declared type.

Everything works on whole columns, and follows `fitted` and `term_of_text` of model/column_types.py, which
define it for one value; where IRIs are asked for, `iri_named` of lang/names.py does.  Nothing fails on a
value: the result has a mask of the values that are not of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.iri_cells import read_iris
from tidalog.io.result import Reading
from tidalog.lang.names import NO_PREFIXES, iri_named
from tidalog.model import values
from tidalog.model.column_types import TEMPORAL, fitted, spelling, term_of_text
from tidalog.model.facts import Mask
from tidalog.model.term_text import format_any, parse_any
from tidalog.model.terms import IRI, XSD, Literal, String, Term

_DOUBLE_LITERAL: Final = rf'^"([^"]*)"\^\^<{XSD}double>$'
_ZONE: Final = "(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
_DAY: Final = r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
_PLAIN: Final = {
    "date": f"^{_DAY}{_ZONE}$",
    "dateTime": f"^{_DAY}[T ]{_CLOCK}{_ZONE}$",
    "time": f"^{_CLOCK}{_ZONE}$",
    "decimal": r"^[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})$",
}
"""Texts that are of a type for sure, without a look at the calendar."""
_DATATYPES: Final = {
    "date": values.DATE,
    "dateTime": values.DATE_TIME,
    "time": values.TIME,
    "decimal": values.DECIMAL,
}


@dataclass(frozen=True)
class Converted:
    """A column, how it is read, and which of its values are not of the type; None if all are."""

    array: pa.ChunkedArray
    reading: Reading
    bad: Mask | None = None
    misplaced: Mask | None = None
    """Terms that a triple cannot have there; their rows are bad too."""


def from_text(text: pa.ChunkedArray, kind: str, prefixes: Mapping[str, str] = NO_PREFIXES) -> Converted:
    """Untyped text as values of a type."""
    match kind:
        case "any":
            return Converted(text, "any")
        case "string":
            return Converted(text, "string")
        case "int":
            return _integers(text)
        case "double":
            return _doubles(text)
        case "boolean":
            return _booleans(text)
        case "iri":
            return _iris(text, prefixes)
        case "duration":
            return _by_distinct(text, _duration)
    return _literals(text, kind)


def declared_text(text: pa.ChunkedArray, kind: str, prefixes: Mapping[str, str] = NO_PREFIXES) -> Converted:
    """Untyped text in a column of a declared type.  A text in quotes is one as in format `any`, so that what
    was exported is read as what it was."""
    if kind != "string":
        return from_text(text, kind, prefixes)
    quoted = pc.starts_with(text, '"')
    if not pc.any(quoted, min_count=0).as_py():
        return Converted(text, "string")
    read = checked(text.filter(quoted), "any", "string")
    plain = pc.replace_with_mask(
        text.combine_chunks(), quoted.combine_chunks(), _plain_texts(read).combine_chunks()
    )
    bad = np.zeros(len(text), np.bool_)
    if read.bad is not None:
        bad[numpy_of(quoted)] = read.bad
    return Converted(pa.chunked_array([plain]), "string", none_if_clean(bad))


def spelt(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Terms in `any` form as texts from which a format reads its values: strings and decimals by what they
    spell."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    bare = [spelling(t) if isinstance(t := parse_any(text), String | Literal) else text for text in texts]
    words = [text if one is None else one for one, text in zip(bare, texts, strict=True)]
    return pa.chunked_array([pa.array(words, pa.string()).take(encoded.indices)])


def _plain_texts(column: Converted) -> pa.ChunkedArray:
    """The values of strings in `any` form."""
    encoded = column.array.combine_chunks().dictionary_encode()
    terms = [parse_any(text) for text in encoded.dictionary.to_pylist()]
    texts = [term.value if isinstance(term, String) else "" for term in terms]
    return pa.chunked_array([pa.array(texts, pa.string()).take(encoded.indices)])


def checked(
    column: pa.ChunkedArray, reading: Reading, kind: str, prefixes: Mapping[str, str] = NO_PREFIXES
) -> Converted:
    """Typed values in a column of a declared type."""
    if kind == "any" or (pa.types.is_string(column.type) and reading == kind):
        return Converted(column, reading)
    if pa.types.is_boolean(column.type):
        return Converted(column, reading, None if kind == "boolean" else _all(column))
    if pa.types.is_float64(column.type):
        return Converted(column, reading, None if kind == "double" else _all(column))
    if pa.types.is_int64(column.type):
        return _checked_integers(column, kind)
    if kind == "iri":
        return as_iris(column, reading, prefixes, relative=False)
    if reading == "string" and kind in TEMPORAL:
        quoted = pc.any(pc.starts_with(column, '"'), min_count=0).as_py()
        return (
            _by_distinct(column, lambda one: fitted(String(one), kind)) if quoted else from_text(column, kind)
        )
    if reading in ("string", "iri"):
        return Converted(column, reading, _all(column))
    datatype = _DATATYPES.get(kind)
    if datatype is not None and kind != "decimal":
        bare = pc.replace_substring_regex(column, f'^"([^"]*)"\\^\\^<{datatype}>$', r"\1")
        if pc.all(pc.match_substring_regex(bare, _PLAIN[kind]), min_count=0).as_py():
            typed = pc.ends_with(column, f"^^<{datatype}>")
            if pc.all(typed, min_count=0).as_py():  # a string beside them is converted
                return Converted(column, reading)
    return _by_distinct(column, lambda one: fitted(parse_any(one), kind))


def _checked_integers(column: pa.ChunkedArray, kind: str) -> Converted:
    if kind == "int":
        return Converted(column, "native")
    if kind == "double":
        numbers = column.to_numpy()
        doubles = numbers.astype(np.float64)
        # 2^63 is a double and no int64
        exact = (doubles < 2.0**63) & (np.where(doubles < 2.0**63, doubles, 0.0).astype(np.int64) == numbers)
        return Converted(pa.chunked_array([pa.array(doubles)]), "native", none_if_clean(~exact))
    if kind == "decimal":
        return _literals(column.cast(pa.string()), "decimal")
    return Converted(column, "native", _all(column))


def _all(column: pa.ChunkedArray) -> Mask | None:
    return none_if_clean(np.ones(len(column), np.bool_))


def _literals(text: pa.ChunkedArray, kind: str) -> Converted:
    """Dates, times and decimals, as literals in `any` form.  Only unusual texts are read one by one."""
    datatype = _DATATYPES[kind]
    bare = pc.utf8_trim_whitespace(text)
    bare = pc.replace_substring_regex(bare, f'^"([^"]*)"\\^\\^<{datatype}>$', r"\1")
    plain = pc.match_substring_regex(bare, _PLAIN[kind])
    if kind == "dateTime":
        bare = pc.replace_substring_regex(bare, "^([0-9-]{10}) ", r"\1T")
    typed = pc.binary_join_element_wise('"', bare, f'"^^<{datatype}>', "")
    if pc.all(plain, min_count=0).as_py():
        return Converted(typed, "any")
    odd = pc.invert(plain)
    slow = _by_distinct(bare.filter(odd), lambda one: term_of_text(one, kind))
    whole = pc.replace_with_mask(typed.combine_chunks(), odd.combine_chunks(), slow.array.combine_chunks())
    bad = np.zeros(len(text), np.bool_)
    if slow.bad is not None:
        bad[numpy_of(odd)] = slow.bad
    return Converted(pa.chunked_array([whole]), "any", none_if_clean(bad))


def _duration(text: str) -> Term | None:
    """A literal keeps its type: PT24H is of three."""
    return fitted(parse_any(text), "duration") if text.startswith('"') else term_of_text(text, "duration")


def _by_distinct(text: pa.ChunkedArray, read: Callable[[str], Term | None]) -> Converted:
    """Text in `any` form of what each distinct text is read as."""
    encoded = text.combine_chunks().dictionary_encode()
    terms = [read(one) for one in encoded.dictionary.to_pylist()]
    texts = pa.array(["" if term is None else format_any(term) for term in terms], pa.string())
    bad = np.array([term is None for term in terms], np.bool_)[encoded.indices.to_numpy()]
    return Converted(pa.chunked_array([texts.take(encoded.indices)]), "any", none_if_clean(bad))


def numpy_of(mask: pa.ChunkedArray) -> Mask:
    result: Mask = mask.to_numpy()
    return result


def none_if_clean(bad: Mask) -> Mask | None:
    return bad if bad.any() else None


def whole_doubles(column: pa.ChunkedArray) -> Converted:
    values = column.to_numpy()
    good = (np.floor(values) == values) & (np.abs(values) < 2.0**63)
    whole = np.where(good, values, 0.0).astype(np.int64)
    return Converted(pa.chunked_array([pa.array(whole)]), "native", none_if_clean(~good))


def _integers(text: pa.ChunkedArray) -> Converted:
    """Decimal digits with an optional sign, or 0x, 0o, 0b; beyond 64 bits they stay text in `any` form."""
    # Arrow reads hexadecimal digits too, but lets them overflow into the sign.
    if not pc.any(pc.match_substring(text, "x", ignore_case=True)).as_py():
        try:
            return Converted(text.cast(pa.int64()), "native")
        except pa.ArrowInvalid:
            pass
    text = pc.utf8_trim_whitespace(text)
    decimal = pc.match_substring_regex(text, "^[+-]?[0-9]+$")
    canonical = pc.replace_substring_regex(text, r"^\+?(-?)0*([0-9])", r"\1\2")
    canonical = pc.if_else(pc.equal(canonical, "-0"), "0", canonical)
    based = pc.match_substring_regex(
        text, r"^[+-]?0([xX][0-9a-fA-F]{1,999}|[oO][0-7]{1,999}|[bB][01]{1,999})$"
    )
    if pc.any(based).as_py():
        distinct = pc.unique(text.filter(based))
        numbers = pa.array([str(int(t.as_py(), 0)) for t in distinct], pa.string())
        found = pc.index_in(text, distinct)
        canonical = pc.if_else(based, numbers.take(found.combine_chunks()), canonical)
    good = pc.or_(decimal, based)
    canonical = pc.if_else(good, canonical, "0")
    bad = none_if_clean(~numpy_of(good))
    try:
        return Converted(canonical.cast(pa.int64()), "native", bad)
    except pa.ArrowInvalid:
        return Converted(canonical, "any", bad)


def _doubles(text: pa.ChunkedArray) -> Converted:
    try:
        return Converted(text.cast(pa.float64()), "native")
    except pa.ArrowInvalid:
        pass
    # An exported infinity is a literal.
    text = pc.replace_substring_regex(pc.utf8_trim_whitespace(text), _DOUBLE_LITERAL, r"\1")
    good = pc.match_substring_regex(
        text, r"^(?i)([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|[+-]?nan)$"
    )
    values = pc.if_else(good, text, "0").cast(pa.float64())
    return Converted(values, "native", none_if_clean(~numpy_of(good)))


def _booleans(text: pa.ChunkedArray) -> Converted:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    true = pc.is_in(text, pa.array(["true", "1"]))
    good = pc.or_(true, pc.is_in(text, pa.array(["false", "0"])))
    return Converted(true, "native", none_if_clean(~numpy_of(good)))


def _iris(text: pa.ChunkedArray, prefixes: Mapping[str, str], *, relative: bool = True) -> Converted:
    """With or without angle brackets; without `relative`, text without a colon is none."""
    iris, bad = read_iris(text, prefixes)
    if not relative:
        bad |= ~numpy_of(pc.match_substring_regex(text, "^<|:"))
    return Converted(iris, "iri", none_if_clean(bad))


def as_iris(
    column: pa.ChunkedArray, reading: Reading, prefixes: Mapping[str, str], *, relative: bool
) -> Converted:
    """A column of text with its reading, where IRIs are asked for.  IRIs stay, strings that name one become
    it, and other terms are wrong."""
    if reading == "iri":
        return Converted(column, "iri")
    if reading == "string":
        return _iris(column, prefixes, relative=relative)
    if reading == "ntriples":  # a literal of RDF is one
        return _by_distinct(column, lambda one: fitted(parse_any(one), "iri"))

    def read(text: str) -> Term | None:
        term = parse_any(text)
        if isinstance(term, String) and (relative or ":" in term.value or term.value.startswith("<")):
            return iri_named(term.value, prefixes)
        return term if isinstance(term, IRI) else None

    return _by_distinct(column, read)
