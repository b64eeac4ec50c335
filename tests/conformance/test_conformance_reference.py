"""The reference conforms: naive evaluation in everything, the papers' algorithms on positive programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from reference_engines import ConstraintViolated, NaiveEngine, PaperEngine

from conformance import Conformance
from tidalog.api.engine import Capability
from tidalog.reference import (
    BackwardForward,
    BackwardForwardMarking,
    Counting,
    DRed,
    DRedMarking,
    NotEvaluable,
    PositiveMarking,
)

POSITIVE = frozenset([Capability.RECURSION])


class TestNaive(Conformance):
    examples = 5  # generated cases compare the reference with itself
    errors = (NotEvaluable, ConstraintViolated)

    def engine(self, **options: str) -> NaiveEngine:
        return NaiveEngine()

    def number(self, error: Exception) -> None:
        assert isinstance(error, NotEvaluable)

    def check_violations(self, error: Exception, expected: Sequence[str]) -> None:
        assert isinstance(error, ConstraintViolated)
        assert sorted(error.violations) == sorted(expected)


class Paper(Conformance):
    examples = 10
    errors = (NotEvaluable,)
    algorithm: ClassVar[partial[object]]

    def engine(self, **options: str) -> PaperEngine:
        return PaperEngine(self.algorithm, POSITIVE)


class TestBackwardForward(Paper):
    algorithm = partial(BackwardForward)


class TestBackwardForwardMarking(Paper):
    algorithm = partial(BackwardForwardMarking, first_update_alone=False)


class TestPositiveMarking(Paper):
    algorithm = partial(PositiveMarking, first_update_alone=False)


class TestDRed(Paper):
    algorithm = partial(DRed)


class TestDRedMarking(Paper):
    algorithm = partial(DRedMarking, first_update_alone=False)


class TestCounting(Paper):
    """Without recursion."""

    def engine(self, **options: str) -> PaperEngine:
        return PaperEngine(Counting, frozenset())
