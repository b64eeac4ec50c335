"""Expressions and registered Python functions.

Evaluation uses an explicit stack and never recurses on the depth of the input.  A failed argument is kept
as an outcome until a function needs it, so that special forms can inspect it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final
from weakref import WeakSet

from tidalog.builtins.base import Builtin, CannotCompute, Outcome
from tidalog.builtins.conversions import BUILTINS as CONVERSIONS
from tidalog.builtins.generators import BUILTINS as SEVERAL
from tidalog.builtins.generators import GENERATORS
from tidalog.builtins.kinds import BUILTINS as KINDS
from tidalog.builtins.logic import BUILTINS as LOGIC
from tidalog.builtins.numbers import BUILTINS as NUMBERS
from tidalog.builtins.text import BUILTINS as TEXT
from tidalog.builtins.times import BUILTINS as TIMES
from tidalog.model.native import native_value
from tidalog.model.program import Aggregate, Call, Expression, Parameter, Variable
from tidalog.model.term_text import from_python
from tidalog.model.terms import INT64_MAX, INT64_MIN, TRUE, Term

BUILTINS: Final[Mapping[str, Builtin]] = MappingProxyType(
    {builtin.name: builtin for builtin in (*NUMBERS, *CONVERSIONS, *LOGIC, *TEXT, *KINDS, *TIMES, *SEVERAL)}
)
"""Every built-in by its name in upper case or its operator."""

PythonFunction = Callable[..., object]
NO_FUNCTIONS: Final[Mapping[str, PythonFunction]] = MappingProxyType({})
_LOG: Final = logging.getLogger("tidalog")
_REPORTED: Final[WeakSet[PythonFunction]] = WeakSet()
"""Functions whose answer was not a term, which is logged once for each."""


class _NotATerm(CannotCompute):
    pass


def evaluate(
    expression: Expression,
    bindings: Mapping[Variable, Term],
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
) -> Term:
    """The value of an expression; `CannotCompute` if it has none.

    `functions` are registered Python functions by upper-case name; a built-in of the same name wins.  A name
    that is neither raises `LookupError`, a wrong number of arguments `TypeError`: analysis refuses both, so
    an analysed program never raises them.
    """
    outcome = _outcome(expression, bindings, functions)
    if isinstance(outcome, CannotCompute):
        raise outcome
    return outcome


def evaluate_all(
    expression: Expression,
    bindings: Mapping[Variable, Term],
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
) -> range | tuple[Term]:
    """The values of an expression, integers as such: one, or those of a generator."""
    if not isinstance(expression, Call) or expression.function not in GENERATORS:
        return (evaluate(expression, bindings, functions),)
    arguments = [evaluate(argument, bindings, functions) for argument in expression.arguments]
    return GENERATORS[expression.function](arguments)


def holds(
    expression: Expression,
    bindings: Mapping[Variable, Term],
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
) -> bool:
    """Whether a condition is true; one that cannot be computed is false."""
    return _outcome(expression, bindings, functions) == TRUE


def _outcome(
    expression: Expression, bindings: Mapping[Variable, Term], functions: Mapping[str, PythonFunction]
) -> Outcome:
    if not isinstance(expression, Call):
        return _leaf(expression, bindings)
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    done: list[Outcome] = []
    while waiting:
        node, arguments_done = waiting.pop()
        if not isinstance(node, Call):
            done.append(_leaf(node, bindings))
        elif not arguments_done:
            waiting.append((node, True))
            waiting.extend((argument, False) for argument in reversed(node.arguments))
        else:
            first = len(done) - len(node.arguments)
            arguments = done[first:]
            del done[first:]
            done.append(apply(node.function, arguments, functions))
    return done[0]


def _leaf(node: Expression, bindings: Mapping[Variable, Term]) -> Outcome:
    if isinstance(node, Variable):
        term = bindings.get(node)
        return CannotCompute(f"?{node.name} has no value") if term is None else term
    if isinstance(node, Parameter):
        return CannotCompute(f"the parameter ${node.name} has no value")
    assert not isinstance(node, Call | Aggregate)
    return node


def apply(
    name: str, arguments: Sequence[Outcome], functions: Mapping[str, PythonFunction] = NO_FUNCTIONS
) -> Outcome:
    """One call with arguments that may have failed."""
    builtin = BUILTINS.get(name)
    try:
        if builtin is None:
            return call_python(_registered(name, functions), _all_computed(arguments), name)
        if not builtin.accepts(len(arguments)):
            raise TypeError(f"{name} does not take {len(arguments)} arguments")
        if builtin.decide is not None:
            return builtin.decide(arguments)
        return builtin.evaluate(_all_computed(arguments))
    except CannotCompute as failure:
        return failure


def _registered(name: str, functions: Mapping[str, PythonFunction]) -> PythonFunction:
    function = functions.get(name)
    if function is None:
        raise LookupError(f"there is no function {name}")
    return function


def _all_computed(arguments: Sequence[Outcome]) -> list[Term]:
    terms: list[Term] = []
    for argument in arguments:
        if isinstance(argument, CannotCompute):
            raise argument
        terms.append(argument)
    return terms


# --- Python functions -------------------------------------------------------------------------------


def call_python(function: PythonFunction, arguments: Sequence[Term], name: str) -> Term:
    """The value of a function that is registered under a name.

    Numbers, booleans, plain strings, dates, times and durations are passed as Python values, every other term
    as itself (`native_value`).  The function returns a value that stands for a term (`from_python`).  There
    is no value if it returns None, anything else or an integer beyond 64 bits, or raises ArithmeticError,
    LookupError, TypeError or ValueError; other exceptions propagate.
    """
    return called(function, [python_value(argument) for argument in arguments], name)


def called(function: PythonFunction, arguments: Sequence[object], name: str) -> Term:
    """The same with arguments that are Python values already."""
    try:
        answer = function(*arguments)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise CannotCompute(f"the function raised {type(error).__name__}: {error}") from error
    try:
        return term_of_answer(answer)
    except _NotATerm as error:
        _report(function, name, error)
        raise


def _report(function: PythonFunction, name: str, error: _NotATerm) -> None:
    """Unlike an exception or None, such an answer is never meant."""
    with suppress(TypeError):  # some callables cannot be kept in a set
        if function in _REPORTED:
            return
        _REPORTED.add(function)
    _LOG.warning("%s: %s; every such literal is false", name, error)


def python_value(term: Term) -> object:
    """A term as passed to a registered function."""
    value = native_value(term)
    return term if value is None else value


def term_of_answer(answer: object) -> Term:
    """The term of a registered function's result."""
    if answer is None:
        raise CannotCompute("the function gave no answer")
    if type(answer) is int and not INT64_MIN <= answer <= INT64_MAX:
        raise CannotCompute("the function's answer does not fit 64 bits")
    try:
        return from_python(answer)
    except TypeError as error:
        raise _NotATerm(f"the function's answer is not a term: {error}") from None
