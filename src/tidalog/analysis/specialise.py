"""The pass that chooses which relations hold triples, and rewrites rules over these relations.

A rule may *read* triples with a variable in the position of a property or class, or *derive* such triples.
The general relation is then connected with the special ones (`rdf.bridges`):

*  read, not derived:  the special relations are copied up into the general one;
*  derived, not read:  what belongs to a special relation is copied down into it;
*  both:  everything would be stored twice and in one component.  That level then has no special relations at
   all, which is as good and takes half the memory, unless this puts a negation or an aggregate in a cycle.
   In that case triples are copied down as above, and rules read a third relation, a view of all of them.

A layout that is there already is kept as far as it can be: relations are added to it and none is taken away,
so that an edit moves no triples but those of the properties and classes that it names for the first time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from tidalog.analysis.rewrite import map_atoms, placed_atoms
from tidalog.analysis.scc import strongly_connected
from tidalog.model.program import Aggregate, Atom, Negation, Rule, flat_literals
from tidalog.model.terms import IRI, RDF_TYPE, Term
from tidalog.model.undo_journal import UndoJournal
from tidalog.rdf.bridges import RelationUse, bridges, read_atom, special_atom
from tidalog.rdf.layout import ALL_TRIPLES, ALL_TYPES, TRIPLE, TYPE, Layout
from tidalog.rdf.shorthand import lower_atom


@dataclass(frozen=True, slots=True)
class Specialised:
    """Rules over relations of triples, in the order of the given rules, and the bridges they need."""

    layout: Layout
    rules: list[Rule]
    bridges: list[Rule]


def specialise(
    rules: Sequence[Rule], tables: frozenset[str], prefixes: Mapping[str, str], kept: Layout | None = None
) -> Specialised:
    """A layout under which the rules are stratified, if there is one: the smallest that has the relations of
    the one to be kept, or the smallest of all."""
    census = _Census.of(rules)
    if kept is not None and not (kept.active and kept.tables == tables):
        kept = None
    if kept is not None and (grown := census.grown(kept)) is not None:
        return _with_layout(rules, grown, prefixes)
    smallest = census.lean_layout(tables)
    if kept is not None and smallest.types is not None and not kept.classes:
        smallest = smallest.extended(kept.properties, ())
    lean = _with_layout(rules, smallest, prefixes)
    if not census.both_ways or is_stratified([*lean.rules, *lean.bridges]):
        return lean
    split = _with_layout(rules, census.layout(tables, views=True), prefixes)
    return split if is_stratified([*split.rules, *split.bridges]) else lean


TripleUse = tuple[str, str | bool]
"""What an atom of `triple` names: ("class", IRI) or ("property", IRI).  An atom with a variable there names
neither: ("types", in the head?) or ("triples", in the head?)."""


def triple_use(atom: Atom, in_head: bool) -> TripleUse | None:
    if atom.predicate != TRIPLE or atom.arity != 3:
        return None
    _, predicate, object_ = atom.arguments
    if predicate == TYPE:
        return ("class", object_.value) if isinstance(object_, IRI) else ("types", in_head)
    if isinstance(predicate, IRI):
        return "property", predicate.value
    return None if isinstance(predicate, Term) else ("triples", in_head)


class TripleUses:
    """How many atoms use triples in which way, updated with each rule edit.  The uses determine the layout
    and its bridges, except where general triples are both read and derived: there stratification matters
    too."""

    def __init__(self) -> None:
        self._counts: dict[TripleUse, int] = {}

    def add(self, rule: Rule, tables: frozenset[str], journal: UndoJournal) -> None:
        for use, count in _uses_of(rule, tables).items():
            journal.put(self._counts, use, self._counts.get(use, 0) + count)

    def remove(self, rule: Rule, tables: frozenset[str], journal: UndoJournal) -> None:
        for use, count in _uses_of(rule, tables).items():
            journal.put(self._counts, use, self._counts[use] - count)

    def recount(self, rules: Iterable[Rule], tables: frozenset[str], journal: UndoJournal) -> None:
        for use in list(self._counts):
            journal.drop(self._counts, use)
        for rule in rules:
            self.add(rule, tables, journal)

    def after(self, came: Iterable[Rule], went: Iterable[Rule], layout: Layout) -> EditedUses | None:
        """The layout after an edit; None if rules that stay are others over its relations."""
        coming: Counter[TripleUse] = Counter()
        for rule in came:
            coming.update(_uses_of(rule, layout.tables))
        going: Counter[TripleUse] = Counter()
        for rule in went:
            going.update(_uses_of(rule, layout.tables))

        def stays(use: TripleUse) -> bool:
            return self._counts.get(use, 0) > going[use]

        before = {use for use in (*_AT_LARGE, _WRITTEN) if self._counts.get(use)}
        after = {use for use in (*_AT_LARGE, _WRITTEN) if coming[use] or stays(use)}
        if _WRITTEN in before - after:
            return None  # perhaps there are no triples any more
        before, after = before - {_WRITTEN}, after - {_WRITTEN}
        if not layout.views and (_Census.of_uses(before).both_ways or _Census.of_uses(after).both_ways):
            return None
        grown = _Census.of_uses((*after, *(coming.keys() - {_WRITTEN}))).grown(layout)
        assert grown is not None
        if grown is not layout:
            named: list[TripleUse] = [
                ("property", iri) for iri in grown.properties.keys() - layout.properties
            ]
            named += [("class", iri) for iri in grown.classes.keys() - layout.classes]
            if ("property", RDF_TYPE) in named:
                named += [("types", True), ("types", False)]
            if any(map(stays, named)):
                return None
        old, new = at_large(before, layout), at_large(after, grown)
        rebuilt = old != new or (bool(new) and grown is not layout)
        return EditedUses(grown, new if rebuilt else None)


class EditedUses(NamedTuple):
    """The layout after an edit, and the uses that determine its bridges, if these may be others than
    before."""

    layout: Layout
    uses: frozenset[RelationUse] | None


def at_large(uses: Iterable[TripleUse], layout: Layout) -> frozenset[RelationUse]:
    """The uses of general relations and views that determine the bridges.  A property that no rule reads or
    derives under a variable needs no copy."""
    found: set[RelationUse] = set()
    for kind, in_head in uses:
        if kind == "triples":
            found.add((ALL_TRIPLES if layout.views and not in_head else TRIPLE, bool(in_head)))
        elif kind == "types" and layout.views and not in_head:
            found.add((ALL_TYPES, False))
        elif kind == "types" and layout.types is not None:
            found.add((layout.types, bool(in_head)))
    return frozenset(found)


_AT_LARGE: Final[tuple[TripleUse, ...]] = (
    ("types", True),
    ("types", False),
    ("triples", True),
    ("triples", False),
)


_WRITTEN: Final[TripleUse] = "written", True
"""An atom of `triple` itself: a program without any treats shorthands as ordinary predicates."""


def _uses_of(rule: Rule, tables: frozenset[str]) -> Counter[TripleUse]:
    """The uses of a rule as its author wrote it."""
    written = list(placed_atoms(rule))
    found = (triple_use(lower_atom(atom, tables), in_head) for atom, in_head in written)
    uses = Counter(use for use in found if use is not None)
    uses.update(_WRITTEN for atom, _ in written if atom.predicate == TRIPLE and atom.arity == 3)
    return uses


@dataclass
class _Census:
    """How the rules use triples."""

    properties: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    types_named: bool = False
    any_read: bool = False
    any_derived: bool = False
    types_read: bool = False
    types_derived: bool = False

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> _Census:
        found = (triple_use(atom, in_head) for rule in rules for atom, in_head in placed_atoms(rule))
        return cls.of_uses(use for use in found if use is not None)

    @classmethod
    def of_uses(cls, uses: Iterable[TripleUse]) -> _Census:
        census = cls()
        for use in uses:
            match use:
                case "class", str(iri):
                    census.classes.add(iri)
                case "property", str(iri):
                    census.properties.add(iri)
                case "types", in_head:
                    census.types_named = True
                    census.types_derived |= bool(in_head)
                    census.types_read |= not in_head
                case _, in_head:
                    census.any_derived |= bool(in_head)
                    census.any_read |= not in_head
        return census

    @property
    def triples_both_ways(self) -> bool:
        return self.any_read and self.any_derived

    @property
    def both_ways(self) -> bool:
        return (self.any_read or self.types_read) and (self.any_derived or self.types_derived)

    def lean_layout(self, tables: frozenset[str]) -> Layout:
        if self.triples_both_ways:
            return Layout.of((), (), tables)
        if self.both_ways:
            types_named = self.types_named or bool(self.classes)
            return replace(self, classes=set(), types_named=types_named).layout(tables, views=False)
        return self.layout(tables, views=False)

    def grown(self, layout: Layout) -> Layout | None:
        """A layout with relations for what the rules name; None if they would be connected both ways."""
        if not layout.views and self.both_ways:
            return None
        return layout.extended(self.properties | ({RDF_TYPE} if self.types_named else set()), self.classes)

    def layout(self, tables: frozenset[str], views: bool) -> Layout:
        properties = self.properties | ({RDF_TYPE} if self.types_named else set())
        return Layout.of(properties, self.classes, tables, views=views)


def fits(layout: Layout, rules: Sequence[Rule]) -> bool:
    """Whether a layout can hold every use: general types need a relation beside those of classes."""
    return not layout.classes or layout.types is not None or not _Census.of(rules).types_named


def _with_layout(rules: Sequence[Rule], layout: Layout, prefixes: Mapping[str, str]) -> Specialised:
    changed = [special_rule(rule, layout) for rule in rules]
    found = (triple_use(atom, in_head) for rule in rules for atom, in_head in placed_atoms(rule))
    uses = at_large({use for use in found if use is not None}, layout)
    return Specialised(layout, changed, list(bridges(layout, uses, prefixes)))


def special_rule(rule: Rule, layout: Layout) -> Rule:
    """A rule over `triple` as a rule over the relations of a layout."""
    return replace(
        map_atoms(rule, lambda atom: read_atom(atom, layout, layout.views, layout.views)),
        heads=tuple(special_atom(head, layout) for head in rule.heads),
    )


def is_stratified(rules: Sequence[Rule]) -> bool:
    """Whether no rule reads under a negation or an aggregate what depends on its own head."""
    number: dict[str, int] = {}
    for rule in rules:
        for atom, _ in placed_atoms(rule):
            number.setdefault(atom.predicate, len(number))
    successors: list[list[int]] = [[] for _ in number]
    complete: list[tuple[int, int]] = []
    for rule in rules:
        for head in rule.heads:
            aggregates = any(isinstance(argument, Aggregate) for argument in head.arguments)
            for literal in flat_literals(rule.body):
                if isinstance(literal, Atom | Negation):
                    atom = literal if isinstance(literal, Atom) else literal.atom
                    edge = (number[atom.predicate], number[head.predicate])
                    successors[edge[0]].append(edge[1])
                    if aggregates or isinstance(literal, Negation):
                        complete.append(edge)
    group = [0] * len(number)
    for at, members in enumerate(strongly_connected(successors)):
        for member in members:
            group[member] = at
    return all(group[source] != group[target] for source, target in complete)
