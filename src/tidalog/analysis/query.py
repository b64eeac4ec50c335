"""Ad-hoc queries: one rule, read against a program that is analysed and perhaps loaded already.

The query meets the relations as they are.  Where triples of one pattern are spread over several relations
and the program itself had no reason to bring them together, rules for a union of the query's own do so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from tidalog.analysis.draft import Draft, Use, WorkingRule
from tidalog.analysis.functions import check_functions
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.normalise import normal_rule, normalise_rules, split_heads
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.passes import (
    Pass,
    RegisteredFunctions,
    function_ranges,
    lower_rdf_atoms,
    refuse_errors,
)
from tidalog.analysis.predicates import check_arity, name_rules
from tidalog.analysis.rewrite import map_atoms
from tidalog.analysis.safety import check_safety
from tidalog.analysis.triples import BRIDGE_UP, TRIPLE, TYPE, TripleLayout, specialise_atom
from tidalog.program import Atom, Rule, Variable
from tidalog.terms import IRI, RDF_TYPE, Term

ALL_TRIPLES: Final = "?triple"
ALL_TYPES: Final = "?type"

QUERY_PASSES: Final[tuple[Pass, ...]] = (
    name_rules,
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
    """The rules that answer a query, in order of evaluation; the last one has the head of the query.

    The ones before it, if any, derive `?triple` or `?type`, the union of relations that hold triples.
    Raises `ProgramError` like `analyse`; warnings about the rest of the program are not repeated.
    """
    program = replace(analysis.program, rules=(query,), facts=(), imports=(), exports=(), outputs=())
    draft = Draft(program, parameters or {}, function_ranges(functions), layout=analysis.triples)
    draft.uses = {name: Use(info.arity, None) for name, info in analysis.predicates.items()}
    for step in QUERY_PASSES:
        step(draft)
    unions = _unite_triples(analysis, draft)
    split_heads(draft)
    normalise_rules(draft)
    check_safety(draft)
    refuse_errors(draft.diagnostics)
    return (*unions, *draft.normal)


def _unite_triples(analysis: Analysis, draft: Draft) -> list[NormalRule]:
    """Turns atoms of `triple` into atoms of the relations that hold them; gives the rules of the unions
    that this takes."""
    layout = analysis.triples
    if not layout.active:
        return []
    complete = {
        rule.head.predicate
        for rule in analysis.rules
        if rule.origin is None and rule.head is not None and rule.name.startswith(BRIDGE_UP)
    }
    types = layout.properties.get(RDF_TYPE, TRIPLE)
    spread_triples = bool(layout.properties or layout.classes) and TRIPLE not in complete
    spread_types = bool(layout.classes) and types not in complete
    used: set[str] = set()

    def relation_atom(atom: Atom) -> Atom:
        special = specialise_atom(atom, layout)
        if atom.predicate != TRIPLE or atom.arity != 3:
            return atom
        subject, predicate, object_ = atom.arguments
        if spread_triples and not isinstance(predicate, Term):
            special = Atom(ALL_TRIPLES, atom.arguments, atom.span)
        elif spread_types and predicate == TYPE and not isinstance(object_, Term):
            special = Atom(ALL_TYPES, (subject, object_), atom.span)
        used.add(special.predicate)
        return special

    draft.rules = [working.with_rule(map_atoms(working.rule, relation_atom)) for working in draft.rules]
    united = [rule for rule in _unions(layout) if rule.heads[0].predicate in used]
    return [
        normal_rule(WorkingRule(f"{rule.heads[0].predicate} {number}", rule, None))
        for number, rule in enumerate(united, 1)
    ]


def _unions(layout: TripleLayout) -> Iterator[Rule]:
    subject, predicate, object_ = Variable("s"), Variable("p"), Variable("o")
    rest = Atom(TRIPLE, (subject, predicate, object_))
    yield Rule((Atom(ALL_TRIPLES, rest.arguments),), (rest,))
    for iri, relation in layout.properties.items():
        yield Rule((Atom(ALL_TRIPLES, (subject, IRI(iri), object_)),), (Atom(relation, (subject, object_)),))
    types = layout.properties.get(RDF_TYPE)
    known = Atom(TRIPLE, (subject, TYPE, object_)) if types is None else Atom(types, (subject, object_))
    yield Rule((Atom(ALL_TYPES, (subject, object_)),), (known,))
    for iri, relation in layout.classes.items():
        member = Atom(relation, (subject,))
        yield Rule((Atom(ALL_TRIPLES, (subject, TYPE, IRI(iri))),), (member,))
        yield Rule((Atom(ALL_TYPES, (subject, IRI(iri))),), (member,))
