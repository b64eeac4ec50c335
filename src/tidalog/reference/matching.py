"""The matches of one clause: every assignment of terms to variables under which its body is true.

`matches` joins the positive atoms one after the other, then takes the steps of `schedule` (tests, and
equations that give a variable its value), then asks that no fact matches a negated atom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidalog.builtins import GENERATORS, CannotCompute, PythonFunction, evaluate, evaluate_all, holds
from tidalog.model.program import Aggregate, Atom, Call, Condition, Expression, Variable, variables
from tidalog.model.terms import Integer, Term
from tidalog.reference.clauses import EACH, Clause, NotEvaluable

Row = tuple[Term, ...]
Facts = Mapping[str, set[Row]]
Bindings = dict[Variable, Term]


@dataclass(frozen=True, slots=True)
class Step:
    """Give `variable` the value of `expression`; without a variable, ask that it is true."""

    expression: Expression
    variable: Variable | None = None


def schedule(clause: Clause) -> tuple[Step, ...]:
    """The conditions in an order in which each can be computed; refuses a clause that is not safe.

    An equation with an unbound variable on one side gives it the value of the other side as soon as that
    can be computed.  Rounds look only at what was bound before them, and of several equations for one
    variable the shortest gives the value and the others are tests: neither goes by the order of literals.
    """
    bound = {variable for atom in clause.atoms for variable in variables(atom)}
    waiting = list(clause.conditions)
    steps: list[Step] = []
    while options := _options(waiting, bound):
        for variable, equations in options.items():
            condition, value = min(equations, key=lambda pair: _form(pair[1]))
            steps.append(Step(value, variable))
            waiting.remove(condition)
        bound.update(options)
    for condition in waiting:
        if not set(variables(Condition(condition))) <= bound:
            raise NotEvaluable(f"a condition of {_name(clause)} has a variable that nothing binds")
    _check_safety(clause, bound)
    return (*steps, *map(Step, waiting))


def _options(
    conditions: list[Expression], bound: set[Variable]
) -> dict[Variable, list[tuple[Expression, Expression]]]:
    """For each unbound variable the equations that could give it a value now, with that value."""
    found: dict[Variable, list[tuple[Expression, Expression]]] = {}
    for condition in conditions:
        if isinstance(condition, Call) and condition.function == "=":
            left, right = condition.arguments
            for side, other in ((left, right), (right, left)):
                computable = set(variables(Condition(other))) <= bound
                if isinstance(side, Variable) and side.name.startswith(EACH) and not _has_several(other):
                    continue  # it takes the values of its generator and no others
                if computable and isinstance(side, Variable) and side not in bound:
                    found.setdefault(side, []).append((condition, other))
    return found


def _has_several(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in GENERATORS


def _form(expression: Expression) -> tuple[int, str]:
    """The length of an expression and its text with all variables alike."""
    if isinstance(expression, Variable):
        return 1, "?"
    if isinstance(expression, Call):
        parts = [_form(argument) for argument in expression.arguments]
        return 1 + sum(size for size, _ in parts), f"{expression.function}({','.join(t for _, t in parts)})"
    return 1, repr(expression)


def _check_safety(clause: Clause, bound: set[Variable]) -> None:
    if clause.head is not None and not set(variables(clause.head)) <= bound:
        raise NotEvaluable(f"a variable in the head of {_name(clause)} is not bound")
    for index, atom in enumerate(clause.negations):
        shared = {v for other in clause.negations[:index] for v in variables(other)}
        computed = {v for a in atom.arguments if isinstance(a, Call) for v in variables(a)}
        if not (shared & set(variables(atom)) | computed) <= bound:
            raise NotEvaluable(f"a variable in a negated atom of {_name(clause)} is not bound")


def _name(clause: Clause) -> str:
    return f"rule {clause.rule.name}" if clause.rule.name else "a rule"


def matches(clause: Clause, facts: Facts, functions: Mapping[str, PythonFunction]) -> Iterator[Bindings]:
    """Every match of the body, each once."""
    steps = schedule(clause)
    for joined in _join(clause.atoms, facts):
        for bindings in _take(steps, joined, functions):
            if not any(_has_match(atom, bindings, facts, functions) for atom in clause.negations):
                yield bindings


def _join(atoms: tuple[Atom, ...], facts: Facts) -> Iterator[Bindings]:
    if not atoms:
        yield {}
        return
    *before, last = atoms
    rows = facts.get(last.predicate, set())
    for bindings in _join(tuple(before), facts):
        for row in rows:
            extended = _unified(last.arguments, row, bindings)
            if extended is not None:
                yield extended


def _unified(
    pattern: tuple[Expression | Aggregate, ...], row: Row, bindings: Mapping[Variable, Term]
) -> Bindings | None:
    """The bindings extended so that the pattern is the row; None if there are none."""
    if len(pattern) != len(row):
        return None
    added: Bindings = {}
    for argument, term in zip(pattern, row, strict=True):
        if isinstance(argument, Variable):
            if (bindings.get(argument) or added.setdefault(argument, term)) != term:
                return None
        elif argument != term:
            return None
    return {**bindings, **added}


def _take(
    steps: tuple[Step, ...], bindings: Bindings, functions: Mapping[str, PythonFunction]
) -> Iterator[Bindings]:
    """The bindings after all steps; a step with several values goes on with each."""
    if not steps:
        yield bindings
        return
    step, *rest = steps
    if step.variable is None:
        if holds(step.expression, bindings, functions):
            yield from _take(tuple(rest), bindings, functions)
        return
    try:
        values = evaluate_all(step.expression, bindings, functions)
    except CannotCompute:
        return
    for value in values:
        term = Integer(value) if isinstance(value, int) else value
        yield from _take(tuple(rest), {**bindings, step.variable: term}, functions)


def _has_match(atom: Atom, bindings: Bindings, facts: Facts, functions: Mapping[str, PythonFunction]) -> bool:
    """Whether some fact matches a negated atom, or an argument of it cannot be computed; in both cases the
    negated literal is false.  Unbound variables are local and match anything."""
    try:
        pattern = tuple(
            evaluate(argument, bindings, functions) if isinstance(argument, Call) else argument
            for argument in atom.arguments
        )
    except CannotCompute:
        return True
    return any(_unified(pattern, row, bindings) is not None for row in facts.get(atom.predicate, set()))
