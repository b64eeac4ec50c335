"""Terms of pyoxigraph and rdflib, recognised without importing either."""

from __future__ import annotations

from typing import Final, Protocol, cast

from tidalog.model.terms import IRI, XSD, BlankNode, LangString, String, Term, is_text, literal

_PACKAGES: Final = ("pyoxigraph", "rdflib")
_FLOATS: Final = (XSD + "double", XSD + "float")
_OF_RDFLIB: Final = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}  # its spellings, which XML Schema lacks


class _Literal(Protocol):
    """What literals of both packages have.  A datatype is an IRI of its package; rdflib has None for plain
    strings."""

    language: str | None
    datatype: object


def foreign_term(value: object) -> Term | None:
    """The term that a term of pyoxigraph or rdflib stands for; None for any other value.

    Raises `TypeError` for what these packages have besides: variables, triples, graphs.
    """
    match _kind(type(value)):
        case "":
            return None
        case "NamedNode" | "URIRef":
            return IRI(_text(value))
        case "BlankNode" | "BNode":
            label = _text(value)
            if not label or not is_text(label):
                raise TypeError("a blank node without a label, or with half a character, cannot be a term")
            return BlankNode(label)
        case "Literal":
            text, found = _text(value), cast("_Literal", value)
            if getattr(value, "direction", None) is not None:
                raise TypeError("a literal with a direction cannot be a term")
            if found.language:
                return LangString(text, found.language)
            if found.datatype is None:
                return String(text)
            datatype = _text(found.datatype)
            return literal(_OF_RDFLIB.get(text, text) if datatype in _FLOATS else text, datatype)
        case kind:
            raise TypeError(
                f"a value of type {kind} cannot be a term: give an IRI, a blank node or a literal"
            )


def _kind(of: type) -> str:
    """The name of the package's class that a class is or extends; empty for others."""
    for base in of.__mro__:
        if base.__module__.partition(".")[0] in _PACKAGES:
            return base.__name__
    return ""


def _text(value: object) -> str:
    """rdflib's terms are texts themselves; those of pyoxigraph have one."""
    return str.__str__(value) if isinstance(value, str) else str(getattr(value, "value"))  # noqa: B009
