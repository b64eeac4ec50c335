"""RDF triples: which relations hold them, and the rules that keep these in step.

`triple(s, p, o)` is one predicate to the author of a program.  To the planner it is several relations, so
that a property of its own joins, is indexed and is stratified by itself:

    triple                  (s, p, o)    every triple that no relation below holds
    triple:P                (s, o)       the triples of property P, for each P that a rule names
    triple:rdf:type C       (s)          the members of class C, for each C that a rule names

Invariant: an explicit triple stands in exactly one of them, the most special one (`TripleLayout.route`).
A rule that *reads* triples with a variable in the place of P (or C) needs the special relations copied up
into the general one; a rule that *derives* such triples needs the general one copied down.  Bridge rules
do that.  Where both are needed everything would stand twice in one single component, so nothing is gained,
and that level is left general.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Final

from tidalog.analysis.rewrite import atoms, placed_atoms
from tidalog.program import Aggregate, Atom, Expression, Fact, Program, Rule, Variable
from tidalog.terms import IRI, RDF_TYPE, Term

TRIPLE: Final = "triple"
RDF_FORMATS: Final = frozenset({"rdf", "turtle", "ntriples", "nquads", "trig", "rdfxml"})
TYPE: Final = IRI(RDF_TYPE)
BRIDGE_UP: Final = "↑"
BRIDGE_DOWN: Final = "↓"
"""How the names of bridge rules start."""

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


# --- relations of their own -------------------------------------------------------------------------


def choose_layout(rules: Iterable[Rule], tables: frozenset[str]) -> TripleLayout:
    """Which properties and classes get a relation of their own, for rules over `triple` alone."""
    properties: set[str] = set()
    classes: set[str] = set()
    any_read = any_derived = types_read = types_derived = types_named = False
    for rule in rules:
        for atom, in_head in placed_atoms(rule):
            if atom.predicate != TRIPLE or atom.arity != 3:
                continue
            _, predicate, object_ = atom.arguments
            if predicate == TYPE and isinstance(object_, IRI):
                classes.add(object_.value)
            elif predicate == TYPE:
                types_named = True
                types_derived |= in_head
                types_read |= not in_head
            elif isinstance(predicate, IRI):
                properties.add(predicate.value)
            elif not isinstance(predicate, Term):
                any_derived |= in_head
                any_read |= not in_head
    if any_read and any_derived:
        return TripleLayout(active=True, tables=tables)
    if (any_read or types_read) and (any_derived or types_derived):
        types_named |= bool(classes)
        classes.clear()
    if types_named:
        properties.add(RDF_TYPE)
    return TripleLayout(
        active=True,
        properties=MappingProxyType({iri: f"{TRIPLE}:{iri}" for iri in sorted(properties)}),
        classes=MappingProxyType({iri: f"{TRIPLE}:{RDF_TYPE} {iri}" for iri in sorted(classes)}),
        tables=tables,
    )


def specialise_atom(atom: Atom, layout: TripleLayout) -> Atom:
    """An atom of `triple` as an atom of the most special relation that its constants allow."""
    if atom.predicate != TRIPLE or atom.arity != 3:
        return atom
    subject, predicate, object_ = atom.arguments
    if predicate == TYPE and isinstance(object_, IRI) and object_.value in layout.classes:
        return Atom(layout.classes[object_.value], (subject,), atom.span)
    if isinstance(predicate, IRI) and predicate.value in layout.properties:
        return Atom(layout.properties[predicate.value], (subject, object_), atom.span)
    return atom


def bridge_rules(layout: TripleLayout, rules: Iterable[Rule], prefixes: Mapping[str, str]) -> Iterator[Rule]:
    """The rules that copy special relations up where general ones are read, and general ones down where
    they are derived.  `rules` are specialised already.  Bridges are named `↑ex:p`, `↓a ex:C`."""
    read: set[str] = set()
    derived: set[str] = set()
    for rule in rules:
        for atom, in_head in placed_atoms(rule):
            if atom.predicate == TRIPLE and (atom.arity != 3 or isinstance(atom.arguments[1], Term)):
                continue  # a property that no rule reads or derives under a variable needs no copy
            (derived if in_head else read).add(atom.predicate)
    types = layout.properties.get(RDF_TYPE)
    if types is not None:
        # What is copied between `triple` and the classes passes through the relation of all types.
        if TRIPLE in read:
            read.add(types)
        if TRIPLE in derived:
            derived.add(types)
    subject, object_ = Variable("s"), Variable("o")
    for iri, relation in layout.properties.items():
        general = Atom(TRIPLE, (subject, IRI(iri), object_))
        name = shortened(iri, prefixes)
        yield from _bridges(name, Atom(relation, (subject, object_)), general, read, derived)
    for iri, relation in layout.classes.items():
        class_ = IRI(iri)
        general = Atom(TRIPLE, (subject, TYPE, class_)) if types is None else Atom(types, (subject, class_))
        name = f"a {shortened(iri, prefixes)}"
        yield from _bridges(name, Atom(relation, (subject,)), general, read, derived)


def _bridges(name: str, special: Atom, general: Atom, read: set[str], derived: set[str]) -> Iterator[Rule]:
    if general.predicate in read:
        yield Rule((general,), (special,), f"{BRIDGE_UP}{name}")
    if general.predicate in derived:
        yield Rule((special,), (general,), f"{BRIDGE_DOWN}{name}")
