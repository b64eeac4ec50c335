"""FILTER, BIND and EXISTS: conditions and computations over solutions.

A pattern inside EXISTS that uses variables which only the outside binds starts from the solutions outside of
it, in each of its groups that needs them, so that their filters see those variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from tidalog.lang.sparql.algebra import (
    BasicPattern,
    Bind,
    Exists,
    Expression,
    Function,
    Group,
    InGraph,
    Minus,
    Optional,
    Union,
    in_scope,
    subexpressions,
)
from tidalog.lang.sparql.expressions import (
    NO_AGGREGATES,
    Aggregates,
    Scope,
    conjuncts,
    needed,
    needed_aggregates,
)
from tidalog.lang.sparql.solutions import IMPOSSIBLE, UNBOUND, UNIT, Solutions, is_bound
from tidalog.lang.sparql.triples import Triples
from tidalog.model.errors import Span
from tidalog.model.program import Atom, Call, Condition, FlatLiteral, Negation, Variable
from tidalog.model.terms import FALSE, TRUE, Term


@dataclass(frozen=True, slots=True)
class Outside:
    """The solutions outside of an EXISTS, and second columns of those that may lack a value."""

    solutions: Solutions
    copies: Mapping[Variable, Variable]

    def needed(self, variables: set[Variable]) -> Solutions:
        """Only these variables, with their second columns."""
        kept = variables | {copy for variable, copy in self.copies.items() if variable in variables}
        return self.solutions.without(v for v in self.solutions.columns if v not in kept)


class Evaluate(Protocol):
    """Turns a group into solutions."""

    def __call__(self, group: Group, start: Solutions | None = None, hint: Solutions = UNIT) -> Solutions: ...


class Conditions:
    def __init__(self, triples: Triples, group: Evaluate) -> None:
        self.triples, self.rules, self.group = triples, triples.rules, group
        self.outer: Outside | None = None
        """Inside EXISTS: the solutions outside of it, if their variables are used there."""

    def filter(
        self, before: Solutions, condition: Expression, aggregates: Aggregates = NO_AGGREGATES
    ) -> Solutions:
        found = before
        for part in conjuncts(condition):
            found = self._filter_by_one(found, part, aggregates)
        return found

    def _filter_by_one(self, before: Solutions, condition: Expression, aggregates: Aggregates) -> Solutions:
        named = needed(condition) | {aggregates[a] for a in needed_aggregates(condition)}
        unsure = [v for v in before.columns if v in named and v not in before.certain]
        found = before.with_literals(*map(is_bound, unsure), certain=unsure)
        found, choices = self._choices(found, condition)
        bodies: list[tuple[FlatLiteral, ...]] = []
        for literals, exists in choices:
            scope = Scope(found, self.rules, exists, aggregates)
            truth = scope.truth(condition)
            if truth != FALSE:
                tests = () if truth == TRUE else (Condition(truth, span_of(condition)),)
                bodies.append((*literals, *scope.steps, *tests))
        if not bodies:
            return found.with_literals(IMPOSSIBLE)
        return self._with_one_of(found, found.columns, found.certain, bodies, "filter")

    def bind(
        self,
        before: Solutions,
        value: Expression,
        target: Variable,
        aggregates: Aggregates = NO_AGGREGATES,
    ) -> Solutions:
        found, choices = self._choices(before, value)
        bodies: list[tuple[FlatLiteral, ...]] = []
        certain = found.certain | {target}
        for literals, exists in choices:
            scope = Scope(found, self.rules, exists, aggregates)
            computed = scope.value(value)
            if isinstance(computed, Call):
                computed = Call("COALESCE", (computed, UNBOUND))
                certain = found.certain
            result = Condition(Call("=", (target, computed)), span_of(value))
            bodies.append((*literals, *scope.steps, result))
        return self._with_one_of(found, (*found.columns, target), certain, bodies, "bind")

    def _with_one_of(
        self,
        before: Solutions,
        columns: tuple[Variable, ...],
        certain: frozenset[Variable],
        bodies: Sequence[tuple[FlatLiteral, ...]],
        kind: str,
    ) -> Solutions:
        if len(bodies) == 1:
            return Solutions((*before.body, *bodies[0]), columns, certain)
        name = self.rules.helper(kind)
        for body in bodies:
            self.rules.add(name, columns, (*before.body, *body))
        return Solutions((Atom(name, columns),), columns, certain)

    def _choices(
        self, before: Solutions, expression: Expression
    ) -> tuple[Solutions, list[tuple[tuple[FlatLiteral, ...], dict[Exists, bool]]]]:
        """Which of the EXISTS in an expression are true, with the literals that say so: all combinations."""
        found = list(dict.fromkeys(n for n in subexpressions(expression) if isinstance(n, Exists)))
        if not found:
            return before, [((), {})]
        before = self.rules.stored(before, "before")
        absences = [self._absence(before, one.pattern) for one in found]
        choices: list[tuple[tuple[FlatLiteral, ...], dict[Exists, bool]]] = []
        for values in product((True, False), repeat=len(found)):
            literals = tuple(a.atom if v else a for a, v in zip(absences, values, strict=True))
            choices.append((literals, dict(zip(found, values, strict=True))))
        return before, choices

    def _absence(self, before: Solutions, pattern: Group) -> Negation:
        """The literal that a pattern has no match that is compatible with a solution before it."""
        around, self.outer = self.outer, None
        try:
            with self.triples.counting(False):
                return self._absent(before, pattern)
        finally:
            self.outer = around

    def _absent(self, before: Solutions, pattern: Group) -> Negation:
        from_outside = unscoped(pattern).intersection(before.columns)
        if not from_outside:
            alone = self.group_near(pattern, before)
            if not before.unsure(alone):
                return self.rules.absent(alone, before.shared(alone), "exists")
        inside = {*in_scope(pattern), *self.triples.context}
        keys = [v for v in before.columns if v in inside or v in from_outside]
        copies = {v: self.rules.fresh("own") for v in keys if v not in before.certain}
        self.outer = Outside(self.with_copies(before, copies) if copies else before, copies)
        matches = self.group(pattern, self.outer.solutions.without(set(before.columns) - set(keys)))
        name = self.rules.helper("exists")
        self.rules.add(name, [copies.get(v, v) for v in keys], matches.body)
        return Negation(Atom(name, tuple(keys)))

    def group_near(self, pattern: Group, before: Solutions) -> Solutions:
        """The solutions of a pattern by itself that may go with those before it: what is more than one atom
        is only looked for where it matters."""
        return self.group(pattern, hint=UNIT if is_one_triple(pattern) else before)

    def with_copies(self, solutions: Solutions, copies: dict[Variable, Variable]) -> Solutions:
        """The solutions with a second column for variables that a join may bind; it stays as it is, so two
        parts that come from the same solution agree in it, with a value or without."""
        name = self.rules.helper("before")
        self.rules.add(name, (*solutions.columns, *copies), solutions.body)
        columns = (*solutions.columns, *copies.values())
        return Solutions((Atom(name, columns),), columns, solutions.certain.union(copies.values()))


def span_of(expression: Expression) -> Span | None:
    return expression.span if isinstance(expression, Function | Exists) else None


def mentioned_in(expression: Expression) -> Iterator[Variable]:
    """The variables of an expression, those inside EXISTS included."""
    for node in subexpressions(expression):
        if isinstance(node, Variable):
            yield node
        elif isinstance(node, Exists):
            yield from mentioned_in_group(node.pattern)


def mentioned_in_group(group: Group) -> Iterator[Variable]:
    yield from in_scope(group)
    for condition in group.filters:
        yield from mentioned_in(condition)
    for element in group.elements:
        if isinstance(element, Bind):
            yield from mentioned_in(element.value)
        elif isinstance(element, Optional | Minus | InGraph):
            yield from mentioned_in_group(element.pattern)
        elif isinstance(element, Union):
            for branch in element.branches:
                yield from mentioned_in_group(branch)


def is_one_triple(group: Group) -> bool:
    """Whether a group is a triple pattern and nothing else."""
    match group:
        case Group((BasicPattern((triple,)),), ()):
            return isinstance(triple.predicate, Term | Variable)
    return False


def unscoped(group: Group) -> set[Variable]:
    """The variables that an expression in a group names and that its group does not bind."""
    expressions = [*group.filters, *(e.value for e in group.elements if isinstance(e, Bind))]
    found = {v for one in expressions for v in mentioned_in(one)} - set(in_scope(group))
    for element in group.elements:
        if isinstance(element, Optional | Minus | InGraph):
            found |= unscoped(element.pattern)
        elif isinstance(element, Union):
            for branch in element.branches:
                found |= unscoped(branch)
    return found
