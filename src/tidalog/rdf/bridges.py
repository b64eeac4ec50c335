"""Atoms and rules over the relations of a layout.

Where rules read or derive triples without naming a property or class, the general relation is connected with
the special ones by bridge rules: the special relations are copied up into the general one (`↑ex:p`) if it is
read, and down from it (`↓ex:p`) if it is derived.  A view is a third relation, the union of them all (`↑↑`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from tidalog.model.program import Atom, Negation, Rule, Variable, flat_literals
from tidalog.model.terms import IRI, Term
from tidalog.rdf.layout import ALL_TRIPLES, ALL_TYPES, TRIPLE, TYPE, Layout, shortened

UP: Final = "↑"
DOWN: Final = "↓"
S, P, O = Variable("s"), Variable("p"), Variable("o")


def special_atom(atom: Atom, layout: Layout) -> Atom:
    """An atom of `triple` as an atom of the most specific relation that its constants allow."""
    if atom.predicate != TRIPLE or atom.arity != 3:
        return atom
    subject, predicate, object_ = atom.arguments
    if predicate == TYPE and isinstance(object_, IRI) and object_.value in layout.classes:
        return Atom(layout.classes[object_.value], (subject,), atom.span)
    if isinstance(predicate, IRI) and predicate.value in layout.properties:
        return Atom(layout.properties[predicate.value], (subject, object_), atom.span)
    return atom


def read_atom(atom: Atom, layout: Layout, triples_viewed: bool, types_viewed: bool) -> Atom:
    """The atom that reads the triples of an atom of `triple`, through a view if requested."""
    if atom.predicate == TRIPLE and atom.arity == 3:
        subject, predicate, object_ = atom.arguments
        if triples_viewed and not isinstance(predicate, Term):
            return Atom(ALL_TRIPLES, atom.arguments, atom.span)
        if types_viewed and predicate == TYPE and not isinstance(object_, Term):
            return Atom(ALL_TYPES, (subject, object_), atom.span)
    return special_atom(atom, layout)


def written_atom(atom: Atom, layout: Layout) -> Atom:
    """The inverse: an atom of a relation, or of a view, as a program writes it."""
    origin = layout.origin(atom.predicate)
    if origin is not None:
        object_ = atom.arguments[1] if origin.class_ is None else origin.class_
        return Atom(TRIPLE, (atom.arguments[0], origin.property, object_), atom.span)
    if atom.predicate == ALL_TRIPLES:
        return Atom(TRIPLE, atom.arguments, atom.span)
    if atom.predicate == ALL_TYPES:
        return Atom(TRIPLE, (atom.arguments[0], TYPE, atom.arguments[1]), atom.span)
    return atom


def is_view(relation: str) -> bool:
    """Whether a relation is the union of others."""
    return relation in (ALL_TRIPLES, ALL_TYPES)


def copies_down(rule_name: str) -> bool:
    """Whether a rule copies triples into a more special relation."""
    return rule_name.startswith(DOWN)


def views_needed(layout: Layout, copied_into: set[str]) -> tuple[bool, bool]:
    """Whether a query over all triples, and one over all types, must read a view, because the special
    relations are not copied into the general one."""
    triples = layout.is_split and TRIPLE not in copied_into
    types = bool(layout.classes) and (layout.types or TRIPLE) not in copied_into
    return triples, types


def copies_up(rule_name: str) -> bool:
    """Whether a rule copies triples into a more general relation or into a view."""
    return rule_name.startswith(UP)


def view_rules(layout: Layout, prefixes: Mapping[str, str]) -> Iterator[Rule]:
    """The rules of the views."""
    yield Rule((Atom(ALL_TRIPLES, (S, P, O)),), (Atom(TRIPLE, (S, P, O)),), f"{UP}{UP}triple")
    for iri, relation in layout.properties.items():
        name = f"{UP}{UP}{shortened(iri, prefixes)}"
        yield Rule((Atom(ALL_TRIPLES, (S, IRI(iri), O)),), (Atom(relation, (S, O)),), name)
    known = Atom(TRIPLE, (S, TYPE, O)) if layout.types is None else Atom(layout.types, (S, O))
    yield Rule((Atom(ALL_TYPES, (S, O)),), (known,), f"{UP}{UP}type")
    for iri, relation in layout.classes.items():
        name, member = shortened(iri, prefixes), Atom(relation, (S,))
        yield Rule((Atom(ALL_TRIPLES, (S, TYPE, IRI(iri))),), (member,), f"{UP}{UP}a {name}")
        yield Rule((Atom(ALL_TYPES, (S, IRI(iri))),), (member,), f"{UP}type {name}")


RelationUse = tuple[str, bool]
"""A relation, and whether it is used in a head."""


def relation_uses(rule: Rule, layout: Layout) -> Iterator[RelationUse]:
    """The uses of general relations and views that determine the bridges."""
    general = (TRIPLE, layout.types, ALL_TRIPLES, ALL_TYPES)
    for atom, in_head in _atoms(rule):
        if atom.predicate == TRIPLE and (atom.arity != 3 or isinstance(atom.arguments[1], Term)):
            continue  # a property that no rule reads or derives under a variable needs no copy
        if atom.predicate in general:
            yield atom.predicate, in_head


def bridges(layout: Layout, uses: Collection[RelationUse], prefixes: Mapping[str, str]) -> Iterator[Rule]:
    """The rules that copy triples between the relations and into views, as far as these uses need them."""
    read = {relation for relation, in_head in uses if not in_head}
    derived = {relation for relation, in_head in uses if in_head}
    views = view_rules(layout, prefixes) if layout.views else ()
    needed = [view for view in views if view.heads[0].predicate in read]
    types = layout.types
    if types is not None:
        # Copies between `triple` and the classes go through the relation of all types.
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
    yield from needed


def _bridge(name: str, special: Atom, general: Atom, read: set[str], derived: set[str]) -> Iterator[Rule]:
    if general.predicate in read:
        yield Rule((general,), (special,), f"{UP}{name}")
    if general.predicate in derived:
        yield Rule((special,), (general,), f"{DOWN}{name}")


def _atoms(rule: Rule) -> Iterator[tuple[Atom, bool]]:
    """Every atom of a rule, and whether it is in the head."""
    yield from ((head, True) for head in rule.heads)
    for literal in flat_literals(rule.body):
        if isinstance(literal, Atom | Negation):
            yield literal.atom if isinstance(literal, Negation) else literal, False
