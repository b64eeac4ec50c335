"""Terms, the arguments of facts, and their order.

A term is an IRI, a blank node, a string, a language string, an integer, a double, a boolean or a typed
literal.  Terms are immutable values.  Two invariants make equality of Python objects the identity of terms:

*  Every term has one form only.  The factories below normalise: a literal of type xsd:integer that fits
   64 bits is an `Integer`, xsd:double a `Double`, xsd:boolean a `Boolean`, xsd:string a `String`; beyond 64
   bits an integer stays an exact `Literal`.  There is one NaN, and -0.0 is 0.0.  Decimals and durations have
   one text each: 2.50 and 2.5, PT24H and P1D are the same term.
*  Terms of different classes are never equal: `Integer(1)`, `Double(1.0)` and `Boolean(True)` are three
   terms, although the first two are equal in a comparison (`?x = ?y`), which goes by value.

A bare name `ada` of the language is `String("ada")`: text is text, with or without quotes.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from tidalog.model import values
from tidalog.model.values import Duration

XSD: Final = values.XSD
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
RDF_TYPE: Final = RDF + "type"

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
NAN: Final = math.nan
_LONGEST_INT64: Final = 20  # characters of the longest numeral within 64 bits, with its sign
_LONGEST_NUMBER: Final = values.MOST_DIGITS + 2  # with a sign and a point
_LANGUAGE: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*\Z")


def _require(kind: str, value: object, wanted: type) -> None:
    """A term is never made of a value that stands for another term."""
    if type(value) is not wanted and (not isinstance(value, wanted) or isinstance(value, bool)):
        article = "an" if wanted is int else "a"
        raise TypeError(
            f"{kind} takes {article} {wanted.__name__}, not {value!r} of type {type(value).__name__}"
        )


@dataclass(frozen=True, slots=True)
class IRI:
    value: str

    def __post_init__(self) -> None:
        _require("IRI", self.value, str)


@dataclass(frozen=True, slots=True)
class BlankNode:
    label: str

    def __post_init__(self) -> None:
        _require("BlankNode", self.label, str)
        if not self.label:
            raise ValueError("a blank node has a label: the text of one without is a string")
        if not is_text(self.label):  # its text would have an escape of no character, and be a string
            raise ValueError("half a surrogate pair is not a character of a label")


@dataclass(frozen=True, slots=True)
class String:
    value: str

    def __post_init__(self) -> None:
        _require("String", self.value, str)


@dataclass(frozen=True, slots=True)
class LangString:
    value: str
    language: str

    def __post_init__(self) -> None:
        _require("LangString", self.value, str)
        _require("LangString", self.language, str)
        if not _LANGUAGE.match(self.language):
            raise ValueError(f"{self.language!r} is not a language tag such as en or de-AT")
        object.__setattr__(self, "language", self.language.lower())


@dataclass(frozen=True, slots=True)
class Integer:
    """A 64-bit integer; `integer()` takes larger ones too."""

    value: int

    def __post_init__(self) -> None:
        _require("Integer", self.value, int)
        if not INT64_MIN <= self.value <= INT64_MAX:
            raise ValueError("Integer holds 64 bits; insert a larger one as a Python int")


@dataclass(frozen=True, slots=True)
class Double:
    value: float

    def __post_init__(self) -> None:
        value = self.value
        if type(value) is not float:
            if isinstance(value, bool) or not isinstance(value, int | float):
                _require("Double", value, float)
            object.__setattr__(self, "value", float(value))
            if self.value != value and value == value:
                raise ValueError(f"no double has exactly the value {value!r}")
        if value != value:
            object.__setattr__(self, "value", NAN)
        elif value == 0.0:
            object.__setattr__(self, "value", 0.0)


@dataclass(frozen=True, slots=True)
class Boolean:
    value: bool

    def __post_init__(self) -> None:
        if type(self.value) is not bool:
            raise TypeError(f"Boolean takes True or False, not {self.value!r}")


@dataclass(frozen=True, slots=True)
class Literal:
    """A typed literal that is none of the above; build one with `literal()`, which normalises."""

    lexical: str
    datatype: str

    def __post_init__(self) -> None:
        _require("Literal", self.lexical, str)
        _require("Literal", self.datatype, str)
        canonical = values.CANONICAL.get(self.datatype)
        if canonical is not None:
            object.__setattr__(self, "lexical", canonical(self.lexical) or self.lexical)


Term = IRI | BlankNode | String | LangString | Integer | Double | Boolean | Literal

TRUE: Final = Boolean(True)
FALSE: Final = Boolean(False)

_INTEGER_TYPES = frozenset(
    XSD + name
    for name in (
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    )
)
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_SPECIAL_DOUBLES = {"NaN": NAN, "INF": math.inf, "+INF": math.inf, "-INF": -math.inf}


def is_text(value: str) -> bool:
    """Whether a Python `str` is text: one that contains half a surrogate pair is not."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def integer(value: int) -> Term:
    """An integer of any size: `Integer` within 64 bits, an exact literal beyond."""
    if INT64_MIN <= value <= INT64_MAX:
        return Integer(value)
    # Python refuses to write out integers of more than 4,300 digits; decimals have no such limit.
    return Literal(f"{Decimal(value):f}", XSD + "integer")


def integer_of(numeral: str) -> Term:
    """The integer of a decimal numeral (`[+-]?[0-9]+`) of any length."""
    if len(numeral) > _LONGEST_INT64:
        digits = numeral.lstrip("+-").lstrip("0")
        sign = "-" if numeral[0] == "-" else ""
        if len(digits) >= _LONGEST_INT64:
            return Literal(sign + digits, XSD + "integer")
        numeral = sign + (digits or "0")
    return integer(int(numeral))


def instant(moment: datetime) -> Literal:
    """A point in time in its canonical form: in UTC if it has a zone, without trailing zeros."""
    zone = ""
    if moment.tzinfo is not None:
        with suppress(OverflowError):  # at the very ends of the calendar UTC has no such date
            moment, zone = moment.astimezone(UTC).replace(tzinfo=None), "Z"
    text = moment.isoformat()
    if moment.tzinfo is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    return Literal(text + zone, XSD + "dateTime")


def literal(lexical: str, datatype: str) -> Term:
    """A typed literal in the canonical form of its value; ill-typed lexical forms are kept."""
    if datatype == XSD + "string":
        return String(lexical)
    if datatype == XSD + "integer" and _INTEGER.match(lexical):
        return integer_of(lexical)
    if datatype == XSD + "double":
        value = double_value(lexical)
        if value is not None:
            return Double(value)
    if datatype == XSD + "boolean" and lexical in ("true", "false", "0", "1"):
        return Boolean(lexical in ("true", "1"))
    return Literal(lexical, datatype)


def double_value(lexical: str) -> float | None:
    """The double of an xsd:double lexical form, or None."""
    if lexical in _SPECIAL_DOUBLES:
        return _SPECIAL_DOUBLES[lexical]
    return float(lexical) if _DOUBLE.match(lexical) else None


def numeric_value(term: Term) -> int | float | Decimal | None:
    """The numeric value of a term in arithmetic and comparison, or None.

    `Integer` and `Double` are numbers, and so are literals of the other numeric XML Schema types: integers
    beyond 64 bits, decimals, floats.  A literal of more than 1,000 digits is a term without a value.
    """
    if isinstance(term, Integer | Double):
        return term.value
    if isinstance(term, Literal) and len(term.lexical) <= _LONGEST_NUMBER:
        if term.datatype == values.DECIMAL:
            return None if values.canonical_decimal(term.lexical) is None else Decimal(term.lexical)
        if term.datatype in _INTEGER_TYPES and _INTEGER.match(term.lexical):
            return int(term.lexical)
        if term.datatype == XSD + "float":
            return double_value(term.lexical)
    return None


def nearest_double(value: int | float | Decimal) -> float:
    """The double nearest to a number; infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def instant_value(term: Term) -> int | None:
    """Nanoseconds since 1970 of an xsd:dateTime or xsd:date (taken as UTC without a zone), or None."""
    if isinstance(term, Literal):
        if term.datatype == values.DATE_TIME:
            moment = values.moment_value(term.lexical)
        elif term.datatype == values.DATE:
            moment = values.day_value(term.lexical)
        else:
            return None
        return None if moment is None else moment.instant
    return None


def time_value(term: Term) -> int | None:
    """Nanoseconds since midnight UTC of an xsd:time, or None; a zone may put it outside of the day."""
    if isinstance(term, Literal) and term.datatype == values.TIME:
        moment = values.time_value(term.lexical)
        return None if moment is None else moment.instant
    return None


def duration_value(term: Term) -> Duration | None:
    """The value of an xsd:duration, xsd:dayTimeDuration or xsd:yearMonthDuration, or None."""
    if isinstance(term, Literal) and term.datatype in values.DURATIONS:
        return values.duration_value(term.lexical, term.datatype)
    return None


# --- order ------------------------------------------------------------------------------------------

_RANK: Final[dict[type, int]] = {Boolean: 0, String: 2, Literal: 6, LangString: 7, IRI: 8, BlankNode: 9}
_NUMBER, _INSTANT, _TIME, _DURATION = 1, 3, 4, 5
_FIRST_OF_EQUALS: Final[dict[type, int]] = {Integer: 0, Literal: 1, Double: 2}
_AFTER_NUMBERS: Final = 3  # added for a NaN

SortKey = tuple[int, int | float | str | Decimal, int, str, str]


def sort_key(term: Term) -> SortKey:
    """A total order of all terms: booleans, numbers by value (equal ones: integers, typed literals, doubles;
    NaN last), strings by code point, points in time, times of day, durations, other literals, language
    strings, IRIs, blank nodes.  Literals of equal value are in the order of their types and texts."""
    match term:
        case Boolean(value):
            return (0, value, 0, "", "")
        case Integer(value) | Double(value):
            return _number_key(term, value, "", "")
        case Literal(lexical, datatype):
            number = numeric_value(term)
            if number is not None:
                return _number_key(term, number, datatype, lexical)
            duration = duration_value(term)
            for rank, count in (
                (_INSTANT, instant_value(term)),
                (_TIME, time_value(term)),
                (_DURATION, None if duration is None else duration.length),
            ):
                if count is not None:
                    return (rank, count, 0, datatype, lexical)
            return (_RANK[Literal], 0, 0, datatype, lexical)
        case LangString(text, language):
            return (_RANK[LangString], text, 0, language, "")
        case IRI(text) | BlankNode(text) | String(text):
            return (_RANK[type(term)], text, 0, "", "")


def _number_key(term: Term, value: int | float | Decimal, datatype: str, lexical: str) -> SortKey:
    rank = _FIRST_OF_EQUALS[type(term)]
    if value != value:
        return (_NUMBER, math.inf, rank + _AFTER_NUMBERS, datatype, lexical)
    return (_NUMBER, value, rank, datatype, lexical)
