"""Parameters: replaces `$limit` by its value.

A value given by the caller overrides the one that the program declares.  After this pass no parameter is
left; one without a value is reported once, at its first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from tidalog.analysis.diagnostics import (
    OptionNotComputable,
    ParameterNotComputable,
    UndefinedParameter,
    UnusedParameter,
    locate,
    locate_directive,
)
from tidalog.analysis.draft import Draft
from tidalog.analysis.rewrite import expression_with, map_leaves, nodes, rule_nodes
from tidalog.builtins import BUILTINS, CannotCompute, evaluate
from tidalog.model.errors import ProgramError, Span
from tidalog.model.program import (
    Call,
    DataBinding,
    Expression,
    OptionValue,
    Parameter,
    Program,
    Rule,
    Variable,
)
from tidalog.model.term_text import term_text
from tidalog.model.terms import IRI, Boolean, Double, Integer, Literal, String, Term

_COMPUTED: Final = (Call, Parameter, Variable)
"""What an option can be that has a value."""


def substitute_parameters(draft: Draft) -> None:
    declared = draft.program.parameters
    used = _first_uses(rule.rule for rule in draft.rules)
    values = _values(draft)
    for name, span in used.items():
        if (name not in declared and name not in draft.parameters) or _has_no_value(draft, name):
            near = get_close_matches(name, [n for n in values if n != name], 1)
            suggestion = f"; did you mean ${near[0]}?" if near else ""
            draft.report(UndefinedParameter(locate(span, f"${name}"), name=name, suggestion=suggestion))
    needed = {*used, *options_use(draft.program)}
    for expression in declared.values():
        if expression is not None:
            needed.update(_parameters_in(expression))
    for name in (*declared, *(n for n in draft.parameters if n not in declared)):
        if name not in needed:
            draft.report(UnusedParameter(_declaration(draft, name), name=name))
    if not used:
        return

    def replaced(leaf: Expression) -> Expression:
        if isinstance(leaf, Parameter):
            # The placeholder for a missing value lets later passes look for further errors.
            return values.get(leaf.name, IRI(f"${leaf.name}"))
        return leaf

    draft.rules = [rule.with_rule(map_leaves(rule.rule, replaced)) for rule in draft.rules]


def _first_uses(rules: Iterable[Rule]) -> dict[str, Span | None]:
    uses: dict[str, Span | None] = {}
    for rule in rules:
        for node, literal in rule_nodes(rule):
            if isinstance(node, Parameter):
                uses.setdefault(node.name, literal.span or rule.span)
    return uses


def _declaration(draft: Draft, name: str) -> Span | None:
    return locate_directive(draft.program.source, "parameter", f"${name}")


def _has_no_value(draft: Draft, name: str) -> bool:
    return name not in draft.parameters and draft.program.parameters.get(name) is None


def _parameters_in(expression: Expression) -> list[str]:
    return [node.name for node in nodes(expression) if isinstance(node, Parameter)]


def _values(draft: Draft) -> dict[str, Term]:
    """The value of every parameter that has one.  Parameters may be defined in terms of each other: values
    are computed in rounds, and the parameters left when a round finds none depend on each other."""
    values: dict[str, Term] = dict(draft.parameters)
    open_: dict[str, Expression] = {
        name: expression
        for name, expression in draft.program.parameters.items()
        if expression is not None and name not in values
    }
    while open_:
        ready = [name for name, e in open_.items() if all(n in values for n in _parameters_in(e))]
        if not ready:
            break
        for name in ready:
            _compute(draft, name, open_.pop(name), values)
    for name, expression in open_.items():
        lacking = dict.fromkeys(n for n in _parameters_in(expression) if n not in values)
        shown = ", ".join(f"${n}" for n in lacking)
        why = f"it needs {shown}, which has no value before it"
        draft.report(ParameterNotComputable(_declaration(draft, name), name=name, why=why))
    return values | {name: IRI(f"${name}") for name in open_}


def _compute(draft: Draft, name: str, expression: Expression, values: dict[str, Term]) -> None:
    def replaced(leaf: Expression) -> Expression:
        return values[leaf.name] if isinstance(leaf, Parameter) else leaf

    why = _why_not_constant(expression)
    values[name] = IRI(f"${name}")
    if why is None:
        try:
            values[name] = evaluate(expression_with(expression, replaced), {})
        except CannotCompute as failure:
            why = str(failure)
    if why is not None:
        draft.report(ParameterNotComputable(_declaration(draft, name), name=name, why=why))


def _why_not_constant(expression: Expression) -> str | None:
    for node in nodes(expression):
        if isinstance(node, Variable):
            return f"it has the variable ?{node.name}"
        if isinstance(node, Call):
            builtin = BUILTINS.get(node.function)
            if builtin is None:
                return f"{node.function} is not a built-in function"
            if not builtin.accepts(len(node.arguments)):
                return f"{node.function} does not take {len(node.arguments)} arguments"
    return None


def with_option_values(program: Program, given: Mapping[str, Term]) -> Program:
    """The program with the values of f-strings, parameters and variables in the options of its imports and
    exports.  Raises `ProgramError` for one that has none."""
    bindings = (*program.imports, *program.exports)
    if not any(isinstance(value, _COMPUTED) for binding in bindings for value in _options(binding)):
        return program
    draft = Draft(program, given, {})
    values: dict[Expression, Term] = {Parameter(name): value for name, value in _values(draft).items()}
    imports, exports = (
        tuple(_Options(draft, binding, values).resolved() for binding in part)
        for part in (program.imports, program.exports)
    )
    if draft.diagnostics:
        raise ProgramError(draft.diagnostics)
    return replace(program, imports=imports, exports=exports)


class _Options:
    """The options of one import or export.  Its variables may be defined in terms of each other."""

    def __init__(self, draft: Draft, binding: DataBinding, parameters: Mapping[Expression, Term]) -> None:
        self.draft = draft
        self.binding = binding
        self.known: dict[Expression, Term] = dict(parameters)
        self.open = dict(binding.computed)

    def resolved(self) -> DataBinding:
        options = {name: self._option(value) for name, value in self.binding.options.items()}
        return replace(self.binding, options=MappingProxyType(options), computed=MappingProxyType({}))

    def _option(self, option: OptionValue) -> OptionValue:
        if isinstance(option, tuple):
            return tuple(map(self._option, option))
        if not isinstance(option, _COMPUTED):
            return option
        found = self._value(option)
        if isinstance(found, String | Integer | Double | Boolean | IRI):
            return found.value
        return found.lexical if isinstance(found, Literal) else term_text(found)

    def _value(self, expression: Expression) -> Term:
        """The value of an expression; any term if an error is reported."""
        errors = len(self.draft.diagnostics)
        span = expression.span if isinstance(expression, Call) else None
        for leaf in nodes(expression):
            if isinstance(leaf, Parameter | Variable) and leaf not in self.known:
                self.known[leaf] = self._value_of(leaf, span)
        if len(self.draft.diagnostics) > errors:
            return String("")
        filled = expression_with(expression, lambda leaf: self.known.get(leaf, leaf))
        why = _why_not_constant(filled)
        try:
            if why is None:
                return evaluate(filled, {})
        except CannotCompute as failure:
            why = str(failure)
        self.draft.report(OptionNotComputable(span or self.binding.span, why=why))
        return String("")

    def _value_of(self, leaf: Parameter | Variable, span: Span | None) -> Term:
        whole, name = self.binding.span, leaf.name
        if isinstance(leaf, Parameter):
            self.draft.report(UndefinedParameter(locate(whole, f"${name}"), name=name, suggestion=""))
            return String("")
        definition = self.open.pop(name, None)  # so none needs itself
        if definition is not None:
            return self._value(definition)
        why = f"?{name} has no value"
        self.draft.report(OptionNotComputable(span or locate(whole, f"?{name}"), why=why))
        return String("")


def _options(binding: DataBinding) -> Iterator[OptionValue]:
    stack = list(binding.options.values())
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(value)
        else:
            yield value


def options_use(program: Program) -> set[str]:
    """The parameters in the options of imports and exports."""
    bindings = (*program.imports, *program.exports)
    found = (value for binding in bindings for value in (*_options(binding), *binding.computed.values()))
    return {name for value in found if isinstance(value, _COMPUTED) for name in _parameters_in(value)}
