"""Terms in N-Triples syntax.

Law: the dictionary and other RDF tools read the output of `ntriples_text` as the same term.
A bare constant `a` is the IRI `<a>`, which other tools treat as relative.
"""

from __future__ import annotations

import math
import re
from typing import Final

from tidalog.model.term_text import quote
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
)

IRI_CHARACTERS: Final = r"[^\x00-\x20<>\"{}|^`\\]"
"""The characters allowed in an IRI, as a character class that Python and Arrow read alike."""
_NOT_IN_IRI: Final = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


def ntriples_text(term: Term) -> str:
    match term:
        case IRI(value):
            return iri_text(value)
        case BlankNode(label):
            return f"_:{label}"
        case String(value):
            return quote(value)
        case LangString(value, language):
            return f"{quote(value)}@{language}"
    return _typed(*lexical_form(term))


def lexical_form(term: Integer | Double | Boolean | Literal) -> tuple[str, str]:
    """The text of a literal that is no string, and its datatype."""
    match term:
        case Integer(value):
            return str(value), XSD + "integer"
        case Double(value):
            return _double_lexical(value), XSD + "double"
        case Boolean(value):
            return "true" if value else "false", XSD + "boolean"
        case Literal(lexical, datatype):
            return lexical, datatype


def iri_text(iri: str) -> str:
    return "<" + _NOT_IN_IRI.sub(lambda found: f"\\u{ord(found[0]):04X}", iri) + ">"


def _typed(lexical: str, datatype: str) -> str:
    return f"{quote(lexical)}^^{iri_text(datatype)}"


def _double_lexical(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if value != value else "INF" if value > 0 else "-INF"
