"""What maintains a component as a rule, told from its rules alone.

For people who look at a program that has no facts yet.  An update may decide otherwise, by its size and by
what earlier ones have cost.

Law: it is what `maintain.strategy.choose` says of a deletion of nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidalog.analysis.components import Component
from tidalog.analysis.model import Analysis


@dataclass(frozen=True, slots=True)
class UsualStrategy:
    component: int
    predicates: tuple[str, ...]
    strategy: str
    reason: str


def usual_strategies(analysis: Analysis) -> list[UsualStrategy]:
    """Of each component that has rules, in order of evaluation."""
    return [
        UsualStrategy(component.index, component.predicates, *_usual(component))
        for component in analysis.components
        if component.rules
    ]


def _usual(component: Component) -> tuple[str, str]:
    if all(rule.aggregates for rule in component.rules) and len(component.rules) == 1:
        return "groups", "the groups that change are folded anew"
    if component.recursive:
        return "ranked", "its ids are ranks"
    return "ranked", "one step proves or disproves a fact"
