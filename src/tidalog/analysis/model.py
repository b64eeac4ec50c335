"""`Analysis`: everything that is known about a program before any fact is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidalog.analysis.components import Component, build_components
from tidalog.analysis.hypernodes import HyperNode, RuleEdges, hyper_nodes, rule_edges
from tidalog.analysis.normal import NormalRule
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Program
from tidalog.rdf.layout import Layout


@dataclass(frozen=True, slots=True)
class PredicateInfo:
    """`explicit`: it can have explicit facts, because the program has facts or an import for it or because
    no rule derives it.  `derived`: at least one rule derives it."""

    name: str
    arity: int
    explicit: bool
    derived: bool


@dataclass(frozen=True)
class Analysis:
    """The input of the planner, the engine and the reports.

    `facts` are the program's facts as facts of the relations that hold them; they differ from `program.facts`
    only where triples have relations of their own (`triples`).
    """

    program: Program
    rules: tuple[NormalRule, ...]
    """All rules in text order, including constraints and the bridges between relations of triples."""
    facts: Sequence[Fact]
    predicates: Mapping[str, PredicateInfo]
    """By name; the order has no meaning."""
    triples: Layout
    warnings: tuple[Diagnostic, ...]
    built: tuple[Component, ...] | None = field(default=None, repr=False, compare=False)
    """The components, once they are built."""

    @property
    def components(self) -> tuple[Component, ...]:
        """In evaluation order."""
        found = self.built
        if found is None:
            found = build_components(self.predicates, self.rules)
            object.__setattr__(self, "built", found)
        return found

    def of_program(self, program: Program) -> Analysis:
        """The same analysis for a program that has the same rules and keeps its facts elsewhere."""
        return replace(self, program=program, facts=())

    @property
    def has_bridges(self) -> bool:
        """Whether there are bridges: rules that copy triples between relations.  They come last."""
        return bool(self.rules) and self.rules[-1].origin is None

    @cached_property
    def constraints(self) -> tuple[NormalRule, ...]:
        """Rules without a head; they are checked after all components."""
        return tuple(rule for rule in self.rules if rule.head is None)

    @cached_property
    def component_of(self) -> Mapping[str, int]:
        """The index of the component that a predicate belongs to."""
        return {name: component.index for component in self.components for name in component.predicates}

    @cached_property
    def strata(self) -> tuple[tuple[int, ...], ...]:
        """Indices of components by stratum."""
        count = 1 + max((component.stratum for component in self.components), default=-1)
        return tuple(
            tuple(component.index for component in self.components if component.stratum == stratum)
            for stratum in range(count)
        )

    @cached_property
    def dependents(self) -> Mapping[str, frozenset[str]]:
        """By predicate: those that rules derive from its facts, or from their absence."""
        found: dict[str, set[str]] = {}
        for rule in self.rules:
            if rule.head is not None:
                for atom in (*rule.atoms, *rule.negations):
                    found.setdefault(atom.predicate, set()).add(rule.head.predicate)
        return {name: frozenset(heads) for name, heads in found.items()}

    @cached_property
    def hyper_nodes(self) -> tuple[HyperNode, ...]:
        """Strongly connected components of the rule graph, in evaluation order."""
        return hyper_nodes(self.rules)

    @cached_property
    def rule_edges(self) -> RuleEdges:
        """The rule dependency graph."""
        return rule_edges(self.rules)

    def label(self, predicate: str) -> str:
        """The author's name for a predicate or a relation of triples."""
        return self.triples.label(predicate, self.program.prefixes)
