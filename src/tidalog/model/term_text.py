"""Terms as text: in tables, in programs, and from Python values.

Three laws, each with a test:

*  `parse_any(format_any(t)) == t` for every term: a table read back gives the terms that were written;
*  a bare name is the same string in a table and in a program;
*  the main dialect reads `term_text(t)` as `t`.

A string is written without quotes in a table only if that text has no other meaning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Final, Protocol, runtime_checkable

from tidalog.model.foreign_terms import foreign_term
from tidalog.model.native import Native, duration_of_numpy, moment_of_numpy, native_value, temporal_of_python
from tidalog.model.terms import (
    FALSE,
    IRI,
    OWL,
    RDF,
    RDFS,
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
    integer,
    integer_of,
    is_text,
    literal,
)

STANDARD_PREFIXES: Final[Mapping[str, str]] = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
"""Prefixes that every text may use without declaring them; a declaration in the text wins."""

_NAME = r"[^\W\d]\w*(?:-(?=[^\W\d])\w+)*"
_ESCAPE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"

NAME: Final = re.compile(rf"(?!_\Z){_NAME}\Z")
"""A bare constant or predicate name, as the main dialect reads it (`_` alone is a variable)."""

_INTEGER = re.compile(r"-?[0-9]+\Z")
_RADIX = re.compile(r"(-?)0(?:[xX][0-9A-Fa-f]+|[oO][0-7]+|[bB][01]+)\Z")
_DOUBLE = re.compile(r"-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)\Z")
_CANONICAL_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_IRI = re.compile(rf'<((?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPE})*)>\Z')
_BLANK = re.compile(rf"_:((?:[\w.-]|{_ESCAPE})+)\Z")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^(\S+))?\Z', re.DOTALL)
_LONGEST_INT: Final = 3000  # Python refuses to read or write integers of more than 4,300 decimal digits
_STANDARD_NAME = re.compile(r"(rdf|rdfs|owl|xsd):(\w+)\Z")

_PREFIX = re.compile(r"(?:[^\W\d](?:[\w-]*\w)?)?\Z")
_LOCAL = re.compile(r"\w+(?:[.-]+\w+)*\Z")
_IRI_UNSAFE = re.compile(r'[<>"{}|^`\\\x00-\x20\x7f-\xa0(),?=$\s]')
_IRI_UNSAFE_ABSOLUTE = re.compile(r'[<>"{}|^`\\\x00-\x20\x7f-\xa0\s]|,(?=\?)')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BLANK_UNSAFE = re.compile(r"[^\w-]")
_STRING_UNSAFE = re.compile(r'["\\\x00-\x1f\x7f\x85\u2028\u2029]')
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_WRITTEN_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class BadEscape(ValueError):
    """An unknown escape; `at` is the offset of its backslash in the argument of `unescape`."""

    def __init__(self, at: int, escape: str) -> None:
        super().__init__(escape)
        self.at = at
        self.escape = escape


def unescape(text: str) -> str:
    """The contents of a quoted text, or of an IRI, with escapes replaced."""
    if "\\" not in text:
        return text

    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        if code:
            number = int(code, 16)
            if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:  # half a surrogate pair is not a character
                raise BadEscape(found.start(), found[0])
            return chr(number)
        if found[3] not in _PLAIN_ESCAPES:
            raise BadEscape(found.start(), found[0])
        return _PLAIN_ESCAPES[found[3]]

    return _ESCAPED.sub(character, text)


def quote(text: str) -> str:
    """A text in double quotes, on one line."""
    return f'"{_STRING_UNSAFE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _WRITTEN_ESCAPES.get(found[0]) or _code(found)


def _code(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04X}" if number <= 0xFFFF else f"\\U{number:08X}"


def is_absolute(iri: str) -> bool:
    """Whether an IRI has a scheme, so that no base applies to it."""
    return _SCHEME.match(iri) is not None


def iri_reference(iri: str) -> str:
    """An IRI in angle brackets."""
    unsafe = _IRI_UNSAFE_ABSOLUTE if is_absolute(iri) else _IRI_UNSAFE
    return f"<{unsafe.sub(_code, iri)}>"


def blank_label(label: str) -> str:
    return "_:" + _BLANK_UNSAFE.sub(_code, label)


# --- tables -----------------------------------------------------------------------------------------


def parse_any(text: str) -> Term:
    """The term in a cell of format `any`.  Every text is some term."""
    if not text:
        return String("")
    first = text[0]
    if first in "-0123456789":
        return _parse_canonical_number(text) or String(text)
    if first == '"':
        return _parse_quoted(text) or String(text)
    if first == "<":
        found = _IRI.match(text)
        return IRI(unescape(found[1])) if found and _codes_exist(found[1]) else String(text)
    if first == "_" and text.startswith("_:"):
        found = _BLANK.match(text)
        return BlankNode(unescape(found[1])) if found and _codes_exist(found[1]) else String(text)
    return TRUE if text == "true" else FALSE if text == "false" else String(text)


def _parse_canonical_number(text: str) -> Term | None:
    """The number that is written as this text and no other: `42`, `-7`, `2.5`, not `007`, `1e3` or `2.50`."""
    if _CANONICAL_INTEGER.match(text):
        return integer_of(text)
    if _DOUBLE.match(text) and repr(value := float(text)) == text and value:
        return Double(value)
    return Double(0.0) if text == "0.0" else None


def parse_number(text: str) -> Term | None:
    """The number of a numeral (with `-`, in base ten or `0x`, `0o`, `0b`), or None."""
    if _INTEGER.match(text):
        return integer_of(text)
    if _DOUBLE.match(text):
        return Double(float(text))
    if _RADIX.match(text) and len(text) < _LONGEST_INT:
        return integer(int(text, 0))
    return None


def _parse_quoted(text: str) -> Term | None:
    found = _QUOTED.match(text)
    if not found:
        return None
    try:
        value = unescape(found[1])
        if found[2]:
            return LangString(value, found[2])
        if not found[3]:
            return String(value)
        standard = _STANDARD_NAME.match(found[3])
        if standard:
            return literal(value, STANDARD_PREFIXES[standard[1]] + standard[2])
        datatype = _IRI.match(found[3])
        return literal(value, unescape(datatype[1])) if datatype else None
    except BadEscape:
        return None


def _codes_exist(text: str) -> bool:
    try:
        unescape(text)
    except BadEscape:
        return False
    return True


def format_any(term: Term) -> str:
    """A term as a cell of format `any`: the shortest text that `parse_any` reads as the term."""
    match term:
        case String(value):
            return value if parse_any(value) == term else quote(value)
        case LangString(value, language):
            return f"{quote(value)}@{language}"
        case IRI(value):
            return iri_reference(value)
        case Literal(lexical, datatype) if not _is_big_integer(term):
            return f"{quote(lexical)}^^{iri_reference(datatype)}"
        case Double(value) if not math.isfinite(value):
            return f'"{special_double(value)}"^^{iri_reference(XSD + "double")}'
        case _:
            return term_text(term)


def _is_big_integer(term: Term) -> bool:
    return (
        isinstance(term, Literal)
        and term.datatype == XSD + "integer"
        and _CANONICAL_INTEGER.match(term.lexical) is not None
    )


def special_double(value: float) -> str:
    """The lexical form of a double that is not a finite number."""
    return "NaN" if value != value else "INF" if value > 0 else "-INF"


# --- programs ---------------------------------------------------------------------------------------


class TermWriter:
    """Writes terms in the syntax of the main dialect, shortening IRIs by prefixes.

    A string that begins with a small letter and reads as a name needs no quotes.

    `relative` is true if some IRI was written that a @base would change.
    """

    def __init__(self, prefixes: Mapping[str, str] | None = None) -> None:
        known = {**STANDARD_PREFIXES, **(prefixes or {})}
        usable = [(name, space) for name, space in known.items() if _PREFIX.match(name) and space]
        self._spaces = sorted(usable, key=lambda item: (-len(item[1]), item[0]))
        self._written: dict[str, str] = {}
        self.relative = False

    def predicate(self, name: str) -> str:
        """A predicate: a bare name, a prefixed name, or its IRI in brackets."""
        return name if NAME.match(name) and name not in ("true", "false") else self.iri(name)

    def iri(self, iri: str) -> str:
        """An IRI: a prefixed name, or the IRI in brackets."""
        text = self._written.get(iri)
        if text is None:
            text = self._written[iri] = self._write_iri(iri)
        return text

    def _write_iri(self, iri: str) -> str:
        for name, space in self._spaces:
            if iri.startswith(space) and _LOCAL.match(iri, len(space)):
                return f"{name}:{iri[len(space) :]}"
        if not is_absolute(iri):
            self.relative = True
        return iri_reference(iri)

    def term(self, term: Term) -> str:
        match term:
            case IRI(value):
                return self.iri(value)
            case String(value):
                return value if _reads_as_string(value) else quote(value)
            case Integer(value):
                return str(value)
            case Double(value):
                if math.isfinite(value):
                    return repr(value)
                return f'"{special_double(value)}"^^{self.iri(XSD + "double")}'
            case Boolean(value):
                return "true" if value else "false"
            case LangString(value, language):
                return f"{quote(value)}@{language}"
            case BlankNode(label):
                return blank_label(label)
            case Literal(lexical, datatype):
                if _is_big_integer(term):
                    return lexical
                return f"{quote(lexical)}^^{self.iri(datatype)}"


def _reads_as_string(text: str) -> bool:
    """Whether a text needs no quotes in a program."""
    return text[:1].islower() and NAME.match(text) is not None and text not in ("true", "false")


_WITHOUT_PREFIXES: Final = TermWriter()


def term_text(term: Term, prefixes: Mapping[str, str] | None = None) -> str:
    """A term in the syntax of the main dialect.  For many terms with prefixes, keep a `TermWriter`."""
    return (TermWriter(prefixes) if prefixes else _WITHOUT_PREFIXES).term(term)


# --- Python values ----------------------------------------------------------------------------------


@runtime_checkable
class _ScalarOfALibrary(Protocol):
    """numpy's scalars, which give their Python value."""

    def item(self) -> object: ...


def from_python(value: object) -> Term:
    """The term of a Python value; a `str` is a string, whatever it looks like, and terms of pyoxigraph and
    rdflib are the same terms here.

    Raises `TypeError` for a value that is not a term, such as None.
    """
    if isinstance(value, Literal):
        return literal(value.lexical, value.datatype)
    if isinstance(value, IRI | BlankNode | String | LangString | Integer | Double | Boolean):
        return value
    if type(value) is not str and (found := foreign_term(value)) is not None:
        return found
    if isinstance(value, str):
        if not is_text(value):
            raise TypeError("half a surrogate pair is not a character of a text")
        return String(str.__str__(value))
    if isinstance(value, bool):
        return Boolean(value)
    if type(value).__name__ == "timedelta64":  # to numpy that is an integer
        return duration_of_numpy(value)
    if isinstance(value, Integral):
        return integer(int(value))
    if isinstance(value, Real):
        return _double_of(value)
    if isinstance(value, Decimal) and not value.is_snan():
        return literal(f"{value:f}", XSD + "decimal") if value.is_finite() else Double(float(value))
    if isinstance(value, date | time | timedelta):
        return temporal_of_python(value)
    if isinstance(value, _ScalarOfALibrary):
        return _from_scalar(value)
    raise _no_term(value)


def _double_of(value: Real) -> Term:
    try:
        return Double(float(value))
    except OverflowError:
        raise TypeError("a number of this size is not a double") from None


def _from_scalar(value: _ScalarOfALibrary) -> Term:
    if type(value).__name__ == "datetime64" and "T" in str(value):
        return moment_of_numpy(value)
    if getattr(value, "shape", ()) != ():  # an array, and of one element it would pass for a number
        raise _no_term(value)
    inner = value.item()
    if isinstance(inner, _ScalarOfALibrary):
        raise _no_term(value)
    return from_python(inner)


def _no_term(value: object) -> TypeError:
    kind = type(value).__name__
    return TypeError(
        f"a value of type {kind} cannot be a term: give an int, float, bool, str, Decimal, date, time, "
        "datetime, timedelta or a tidalog term"
    )


def to_python(term: Term) -> Native:
    """The Python value that stands for exactly this term (`from_python`), or the text of a table's cell."""
    if isinstance(term, Integer | Double | Boolean | String):
        return term.value
    value = native_value(term) if isinstance(term, Literal) else None
    return format_any(term) if value is None or from_python(value) != term else value
