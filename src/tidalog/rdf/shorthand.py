"""`ex:p(?x, ?y)` and `ex:C(?x)`: other ways to write triple(?x, ex:p, ?y) and triple(?x, rdf:type, ex:C)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from tidalog.model.program import Atom, Fact
from tidalog.model.registered import is_of_query
from tidalog.model.terms import IRI, BlankNode, Boolean, Double, Integer, LangString, Literal, String
from tidalog.rdf.layout import TRIPLE, TYPE

T = TypeVar("T")

ROLES: Final = ("subject", "predicate")
"""The arguments of `triple` that cannot be any term, in order."""
WHY: Final = {
    "subject": "the subject of a triple is an IRI or a blank node",
    "predicate": "the predicate of a triple is an IRI",
}

_LITERALS: Final = (String, LangString, Integer, Double, Boolean, Literal)
RDF_FORMATS: Final = frozenset({"rdf", "turtle", "ntriples", "nquads", "trig", "rdfxml", "jsonld"})
"""Formats whose rows are triples."""


def lower_atom(atom: Atom, tables: frozenset[str]) -> Atom:
    """A shorthand atom as an atom of `triple`; any other atom unchanged.  `tables` are IRIs that are ordinary
    predicates."""
    arguments = _triple(atom.predicate, atom.arguments, tables)
    return atom if arguments is None else Atom(TRIPLE, arguments, atom.span)


def lower_fact(fact: Fact, tables: frozenset[str]) -> Fact:
    """`lower_atom` for facts."""
    arguments = _triple(fact.predicate, fact.arguments, tables)
    return fact if arguments is None else Fact(TRIPLE, arguments, fact.span)


def misplaced(arguments: Sequence[object]) -> str | None:
    """The role in which a triple has a term that it cannot have; variables and expressions are not terms."""
    subject, predicate = arguments[:2]
    if isinstance(subject, _LITERALS):
        return "subject"
    return "predicate" if isinstance(predicate, (BlankNode, *_LITERALS)) else None


def _triple(predicate: str, arguments: tuple[T, ...], tables: frozenset[str]) -> tuple[T | IRI, ...] | None:
    if ":" not in predicate or predicate in tables or is_of_query(predicate):
        return None
    if len(arguments) == 1:
        return arguments[0], TYPE, IRI(predicate)
    if len(arguments) == 2:
        return arguments[0], IRI(predicate), arguments[1]
    return None
