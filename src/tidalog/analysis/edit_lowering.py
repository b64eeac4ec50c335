"""Lowering the new rules of an edit in the context of the program that they join.

`lower_new` lowers only these rules.  `lower_all` lowers the whole program as `analyse` does, which is needed
if an edit changes the relations that hold triples.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidalog.analysis.declarations import warn_of_constants
from tidalog.analysis.diagnostics import DuplicateRuleName, UnusedParameter, locate, text_position
from tidalog.analysis.draft import Draft, Use, WorkingRule
from tidalog.analysis.equality import keep_modulo_equality
from tidalog.analysis.functions import check_functions, read_parentheses
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.normalise import expand_rules, normalise_rules
from tidalog.analysis.passes import PASSES, lower_rdf_atoms
from tidalog.analysis.predicates import (
    check_arity,
    check_triples,
    free_name,
    refuse_reserved_names,
    warn_of_undefined_in_rules,
    warn_of_useless_rules,
)
from tidalog.analysis.rewrite import atoms
from tidalog.analysis.rule_graph import RuleGraph
from tidalog.analysis.safety import check_safety
from tidalog.analysis.specialise import special_rule
from tidalog.analysis.suggestions import Suggestions
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Rule
from tidalog.rdf.layout import TRIPLE, Layout


def uses_triples(rules: Iterable[WorkingRule], facts: Container[tuple[str, int]]) -> bool:
    """Whether a rule has an atom of `triple` with three arguments, or there is a fact of it."""
    named = (atom for working in rules for atom in atoms(working.rule))
    return (TRIPLE, 3) in facts or any(atom.predicate == TRIPLE and atom.arity == 3 for atom in named)


def lower_new(draft: Draft, graph: RuleGraph, leaving: Container[str], fixed: Mapping[str, int]) -> None:
    """From rules with names and without parameters to normal form.  `leaving` are rules of the graph that the
    edit removes; `fixed` has the arities of predicates that exist without rules."""
    read_parentheses(draft)
    check_functions(draft)
    warn_of_useless_rules(draft)
    warn_of_constants(draft)
    check_triples(draft)
    if draft.layout.active:
        lower_rdf_atoms(draft)
    given = {fact.predicate for fact in draft.facts}
    named = dict.fromkeys(atom.predicate for w in draft.rules for atom in atoms(w.rule))
    declared = draft.program.declared
    for predicate in (*named, *given):
        use = _use(predicate, graph, leaving, fixed)
        if predicate in declared and predicate in fixed:
            use = Use(fixed[predicate], declared[predicate].span, declared=True)
        if use is not None:
            draft.uses[predicate] = use
    known = set(draft.uses)
    check_arity(draft)
    refuse_reserved_names(draft)
    keep_modulo_equality(draft)
    if draft.layout.active:
        draft.rules = [w.with_rule(special_rule(w.rule, draft.layout)) for w in draft.rules]
    if not known.issuperset(draft.uses):
        heads = {head.predicate for working in draft.rules for head in working.rule.heads}
        defined = _Defined(graph.predicates, heads | given)
        warn_of_undefined_in_rules(draft, defined, Suggestions(defined))
    expand_rules(draft)
    for working in draft.rules:
        if working.name in graph.rules and working.name not in leaving:
            first = graph.rules[working.name].origin
            draft.report(name_taken(working, first))
    normalise_rules(draft)
    check_safety(draft)


@dataclass(frozen=True, slots=True)
class _Defined(Collection[str]):
    """The names of a program and new ones, without copying the former."""

    known: Collection[str]
    new: set[str]

    def __contains__(self, predicate: object) -> bool:
        return predicate in self.known or predicate in self.new

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.known, *self.new)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def lower_all(draft: Draft, rules: Sequence[Rule], facts: Sequence[Fact], kept: Layout) -> Draft:
    """The whole program with the rules of `draft` appended, after all passes."""
    new = [replace(w.origin, name=w.name) for w in draft.rules if w.origin is not None]
    program = replace(draft.program, rules=(*rules, *new), facts=tuple(facts))
    whole = Draft(program, draft.parameters, draft.functions, facts=program.facts, kept=kept)
    for step in PASSES:
        step(whole)
    return whole


def lower_bridges(draft: Draft, bridges: Iterable[Rule], taken: Collection[str]) -> list[NormalRule]:
    """The rules that connect relations of triples, in normal form; `taken` are names of other rules."""
    names: set[str] = set()
    lowered = Draft(draft.program, draft.parameters, draft.functions, layout=draft.layout)
    for bridge in bridges:
        name = free_name(bridge.name or "", _Defined(taken, names))
        names.add(name)
        lowered.rules.append(WorkingRule(name, bridge, None))
    expand_rules(lowered)
    normalise_rules(lowered)
    return lowered.normal


def name_taken(working: WorkingRule, first: Rule | None) -> DuplicateRuleName:
    span = working.origin.span if working.origin is not None else None
    where = text_position(first.span if first is not None else None)
    return DuplicateRuleName(locate(span, working.name), name=working.name, first_position=where)


def about_the_change(diagnostics: Iterable[Diagnostic], new: Sequence[Rule]) -> list[Diagnostic]:
    """Errors, and the warnings about the new rules.  Warnings about other rules were reported before, and a
    parameter that the new rules do not use may be used elsewhere."""
    return [
        d
        for d in diagnostics
        if not d.is_warning or (not isinstance(d, UnusedParameter) and any(_within(d, rule) for rule in new))
    ]


def _within(diagnostic: Diagnostic, rule: Rule) -> bool:
    here, span = diagnostic.span, rule.span
    if here is None or span is None:
        return here is None and span is None
    return here.source is span.source and span.start <= here.start < span.end


def _use(predicate: str, graph: RuleGraph, leaving: Container[str], fixed: Mapping[str, int]) -> Use | None:
    """An existing use of a predicate, if there is one."""
    for names in (graph.derivers(predicate), graph.readers(predicate)):
        for name in names:
            if name not in leaving:
                return _use_in(graph.rules[name], predicate)
    return Use(fixed[predicate], None) if predicate in fixed else None


def _use_in(rule: NormalRule, predicate: str) -> Use:
    if rule.origin is not None:
        for atom in atoms(rule.origin):
            if atom.predicate == predicate:
                return Use(atom.arity, atom.span or rule.origin.span)
    normal = (*rule.atoms, *rule.negations, *(() if rule.head is None else (rule.head,)))
    return Use(next(len(atom.arguments) for atom in normal if atom.predicate == predicate), None)
