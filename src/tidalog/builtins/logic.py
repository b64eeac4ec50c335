"""Comparison and the connectives.  The meaning is stated in the docstring of the package."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from tidalog.builtins.base import Builtin, CannotCompute, Outcome, shown, special_form, truth_of
from tidalog.model.terms import FALSE, TRUE, Boolean, String, Term, instant_value, numeric_value


def equal(left: Term, right: Term) -> bool:
    """Numbers by value (integer against double exactly, NaN with NaN), everything else by identity."""
    if left == right:
        return True
    a, b = numeric_value(left), numeric_value(right)
    if a is None or b is None:
        return False
    return a == b or (a != a and b != b)


def _comparable(left: Term, right: Term) -> tuple[float | str, float | str]:
    """Two values whose Python order is the order of the terms."""
    if isinstance(left, String) and isinstance(right, String):
        return left.value, right.value
    if isinstance(left, Boolean) and isinstance(right, Boolean):
        return left.value, right.value
    for reading in (numeric_value, instant_value):
        a, b = reading(left), reading(right)
        if a is not None and b is not None:
            return a, b
    raise CannotCompute(f"{shown(left)} and {shown(right)} have no order")


def _ordering(name: str, holds: Callable[..., bool], summary: str) -> Builtin:
    def evaluate(arguments: Sequence[Term]) -> Term:
        return Boolean(holds(*_comparable(arguments[0], arguments[1])))

    return Builtin(name, 2, 2, evaluate, summary)


def conjunction(arguments: Sequence[Outcome]) -> Term:
    """False if any argument is false, even if another has no value."""
    return _connective(arguments, decisive=False)


def disjunction(arguments: Sequence[Outcome]) -> Term:
    """True if any argument is true, even if another has no value."""
    return _connective(arguments, decisive=True)


def membership(arguments: Sequence[Outcome]) -> Term:
    """Whether the first argument equals one of the others, even if another has no value."""
    member, values = _computed(arguments[0]), arguments[1:]
    return disjunction(
        [FALSE, *(v if isinstance(v, CannotCompute) else Boolean(equal(member, v)) for v in values)]
    )


def _connective(arguments: Sequence[Outcome], decisive: bool) -> Term:
    failure: CannotCompute | None = None
    for argument in arguments:
        if isinstance(argument, CannotCompute):
            failure = failure or argument
        elif not isinstance(argument, Boolean):
            failure = failure or CannotCompute(f"{shown(argument)} is neither true nor false")
        elif argument.value is decisive:
            return argument
    if failure is not None:
        raise failure
    return Boolean(not decisive)


def choose(arguments: Sequence[Outcome]) -> Term:
    """IF: the branch that is not taken may fail."""
    condition = _computed(arguments[0])
    return _computed(arguments[1] if truth_of(condition) else arguments[2])


def first_computed(arguments: Sequence[Outcome]) -> Term:
    """COALESCE: the first argument that has a value."""
    for argument in arguments:
        if not isinstance(argument, CannotCompute):
            return argument
    raise CannotCompute("no argument of COALESCE has a value")


def has_value(arguments: Sequence[Outcome]) -> Term:
    return FALSE if isinstance(arguments[0], CannotCompute) else TRUE


def _computed(outcome: Outcome) -> Term:
    if isinstance(outcome, CannotCompute):
        raise outcome
    return outcome


BUILTINS: tuple[Builtin, ...] = (
    Builtin("=", 2, 2, lambda a: Boolean(equal(a[0], a[1])), "equal: numbers by value, else the same term"),
    Builtin("!=", 2, 2, lambda a: Boolean(not equal(a[0], a[1])), "not equal"),
    _ordering("<", operator.lt, "less than: two numbers, strings, booleans or instants"),
    _ordering("<=", operator.le, "less than or equal"),
    _ordering(">", operator.gt, "greater than"),
    _ordering(">=", operator.ge, "greater than or equal"),
    special_form("AND", 1, None, conjunction, "all are true; false if any is false, even if others fail"),
    special_form("OR", 1, None, disjunction, "any is true; true if any is true, even if others fail"),
    special_form("IN", 1, None, membership, "equal to one of the others: `?x IN (1, 2)`"),
    Builtin("NOT", 1, 1, lambda a: Boolean(not truth_of(a[0])), "true for false and false for true"),
    special_form("IF", 3, 3, choose, "the second if the first is true, the third if it is false"),
    special_form("COALESCE", 1, None, first_computed, "the first argument that can be computed"),
    special_form("BOUND", 1, 1, has_value, "whether the argument has a value"),
    Builtin("SAMETERM", 2, 2, lambda a: Boolean(a[0] == a[1]), "whether both are the same term"),
)
