"""Which relations hold triples (see `triples`), and the rules that keep these in step.

A rule may *read* triples with a variable in the place of a property or class, or *derive* such triples.
The general relation is then connected with the special ones by bridge rules:

*  read, not derived:  the special relations are copied up into the general one (`↑ex:p`);
*  derived, not read:  what belongs to a special relation is copied down into it (`↓ex:p`);
*  both:  everything would stand twice and in one component, so that level has no special relations at all,
   which is as good and takes half the room, unless negation or aggregation then lies in a cycle.  In that
   case copies go down as above, and what is read is a third thing, a view of them all (`?triple`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from tidalog.analysis.rewrite import map_atoms, placed_atoms
from tidalog.analysis.scc import strongly_connected
from tidalog.analysis.triples import (
    ALL_TRIPLES,
    ALL_TYPES,
    TRIPLE,
    TYPE,
    TripleLayout,
    lower_atom,
    shortened,
)
from tidalog.analysis.undo_journal import Journal
from tidalog.model.program import Aggregate, Atom, Negation, Rule, Variable
from tidalog.model.terms import IRI, RDF_TYPE, Term

UP: Final = "↑"
DOWN: Final = "↓"
S, P, O = Variable("s"), Variable("p"), Variable("o")


@dataclass(frozen=True, slots=True)
class Specialised:
    """Rules over relations of triples in the order of the rules given, and the bridges they need."""

    layout: TripleLayout
    rules: list[Rule]
    bridges: list[Rule]


def specialise(
    rules: Sequence[Rule],
    tables: frozenset[str],
    prefixes: Mapping[str, str],
    kept: TripleLayout | None = None,
) -> Specialised:
    """The leanest relations for rules over `triple` under which the rules are stratified, if they can be; or
    those of a layout that is to be kept, if it can be."""
    if kept is not None and kept.active and _Census.of(rules).fits(kept):
        return _with_layout(rules, kept, prefixes)
    census = _Census.of(rules)
    lean = _with_layout(rules, census.lean_layout(tables), prefixes)
    if not census.both_ways or is_stratified([*lean.rules, *lean.bridges]):
        return lean
    split = _with_layout(rules, census.layout(tables, views=True), prefixes)
    return split if is_stratified([*split.rules, *split.bridges]) else lean


TripleUse = tuple[str, str | bool]
"""What an atom of `triple` names: ("class", IRI), ("property", IRI), or nothing: ("types", in the head?) and
("triples", in the head?)."""


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
    """How many atoms use triples in which way, while rules come and go.  The uses decide on the layout and
    its bridges, except where triples are both read and derived at large: there strata do too."""

    def __init__(self) -> None:
        self._counts: dict[TripleUse, int] = {}

    def add(self, rule: Rule, tables: frozenset[str], journal: Journal) -> None:
        for use, count in _uses_of(rule, tables).items():
            journal.put(self._counts, use, self._counts.get(use, 0) + count)

    def remove(self, rule: Rule, tables: frozenset[str], journal: Journal) -> None:
        for use, count in _uses_of(rule, tables).items():
            journal.put(self._counts, use, self._counts[use] - count)

    def count_anew(self, rules: Iterable[Rule], tables: frozenset[str], journal: Journal) -> None:
        for use in list(self._counts):
            journal.drop(self._counts, use)
        for rule in rules:
            self.add(rule, tables, journal)

    def stay(self, came: Iterable[Rule], went: Iterable[Rule], tables: frozenset[str]) -> bool:
        """Whether an edit leaves the layout and its bridges as they are."""
        change: Counter[TripleUse] = Counter()
        for rule in came:
            change.update(_uses_of(rule, tables))
        for rule in went:
            change.subtract(_uses_of(rule, tables))
        counts = self._counts
        same = all((counts.get(use, 0) > 0) == (counts.get(use, 0) + n > 0) for use, n in change.items())
        return same and not _Census.of_uses(u for u in _AT_LARGE if counts.get(u)).both_ways


_AT_LARGE: Final[tuple[TripleUse, ...]] = (
    ("types", True),
    ("types", False),
    ("triples", True),
    ("triples", False),
)


def _uses_of(rule: Rule, tables: frozenset[str]) -> Counter[TripleUse]:
    """The uses of a rule as its author wrote it."""
    found = (triple_use(lower_atom(atom, tables), in_head) for atom, in_head in placed_atoms(rule))
    return Counter(use for use in found if use is not None)


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

    def fits(self, layout: TripleLayout) -> bool:
        """Whether a layout has a place for all that is spoken of: types at large have a relation beside those
        of classes."""
        return not (self.types_named and layout.classes and RDF_TYPE not in layout.properties)

    @property
    def triples_both_ways(self) -> bool:
        return self.any_read and self.any_derived

    @property
    def both_ways(self) -> bool:
        return (self.any_read or self.types_read) and (self.any_derived or self.types_derived)

    def lean_layout(self, tables: frozenset[str]) -> TripleLayout:
        if self.triples_both_ways:
            return TripleLayout(active=True, tables=tables)
        if self.both_ways:
            types_named = self.types_named or bool(self.classes)
            return replace(self, classes=set(), types_named=types_named).layout(tables, views=False)
        return self.layout(tables, views=False)

    def layout(self, tables: frozenset[str], views: bool) -> TripleLayout:
        properties = self.properties | ({RDF_TYPE} if self.types_named else set())
        return TripleLayout(
            active=True,
            properties=MappingProxyType({iri: f"{TRIPLE}:{iri}" for iri in sorted(properties)}),
            classes=MappingProxyType({iri: f"{TRIPLE}:{RDF_TYPE} {iri}" for iri in sorted(self.classes)}),
            tables=tables,
            views=views,
        )


def _with_layout(rules: Sequence[Rule], layout: TripleLayout, prefixes: Mapping[str, str]) -> Specialised:
    changed = [special_rule(rule, layout) for rule in rules]
    bridges = list(_bridges(layout, changed, prefixes))
    if layout.views:
        read = {atom.predicate for rule in changed for atom, _ in placed_atoms(rule)}
        bridges += [view for view in view_rules(layout, prefixes) if view.heads[0].predicate in read]
    return Specialised(layout, changed, bridges)


def special_rule(rule: Rule, layout: TripleLayout) -> Rule:
    """A rule over `triple` as a rule over the relations of a layout."""
    return replace(
        map_atoms(rule, lambda atom: read_atom(atom, layout, layout.views, layout.views)),
        heads=tuple(special_atom(head, layout) for head in rule.heads),
    )


def special_atom(atom: Atom, layout: TripleLayout) -> Atom:
    """An atom of `triple` as an atom of the most special relation that its constants allow."""
    if atom.predicate != TRIPLE or atom.arity != 3:
        return atom
    subject, predicate, object_ = atom.arguments
    if predicate == TYPE and isinstance(object_, IRI) and object_.value in layout.classes:
        return Atom(layout.classes[object_.value], (subject,), atom.span)
    if isinstance(predicate, IRI) and predicate.value in layout.properties:
        return Atom(layout.properties[predicate.value], (subject, object_), atom.span)
    return atom


def read_atom(atom: Atom, layout: TripleLayout, triples_viewed: bool, types_viewed: bool) -> Atom:
    """The atom that reads what an atom of `triple` means, through a view where these are asked for."""
    if atom.predicate == TRIPLE and atom.arity == 3:
        subject, predicate, object_ = atom.arguments
        if triples_viewed and not isinstance(predicate, Term):
            return Atom(ALL_TRIPLES, atom.arguments, atom.span)
        if types_viewed and predicate == TYPE and not isinstance(object_, Term):
            return Atom(ALL_TYPES, (subject, object_), atom.span)
    return special_atom(atom, layout)


def view_rules(layout: TripleLayout, prefixes: Mapping[str, str]) -> Iterator[Rule]:
    """The rules of `?triple` and `?type`."""
    yield Rule((Atom(ALL_TRIPLES, (S, P, O)),), (Atom(TRIPLE, (S, P, O)),), f"{UP}{UP}triple")
    for iri, relation in layout.properties.items():
        name = f"{UP}{UP}{shortened(iri, prefixes)}"
        yield Rule((Atom(ALL_TRIPLES, (S, IRI(iri), O)),), (Atom(relation, (S, O)),), name)
    types = layout.properties.get(RDF_TYPE)
    known = Atom(TRIPLE, (S, TYPE, O)) if types is None else Atom(types, (S, O))
    yield Rule((Atom(ALL_TYPES, (S, O)),), (known,), f"{UP}{UP}type")
    for iri, relation in layout.classes.items():
        name, member = shortened(iri, prefixes), Atom(relation, (S,))
        yield Rule((Atom(ALL_TRIPLES, (S, TYPE, IRI(iri))),), (member,), f"{UP}{UP}a {name}")
        yield Rule((Atom(ALL_TYPES, (S, IRI(iri))),), (member,), f"{UP}type {name}")


def _bridges(layout: TripleLayout, rules: Sequence[Rule], prefixes: Mapping[str, str]) -> Iterator[Rule]:
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
    for iri, relation in layout.properties.items():
        general, special = Atom(TRIPLE, (S, IRI(iri), O)), Atom(relation, (S, O))
        yield from _bridge(shortened(iri, prefixes), special, general, read, derived)
    for iri, relation in layout.classes.items():
        class_ = IRI(iri)
        general = Atom(TRIPLE, (S, TYPE, class_)) if types is None else Atom(types, (S, class_))
        special = Atom(relation, (S,))
        yield from _bridge(f"a {shortened(iri, prefixes)}", special, general, read, derived)


def _bridge(name: str, special: Atom, general: Atom, read: set[str], derived: set[str]) -> Iterator[Rule]:
    if general.predicate in read:
        yield Rule((general,), (special,), f"{UP}{name}")
    if general.predicate in derived:
        yield Rule((special,), (general,), f"{DOWN}{name}")


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
            for literal in rule.body:
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
