"""Solutions of a pattern as the body of a rule.

`UNBOUND` stands for a variable without a value, in the columns that may lack one.  It is an IRI with a
character that no IRI has: no reader, no syntax and no function yields it, so it is never a term of the data.
Helper predicates have the same character in their names (`q|union1`), so no program can define them.

A variable of a body is *certain* if it has a value in every solution.  Columns that are not certain are
joined by cases, because an unbound variable is compatible with any value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final

from tidalog.lang.diagnostics import BadStatement, NotContinuous
from tidalog.model.errors import ProgramError, Span
from tidalog.model.program import (
    Atom,
    Call,
    Condition,
    Expression,
    FlatLiteral,
    Negation,
    Rule,
    Variable,
    variables,
)
from tidalog.model.terms import IRI, Integer

UNBOUND: Final = IRI("|unbound|")
IMPOSSIBLE: Final = Condition(Call("=", (Integer(0), Integer(1))))
MOST_CASES: Final = 256
"""A join has at most this many rules."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """The matches of `body`; `columns` are the variables that others see.

    Two solutions with equal columns are one.  Where they must count as two, `columns` has a variable more
    that tells them apart, under a name that the query does not use.
    """

    body: tuple[FlatLiteral, ...] = ()
    columns: tuple[Variable, ...] = ()
    certain: frozenset[Variable] = frozenset()

    def shared(self, other: Solutions) -> list[Variable]:
        return [v for v in self.columns if v in other.columns]

    def unsure(self, other: Solutions) -> list[Variable]:
        """The shared variables that one side may leave unbound."""
        return [v for v in self.shared(other) if v not in self.certain or v not in other.certain]

    def with_literals(self, *literals: FlatLiteral, certain: Iterable[Variable] = ()) -> Solutions:
        return Solutions((*self.body, *literals), self.columns, self.certain | frozenset(certain))

    def without(self, hidden: Iterable[Variable]) -> Solutions:
        """The same without some columns."""
        gone = set(hidden)
        return Solutions(self.body, tuple(v for v in self.columns if v not in gone), self.certain - gone)

    def renamed(self, old: Variable, new: Variable) -> Solutions:
        """The same with another variable in place of one."""
        columns = tuple(new if v == old else v for v in self.columns)
        certain = self.certain - {old} | ({new} if old in self.certain else set())
        return Solutions(tuple(with_variable(literal, old, new) for literal in self.body), columns, certain)

    @property
    def by_atoms(self) -> set[Variable]:
        """The variables that positive atoms bind: with these, a common variable means the same term."""
        return {v for literal in self.body if isinstance(literal, Atom) for v in variables(literal)}

    @property
    def atom(self) -> Atom | None:
        """The body, if it is one atom that has the columns and nothing else."""
        only = self.body[0] if len(self.body) == 1 else None
        return only if isinstance(only, Atom) and set(variables(only)) == set(self.columns) else None


UNIT: Final = Solutions()
"""One solution that binds nothing."""


def is_bound(variable: Variable) -> Condition:
    return Condition(Call("!=", (variable, UNBOUND)))


class Rules:
    """Collects the rules of one query.  Names follow from the query's name and the order of its parts."""

    def __init__(self, name: str, used: Iterable[str], span: Span | None, *, once: bool = False) -> None:
        """`once`: for a query that is asked once; other answers are kept up to date."""
        self.name = name
        self.span = span
        self.once = once
        self.rules: list[Rule] = []
        self._used = set(used)
        self._counts: dict[str, int] = {}
        self._numbered = 0
        self.identity: tuple[Variable, ...] | None = None
        """What tells solutions apart, if they have computed columns too."""

    def helper(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{self.name}|{kind}{self._counts[kind]}"

    def fresh(self, stem: str) -> Variable:
        """A variable that the query does not have."""
        number = 1
        while f"{stem}{number}" in self._used:
            number += 1
        self._used.add(f"{stem}{number}")
        return Variable(f"{stem}{number}")

    def add(self, predicate: str, arguments: Sequence[Expression], body: Sequence[FlatLiteral]) -> None:
        self.rules.append(Rule((Atom(predicate, tuple(arguments)),), tuple(body), None, self.span))

    def stored(self, solutions: Solutions, kind: str) -> Solutions:
        """The same solutions as one atom."""
        if solutions.atom is not None:
            return solutions
        name = self.helper(kind)
        self.add(name, solutions.columns, solutions.body)
        atom = Atom(name, solutions.columns)
        return Solutions((atom,), solutions.columns, solutions.certain)

    def join(self, left: Solutions, right: Solutions) -> Solutions:
        """All pairs of compatible solutions."""
        shared, unsure = left.shared(right), left.unsure(right)
        columns = (*left.columns, *(v for v in right.columns if v not in left.columns))
        certain = left.certain | right.certain
        if not unsure:
            if not left.by_atoms.issuperset(shared):
                left = self.stored(left, "part")
            if not right.by_atoms.issuperset(shared):
                right = self.stored(right, "part")
            return Solutions((*left.body, *right.body), columns, certain)
        left, right = self.stored(left, "part"), self.stored(right, "part")
        name = self.helper("join")
        for first, second, conditions, _ in self.cases(left, right):
            self.add(name, columns, (first, second, *conditions))
        return Solutions((Atom(name, columns),), columns, certain)

    def cases(
        self, left: Solutions, right: Solutions, apart: frozenset[Variable] = frozenset()
    ) -> Iterator[tuple[Atom, Atom, tuple[Condition, ...], bool]]:
        """The ways in which solutions of two atoms can be compatible: for each variable that may be unbound,
        both sides have the same value, or one has none.  With each, whether some variable that is not one of
        `apart` has a value on both sides."""
        first, second = left.atom, right.atom
        assert first is not None and second is not None
        unsure = left.unsure(right)
        sure = bool({v for v in left.shared(right) if v not in unsure} - apart)
        choices: list[tuple[str, ...]] = []
        for v in unsure:
            options = ["both"]
            options += ["left unbound"] if v not in left.certain else []
            options += ["right unbound"] if v not in right.certain else []
            choices.append(tuple(options))
        if prod(map(len, choices)) > MOST_CASES:
            raise ProgramError([self.too_many(unsure)])
        for chosen in product(*choices):
            case = dict(zip(unsure, chosen, strict=True))
            bound = [v for v, option in case.items() if option == "both"]
            yield (
                _without(first, {v for v, option in case.items() if option == "left unbound"}),
                _without(second, {v for v, option in case.items() if option == "right unbound"}),
                tuple(is_bound(v) for v in bound if v not in left.certain and v not in right.certain),
                sure or bool(bound),
            )

    def refuse_kept(self, what: str, why: str, advice: str, span: Span | None = None) -> None:
        """Raises `ProgramError` if answers are kept up to date."""
        if not self.once:
            raise ProgramError(NotContinuous(span or self.span, what=what, why=why, advice=advice))

    def number(self) -> Integer:
        """Another one at each call."""
        self._numbered += 1
        return Integer(self._numbered)

    def too_many(self, unsure: Sequence[Variable]) -> BadStatement:
        names = ", ".join(f"?{v.name}" for v in unsure)
        return BadStatement(
            self.span,
            problem="too many variables that may be unbound",
            why=f"two parts of the query have {names} in common, and each may have no value",
            advice="bind them before OPTIONAL, or rename those that are not meant to join",
        )

    def absent(self, solutions: Solutions, shared: Iterable[Variable], kind: str) -> Negation:
        """No solution has these values of the shared variables, which are certain on both sides."""
        keep = set(shared)
        atom = solutions.atom
        if atom is None:
            columns = [v for v in solutions.columns if v in keep]
            name = self.helper(kind)
            self.add(name, columns, solutions.body)
            return Negation(Atom(name, tuple(columns)))
        local = {v: self.fresh("any") for v in dict.fromkeys(variables(atom)) if v not in keep}
        arguments = tuple(local.get(a, a) if isinstance(a, Variable) else a for a in atom.arguments)
        return Negation(Atom(atom.predicate, arguments))


def _without(atom: Atom, unbound: set[Variable]) -> Atom:
    arguments = tuple(UNBOUND if a in unbound else a for a in atom.arguments)
    return Atom(atom.predicate, arguments)


def with_variable(literal: FlatLiteral, old: Variable, new: Variable) -> FlatLiteral:
    """A literal with another variable in place of one."""
    match literal:
        case Atom():
            return replace(literal, arguments=tuple(_in_place(a, old, new) for a in literal.arguments))
        case Negation(atom):
            inside = tuple(_in_place(a, old, new) for a in atom.arguments)
            return replace(literal, atom=replace(atom, arguments=inside))
        case Condition(expression):
            return replace(literal, expression=_in_place(expression, old, new))


def _in_place(expression: Expression, old: Variable, new: Variable) -> Expression:
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple(_in_place(a, old, new) for a in expression.arguments))
    return new if expression == old else expression
