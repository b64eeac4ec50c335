"""The default strategy of each component, from its rules alone.

For programs that have no facts yet.  An update may choose another one, by its size and by the cost of earlier
updates.

Law: it is what `maintain.choose` chooses for a deletion of no facts, over windows once they are filled.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidalog.analysis.components import Component
from tidalog.analysis.model import Analysis
from tidalog.plan.compile import IsNative


@dataclass(frozen=True, slots=True)
class DefaultStrategy:
    component: int
    predicates: tuple[str, ...]
    strategy: str
    reason: str


def default_strategies(analysis: Analysis, is_native: IsNative) -> list[DefaultStrategy]:
    """Of each component that has rules, in order of evaluation.  `is_native`: whether the engine computes an
    expression by itself."""
    found: list[DefaultStrategy] = []
    sliding, counted = _windows(analysis)
    for component in analysis.components:
        if component.rules:
            strategy, reason = _default(component, sliding, counted, is_native)
            if strategy == "expire":
                sliding.update(component.predicates)
            found.append(DefaultStrategy(component.index, component.predicates, strategy, reason))
    return found


def _windows(analysis: Analysis) -> tuple[set[str], set[str]]:
    """Predicates from which every fact goes at some time, and those that say no such time."""
    windows = analysis.program.windows
    names = {window.name for window in windows}
    kinds: dict[str, set[str]] = {}
    for window in windows:
        for name in {window.name, window.name if window.source in names else window.source}:
            kinds.setdefault(name, set()).add(window.kind)
    sliding = {name for name, of in kinds.items() if of <= {"range", "tumbling"}}
    return sliding, {name for name, of in kinds.items() if "count" in of}


def _slides(component: Component, sliding: set[str], counted: set[str], is_native: IsNative) -> bool:
    """Whether the facts of a component go by the expiries of those that they follow from."""
    rules = component.rules
    read = {atom.predicate for rule in rules for atom in rule.atoms} | {*component.predicates}
    if any(rule.negations or rule.aggregates or not rule.atoms for rule in rules):
        return False
    computed = (e for rule in rules for e in (*(c.expression for c in rule.computations), *rule.tests))
    return bool(read & sliding) and not read & counted and all(map(is_native, computed))


def _default(
    component: Component, sliding: set[str], counted: set[str], is_native: IsNative
) -> tuple[str, str]:
    if all(rule.aggregates for rule in component.rules) and len(component.rules) == 1:
        return "groups", "the groups that change are folded again"
    if _slides(component, sliding, counted, is_native):
        return "expire", "its facts go by their expiries: a slide runs no rule"
    if component.recursive:
        return "ranked", "its ids are ranks"
    return "ranked", "one step proves or disproves a fact"
