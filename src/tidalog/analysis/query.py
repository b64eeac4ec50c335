"""Ad-hoc queries: one rule, analysed in the context of an analysed program that may hold facts already.

The query uses the relations as they are.  If the triples of a pattern are spread over several relations, and
the program has no view that unites them, the query gets rules of its own for the union.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tidalog.analysis.components import Component, build_components
from tidalog.analysis.diagnostics import TooManyAlternatives
from tidalog.analysis.draft import Draft, Use, WorkingRule
from tidalog.analysis.expand import MOST_ALTERNATIVES, count_alternatives, expanded
from tidalog.analysis.functions import check_functions, read_parentheses
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.normalise import expand_rules, normal_rule, normalise_rules
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.passes import (
    Pass,
    RegisteredFunctions,
    function_ranges,
    lower_rdf_atoms,
    refuse_errors,
)
from tidalog.analysis.predicates import check_arity, name_rules
from tidalog.analysis.rewrite import atoms, map_atoms
from tidalog.analysis.safety import check_safety
from tidalog.analysis.strata import check_stratification
from tidalog.model.program import Program, Rule
from tidalog.model.terms import Term
from tidalog.rdf.bridges import copies_up, read_atom, view_rules, views_needed

QUERY_PASSES: Final[tuple[Pass, ...]] = (
    name_rules,
    read_parentheses,
    substitute_parameters,
    check_functions,
    lower_rdf_atoms,
    check_arity,
)


def analyse_query(
    analysis: Analysis,
    query: Rule,
    parameters: Mapping[str, Term] | None = None,
    functions: RegisteredFunctions = (),
) -> tuple[NormalRule, ...]:
    """The rules that answer a query, in evaluation order; the last one has the head of the query.

    Earlier ones, if any, derive `?triple` or `?type`, the union of relations that hold triples.
    Raises `ProgramError` like `analyse`; warnings about the rest of the program are not repeated.
    """
    program = replace(analysis.program, rules=(query,), facts=(), imports=(), exports=(), outputs=())
    draft = Draft(program, parameters or {}, function_ranges(functions), layout=analysis.triples)
    draft.uses = _known_uses(analysis, program.rules)
    for step in QUERY_PASSES:
        step(draft)
    unions = _unite_triples(analysis, draft)
    (working,) = draft.rules
    if (count := count_alternatives(query.body)) > MOST_ALTERNATIVES:
        draft.report(TooManyAlternatives(query.span, count=count, most=MOST_ALTERNATIVES))
    # Hidden rules first: the last one answers.
    draft.rules = [
        WorkingRule(one.name or "", one, working.origin)
        for one in reversed(expanded(working.rule, working.name, alone=True))
    ]
    normalise_rules(draft)
    check_safety(draft)
    refuse_errors(draft.diagnostics)
    return (*unions, *draft.normal)


def analyse_rules(
    analysis: Analysis,
    rules: Sequence[Rule],
    parameters: Mapping[str, Term] | None = None,
    functions: RegisteredFunctions = (),
) -> tuple[Component, ...]:
    """Several rules that are evaluated for themselves, over the relations of a program, as components in
    evaluation order.  Raises `ProgramError` like `analyse`."""
    program = replace(analysis.program, rules=tuple(rules), facts=(), imports=(), exports=(), outputs=())
    draft = Draft(program, parameters or {}, function_ranges(functions), layout=analysis.triples)
    draft.uses = _known_uses(analysis, program.rules)
    for step in QUERY_PASSES:
        step(draft)
    unions = _unite_triples(analysis, draft)
    expand_rules(draft)
    normalise_rules(draft)
    check_safety(draft)
    normal = [*unions, *draft.normal]
    names = {a.predicate for rule in normal for a in (*rule.atoms, *rule.negations)}
    names |= {rule.head.predicate for rule in normal if rule.head is not None}
    components = build_components(names, normal)
    check_stratification(draft, components)
    refuse_errors(draft.diagnostics)
    return tuple(component for component in components if component.rules)


def _known_uses(analysis: Analysis, rules: Sequence[Rule]) -> dict[str, Use]:
    """The numbers of arguments that predicates have; with a position where rules differ from one."""
    uses = {name: Use(info.arity, None) for name, info in analysis.predicates.items()}
    for predicate, arity in {(atom.predicate, atom.arity) for rule in rules for atom in atoms(rule)}:
        known = uses.get(predicate)
        if known is not None and known.arity != arity:
            uses[predicate] = _written_use(analysis.program, predicate, known)
    return uses


def _written_use(program: Program, predicate: str, known: Use) -> Use:
    """A use of the program with as many arguments."""
    declaration = program.declared.get(predicate)
    if declaration is not None and declaration.arity == known.arity:
        return Use(known.arity, declaration.span, declared=True)
    for rule in program.rules:
        for atom in atoms(rule):
            if atom.predicate == predicate and atom.arity == known.arity:
                return Use(known.arity, atom.span)
    return known


def _unite_triples(analysis: Analysis, draft: Draft) -> list[NormalRule]:
    """Replaces atoms of `triple` by atoms of the relations that hold them; returns the rules of the unions
    that this needs."""
    layout = analysis.triples
    if not layout.active:
        return []
    complete = {
        rule.head.predicate
        for rule in analysis.rules
        if rule.origin is None and rule.head is not None and copies_up(rule.name)
    }
    viewing_triples, viewing_types = views_needed(layout, complete)
    draft.rules = [
        working.with_rule(
            map_atoms(working.rule, lambda atom: read_atom(atom, layout, viewing_triples, viewing_types))
        )
        for working in draft.rules
    ]
    # The program's own rules may already maintain this view.
    wanted = {atom.predicate for working in draft.rules for atom in atoms(working.rule)} - complete
    return [
        normal_rule(WorkingRule(view.name or "", view, None))
        for view in view_rules(layout, analysis.program.prefixes)
        if view.heads[0].predicate in wanted
    ]
