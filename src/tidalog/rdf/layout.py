"""Which relations hold triples.

`triple(s, p, o)` is one predicate to the author of a program.  It is stored as several relations, so that
each property is joined, indexed and stratified separately:

    triple                  (s, p, o)    every triple that is in no other relation
    triple:P                (s, o)       the triples of property P, for a P that a rule names
    triple:rdf:type C       (s)          the members of class C, for a C that a rule names

Invariant: an explicit triple is in exactly one of them, the most specific one (`Layout.route`).  The pass
`analysis.specialise` chooses a layout; `bridges` has the rules that copy triples between its relations.

A layout may have relations that no rule names: rules go, and their relations stay.  When a rule names a
property or class for the first time, its triples are split off (`Layout.extended`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple

from tidalog.model.program import Fact
from tidalog.model.registered import is_of_query
from tidalog.model.terms import IRI, RDF_TYPE, Term

TRIPLE: Final = "triple"
TYPE: Final = IRI(RDF_TYPE)
ALL_TRIPLES: Final = "?triple"
ALL_TYPES: Final = "?type"


class Origin(NamedTuple):
    """What all triples of a relation have in common."""

    property: IRI
    class_: IRI | None = None


class Split(NamedTuple):
    """A relation whose facts have been in a more general one: those with these constants, None for any
    term."""

    relation: str
    general: str
    constants: tuple[IRI | None, ...]


@dataclass(frozen=True)
class Layout:
    """The relations that hold triples.  `active` is false for a program without triples."""

    active: bool = False
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """IRI of a property → its relation of arity 2."""
    classes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """IRI of a class → its relation of arity 1."""
    tables: frozenset[str] = frozenset()
    """IRIs that are ordinary predicates, because a table is imported or exported for them."""
    views: bool = False
    """Whether rules of the program read triples through the views."""

    @classmethod
    def of(
        cls,
        properties: Iterable[str],
        classes: Iterable[str],
        tables: frozenset[str] = frozenset(),
        *,
        views: bool = False,
    ) -> Layout:
        """The layout that gives these properties and classes relations of their own."""
        return cls(
            active=True,
            properties=MappingProxyType({iri: f"{TRIPLE}:{iri}" for iri in sorted(properties)}),
            classes=MappingProxyType({iri: f"{TRIPLE}:{RDF_TYPE} {iri}" for iri in sorted(classes)}),
            tables=tables,
            views=views,
        )

    def extended(self, properties: Iterable[str], classes: Iterable[str]) -> Layout:
        """The layout that also gives these properties and classes relations of their own; itself if they
        have them."""
        new_properties = sorted(iri for iri in properties if iri not in self.properties)
        new_classes = sorted(iri for iri in classes if iri not in self.classes)
        if not new_properties and not new_classes:
            return self
        return replace(
            self,
            properties=_merged(self.properties, {iri: f"{TRIPLE}:{iri}" for iri in new_properties}),
            classes=_merged(self.classes, {iri: f"{TRIPLE}:{RDF_TYPE} {iri}" for iri in new_classes}),
        )

    def splits(self, wider: Layout) -> list[Split] | None:
        """How `wider` becomes this layout: the relations that are split off, those of properties first; None
        if that is not all."""
        if self.active != wider.active or self.tables != wider.tables:
            return None
        if not (self.properties.items() >= wider.properties.items()):
            return None
        if not (self.classes.items() >= wider.classes.items()):
            return None
        found: list[Split] = []
        for iri, relation in self.properties.items():
            if iri not in wider.properties:
                found.append(Split(relation, TRIPLE, (None, IRI(iri), None)))
        for iri, relation in self.classes.items():
            if iri not in wider.classes:
                if self.types is None:
                    found.append(Split(relation, TRIPLE, (None, TYPE, IRI(iri))))
                else:
                    found.append(Split(relation, self.types, (None, IRI(iri))))
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """A mapping proxy cannot be pickled."""
        return _unpickled, (self.active, dict(self.properties), dict(self.classes), self.tables, self.views)

    # --- relations ----------------------------------------------------------------------------------

    @cached_property
    def arities(self) -> Mapping[str, int]:
        """The arity of every relation that holds triples, the general one first."""
        if not self.active:
            return {}
        properties, classes = self.properties.values(), self.classes.values()
        return {TRIPLE: 3, **dict.fromkeys(properties, 2), **dict.fromkeys(classes, 1)}

    def holds(self, relation: str) -> bool:
        """Whether a relation holds triples."""
        return relation in self.arities

    @property
    def is_split(self) -> bool:
        """Whether there are relations beside the general one."""
        return bool(self.properties or self.classes)

    @property
    def types(self) -> str | None:
        """The relation of rdf:type, if it has its own; some classes may have relations of their own."""
        return self.properties.get(RDF_TYPE)

    def origin(self, relation: str) -> Origin | None:
        """What all triples of a relation have in common; None for a relation without triples."""
        return self._origins.get(relation)

    def relation_of(self, iri: str) -> str | None:
        """The relation that holds all triples of a property, or all members of a class, if there is one."""
        return self.classes.get(iri) or (self.properties.get(iri) if iri != RDF_TYPE else None)

    def relation_of_property(self, iri: str) -> str | None:
        """The relation that holds all triples of a property, if there is one."""
        return self.properties.get(iri)

    def is_shorthand(self, predicate: str) -> bool:
        """Whether facts of a predicate are triples in shorthand form."""
        return (
            self.active and ":" in predicate and predicate not in self.tables and not is_of_query(predicate)
        )

    def same_relations(self, other: Layout) -> bool:
        """Whether both assign every explicit triple to the same relation."""
        if self is other:
            return True
        own, others = (replace(layout, views=False) for layout in (self, other))
        return own == others

    def label(self, relation: str, prefixes: Mapping[str, str]) -> str:
        """The author's name for a relation."""
        origin = self.origin(relation)
        if origin is not None:
            return shortened((origin.class_ or origin.property).value, prefixes)
        if relation in (ALL_TRIPLES, ALL_TYPES):
            return TRIPLE if relation == ALL_TRIPLES else shortened(RDF_TYPE, prefixes)
        return shortened(relation, prefixes) if ":" in relation else relation

    def renamed(self, prefix: str) -> dict[str, str]:
        """Every relation and view, and a name for it that starts with a prefix."""
        names = {TRIPLE: f"{prefix}triple", ALL_TRIPLES: f"{prefix}triples", ALL_TYPES: f"{prefix}types"}
        names.update((relation, f"{prefix}property:{iri}") for iri, relation in self.properties.items())
        names.update((relation, f"{prefix}class:{iri}") for iri, relation in self.classes.items())
        return names

    @cached_property
    def _origins(self) -> dict[str, Origin]:
        origins = {name: Origin(IRI(iri)) for iri, name in self.properties.items()}
        origins.update((name, Origin(TYPE, IRI(iri))) for iri, name in self.classes.items())
        return origins

    # --- single facts -------------------------------------------------------------------------------

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
        """The inverse of `route`: the triple of a fact of one of the relations."""
        origin = self.origin(relation)
        if origin is None:
            return arguments
        return arguments[0], origin.property, origin.class_ or arguments[1]

    def routed(self, fact: Fact) -> Fact:
        """A fact of `triple` as a fact of the relation that holds it; any other fact unchanged."""
        if fact.predicate != TRIPLE or len(fact.arguments) != 3:
            return fact
        relation, arguments = self.route(*fact.arguments)
        return fact if relation == TRIPLE else Fact(relation, arguments, fact.span)

    # --- files --------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, object]:
        """The part that a snapshot stores."""
        return {
            "active": self.active,
            "properties": dict(self.properties),
            "classes": dict(self.classes),
            "tables": sorted(self.tables),
            **({"views": True} if self.views else {}),
        }

    @classmethod
    def from_json(
        cls,
        active: bool,
        properties: Mapping[str, str],
        classes: Mapping[str, str],
        tables: Iterable[str],
        views: bool = False,
    ) -> Layout:
        return cls(active, MappingProxyType(properties), MappingProxyType(classes), frozenset(tables), views)


def _merged(some: Mapping[str, str], more: Mapping[str, str]) -> Mapping[str, str]:
    """Both, in order of their IRIs."""
    return MappingProxyType(dict(sorted({**some, **more}.items()))) if more else some


def _unpickled(
    active: bool, properties: dict[str, str], classes: dict[str, str], tables: frozenset[str], views: bool
) -> Layout:
    return Layout(active, MappingProxyType(properties), MappingProxyType(classes), tables, views)


def shortened(iri: str, prefixes: Mapping[str, str]) -> str:
    """`ex:p` if a prefix fits (the longest), else `<iri>`."""
    fitting = [name for name, start in prefixes.items() if start and iri.startswith(start)]
    if not fitting:
        return f"<{iri}>"
    best = max(fitting, key=lambda name: (len(prefixes[name]), name))
    return f"{best}:{iri[len(prefixes[best]) :]}"
