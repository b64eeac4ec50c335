"""Checks of predicates and rule names: one arity each, defined if used, no name or rule twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, cast

from tidalog.analysis.diagnostics import (
    ArityDiffers,
    DeclaredArityDiffers,
    DuplicateRuleName,
    ExportArityDiffers,
    HeadInBody,
    ImportArityDiffers,
    LiteralInTriple,
    NeverDefined,
    NeverMatches,
    OutputOfNothing,
    ReservedName,
    RuleTwice,
    counted,
    locate,
    locate_directive,
    text_position,
)
from tidalog.analysis.draft import Draft, Use, WorkingRule
from tidalog.analysis.rewrite import atoms, canonical_rule, placed_atoms
from tidalog.analysis.suggestions import Suggestions
from tidalog.model.errors import Diagnostic
from tidalog.model.program import DataBinding, Fact, Rule
from tidalog.model.term_text import term_text
from tidalog.model.terms import Term
from tidalog.rdf.layout import TRIPLE
from tidalog.rdf.quads import QUAD
from tidalog.rdf.shorthand import RDF_FORMATS, ROLES, WHY, misplaced

_STATEMENTS: Final = ((TRIPLE, 3), (QUAD, 4))
_SHOWN_TRIPLES: Final = 10


def name_rules(draft: Draft) -> None:
    """Every rule gets a name: its own, or `r3` for the third rule of the program."""
    first: dict[str, Rule] = {}
    for rule in draft.program.rules:
        if rule.name is None:
            continue
        if rule.name in first:
            where = text_position(first[rule.name].span)
            draft.report(
                DuplicateRuleName(locate(rule.span, rule.name), name=rule.name, first_position=where)
            )
        else:
            first[rule.name] = rule
    for number, rule in enumerate(draft.program.rules, 1):
        name = rule.name or free_name(f"r{number}", first)
        draft.rules.append(WorkingRule(name, rule, rule))


def free_name(wanted: str, taken: Container[str]) -> str:
    """The name, lengthened until it is unused."""
    while wanted in taken:
        wanted += "_"
    return wanted


def warn_of_useless_rules(draft: Draft) -> None:
    first: dict[Rule, WorkingRule] = {}
    for working in draft.rules:
        earlier = first.setdefault(canonical_rule(working.rule), working)
        if earlier is not working:
            draft.report(
                RuleTwice(
                    working.rule.span,
                    name=working.name,
                    first_name=earlier.name,
                    first_position=text_position(earlier.rule.span),
                )
            )
        for head in working.rule.heads:
            if head in working.rule.body:
                draft.report(HeadInBody(head.span or working.rule.span, name=working.name))


def check_triples(draft: Draft) -> None:
    """A fact of `triple` or `quad` has no literal as subject, and an IRI as predicate.  A rule may derive and
    read generalised triples, but one with such a constant is odd."""
    for found in misplaced_in(draft.facts, draft.program.prefixes):
        draft.report(found)
    for working in draft.rules:
        for atom in atoms(working.rule):
            if (atom.predicate, atom.arity) in _STATEMENTS and misplaced(atom.arguments):
                span = atom.span or working.rule.span
                draft.report(NeverMatches(span, **_misplaced_words(atom.arguments, draft.program.prefixes)))


def misplaced_in(facts: Iterable[Fact], prefixes: Mapping[str, str]) -> Iterator[LiteralInTriple]:
    """Errors for the first facts of `triple` and `quad` that RDF cannot have."""
    triples = (f for f in facts if (f.predicate, len(f.arguments)) in _STATEMENTS)
    for fact in islice((f for f in triples if misplaced(f.arguments)), _SHOWN_TRIPLES):
        yield LiteralInTriple(fact.span, **_misplaced_words(fact.arguments, prefixes))


def _misplaced_words(arguments: Sequence[object], prefixes: Mapping[str, str]) -> dict[str, str]:
    role = misplaced(arguments) or ""
    term = cast("Term", arguments[ROLES.index(role)])
    return {"value": term_text(term, prefixes), "role": role, "why": WHY[role]}


def check_arity(draft: Draft) -> None:
    """Every use of a predicate, in a rule, a fact or the format of an import, must have the same number of
    arguments.  A declaration fixes it, or an earlier use; otherwise, if atoms differ, most of them do."""
    uses = draft.uses
    new: set[str] = set()
    clashing: set[str] = set()
    for predicate, use in _uses_in_order(draft):
        known = uses.get(predicate)
        if known is None:
            uses[predicate] = use
            new.add(predicate)
        elif known.arity != use.arity:
            clashing.add(predicate)
    for fact in draft.facts:
        known = uses.get(fact.predicate)
        if known is None:
            uses[fact.predicate] = Use(len(fact.arguments), fact.span)
            new.add(fact.predicate)
        elif known.arity != len(fact.arguments):
            clashing.add(fact.predicate)
    if clashing:
        _report_clashes(draft, clashing, new)
    program = draft.program
    for kind, bindings in ((ImportArityDiffers, program.imports), (ExportArityDiffers, program.exports)):
        for predicate, use in binding_uses(bindings):
            first = uses.setdefault(predicate, use)
            if use.arity != first.arity:
                _report_arity(draft, kind, predicate, use, first)


def _report_clashes(draft: Draft, clashing: Container[str], new: Container[str]) -> None:
    """One error for each predicate and each number of arguments that is not the usual one.  Facts without a
    position come with an update: they differ from what the program has, and not the other way round."""
    found: dict[str, list[Use]] = {}
    facts = ((fact.predicate, Use(len(fact.arguments), fact.span)) for fact in draft.facts)
    for predicate, use in (*facts, *_uses_in_order(draft)):
        if predicate in clashing:
            found.setdefault(predicate, []).append(use)
    for predicate, uses in found.items():
        uses.sort(key=_in_text)
        counts = Counter(use.arity for use in uses)
        if predicate in new:
            written = {use.arity for use in uses if use.span is not None}
            usual = max(counts, key=lambda arity: (arity in written, counts[arity]))
            of_usual = [use for use in uses if use.arity == usual]
            draft.uses[predicate] = next((use for use in of_usual if use.span is not None), of_usual[0])
        first = draft.uses[predicate]
        others = counts[first.arity] - (predicate in new)
        also = f", as in {counted(others, 'other atom')}" if others else ""
        for arity in counts:
            if arity != first.arity:
                use = next(use for use in uses if use.arity == arity)
                _report_arity(draft, ArityDiffers, predicate, use, first, also)


def _in_text(use: Use) -> tuple[str, int]:
    return (use.span.source.name, use.span.start) if use.span is not None else ("", -1)


def refuse_reserved_names(draft: Draft) -> None:
    """Names that start with `#` or `?` are reserved for memo relations, groups and views."""
    spans = {binding.predicate: binding.span for binding in draft.program.imports}
    spans.update((predicate, use.span) for predicate, use in draft.uses.items())
    for predicate, span in spans.items():
        if is_reserved(predicate):
            draft.report(ReservedName(span, predicate=predicate))


def is_reserved(predicate: str) -> bool:
    return predicate.startswith(("#", "?"))


def _uses_in_order(draft: Draft) -> Iterable[tuple[str, Use]]:
    for working in draft.rules:
        for atom, _ in placed_atoms(working.rule):
            yield atom.predicate, Use(atom.arity, atom.span or working.rule.span)


def _report_arity(
    draft: Draft, kind: type[Diagnostic], predicate: str, use: Use, first: Use, also: str = ""
) -> None:
    if first.declared:
        kind = DeclaredArityDiffers
    draft.report(
        kind(
            use.span,
            first.span if kind.second_reason else None,
            predicate=draft.label(predicate),
            arity=counted(use.arity, "argument"),
            first_arity=counted(first.arity, "argument"),
            first_position=text_position(first.span),
            also=also,
        )
    )


def binding_uses(bindings: Iterable[DataBinding]) -> Iterator[tuple[str, Use]]:
    """The predicates of imports or exports whose format gives the number of arguments."""
    for binding in bindings:
        arity = binding_arity(binding)
        if arity is not None:
            yield binding.predicate, Use(arity, binding.span)


def binding_arity(binding: DataBinding) -> int | None:
    """The number of arguments in the format of an import or export, if it gives one."""
    if binding.format in RDF_FORMATS:
        return 4 if binding.predicate == QUAD else 3
    columns = binding.options.get("format")
    if isinstance(columns, tuple):
        return sum(column != "skip" for column in columns)
    return None


def warn_of_undefined_predicates(draft: Draft) -> None:
    """A predicate that no rule, fact or import defines and that is not declared is empty, and most often a
    typing error."""
    defined = {fact.predicate for fact in draft.facts}
    defined.update(draft.program.declared)
    defined.update(name for window in draft.program.windows for name in (window.name, window.source))
    defined.update(binding.predicate for binding in draft.program.imports)
    if draft.layout.active:
        # Triples come from data, and only the data shows which properties there are.
        defined.update(draft.layout.arities)
    defined.update(head.predicate for working in draft.rules for head in working.rule.heads)
    suggestions = Suggestions(defined)
    known = defined | warn_of_undefined_in_rules(draft, defined, suggestions)
    written = [(binding.predicate, binding.span) for binding in draft.program.exports]
    source = draft.program.source
    written += [(name, locate_directive(source, "output", name)) for name in draft.program.outputs]
    for predicate, span in written:
        if predicate not in known and not (draft.layout.active and ":" in predicate):
            suggestion = _suggestion(draft, predicate, suggestions)
            label = draft.label(predicate)
            draft.report(OutputOfNothing(span, predicate=label, suggestion=suggestion))


def warn_of_undefined_in_rules(draft: Draft, defined: Container[str], suggestions: Suggestions) -> set[str]:
    """Warns once about each predicate that the rules read and nothing defines; returns these predicates."""
    warned: set[str] = set()
    for working in draft.rules:
        for atom, in_head in placed_atoms(working.rule):
            known = atom.predicate in defined or is_reserved(atom.predicate)
            if in_head or known or atom.predicate in warned:
                continue
            warned.add(atom.predicate)
            draft.report(
                NeverDefined(
                    locate(atom.span or working.rule.span, atom.predicate),
                    predicate=draft.label(atom.predicate),
                    suggestion=_suggestion(draft, atom.predicate, suggestions),
                )
            )
    return warned


def _suggestion(draft: Draft, predicate: str, suggestions: Suggestions) -> str:
    if predicate.upper() in draft.functions:
        opposite = f"NOT({predicate}(…))"
        return f"it names a function: a condition is written ({predicate}(…)), and its opposite {opposite}"
    near = suggestions.near(predicate, 0.75)
    if near is not None:
        return f"did you mean {draft.label(near)}?"
    return "import it, declare it, write facts for it, or insert them before asking for results"
