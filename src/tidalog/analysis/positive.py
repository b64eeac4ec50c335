"""Positive programs: rules without negation and aggregates, each with one head and a flat body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tidalog.analysis.declarations import check_declarations
from tidalog.analysis.diagnostics import NotPositive
from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.equality import refuse_equality
from tidalog.analysis.expand import expanded, has_aggregate
from tidalog.analysis.normalise import normal_rule
from tidalog.analysis.parameters import substitute_parameters, with_option_values
from tidalog.analysis.passes import RegisteredFunctions, analyse, function_ranges, lower_rdf_atoms
from tidalog.analysis.predicates import check_arity, name_rules
from tidalog.model.errors import Diagnostic, ProgramError
from tidalog.model.program import (
    Atom,
    BodyLiteral,
    Call,
    Column,
    Condition,
    Expression,
    Negation,
    Program,
    Rule,
    Variable,
    flat_literals,
)
from tidalog.model.terms import Term


class PositiveProgram:
    """A program as flat rules with names, without parameters and RDF shorthand.

    Raises `ProgramError` with the errors of the program, or with one for each negation and aggregate.
    """

    def __init__(
        self, program: Program, parameters: Mapping[str, Term], functions: RegisteredFunctions = ()
    ) -> None:
        analyse(program, parameters, functions)
        refuse_equality(
            program,
            "a maintenance program",
            "the rewritings know rules, and no classes of equal terms",
            "`tidalog apply` maintains the program as it is, without a rewriting",
        )
        draft = Draft(program, parameters, function_ranges(functions), facts=program.facts)
        for step in (name_rules, substitute_parameters, lower_rdf_atoms, check_declarations, check_arity):
            step(draft)
        if faults := list(_negative_parts(draft.rules)):
            raise ProgramError(faults)
        self.program = with_option_values(program, parameters)
        self.facts = draft.facts
        self.rules = [_unambiguous(one) for w in draft.rules for one in expanded(w.rule, w.name)]
        written = [atom for rule in self.rules for atom in (*rule.heads, *body_atoms(rule))]
        used = dict.fromkeys(atom.predicate for atom in written)
        self.arities = {name: draft.uses[name].arity for name in (*used, *draft.uses)}
        """The number of arguments of every predicate, those of the rules first, in order of occurrence."""
        self.derived = {head.predicate for rule in self.rules for head in rule.heads}

    def columns(self, predicate: str) -> tuple[Column, ...]:
        """As declared; otherwise without names and types."""
        declaration = self.program.declared.get(predicate)
        if declaration is None or declaration.arity != self.arities[predicate]:
            return (Column(None),) * self.arities[predicate]
        return declaration.columns


def body_atoms(rule: Rule) -> list[Atom]:
    return [literal for literal in rule.body if isinstance(literal, Atom)]


def _negative_parts(rules: Iterable[WorkingRule]) -> Iterator[Diagnostic]:
    for working in rules:
        for head in working.rule.heads:
            if any(map(has_aggregate, head.arguments)):
                yield NotPositive(head.span or working.rule.span, what="an aggregate")
        for literal in flat_literals(working.rule.body):
            if isinstance(literal, Negation):
                yield NotPositive(literal.span or working.rule.span, what="a negation")


def _unambiguous(rule: Rule) -> Rule:
    """The rule with one equation for each variable that equations compute; others are comparisons.

    If several equations can compute a variable, the predicates around it decide which one does (`shapes`):
    a rewritten rule could choose another, and 2 and 2.0 are different terms."""
    computed = {c.variable: c.expression for c in normal_rule(WorkingRule("", rule, None)).computations}
    equations = [literal for literal in rule.body if _sides(literal)]
    if len(equations) < 2:
        return rule
    computing = {
        variable: equation
        for equation in equations
        for variable, value in _sides(equation)
        if computed.get(variable) == value
    }

    def compared(literal: BodyLiteral) -> BodyLiteral:
        targets = [variable for variable, _ in _sides(literal) if variable in computed]
        if not targets or any(computing.get(variable, literal) is literal for variable in targets):
            return literal
        assert isinstance(literal, Condition) and isinstance(literal.expression, Call)
        return replace(literal, expression=replace(literal.expression, function="EQUALITY"))

    return replace(rule, body=tuple(map(compared, rule.body)))


def _sides(literal: BodyLiteral) -> list[tuple[Variable, Expression]]:
    """The variables that are a whole side of an equation, with the other side."""
    match literal:
        case Condition(Call("=", (left, right))):
            pairs = ((left, right), (right, left))
            return [(side, other) for side, other in pairs if isinstance(side, Variable)]
    return []
