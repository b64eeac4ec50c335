"""The difference between the components of two programs: what maintenance needs to know about a rule edit.

`diff_of_edit` takes the diff from a graph that was just edited, at a cost proportional to the edit;
`diff_of_analyses` compares two whole analyses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidalog.analysis.component_graph import OrderKey
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph

Order = Callable[[str], OrderKey]
"""A sort key for predicates: each component comes after everything it reads."""


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """A component with its rules in text order."""

    predicates: tuple[str, ...]
    rules: tuple[NormalRule, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class ComponentDiff:
    """Invariant: a component with no predicate in `affected` has the same predicates and rules as before."""

    components: tuple[RuleGroup, ...]
    """New components, and those whose predicates or rules changed, in evaluation order."""
    affected: frozenset[str]
    """Their predicates, and those that no longer have a component."""
    constraints_added: tuple[NormalRule, ...]
    constraints_removed: tuple[NormalRule, ...]
    order: Order
    """The order of all predicates after the edit."""


def diff_of_edit(
    graph: RuleGraph, diff: GraphDiff, text_order: Callable[[NormalRule], tuple[int, int]]
) -> ComponentDiff:
    """The diff of a graph's last edit; `order` follows later edits of the graph too."""
    numbers = changed_components(graph, diff)
    components = tuple(
        RuleGroup(
            graph.predicates_of_component(number),
            tuple(sorted(graph.rules_of_component(number), key=text_order)),
            graph.is_recursive(number),
        )
        for number in sorted(numbers, key=graph.component_order_key)
    )
    return ComponentDiff(
        components,
        frozenset(diff.old_components).union(*(group.predicates for group in components)),
        tuple(rule for rule in diff.added if rule.head is None),
        tuple(rule for rule in diff.removed if rule.head is None),
        graph.order_key,
    )


def changed_components(graph: RuleGraph, diff: GraphDiff) -> set[int]:
    """The components whose predicates or rules an edit changed, by their numbers after the edit."""
    known = graph.predicates
    heads = (rule.head.predicate for rule in (*diff.added, *diff.removed) if rule.head is not None)
    found = {graph.component_of(name) for name in (*diff.old_components, *heads) if name in known}
    # A component that kept its number may have lost predicates.
    kept = (number for number in diff.old_components.values() if number is not None)
    return found.union(number for number in kept if number in graph.component_numbers())


def diff_of_analyses(before: Analysis, after: Analysis) -> ComponentDiff:
    """The diff from one program to another."""
    old = {c.predicates[0]: c for c in before.components if c.rules}
    changed: list[RuleGroup] = []
    same: set[str] = set()
    for component in after.components:
        earlier = old.get(component.predicates[0])
        if earlier is not None and (earlier.predicates, earlier.rules) == (
            component.predicates,
            component.rules,
        ):
            same.add(component.predicates[0])
        elif component.rules:
            changed.append(RuleGroup(component.predicates, component.rules, component.recursive))
    gone = (p for first, c in old.items() if first not in same for p in c.predicates)
    had, have = ({rule.name: rule for rule in a.constraints} for a in (before, after))
    return ComponentDiff(
        tuple(changed),
        frozenset(gone).union(*(group.predicates for group in changed)),
        tuple(rule for name, rule in have.items() if had.get(name) != rule),
        tuple(rule for name, rule in had.items() if have.get(name) != rule),
        order_of(after),
    )


def order_of(analysis: Analysis) -> Order:
    """The order of a program whose rules do not change."""
    component_of = analysis.component_of
    return lambda predicate: (component_of[predicate],)
