"""Safety: every variable that needs a value gets one.

A variable is *bound* by a positive atom or by a computation whose inputs are bound.  The head, aggregates,
tests, inputs of computations and variables that negated atoms share need bound variables.  An unbound
variable is reported once per rule, at the position that shows it best.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidalog.analysis.diagnostics import (
    UnboundAggregateVariable,
    UnboundConditionVariable,
    UnboundExpressionVariable,
    UnboundHeadVariable,
    UnboundNegatedVariable,
    locate,
)
from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.normalise import LIFTED
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Aggregate, Atom, Call, Condition, Negation, Rule, Variable
from tidalog.model.program import variables as variables_of


def check_safety(draft: Draft) -> None:
    reported: set[tuple[int, Variable]] = set()
    for working, normal in zip(draft.rules, draft.normal, strict=True):
        for variable in unbound_variables(normal):
            # A rule with several heads is several normal rules; an error in its body is reported once.
            mark = (id(working.origin), variable)
            if mark not in reported:
                reported.add(mark)
                draft.report(_explain(working, variable))


def unbound_variables(rule: NormalRule) -> list[Variable]:
    """The variables that need a value and have none, in order of occurrence, without those that could be
    computed if other unbound variables had values."""
    bound = {variable for atom in rule.atoms for variable in atom.variables}
    for computation in rule.computations:
        if bound.issuperset(variables_of(computation.expression)):
            bound.add(computation.variable)
    needed = dict.fromkeys(v for v in _needing(rule) if v not in bound)
    consequences = _consequences(rule, bound)
    roots = [variable for variable in needed if variable not in consequences]
    return roots or [variable for variable in needed if not variable.name.startswith(LIFTED)]


def _needing(rule: NormalRule) -> Iterator[Variable]:
    if rule.head is not None:
        aggregated = {column.position for column in rule.aggregates}
        for position, argument in enumerate(rule.head.arguments):
            if isinstance(argument, Variable) and position not in aggregated:
                yield argument
    for column in rule.aggregates:
        yield from (argument for argument in column.arguments if isinstance(argument, Variable))
    for test in rule.tests:
        yield from variables_of(test)
    for computation in rule.computations:
        yield from variables_of(computation.expression)
    first_negation: dict[Variable, int] = {}
    for number, atom in enumerate(rule.negations):
        for argument in atom.arguments:
            if isinstance(argument, Variable) and first_negation.setdefault(argument, number) != number:
                yield argument


def _consequences(rule: NormalRule, bound: set[Variable]) -> set[Variable]:
    """Variables that would have a value if other unbound ones had."""
    found = {c.variable for c in rule.computations if c.variable not in bound}
    for test in rule.tests:
        if isinstance(test, Call) and test.function == "=" and len(test.arguments) == 2:
            left, right = test.arguments
            for target, source in ((left, right), (right, left)):
                if isinstance(target, Variable) and target not in bound:
                    inputs = set(variables_of(source))
                    if isinstance(source, Call) and target not in inputs and not inputs <= bound:
                        found.add(target)
    return found


def _explain(working: WorkingRule, variable: Variable) -> Diagnostic:
    rule = working.rule
    shown = "_" if variable.anonymous else f"?{variable.name}"
    for head in rule.heads:
        for argument in head.arguments:
            if argument == variable:
                return UnboundHeadVariable(_spot(head.span, rule, shown), variable=shown)
            if isinstance(argument, Aggregate) and variable in variables_of(argument):
                span = argument.span or head.span
                return UnboundAggregateVariable(_spot(span, rule, shown), variable=shown)
            if isinstance(argument, Call) and variable in variables_of(argument):
                span = argument.span or head.span
                return UnboundExpressionVariable(_spot(span, rule, shown), variable=shown)
    for literal in rule.body:
        if isinstance(literal, Condition) and variable in variables_of(literal):
            return UnboundConditionVariable(_spot(literal.span, rule, shown), variable=shown)
    for literal in rule.body:
        atom = literal.atom if isinstance(literal, Negation) else literal
        if isinstance(atom, Atom):
            for argument in atom.arguments:
                if isinstance(argument, Call) and variable in variables_of(argument):
                    span = argument.span or atom.span
                    return UnboundExpressionVariable(_spot(span, rule, shown), variable=shown)
    negated = [lit for lit in rule.body if isinstance(lit, Negation) and variable in variables_of(lit)]
    return UnboundNegatedVariable(_spot(negated[0].span if negated else None, rule, shown), variable=shown)


def _spot(span: Span | None, rule: Rule, shown: str) -> Span | None:
    return locate(span or rule.span, shown)
