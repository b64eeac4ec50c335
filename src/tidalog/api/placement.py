"""Which relations hold the explicit facts of a program, and how they move to those of another."""

from __future__ import annotations

from tidalog.analysis import Analysis, TripleLayout
from tidalog.api.relations import explicit_rows, routed, same_relations
from tidalog.engine.engine import EmbeddedEngine
from tidalog.plan.lowering import constraint_rule


def can_stay(engine: EmbeddedEngine, before: TripleLayout, analysis: Analysis) -> bool:
    """Whether facts can stay where they are: triples are in the same relations, and predicates and
    constraints have the arities that the engine knows."""
    if not same_relations(before, analysis.triples):
        return False
    wanted = {name: info.arity for name, info in analysis.predicates.items()}
    for rule in map(constraint_rule, analysis.constraints):
        assert rule.head is not None
        wanted[rule.head.predicate] = len(rule.head.arguments)
    relations = zip(engine.names, engine.arities, strict=True)
    return all(wanted.get(name, arity) == arity for name, arity in relations)


def moved(engine: EmbeddedEngine, before: TripleLayout, after: TripleLayout) -> EmbeddedEngine:
    """A new engine with the explicit facts alone, in the relations of another layout.  A relation without any
    gets its arity when it is needed."""
    found = EmbeddedEngine(engine.dictionary)
    for whole in explicit_rows(engine, before):
        if whole.count:
            for part in routed(whole, after, engine.dictionary):
                found.insert(part.predicate, part.columns, part.count)
    return found
