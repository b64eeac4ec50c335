"""The plans of a run from scratch, with the rows that their operators were given."""

from __future__ import annotations

from dataclasses import dataclass

from tidalog.analysis.normal import NormalRule
from tidalog.plan.join_order import LogicalPlan
from tidalog.plan.lowering import Fold


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    plan: LogicalPlan | Fold
    rows: tuple[int, ...]
    """Operator → the rows that it was given; the last is the one that emits."""
    new: int
    """Facts that it emitted and that were not there before."""

    @property
    def pivot(self) -> int | None:
        return self.plan.pivot if isinstance(self.plan, LogicalPlan) else None

    @property
    def derivations(self) -> int:
        return self.rows[-1]


class Executed:
    """The plans of one run, by rule."""

    def __init__(self) -> None:
        self._plans: dict[int, list[ExecutedPlan]] = {}

    def add(self, executed: ExecutedPlan) -> None:
        source = executed.plan.rule if isinstance(executed.plan, LogicalPlan) else executed.plan
        self._plans.setdefault(id(source), []).append(executed)

    def of(self, source: NormalRule | Fold) -> list[ExecutedPlan]:
        """The plans of a rule, one for each pivot, or of a fold.  Rules are found by identity."""
        return self._plans.get(id(source), [])

    @property
    def derivations(self) -> int:
        """Rule instances that all plans have found."""
        return sum(one.derivations for plans in self._plans.values() for one in plans)
