"""Terms, the arguments of facts, and their order.

A term is an IRI, a blank node, a string, a language string, an integer, a double, a boolean or a typed
literal.  Terms are immutable values.  Two invariants make equality of Python objects the identity of terms:

*  Every term has one form only.  The factories below normalise: a literal of type xsd:integer that fits
   64 bits is an `Integer`, xsd:double a `Double`, xsd:boolean a `Boolean`, xsd:string a `String`; beyond 64
   bits an integer stays an exact `Literal`.  There is one NaN, and -0.0 is 0.0.
*  Terms of different classes are never equal: `Integer(1)`, `Double(1.0)` and `Boolean(True)` are three
   terms, although the first two are equal in a comparison (`?x = ?y`), which goes by value.

A bare name `ada` of the language is `String("ada")`: text is text, with or without quotes.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
RDF_TYPE: Final = RDF + "type"

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
NAN: Final = math.nan
_LONGEST_INT64: Final = 20  # characters of the longest numeral within 64 bits, with its sign
_LANGUAGE: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*\Z")


def _require(kind: str, value: object, wanted: type) -> None:
    """A term is never made of a value that stands for another term."""
    if type(value) is not wanted and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise TypeError(f"{kind} takes a {wanted.__name__}, not {value!r} of type {type(value).__name__}")


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
            raise ValueError("Integer holds 64 bits; tidalog.integer() takes an integer of any size")


@dataclass(frozen=True, slots=True)
class Double:
    value: float

    def __post_init__(self) -> None:
        value = self.value
        if type(value) is not float:
            if isinstance(value, bool) or not isinstance(value, int | float):
                _require("Double", value, float)
            object.__setattr__(self, "value", float(value))
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


Term = IRI | BlankNode | String | LangString | Integer | Double | Boolean | Literal

TRUE: Final = Boolean(True)
FALSE: Final = Boolean(False)

_INTEGER_TYPES = frozenset(
    XSD + name
    for name in (
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


def numeric_value(term: Term) -> int | float | None:
    """The numeric value of a term in arithmetic and comparison, or None.

    `Integer` and `Double` are numbers, and so are literals of the other numeric XML Schema types, as long
    as an integer fits 64 bits.
    """
    if isinstance(term, Integer | Double):
        return term.value
    if isinstance(term, Literal):
        if term.datatype in _INTEGER_TYPES and _INTEGER.match(term.lexical):
            value = int(term.lexical)
            return value if INT64_MIN <= value <= INT64_MAX else None
        if term.datatype in (XSD + "decimal", XSD + "float"):
            return double_value(term.lexical)
    return None


def instant_value(term: Term) -> int | None:
    """Microseconds since 1970 of an xsd:dateTime or xsd:date (taken as UTC without a zone), or None."""
    if not isinstance(term, Literal):
        return None
    try:
        if term.datatype == XSD + "dateTime":
            moment = datetime.fromisoformat(term.lexical)
        elif term.datatype == XSD + "date":
            day = date.fromisoformat(term.lexical)
            moment = datetime(day.year, day.month, day.day)
        else:
            return None
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


# --- order ------------------------------------------------------------------------------------------

_RANK: Final[dict[type, int]] = {
    Boolean: 0,
    Integer: 1,
    Double: 1,
    Literal: 3,
    String: 2,
    LangString: 4,
    IRI: 5,
    BlankNode: 6,
}


def sort_key(term: Term) -> tuple[int, float | int | str, int, str]:
    """A total order of all terms: booleans, numbers by value (equal ones: integer first, NaN last),
    strings by code point, other literals, language strings, IRIs, blank nodes."""
    rank = _RANK[type(term)]
    match term:
        case Boolean(value):
            return (rank, int(value), 0, "")
        case Integer(value):
            return (rank, value, 0, "")
        case Double(value):
            if value != value:
                return (rank, math.inf, 2, "")
            return (rank, value, 1, "")
        case String(value):
            return (rank, value, 0, "")
        case LangString(value, language):
            return (rank, value, 0, language)
        case Literal(lexical, datatype):
            return (rank, datatype, 0, lexical)
        case IRI(value):
            return (rank, value, 0, "")
        case BlankNode(label):
            return (rank, label, 0, "")
