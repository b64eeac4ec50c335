"""The pass that chooses which relations hold triples, and rewrites rules over these relations.

A rule may *read* triples with a variable in the position of a property or class, or *derive* such triples.
The general relation is then connected with the special ones (`rdf.bridges`):

*  read, not derived:  the special relations are copied up into the general one;
*  derived, not read:  what belongs to a special relation is copied down into it;
*  both:  everything would be stored twice and in one component.  That level then has no special relations at
   all, which is as good and takes half the memory, unless this puts a negation or an aggregate in a cycle.
   In that case triples are copied down as above, and rules read a third relation, a view of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tidalog.analysis.rewrite import map_atoms, placed_atoms
from tidalog.analysis.scc import strongly_connected
from tidalog.model.program import Aggregate, Atom, Negation, Rule, flat_literals
from tidalog.model.terms import IRI, RDF_TYPE, Term
from tidalog.model.undo_journal import UndoJournal
from tidalog.rdf.bridges import bridges, read_atom, relation_uses, special_atom
from tidalog.rdf.layout import TRIPLE, TYPE, Layout
from tidalog.rdf.shorthand import lower_atom


@dataclass(frozen=True, slots=True)
class Specialised:
    """Rules over relations of triples, in the order of the given rules, and the bridges they need."""

    layout: Layout
    rules: list[Rule]
    bridges: list[Rule]


def specialise(rules: Sequence[Rule], tables: frozenset[str], prefixes: Mapping[str, str]) -> Specialised:
    """The smallest layout under which the rules are stratified, if there is one."""
    census = _Census.of(rules)
    lean = _with_layout(rules, census.lean_layout(tables), prefixes)
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

    def stay(self, came: Iterable[Rule], went: Iterable[Rule], tables: frozenset[str]) -> bool:
        """Whether an edit leaves the layout and its bridges unchanged."""
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

    def layout(self, tables: frozenset[str], views: bool) -> Layout:
        properties = self.properties | ({RDF_TYPE} if self.types_named else set())
        return Layout.of(properties, self.classes, tables, views=views)


def fits(layout: Layout, rules: Sequence[Rule]) -> bool:
    """Whether a layout can hold every use: general types need a relation beside those of classes."""
    return not layout.classes or layout.types is not None or not _Census.of(rules).types_named


def _with_layout(rules: Sequence[Rule], layout: Layout, prefixes: Mapping[str, str]) -> Specialised:
    changed = [special_rule(rule, layout) for rule in rules]
    uses = {use for rule in changed for use in relation_uses(rule, layout)}
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
