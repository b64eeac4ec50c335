"""Comparison and the connectives.  The docstring of the package specifies them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal

from tidalog.builtins import times
from tidalog.builtins.base import Builtin, CannotCompute, Number, Outcome, shown, special_form, truth_of
from tidalog.model.terms import FALSE, TRUE, Boolean, String, Term, nearest_double, numeric_value


def equal(left: Term, right: Term) -> bool:
    """Numbers, points in time, times of day and durations by value (an integer and a double exactly, a
    decimal and a double as doubles, NaN with NaN); everything else by identity."""
    if left == right:
        return True
    a, b = numeric_value(left), numeric_value(right)
    if a is not None and b is not None:
        return compare_numbers(a, b) == 0 or (a != a and b != b)
    return times.order(left, right) == 0


def compare_numbers(a: Number, b: Number) -> int | None:
    """-1, 0 or 1; None if one is NaN.  A decimal that meets a double is rounded to one, as in arithmetic."""
    if isinstance(a, Decimal) and isinstance(b, float):
        a = nearest_double(a)
    elif isinstance(b, Decimal) and isinstance(a, float):
        b = nearest_double(b)
    if a != a or b != b:
        return None
    return (a > b) - (a < b)


def order(left: Term, right: Term) -> int | None:
    """-1, 0 or 1; None if a NaN is among them, for which no comparison holds."""
    if isinstance(left, String) and isinstance(right, String):
        return (left.value > right.value) - (left.value < right.value)
    if isinstance(left, Boolean) and isinstance(right, Boolean):
        return left.value - right.value
    a, b = numeric_value(left), numeric_value(right)
    if a is not None and b is not None:
        return compare_numbers(a, b)
    found = times.order(left, right)
    if found is None:
        raise CannotCompute(f"{shown(left)} and {shown(right)} have no order")
    return found


def _equality(arguments: Sequence[Term]) -> Term:
    return Boolean(equal(arguments[0], arguments[1]))


def _inequality(arguments: Sequence[Term]) -> Term:
    return Boolean(not equal(arguments[0], arguments[1]))


def _ordering(holds: Callable[[int, int], bool]) -> Callable[[Sequence[Term]], Term]:
    def evaluate(arguments: Sequence[Term]) -> Term:
        found = order(arguments[0], arguments[1])
        return Boolean(found is not None and holds(found, 0))

    return evaluate


def _named(
    names: Sequence[str], evaluate: Callable[[Sequence[Term]], Term], summary: str
) -> tuple[Builtin, ...]:
    """A comparison by its sign and by the name that it has in Nemo."""
    return tuple(Builtin(name, 2, 2, evaluate, summary) for name in names)


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
    *_named(("=", "EQUALITY"), _equality, "equal: numbers and times by value, else the same term"),
    *_named(("!=", "UNEQUALITY"), _inequality, "not equal"),
    *_named(
        ("<", "NUMLESS"),
        _ordering(operator.lt),
        "less than: two numbers, strings, booleans, points in time or durations",
    ),
    *_named(("<=", "NUMLESSEQ"), _ordering(operator.le), "less than or equal"),
    *_named((">", "NUMGREATER"), _ordering(operator.gt), "greater than"),
    *_named((">=", "NUMGREATEREQ"), _ordering(operator.ge), "greater than or equal"),
    special_form("AND", 1, None, conjunction, "all are true; false if any is false, even if others fail"),
    special_form("OR", 1, None, disjunction, "any is true; true if any is true, even if others fail"),
    special_form("IN", 1, None, membership, "equal to one of the others: `?x IN (1, 2)`"),
    Builtin("NOT", 1, 1, lambda a: Boolean(not truth_of(a[0])), "true for false and false for true"),
    special_form("IF", 3, 3, choose, "the second if the first is true, the third if it is false"),
    special_form("COALESCE", 1, None, first_computed, "the first argument that can be computed"),
    special_form("BOUND", 1, 1, has_value, "whether the argument has a value"),
    Builtin("SAMETERM", 2, 2, lambda a: Boolean(a[0] == a[1]), "whether both are the same term"),
)
