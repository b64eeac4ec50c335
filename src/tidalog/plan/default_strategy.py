"""The default strategy of each component, from its rules alone.

For programs that have no facts yet.  An update may choose another one, by its size and by the cost of earlier
updates.

Law: it is what `maintain.choose` chooses for a deletion of no facts.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidalog.analysis.components import Component
from tidalog.analysis.model import Analysis


@dataclass(frozen=True, slots=True)
class DefaultStrategy:
    component: int
    predicates: tuple[str, ...]
    strategy: str
    reason: str


def default_strategies(analysis: Analysis) -> list[DefaultStrategy]:
    """Of each component that has rules, in order of evaluation."""
    return [
        DefaultStrategy(component.index, component.predicates, *_default(component))
        for component in analysis.components
        if component.rules
    ]


def _default(component: Component) -> tuple[str, str]:
    if all(rule.aggregates for rule in component.rules) and len(component.rules) == 1:
        return "groups", "the groups that change are folded again"
    if component.recursive:
        return "ranked", "its ids are ranks"
    return "ranked", "one step proves or disproves a fact"
