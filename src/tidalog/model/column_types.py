"""The types of columns: one table, for declarations (`@declare`) and for the formats of files.

`fitted` is the contract of a declared type: which terms a column of it holds, and which others are converted
because nothing is lost.  `term_of_text` is what an untyped text (a cell of CSV) means in such a column.
Both work on one value; io/columns.py has the same for whole columns, and tests compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Final

from tidalog.model import values
from tidalog.model.terms import (
    IRI,
    XSD,
    Boolean,
    Double,
    Integer,
    Literal,
    String,
    Term,
    duration_value,
    integer_of,
    literal,
    nearest_double,
)

SKIP: Final = "skip"
"""The format of a column of a file that is left out."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type: what its values are in a message, hints for a text and for a term that is none, and other names
    of it."""

    name: str
    description: str = ""
    hint: str = ""
    aliases: tuple[str, ...] = ()
    in_programs: str = ""
    """The hint for a term of a program, if values are written in another way there."""


_TABLE: Final = (
    ColumnType("any", "a term"),
    ColumnType("string", "text", "texts that read as something else are written in quotes"),
    ColumnType("int", "an integer", "integers are written 42 or -7", ("integer", "long")),
    ColumnType("double", "a double", "numbers are written 42, 2.5 or 1e3", ("float", "float64")),
    ColumnType(
        "decimal",
        "a decimal number",
        "decimals are digits with one point, such as 12.50",
        in_programs='decimals are written "12.50"^^xsd:decimal',
    ),
    ColumnType(
        "boolean",
        "true or false",
        "booleans are true, false, 1 and 0",
        ("bool",),
        in_programs="booleans are written true or false",
    ),
    ColumnType("date", "a date", "dates are written 2026-05-31"),
    ColumnType(
        "dateTime", "a point in time", "points in time are written 2026-05-31T18:30:00, or with Z at the end"
    ),
    ColumnType("time", "a time of day", "times of day are written 18:30:00"),
    ColumnType("duration", "a duration", "durations are written P1DT2H30M, or PT5S for five seconds"),
    ColumnType(
        "iri",
        "an IRI",
        "an IRI has no spaces, quotes or angle brackets inside",
        in_programs="IRIs are written <http://example.org/x>, or ex:x with a prefix",
    ),
)
TYPES: Final = {kind.name: kind for kind in _TABLE}
FORMATS: Final = (*TYPES, SKIP)
"""What the format of a column of a file can be, besides aliases."""
TYPES_OF_NEMO: Final = ("any", "string", "integer", "float64")
"""A declaration of nothing but these declares types, as in older versions of Nemo, and no names."""
_NAMES: Final = {alias: kind.name for kind in _TABLE for alias in (kind.name, *kind.aliases)}
_LITERALS: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "date": (values.DATE, values.day_value),
    "dateTime": (values.DATE_TIME, values.moment_value),
    "time": (values.TIME, values.time_value),
    "decimal": (values.DECIMAL, values.canonical_decimal),
}
TEMPORAL: Final = ("date", "dateTime", "time", "duration")
"""Types that text stands for where data has no values of them: JSON, and most tables that came from text."""
_LONGEST_SPELLING: Final = 25
_LONGEST_DOUBLE: Final = 310  # digits of the largest double, with its sign
_DECIMAL_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")
_BASED_INTEGER: Final = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]{1,999}|[oO][0-7]{1,999}|[bB][01]{1,999})\Z")
_DOUBLE: Final = re.compile(
    r"(?i:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?|[+-]?nan)\Z"
)
_IRI_TEXT: Final = re.compile(r'[^\s<>"{}|^`\\]+\Z')
_DOUBLE_LITERAL: Final = re.compile(rf'"([^"]*)"\^\^<{XSD}double>\Z')


def type_named(name: str) -> str | None:
    """The type that a name stands for; None if it is of no type."""
    return _NAMES.get(name)


def similar_type(name: str) -> str | None:
    """The type whose name is nearest to a word."""
    lower = {known.lower(): known for known in _NAMES}
    near = get_close_matches(name.lower(), lower, 1, 0.6)
    return _NAMES[lower[near[0]]] if near else None


def fitted(term: Term, kind: str) -> Term | None:
    """The term in a column of a type: itself, an integer as the double or decimal of the same value, a string
    as the date, time or duration that it spells; None if it does not fit."""
    if kind in TEMPORAL and isinstance(term, String):
        return term_of_text(term.value, kind)
    match kind:
        case "any":
            return term
        case "string":
            return term if isinstance(term, String) else None
        case "int":
            return term if _numeral(term) is not None else None
        case "double":
            return term if isinstance(term, Double) else _exact_double(term)
        case "boolean":
            return term if isinstance(term, Boolean) else None
        case "iri":
            return term if isinstance(term, IRI) else None
        case "duration":
            return term if duration_value(term) is not None else None
    if kind == "decimal" and (numeral := _numeral(term)) is not None:
        return Literal(numeral, values.DECIMAL)
    datatype, value_of = _LITERALS[kind]
    is_one = isinstance(term, Literal) and term.datatype == datatype and value_of(term.lexical) is not None
    return term if is_one else None


def suggestion(term: Term, kind: str) -> Term | None:
    """A term of the type that may be meant by one that is not of it: `5.0` for 5, a date for its text, the
    nearest double of a large integer, true for 1."""
    exact = fitted(term, kind)
    if exact is not None:
        return exact
    if kind == "iri":
        is_name = isinstance(term, String) and _IRI_TEXT.match(term.value)
        return IRI(term.value) if isinstance(term, String) and is_name else None
    if kind == "double" and (numeral := _numeral(term)) is not None:
        return Double(nearest_double(int(numeral)))
    text = spelling(term)
    if text is None:
        return None
    return term_of_text(text.removesuffix(".0") if kind == "int" else text, kind)


def spelling(term: Term) -> str | None:
    """The text of a string, a number or a boolean, from which a type may read its value; None for others."""
    match term:
        case String(text):
            return text
        case Boolean(value):
            return "true" if value else "false"
        case Double(value) if value - value == 0.0:
            digits = f"{Decimal(repr(value)):f}"
            return digits if len(digits) <= _LONGEST_SPELLING else repr(value)
        case Literal(text, values.DECIMAL):
            return text
    return _numeral(term)


def is_integer(term: Term | None) -> bool:
    """Whether a term is an integer of any size."""
    return term is not None and _numeral(term) is not None


def _numeral(term: Term) -> str | None:
    """The digits of an integer of any size; None for another term."""
    if isinstance(term, Literal) and term.datatype == XSD + "integer":
        return term.lexical if _DECIMAL_INTEGER.match(term.lexical) else None
    return str(term.value) if isinstance(term, Integer) else None


def _exact_double(term: Term) -> Double | None:
    numeral = _numeral(term)
    if numeral is None or len(numeral) > _LONGEST_DOUBLE:
        return None
    try:
        double = float(int(numeral))
    except OverflowError:
        return None
    return Double(double) if int(double) == int(numeral) else None


def term_of_text(text: str, kind: str) -> Term | None:
    """The term of an untyped text in a column of a type other than `any` and `iri`, in which texts may have
    prefixes (`iri_named`); None if it cannot be one."""
    if kind == "string":
        return String(text)
    text = text.strip()
    match kind:
        case "int":
            if _DECIMAL_INTEGER.match(text):
                return integer_of(text)
            return integer_of(str(int(text, 0))) if _BASED_INTEGER.match(text) else None
        case "double":
            found = _DOUBLE_LITERAL.match(text)
            text = found[1] if found is not None else text
            return Double(float(text)) if _DOUBLE.match(text) else None
        case "boolean":
            known = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
            return None if known is None else Boolean(known)
        case "duration":
            datatype = duration_type(text)
            return literal(text, datatype) if values.duration_value(text, datatype) is not None else None
    datatype, value_of = _LITERALS[kind]
    if kind == "dateTime":
        text = re.sub(r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) ", r"\1T", text)
    return literal(text, datatype) if value_of(text) is not None else None


def duration_type(text: str) -> str:
    """The type of a duration: of years and months, of days and shorter units, or of both."""
    date, _, time = text.partition("T")
    days = bool(time) or "D" in date
    return (
        values.DURATION
        if days and re.search("[YM]", date)
        else values.DAY_TIME
        if days
        else values.YEAR_MONTH
    )
