"""Strata: which clauses wait for which, by the textbook's numbering.

Every predicate gets a number such that a clause's head is not below its positive atoms and above its
negated ones, and above all of them if it aggregates.  If the numbers pass the number of predicates, some
cycle has a negation or an aggregate in it.

`triple` is not one predicate here but one for each property that is written out, one for each class of
`rdf:type`, and a general one for all others; two that may hold the same triple depend on each other where
one is derived and the other read.
"""

from __future__ import annotations

from collections import defaultdict

from tidalog.model.program import Atom
from tidalog.model.terms import IRI
from tidalog.reference.clauses import TRIPLE, TYPE, Clause, NotEvaluable

Relation = tuple[str, IRI | None, IRI | None]
"""A predicate, and for triples the property and the class if they are fixed."""


def relation_of(atom: Atom) -> Relation:
    if atom.predicate == TRIPLE and atom.arity == 3:
        _, property_, object_ = atom.arguments
        if property_ == TYPE and isinstance(object_, IRI):
            return (TRIPLE, TYPE, object_)
        if isinstance(property_, IRI):
            return (TRIPLE, property_, None)
    return (atom.predicate, None, None)


def overlap(left: Relation, right: Relation) -> bool:
    """Whether a fact may belong to both."""
    if left[0] != right[0]:
        return False
    return all(a is None or b is None or a == b for a, b in zip(left[1:], right[1:], strict=True))


def strata(clauses: tuple[Clause, ...]) -> tuple[tuple[Clause, ...], ...]:
    """The clauses with a head, lowest stratum first."""
    rules = [(clause, relation_of(clause.head)) for clause in clauses if clause.head is not None]
    needs: set[tuple[Relation, Relation, int]] = set()  # (upper, lower, distance at least)
    for clause, head in rules:
        for part in clause.parts:
            needs |= {(head, relation_of(atom), int(clause.aggregates)) for atom in part.atoms}
            needs |= {(head, relation_of(atom), 1) for atom in part.negations}
    derived = {head for _, head in rules}
    read = {lower for _, lower, _ in needs}
    needs |= {(upper, lower, 0) for upper in read for lower in derived if overlap(upper, lower)}
    number: dict[Relation, int] = defaultdict(int)
    relations = derived | read
    changed = True
    while changed:
        changed = False
        for upper, lower, distance in needs:
            if number[upper] < number[lower] + distance:
                number[upper] = number[lower] + distance
                changed = True
                if number[upper] > len(relations):
                    raise NotEvaluable(f"{upper[0]} depends on itself through a negation or an aggregate")
    return tuple(
        tuple(clause for clause, head in rules if number[head] == level)
        for level in sorted({number[head] for _, head in rules})
    )
