"""Join order: which literal comes next.

Greedy, left-deep, for a rule and a *pivot* (a body atom whose facts are given, or none).  Whatever only
filters comes as soon as its variables are bound: tests, computations, atoms that are fully bound, negations.
Among the other atoms the one with the smallest estimated fan-out is next; where the data says nothing, the
number of bound columns decides, then constants, then the order of the text.  ZodiacEdge ranks by bound-ness
in the same way; the estimates refine it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tidalog.analysis.normal import Computation, NormalAtom, NormalRule
from tidalog.model.program import Expression, Variable, variables

FanOut = Callable[[str, tuple[int, ...]], float]
"""Estimated number of facts of a predicate that agree with one value in each of these columns."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Find the facts of an atom that agree with its bound columns."""

    atom: NormalAtom
    position: int
    bound: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """Check one fact: every column is bound."""

    atom: NormalAtom
    position: int


@dataclass(frozen=True, slots=True)
class Absent:
    """No fact agrees with the bound columns; the other variables are local."""

    atom: NormalAtom
    position: int
    bound: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Test:
    expression: Expression


Step = Probe | Member | Absent | Compute | Test


@dataclass(frozen=True, slots=True)
class LogicalPlan:
    """A rule with its literals in order, after a `pivot`: the position of an atom whose facts are given, or
    HEAD, or a `negation`."""

    rule: NormalRule
    pivot: int | None
    steps: tuple[Step, ...]


HEAD: Final = -1
"""The pivot of a plan that looks for instances which derive a given fact."""
_FIRST_NEGATION: Final = -2


def negation(number: int) -> int:
    """The pivot of a plan that looks for instances which a fact of a negated atom forbids, or did."""
    return _FIRST_NEGATION - number


def negated(pivot: int | None) -> int | None:
    """The number of the negation that is a pivot."""
    return _FIRST_NEGATION - pivot if pivot is not None and pivot <= _FIRST_NEGATION else None


def given_later(rule: NormalRule, pivot: int) -> frozenset[Variable]:
    """Variables of a pivot whose values do not come from its fact: what the body computes it computes again,
    and whoever asks compares; what is local to a negation is nobody else's."""
    computed = frozenset(c.variable for c in rule.computations)
    number = negated(pivot)
    return computed if number is None else computed | (rule.negations[number].variables - _outside(rule))


def plan(rule: NormalRule, pivot: int | None, fan_out: FanOut) -> LogicalPlan:
    bound: set[Variable] = set()
    number = negated(pivot)
    if pivot == HEAD:
        assert rule.head is not None
        bound |= rule.head.variables - given_later(rule, pivot)
    elif number is not None:
        assert pivot is not None
        bound |= rule.negations[number].variables - given_later(rule, pivot)
    elif pivot is not None:
        bound |= rule.atoms[pivot].variables
    state = _State(rule, bound, [i for i in range(len(rule.atoms)) if i != pivot])
    steps: list[Step] = []
    while True:
        state.take_filters(steps)
        if not state.atoms:
            return LogicalPlan(rule, pivot, tuple(steps))
        position = min(state.atoms, key=lambda i: _cost(rule.atoms[i], i, bound, fan_out))
        atom = rule.atoms[position]
        steps.append(Probe(atom, position, bound_columns(atom, bound)))
        state.atoms.remove(position)
        bound |= atom.variables


def best_start(rule: NormalRule, fan_out: FanOut) -> int | None:
    """The atom to begin with when no facts are given: its facts are scanned.  None if one row is enough
    to begin with, because the first atom has a constant to look up, or there is no atom at all."""
    if not rule.atoms:
        return None
    first = min(range(len(rule.atoms)), key=lambda i: _cost(rule.atoms[i], i, set(), fan_out))
    atom = rule.atoms[first]
    return None if any(not isinstance(a, Variable) for a in atom.arguments) or not atom.arguments else first


def instances_of(rule: NormalRule, fan_out: FanOut) -> float:
    """An estimate of how many instances a rule has, tests and negations left aside."""
    found = 1.0
    for step in plan(rule, None, fan_out).steps:
        if isinstance(step, Probe):
            found *= fan_out(step.atom.predicate, step.bound)
    return found


def bound_columns(atom: NormalAtom, bound: set[Variable]) -> tuple[int, ...]:
    """Columns with a constant or a bound variable."""
    return tuple(c for c, a in enumerate(atom.arguments) if not isinstance(a, Variable) or a in bound)


def _cost(
    atom: NormalAtom, position: int, bound: set[Variable], fan_out: FanOut
) -> tuple[bool, float, int, int, int]:
    columns = bound_columns(atom, bound)
    joined = bool(columns) or not bound
    constants = sum(1 for a in atom.arguments if not isinstance(a, Variable))
    return (not joined, fan_out(atom.predicate, columns), -len(columns), -constants, position)


@dataclass(slots=True)
class _State:
    rule: NormalRule
    bound: set[Variable]
    atoms: list[int]
    computations: list[Computation] | None = None
    tests: list[Expression] | None = None
    negations: list[int] | None = None

    def take_filters(self, steps: list[Step]) -> None:
        """Appends everything that filters or computes and has its variables bound."""
        if self.computations is None:
            self.computations = list(self.rule.computations)
            self.tests = list(self.rule.tests)
            self.negations = list(range(len(self.rule.negations)))
        assert self.tests is not None
        assert self.negations is not None
        outside = _outside(self.rule)
        progress = True
        while progress:
            progress = False
            for test in [t for t in self.tests if set(variables(t)) <= self.bound]:
                steps.append(Test(test))
                self.tests.remove(test)
            for i in [i for i in self.atoms if self.rule.atoms[i].variables <= self.bound]:
                steps.append(Member(self.rule.atoms[i], i))
                self.atoms.remove(i)
            for i in list(self.negations):
                atom = self.rule.negations[i]
                if (atom.variables & outside) <= self.bound:
                    steps.append(Absent(atom, i, bound_columns(atom, self.bound)))
                    self.negations.remove(i)
            for computation in self.computations:
                if set(variables(computation.expression)) <= self.bound:
                    steps.append(Compute(computation.variable, computation.expression))
                    self.bound.add(computation.variable)
                    self.computations.remove(computation)
                    progress = True
                    break


def _outside(rule: NormalRule) -> set[Variable]:
    """Variables that the rule binds; any other variable of a negation is local to it."""
    return {v for atom in rule.atoms for v in atom.variables} | {c.variable for c in rule.computations}
