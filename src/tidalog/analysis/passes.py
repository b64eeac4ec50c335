"""The passes from a program to its analysis, as one ordered tuple."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from tidalog.analysis.components import build_components
from tidalog.analysis.declarations import check_declarations, check_fact_types, warn_of_constants
from tidalog.analysis.draft import ArgumentRange, Draft, Use, WorkingRule
from tidalog.analysis.equality import check_equality, derivers_of, keep_modulo_equality
from tidalog.analysis.functions import check_functions, read_parentheses
from tidalog.analysis.model import Analysis, PredicateInfo
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.normalise import expand_rules, normalise_rules
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.predicates import (
    check_arity,
    check_triples,
    free_name,
    is_reserved,
    name_rules,
    refuse_reserved_names,
    warn_of_undefined_predicates,
    warn_of_useless_rules,
)
from tidalog.analysis.rewrite import atoms, map_atoms
from tidalog.analysis.safety import check_safety
from tidalog.analysis.specialise import specialise
from tidalog.analysis.strata import check_stratification
from tidalog.analysis.windows import check_times, check_windows, windows_are_defined, with_windows
from tidalog.lang.collector import collector_paused
from tidalog.model.errors import Diagnostic, ProgramError
from tidalog.model.program import Fact, Program
from tidalog.model.terms import Term
from tidalog.rdf.layout import TRIPLE, Layout
from tidalog.rdf.shorthand import lower_atom, lower_fact

Pass = Callable[[Draft], None]

RegisteredFunctions = Mapping[str, ArgumentRange] | Collection[str]
"""Names of registered functions, with their smallest and largest number of arguments if known."""


def lower_rdf_atoms(draft: Draft) -> None:
    """`ex:p(?x, ?y)` → triple(?x, ex:p, ?y) in a program over triples."""
    if not draft.layout.active:
        if not mentions_triples(draft.program):
            return
        draft.layout = Layout.of((), (), table_predicates(draft.program))
    tables = draft.layout.tables
    draft.rules = [
        working.with_rule(map_atoms(working.rule, lambda atom: lower_atom(atom, tables)))
        for working in draft.rules
    ]
    draft.facts = [lower_fact(fact, tables) for fact in draft.facts]


def specialise_triples(draft: Draft) -> None:
    """Gives the triples of each property that rules name a relation of their own (see `rdf.layout`)."""
    if not draft.layout.active:
        return
    if draft.uses.get(TRIPLE) is not None and draft.uses[TRIPLE].arity != 3:
        return
    rules = [working.rule for working in draft.rules]
    found = specialise(rules, draft.layout.tables, draft.program.prefixes, draft.kept)
    layout = draft.layout = found.layout
    draft.rules = [w.with_rule(rule) for w, rule in zip(draft.rules, found.rules, strict=True)]
    taken = {working.name for working in draft.rules}
    for bridge in found.bridges:
        name = free_name(bridge.name or "", taken)
        taken.add(name)
        draft.rules.append(WorkingRule(name, bridge, None))
    draft.facts = [layout.routed(fact) for fact in draft.facts]


def mentions_triples(program: Program) -> bool:
    """Whether a query, a rule, a fact, an import, an export or an output is about `triple` with three
    arguments."""
    if program.queries_triples:
        return True
    if any(binding.predicate == TRIPLE for binding in (*program.imports, *program.exports)):
        return True
    if TRIPLE in program.outputs:
        return True
    if any(atom.predicate == TRIPLE and atom.arity == 3 for rule in program.rules for atom in atoms(rule)):
        return True
    return any(fact.predicate == TRIPLE and len(fact.arguments) == 3 for fact in program.facts)


def table_predicates(program: Program) -> frozenset[str]:
    return frozenset(binding.predicate for binding in (*program.imports, *program.exports))


PASSES: tuple[Pass, ...] = (
    name_rules,  # every rule has one name of its own
    read_parentheses,  # (p(?x)) is an atom if p is not a function
    substitute_parameters,  # $limit → its value
    check_functions,  # they exist and take that many arguments
    warn_of_useless_rules,
    check_fact_types,  # facts of the text fit their declarations
    warn_of_constants,
    check_triples,  # no literal as subject or predicate
    lower_rdf_atoms,  # ex:p(?x, ?y) → triple(?x, ex:p, ?y)
    check_declarations,
    check_windows,
    check_times,
    check_arity,
    windows_are_defined,
    refuse_reserved_names,  # <#p> is reserved
    keep_modulo_equality,  # constants mean their representatives
    specialise_triples,  # triple(?x, ex:p, ?y) → a relation of ex:p alone
    warn_of_undefined_predicates,
    expand_rules,  # several heads, disjunctions, aggregates in expressions → several rules
    normalise_rules,  # expressions out of atoms; conditions → computations and tests
    check_safety,
)
"""Components and strata are computed from their output; see `analyse`."""


def analyse(
    program: Program,
    parameters: Mapping[str, Term] | None = None,
    functions: RegisteredFunctions = (),
    *,
    kept: Layout | None = None,
) -> Analysis:
    """The analysis of a program.

    `parameters` override the values that the program declares; `functions` are the registered functions that
    rules may call; `kept` is the layout that its triples have, of which as much as possible stays.  Raises
    `ProgramError` with every error found.
    """
    with collector_paused():
        return _analysed(program, parameters or {}, function_ranges(functions), kept)


def _analysed(
    program: Program,
    parameters: Mapping[str, Term],
    functions: Mapping[str, ArgumentRange],
    kept: Layout | None,
) -> Analysis:
    draft = Draft(program, parameters, functions, facts=program.facts, kept=kept)
    for step in PASSES:
        step(draft)
    predicates = predicate_infos(program, draft.layout, draft.facts, draft.normal, draft.uses)
    components = build_components(predicates, draft.normal)
    check_stratification(draft, components)
    check_equality(draft, derivers_of(draft.normal))
    return Analysis(
        program=program,
        rules=tuple(draft.normal),
        facts=draft.facts,
        predicates=MappingProxyType(predicates),
        triples=draft.layout,
        warnings=refuse_errors(draft.diagnostics),
        built=components,
    )


def with_facts(analysis: Analysis, facts: Iterable[Fact]) -> Analysis | None:
    """The analysis, without its warnings, of the same program with more facts: other predicates may have
    explicit facts.  None if the facts change more than that, or are refused; `analyse` finds out what.  The
    cost follows the facts."""
    layout, known = analysis.triples, analysis.predicates
    infos: dict[str, PredicateInfo] = {}
    for fact in facts:
        if layout.active:
            fact = layout.routed(lower_fact(fact, layout.tables))
        name, arity = fact.predicate, len(fact.arguments)
        if is_reserved(name) or (name == TRIPLE and arity == 3 and not layout.active):
            return None
        info = infos.get(name) or known.get(name)
        if info is not None and info.arity != arity:
            return None
        if info is None or not info.explicit:
            infos[name] = PredicateInfo(name, arity, True, info is not None and info.derived)
    found = replace(analysis, warnings=())
    if infos:
        predicates = with_windows({**known, **infos}, analysis.program.windows)
        built = analysis.built if len(predicates) == len(known) else None
        found = replace(found, predicates=MappingProxyType(dict(predicates)), built=built)
    return found


def function_ranges(functions: RegisteredFunctions) -> dict[str, ArgumentRange]:
    if isinstance(functions, Mapping):
        return {name.upper(): accepted for name, accepted in functions.items()}
    return {name.upper(): (0, None) for name in functions}


def refuse_errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The warnings in text order; raises if there is an error among the diagnostics."""
    in_order = sorted(diagnostics, key=lambda d: -1 if d.span is None else d.span.start)
    errors = [diagnostic for diagnostic in in_order if not diagnostic.is_warning]
    if errors:
        raise ProgramError(errors)
    return tuple(in_order)


def predicate_infos(
    program: Program,
    layout: Layout,
    facts: Iterable[Fact],
    rules: Iterable[NormalRule],
    uses: Mapping[str, Use],
) -> dict[str, PredicateInfo]:
    """Every predicate of the rules, of the facts, of `uses` and of the layout, by name."""
    given = {binding.predicate for binding in program.imports}
    derived: set[str] = set()
    arities: dict[str, int] = {}
    for rule in rules:
        if rule.head is not None:
            derived.add(rule.head.predicate)
        for atom in (*rule.atoms, *rule.negations, *(() if rule.head is None else (rule.head,))):
            arities.setdefault(atom.predicate, len(atom.arguments))
    for predicate, use in uses.items():
        arities.setdefault(predicate, use.arity)
    for fact in facts:
        given.add(fact.predicate)
        if fact.predicate not in arities:
            arities[fact.predicate] = len(fact.arguments)
    arities = {**layout.arities, **arities}
    given.update(layout.arities)
    return {
        name: PredicateInfo(name, arities[name], name in given or name not in derived, name in derived)
        for name in sorted(arities)
    }
