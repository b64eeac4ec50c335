"""Which relations hold the explicit facts of a program, and how they move to those of another."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from tidalog.analysis import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.api.load import Witness
from tidalog.api.relations import explicit_rows
from tidalog.engine.engine import EmbeddedEngine
from tidalog.model.facts import Facts, Ids
from tidalog.plan.lowering import constraint_rule
from tidalog.rdf.columns import as_shorthand, split
from tidalog.rdf.layout import TRIPLE, Layout


def can_stay(engine: EmbeddedEngine, before: Layout, after: Layout, wanted: Iterable[Witness]) -> bool:
    """Whether facts can stay in their relations: those of triples are the same, and the relations that are
    `wanted` have the arities that the engine has for them."""
    return before.same_relations(after) and have_arities(engine, wanted)


def have_arities(engine: EmbeddedEngine, wanted: Iterable[Witness]) -> bool:
    """Whether the relations that are `wanted` have the arities that the engine has for them."""
    return all(not engine.has(name) or engine.arity(name) == arity for name, arity in wanted)


def relations_of(analysis: Analysis) -> Iterator[Witness]:
    """The relations of a program with their arities."""
    for name, info in analysis.predicates.items():
        yield name, info.arity
    yield from relations_of_rules(analysis.constraints)


def relations_of_rules(rules: Iterable[NormalRule]) -> Iterator[Witness]:
    """The relations of rules with their arities: all that an edit which adds them can change."""
    for rule in rules:
        whole = constraint_rule(rule) if rule.head is None else rule
        assert whole.head is not None
        for atom in (whole.head, *whole.atoms, *whole.negations):
            yield atom.predicate, len(atom.arguments)


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
