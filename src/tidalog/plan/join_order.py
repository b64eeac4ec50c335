"""Join order: which literal comes next.

Greedy, left-deep, for a rule and a *pivot* (a body atom whose facts are given, or none).  What only filters
comes as soon as its variables are bound: filters, computations, atoms that are fully bound, negations.
Among the other atoms the one with the smallest estimated fan-out is next; where there are no statistics, the
number of bound columns decides, then constants, then the order of the text.  ZodiacEdge ranks by bound-ness
in the same way; the estimates refine it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from tidalog.analysis.normal import Computation, NormalAtom, NormalRule
from tidalog.model.program import Expression, Variable, variables

_ASSUMED_FACTS: Final = 1_000_000.0  # of a predicate without facts: it is about to be derived


class Statistics(Protocol):
    """What the planner knows about the facts."""

    def count(self, predicate: str, /) -> int: ...

    def fan_out(
        self, predicate: str, columns: tuple[int, ...], arguments: Sequence[Expression] = (), /
    ) -> float:
        """Estimated number of facts of a predicate that agree with one value in each of these columns;
        `arguments` are those of the atom, if it matters which constants they are."""


def assumed_fan_out(columns: tuple[int, ...]) -> float:
    """The fan-out of a predicate without facts: each of the first two bound columns divides it by 1,000."""
    return float(_ASSUMED_FACTS ** (1.0 - 0.5 * min(len(columns), 2)))


class NoStatistics:
    """No facts are known: bound columns decide the join order."""

    def count(self, predicate: str, /) -> int:
        return 0

    def fan_out(
        self, predicate: str, columns: tuple[int, ...], arguments: Sequence[Expression] = (), /
    ) -> float:
        return assumed_fan_out(columns)


@dataclass(frozen=True, slots=True)
class Probe:
    """Find the facts of an atom that agree with its bound columns."""

    atom: NormalAtom
    position: int
    bound: tuple[int, ...]
    fan_out: float | None = field(default=None, compare=False)
    """Estimated matches per row; None if the predicate had no facts when the plan was chosen."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Check one fact: every column is bound."""

    atom: NormalAtom
    position: int


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """No fact agrees with the bound columns; the other variables are local."""

    atom: NormalAtom
    position: int
    bound: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Filter:
    expression: Expression


Operator = Probe | Lookup | AntiJoin | Compute | Filter


@dataclass(frozen=True, slots=True)
class LogicalPlan:
    """A rule with its literals in join order, after a `pivot`: the position of an atom whose facts are given,
    or HEAD, or a `negation`, or None."""

    rule: NormalRule
    pivot: int | None
    operators: tuple[Operator, ...]
    given: int | None = field(default=None, compare=False)
    """Facts of the pivot's predicate when the plan was chosen; None if it had none."""

    @property
    def pivot_atom(self) -> NormalAtom | None:
        """The atom whose facts are given."""
        return None if self.pivot is None else atom_of(self.rule, self.pivot)


HEAD: Final = -1
"""The pivot of a plan that looks for instances which derive a given fact."""
_FIRST_NEGATION: Final = -2


def negation(number: int) -> int:
    """The pivot of a plan that looks for instances which a fact of a negated atom forbids, or did."""
    return _FIRST_NEGATION - number


def negated(pivot: int | None) -> int | None:
    """The number of the negation that is a pivot."""
    return _FIRST_NEGATION - pivot if pivot is not None and pivot <= _FIRST_NEGATION else None


def atom_of(rule: NormalRule, pivot: int) -> NormalAtom:
    """The atom that is a pivot."""
    number = negated(pivot)
    if number is not None:
        return rule.negations[number]
    if pivot == HEAD:
        assert rule.head is not None
        return rule.head
    return rule.atoms[pivot]


def update_pivots(rule: NormalRule) -> list[int]:
    """Everything in a body whose facts create or remove instances."""
    return [*range(len(rule.atoms)), *map(negation, range(len(rule.negations)))]


def given_later(rule: NormalRule, pivot: int) -> frozenset[Variable]:
    """Variables of a pivot whose values do not come from its fact.  What the body computes is computed again
    and compared by the caller; what is local to a negation is bound by it alone."""
    if pivot >= 0:
        return frozenset()
    computed = frozenset(c.variable for c in rule.computations)
    number = negated(pivot)
    return computed if number is None else computed | (rule.negations[number].variables - _outside(rule))


def plan(rule: NormalRule, pivot: int | None, statistics: Statistics) -> LogicalPlan:
    """The plan of a rule for a pivot."""
    bound: set[Variable] = set()
    given: int | None = None
    if pivot is not None:
        atom = atom_of(rule, pivot)
        bound |= atom.variables - given_later(rule, pivot)
        given = statistics.count(atom.predicate) or None
    state = _State(rule, bound, [i for i in range(len(rule.atoms)) if i != pivot])
    operators: list[Operator] = []
    while True:
        state.take_filters(operators)
        if not state.atoms:
            return LogicalPlan(rule, pivot, tuple(operators), given)
        costs = {i: _cost(rule.atoms[i], i, bound, statistics) for i in state.atoms}
        position = min(costs, key=lambda i: costs[i])
        atom = rule.atoms[position]
        fan_out = costs[position][1] if statistics.count(atom.predicate) else None
        operators.append(Probe(atom, position, bound_columns(atom, bound), fan_out))
        state.atoms.remove(position)
        bound |= atom.variables


def best_start(rule: NormalRule, statistics: Statistics) -> int | None:
    """The atom to begin with when no facts are given: its facts are scanned.  None if one row is enough
    to begin with, because the first atom has a constant to look up, or there is no atom at all."""
    if not rule.atoms:
        return None
    first = min(range(len(rule.atoms)), key=lambda i: _cost(rule.atoms[i], i, set(), statistics))
    atom = rule.atoms[first]
    return None if any(not isinstance(a, Variable) for a in atom.arguments) or not atom.arguments else first


def instances_of(rule: NormalRule, statistics: Statistics) -> float:
    """An estimate of how many instances a rule has over facts that are complete, filters and negations left
    aside."""
    if not all(statistics.count(atom.predicate) for atom in rule.atoms):
        return 0.0
    found = 1.0
    for operator in plan(rule, None, statistics).operators:
        if isinstance(operator, Probe):
            found *= statistics.fan_out(operator.atom.predicate, operator.bound, operator.atom.arguments)
    return found


def bound_columns(atom: NormalAtom, bound: set[Variable]) -> tuple[int, ...]:
    """Columns with a constant or a bound variable."""
    return tuple(c for c, a in enumerate(atom.arguments) if not isinstance(a, Variable) or a in bound)


def _cost(
    atom: NormalAtom, position: int, bound: set[Variable], statistics: Statistics
) -> tuple[bool, float, int, int, int]:
    columns = bound_columns(atom, bound)
    joined = bool(columns) or not bound
    constants = sum(1 for a in atom.arguments if not isinstance(a, Variable))
    fan_out = statistics.fan_out(atom.predicate, columns, atom.arguments)
    if not bound & atom.variables:
        fan_out = max(fan_out, 1.0)  # it gives the same facts to every row
    return (not joined, fan_out, -len(columns), -constants, position)


class _State:
    """The literals of a rule that are not in the plan yet."""

    def __init__(self, rule: NormalRule, bound: set[Variable], atoms: list[int]) -> None:
        self.rule, self.bound, self.atoms = rule, bound, atoms
        self.computations: list[Computation] = list(rule.computations)
        self.tests: list[Expression] = list(rule.tests)
        self.negations = list(range(len(rule.negations)))
        self.outside = _outside(rule)

    def take_filters(self, operators: list[Operator]) -> None:
        """Appends everything that filters or computes and has its variables bound."""
        progress = True
        while progress:
            progress = False
            for test in [t for t in self.tests if set(variables(t)) <= self.bound]:
                operators.append(Filter(test))
                self.tests.remove(test)
            for i in [i for i in self.atoms if self.rule.atoms[i].variables <= self.bound]:
                operators.append(Lookup(self.rule.atoms[i], i))
                self.atoms.remove(i)
            for i in list(self.negations):
                atom = self.rule.negations[i]
                if (atom.variables & self.outside) <= self.bound:
                    operators.append(AntiJoin(atom, i, bound_columns(atom, self.bound)))
                    self.negations.remove(i)
            for computation in self.computations:
                if set(variables(computation.expression)) <= self.bound:
                    operators.append(Compute(computation.variable, computation.expression))
                    self.bound.add(computation.variable)
                    self.computations.remove(computation)
                    progress = True
                    break


def _outside(rule: NormalRule) -> set[Variable]:
    """Variables that the rule binds; any other variable of a negation is local to it."""
    return {v for atom in rule.atoms for v in atom.variables} | {c.variable for c in rule.computations}
