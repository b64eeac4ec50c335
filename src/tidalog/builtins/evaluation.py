"""Expressions and registered Python functions.

Evaluation uses a stack of its own and never recurses on the depth of the input.  A failed argument is kept
as an outcome until a function asks for it, so that special forms can look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import Final

from tidalog.builtins.base import Builtin, CannotCompute, Outcome
from tidalog.builtins.generators import BUILTINS as SEVERAL
from tidalog.builtins.generators import GENERATORS
from tidalog.builtins.kinds import BUILTINS as KINDS
from tidalog.builtins.logic import BUILTINS as LOGIC
from tidalog.builtins.numbers import BUILTINS as NUMBERS
from tidalog.builtins.text import BUILTINS as TEXT
from tidalog.model.program import Aggregate, Call, Expression, Parameter, Variable
from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    TRUE,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    instant,
    is_text,
)

BUILTINS: Final[Mapping[str, Builtin]] = MappingProxyType(
    {builtin.name: builtin for builtin in (*NUMBERS, *LOGIC, *TEXT, *KINDS, *SEVERAL)}
)
"""Every built-in by its name in upper case or its operator."""

PythonFunction = Callable[..., object]
NO_FUNCTIONS: Final[Mapping[str, PythonFunction]] = MappingProxyType({})


def evaluate(
    expression: Expression,
    bindings: Mapping[Variable, Term],
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
) -> Term:
    """The value of an expression; `CannotCompute` if it has none.

    `functions` are registered Python functions by upper-case name; a built-in of the same name goes first.
    A name that is neither is a `LookupError`, a wrong number of arguments a `TypeError`: the analysis
    refuses both, so they never come from a program that passed it.
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
    """Whether a condition is true; one that cannot be computed is not."""
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
            return call_python(_registered(name, functions), _all_computed(arguments))
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


def call_python(function: PythonFunction, arguments: Sequence[Term]) -> Term:
    """A registered function's answer.

    Numbers, booleans and plain strings arrive as Python values, every other term as itself.  The answer is
    an int, float, bool, str (a plain string), date, datetime or a term.  None, any other answer, an integer
    beyond 64 bits and the exceptions of a function that cannot cope with its arguments (ArithmeticError,
    LookupError, TypeError, ValueError) mean that there is no value; other exceptions are the caller's.
    """
    try:
        answer = function(*map(python_value, arguments))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise CannotCompute(f"the function raised {type(error).__name__}: {error}") from error
    return term_of_answer(answer)


def python_value(term: Term) -> object:
    """What a registered function sees of a term."""
    return term.value if isinstance(term, Integer | Double | Boolean | String) else term


def term_of_answer(answer: object) -> Term:
    """The term that a registered function's answer stands for; a scalar of numpy is what it holds."""
    if type(answer).__module__ == "numpy" and getattr(answer, "ndim", None) == 0:
        answer = getattr(answer, "item", lambda: answer)()
    match answer:
        case IRI() | BlankNode() | String() | LangString() | Integer() | Double() | Boolean() | Literal():
            return answer
        case bool():
            return Boolean(answer)
        case int():
            if INT64_MIN <= answer <= INT64_MAX:
                return Integer(int(answer))
            raise CannotCompute("the function's answer does not fit 64 bits")
        case float():
            return Double(float(answer))
        case str():
            if not is_text(answer):
                raise CannotCompute("the function answered with half a surrogate pair, which is not text")
            return String(str(answer))
        case datetime():
            return instant(answer)
        case date():
            return Literal(answer.isoformat(), XSD + "date")
        case None:
            raise CannotCompute("the function gave no answer")
        case _:
            raise CannotCompute(f"the function answered with a {type(answer).__name__}, which is not a term")
