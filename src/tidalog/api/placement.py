"""Which relations hold the explicit facts of a program, and how they move to those of another."""

from __future__ import annotations

from collections.abc import Container, Iterable

from tidalog.analysis import Analysis, RuleDiff
from tidalog.api.load import Witness
from tidalog.api.relations import explicit_rows
from tidalog.engine.engine import EmbeddedEngine
from tidalog.model.facts import Facts, Ids
from tidalog.plan.lowering import constraint_rule
from tidalog.rdf.columns import as_shorthand, split
from tidalog.rdf.layout import TRIPLE, Layout


def can_stay(engine: EmbeddedEngine, before: Layout, analysis: Analysis) -> bool:
    """Whether facts can stay in their relations: those of triples are the same, and predicates and
    constraints have the arities that the engine has for them."""
    if not before.same_relations(analysis.triples):
        return False
    wanted = {name: info.arity for name, info in analysis.predicates.items()}
    for rule in map(constraint_rule, analysis.constraints):
        assert rule.head is not None
        wanted[rule.head.predicate] = len(rule.head.arguments)
    relations = zip(engine.names, engine.arities, strict=True)
    return all(wanted.get(name, arity) == arity for name, arity in relations)


def can_stay_after(
    engine: EmbeddedEngine, before: Layout, after: Layout, diff: RuleDiff, inserted: Iterable[Facts]
) -> bool:
    """`can_stay` after a rule edit of a program whose facts could stay: only new rules, and facts that come
    with the edit, change arities."""
    if not before.same_relations(after):
        return False
    for facts in inserted:
        if engine.has(facts.predicate) and engine.arity(facts.predicate) != len(facts.columns):
            return False
    for rule in diff.normal_added:
        whole = constraint_rule(rule) if rule.head is None else rule
        assert whole.head is not None
        for atom in (whole.head, *whole.atoms, *whole.negations):
            if engine.has(atom.predicate) and engine.arity(atom.predicate) != len(atom.arguments):
                return False
    return True


def moved(
    engine: EmbeddedEngine,
    before: Layout,
    after: Layout,
    witnesses: Container[Witness],
    into: EmbeddedEngine | None = None,
    ids: Ids | None = None,
) -> EmbeddedEngine:
    """A new engine with the explicit facts, in the relations of another layout.  A relation without any gets
    its arity when it is needed.  An engine to move them `into` has a dictionary of its own, in which terms
    have other `ids`.

    Once neither rules nor witnesses have `triple`, all triples were written with IRIs, as the witnesses say,
    and these are predicates like any other again."""
    found = into or EmbeddedEngine(engine.dictionary)
    dictionary = found.dictionary
    for whole in explicit_rows(engine, before):
        if not whole.count:
            continue
        if ids is not None:
            whole = Facts(whole.predicate, [ids[column] for column in whole.columns], whole.count)
        if before.active and not after.active and whole.predicate == TRIPLE:
            parts = as_shorthand(whole, witnesses, dictionary)
        else:
            parts = split(whole, after, dictionary)
        for part in parts:
            found.insert(part.predicate, part.columns, part.count)
    return found
