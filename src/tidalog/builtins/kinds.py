"""Kinds of terms and their parts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from tidalog.builtins.base import Builtin, CannotCompute, shown, text_of
from tidalog.builtins.text import full_text
from tidalog.model.terms import (
    IRI,
    RDF,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    literal,
    numeric_value,
)

_FORBIDDEN_IN_IRI = frozenset('<>"{}|^`\\') | frozenset(map(chr, range(0x21)))


def to_iri(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if isinstance(term, IRI):
        return term
    text = text_of(term)
    if not text or not _FORBIDDEN_IN_IRI.isdisjoint(text):
        raise CannotCompute(f"{shown(term)} is not an IRI")
    return IRI(text)


def language(arguments: Sequence[Term]) -> Term:
    """The tag of a language string; empty for every other literal."""
    term = arguments[0]
    if isinstance(term, IRI | BlankNode):
        raise CannotCompute(f"{shown(term)} is not a literal")
    return String(term.language if isinstance(term, LangString) else "")


def language_matches(arguments: Sequence[Term]) -> Term:
    """Basic filtering of RFC 4647: the range is the tag, or the tag's beginning up to a hyphen, or `*`."""
    tag, wanted = text_of(arguments[0]).lower(), text_of(arguments[1]).lower()
    return Boolean(tag != "" if wanted == "*" else tag == wanted or tag.startswith(wanted + "-"))


def datatype(arguments: Sequence[Term]) -> Term:
    match arguments[0]:
        case String():
            return IRI(XSD + "string")
        case LangString():
            return IRI(RDF + "langString")
        case Integer():
            return IRI(XSD + "integer")
        case Double():
            return IRI(XSD + "double")
        case Boolean():
            return IRI(XSD + "boolean")
        case Literal(_, name):
            return IRI(name)
        case term:
            raise CannotCompute(f"{shown(term)} is not a literal")


def typed(arguments: Sequence[Term]) -> Term:
    if not isinstance(arguments[0], String) or not isinstance(arguments[1], IRI):
        raise CannotCompute("STRDT takes a string and the IRI of a type")
    return literal(arguments[0].value, arguments[1].value)


def tagged(arguments: Sequence[Term]) -> Term:
    tag = text_of(arguments[1])
    if not isinstance(arguments[0], String) or not tag.replace("-", "a").isalnum():
        raise CannotCompute("STRLANG takes a string and a language tag")
    return LangString(arguments[0].value, tag)


def _is_integer(term: Term) -> bool:
    return isinstance(numeric_value(term), int)


def _is_float(term: Term) -> bool:
    return isinstance(term, Double) or (isinstance(term, Literal) and term.datatype == XSD + "float")


def _test(name: str, holds: Callable[[Term], bool], summary: str) -> Builtin:
    return Builtin(name, 1, 1, lambda a: Boolean(holds(a[0])), summary)


def _is(*classes: type) -> Callable[[Term], bool]:
    return partial(_instance, classes)


def _instance(classes: tuple[type, ...], term: Term) -> bool:
    return isinstance(term, classes)


def skolem(arguments: Sequence[Term]) -> Term:
    """The blank node that stands for these arguments: equal ones have the same."""
    text = "\n".join(map(full_text, arguments)).encode("utf-8", "surrogatepass")
    return BlankNode(f"s{hashlib.sha256(text).hexdigest()[:24]}")


BUILTINS: tuple[Builtin, ...] = (
    Builtin("IRI", 1, 1, to_iri, "the IRI with this text"),
    Builtin("URI", 1, 1, to_iri, "the IRI with this text"),
    Builtin("LANG", 1, 1, language, "language tag of a literal, empty if it has none"),
    Builtin("LANGMATCHES", 2, 2, language_matches, "whether a tag falls under a range such as en or *"),
    Builtin("DATATYPE", 1, 1, datatype, "IRI of a literal's type"),
    Builtin("SKOLEM", 1, None, skolem, "the blank node that stands for the arguments"),
    Builtin("STRDT", 2, 2, typed, "the literal with this text and type"),
    Builtin("STRLANG", 2, 2, tagged, "the string with this language tag"),
    _test("ISIRI", _is(IRI), "whether it is an IRI"),
    _test("ISURI", _is(IRI), "whether it is an IRI"),
    _test("ISBLANK", _is(BlankNode), "whether it is a blank node"),
    _test("ISNULL", _is(BlankNode), "whether it is a blank node"),
    _test("ISLITERAL", lambda term: not isinstance(term, IRI | BlankNode), "whether it is a literal"),
    _test("ISNUMERIC", lambda term: numeric_value(term) is not None, "whether it is a number"),
    _test("ISINTEGER", _is_integer, "whether it is an integer of any XML Schema type"),
    _test("ISDOUBLE", _is(Double), "whether it is a double"),
    _test("ISFLOAT", _is_float, "whether it is a double or an xsd:float"),
    _test("ISSTRING", _is(String), "whether it is a string without a language"),
    _test("ISLANGSTRING", _is(LangString), "whether it is a string with a language"),
    _test("ISBOOLEAN", _is(Boolean), "whether it is true or false"),
)
