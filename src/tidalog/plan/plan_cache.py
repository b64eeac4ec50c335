"""Logical plans, kept as long as the statistics that they were chosen by hold.

Invariant.  A plan in the cache was chosen when every relation of the rule's body had about as many facts as
now: at most `_CHANGE` times more or fewer, and none if it has none now.
"""

from __future__ import annotations

from typing import Final

from tidalog.analysis.normal import NormalRule
from tidalog.plan.join_order import LogicalPlan, Statistics, best_start, plan

_CHANGE: Final = 4


class PlanCache:
    """Plans by rule and pivot.  A rule is found by identity: to hash one takes longer than to plan it."""

    def __init__(self) -> None:
        self._plans: dict[int, dict[int | None, tuple[LogicalPlan, list[int]]]] = {}
        self._from_scratch: dict[int, tuple[LogicalPlan, list[int]]] = {}

    def plan(self, rule: NormalRule, pivot: int | None, statistics: Statistics) -> LogicalPlan:
        """The plan of a rule for a pivot, chosen by these statistics or by similar ones."""
        counts = _counts(rule, statistics)
        of_rule = self._plans.setdefault(id(rule), {})
        known = of_rule.get(pivot)
        if known is not None and known[0].rule is rule and _are_similar(known[1], counts):
            return known[0]
        chosen = plan(rule, pivot, statistics)
        of_rule[pivot] = chosen, counts
        return chosen

    def from_scratch(self, rule: NormalRule, statistics: Statistics) -> LogicalPlan:
        """The plan of a rule whose body is complete: it begins where that is best."""
        known = self._from_scratch.get(id(rule))
        if known is not None and known[0].rule is rule and _are_similar(known[1], _counts(rule, statistics)):
            return known[0]
        chosen = self.plan(rule, best_start(rule, statistics), statistics)
        self._from_scratch[id(rule)] = chosen, _counts(rule, statistics)
        return chosen

    def forget(self, rule: NormalRule) -> None:
        """The rule is no longer there."""
        self._plans.pop(id(rule), None)
        self._from_scratch.pop(id(rule), None)


def _counts(rule: NormalRule, statistics: Statistics) -> list[int]:
    return [statistics.count(atom.predicate) for atom in (*rule.atoms, *rule.negations)]


def _are_similar(before: list[int], now: list[int]) -> bool:
    return all(max(one, other) <= _CHANGE * min(one, other) for one, other in zip(before, now, strict=True))
