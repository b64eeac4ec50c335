"""RDF triples: the predicate `triple`, its shorthands, and the relations that hold it.

`triple(s, p, o)` is one predicate to the author of a program.  To the planner it is several relations, so
that a property of its own joins, is indexed and is stratified by itself:

    triple                  (s, p, o)    every triple that no relation below holds
    triple:P                (s, o)       the triples of property P, for a P that a rule names
    triple:rdf:type C       (s)          the members of class C, for a C that a rule names

Invariant: an explicit triple stands in exactly one of them, the most special one (`TripleLayout.route`).
`relations` chooses them and writes the rules that keep them in step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Final

from tidalog.analysis.rewrite import atoms
from tidalog.model.program import Aggregate, Atom, Expression, Fact, Program
from tidalog.model.terms import IRI, RDF_TYPE, Term

TRIPLE: Final = "triple"
RDF_FORMATS: Final = frozenset({"rdf", "turtle", "ntriples", "nquads", "trig", "rdfxml"})
TYPE: Final = IRI(RDF_TYPE)
ALL_TRIPLES: Final = "?triple"
ALL_TYPES: Final = "?type"
"""Views: the union of all relations of triples, and of all that hold types."""

Pattern = tuple[Expression | Aggregate, ...]


@dataclass(frozen=True)
class TripleLayout:
    """Where triples are kept.  `active` is false for a program that knows no triples."""

    active: bool = False
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """IRI of a property → its relation of arity 2."""
    classes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """IRI of a class → its relation of arity 1."""
    tables: frozenset[str] = frozenset()
    """IRIs that are predicates in their own right, because a table is imported or exported for them."""
    views: bool = False
    """Whether rules of the program read triples through the views `?triple` and `?type`."""

    @cached_property
    def relations(self) -> frozenset[str]:
        """Every relation that holds triples."""
        if not self.active:
            return frozenset()
        return frozenset((TRIPLE, *self.properties.values(), *self.classes.values()))

    def route(self, subject: Term, predicate: Term, object_: Term) -> tuple[str, tuple[Term, ...]]:
        """The relation that holds an explicit triple, and the arguments it has there."""
        if isinstance(predicate, IRI):
            if predicate == TYPE and isinstance(object_, IRI) and object_.value in self.classes:
                return self.classes[object_.value], (subject,)
            relation = self.properties.get(predicate.value)
            if relation is not None:
                return relation, (subject, object_)
        return TRIPLE, (subject, predicate, object_)

    def restore(self, relation: str, arguments: tuple[Term, ...]) -> tuple[Term, ...]:
        """The inverse of `route`: the triple that a fact of one of the relations stands for."""
        origin = self._origins.get(relation)
        if origin is None:
            return arguments
        predicate, class_ = origin
        return (arguments[0], predicate, class_ if class_ is not None else arguments[1])

    def label(self, relation: str, prefixes: Mapping[str, str]) -> str:
        """What the author of the program calls a relation."""
        origin = self._origins.get(relation)
        if origin is not None:
            return shortened((origin[1] or origin[0]).value, prefixes)
        if relation in (ALL_TRIPLES, ALL_TYPES):
            return TRIPLE if relation == ALL_TRIPLES else shortened(RDF_TYPE, prefixes)
        return shortened(relation, prefixes) if ":" in relation else relation

    @cached_property
    def _origins(self) -> dict[str, tuple[IRI, IRI | None]]:
        origins: dict[str, tuple[IRI, IRI | None]] = {
            name: (IRI(iri), None) for iri, name in self.properties.items()
        }
        origins.update((name, (TYPE, IRI(iri))) for iri, name in self.classes.items())
        return origins


def shortened(iri: str, prefixes: Mapping[str, str]) -> str:
    """`ex:p` if a prefix fits (the longest), else `<iri>`."""
    fitting = [name for name, start in prefixes.items() if start and iri.startswith(start)]
    if not fitting:
        return f"<{iri}>"
    best = max(fitting, key=lambda name: (len(prefixes[name]), name))
    return f"{best}:{iri[len(prefixes[best]) :]}"


# --- from `ex:p(?x, ?y)` to triple(?x, ex:p, ?y) -----------------------------------------------------


def mentions_triples(program: Program) -> bool:
    """Whether a rule, a fact, an import, an export or an output speaks of `triple` with three arguments."""
    if any(binding.predicate == TRIPLE for binding in (*program.imports, *program.exports)):
        return True
    if TRIPLE in program.outputs:
        return True
    if any(atom.predicate == TRIPLE and atom.arity == 3 for rule in program.rules for atom in atoms(rule)):
        return True
    return any(fact.predicate == TRIPLE and len(fact.arguments) == 3 for fact in program.facts)


def table_predicates(program: Program) -> frozenset[str]:
    return frozenset(binding.predicate for binding in (*program.imports, *program.exports))


def lower_atom(atom: Atom, tables: frozenset[str]) -> Atom:
    """`ex:C(?x)` and `ex:p(?x, ?y)` as atoms of `triple`; every other atom as it is."""
    if ":" not in atom.predicate or atom.predicate in tables:
        return atom
    arguments: Pattern
    if atom.arity == 1:
        arguments = (atom.arguments[0], TYPE, IRI(atom.predicate))
    elif atom.arity == 2:
        arguments = (atom.arguments[0], IRI(atom.predicate), atom.arguments[1])
    else:
        return atom
    return Atom(TRIPLE, arguments, atom.span)


def lower_fact(fact: Fact, tables: frozenset[str]) -> Fact:
    if ":" not in fact.predicate or fact.predicate in tables:
        return fact
    if len(fact.arguments) == 1:
        return Fact(TRIPLE, (fact.arguments[0], TYPE, IRI(fact.predicate)), fact.span)
    if len(fact.arguments) == 2:
        return Fact(TRIPLE, (fact.arguments[0], IRI(fact.predicate), fact.arguments[1]), fact.span)
    return fact
