"""Declarations: one for each predicate, facts and constants of rules of its types."""

from __future__ import annotations

import re

from tidalog.analysis.diagnostics import (
    ConstantOfAnotherType,
    DeclaredTwice,
    FactOfAnotherType,
    locate,
    text_position,
)
from tidalog.analysis.draft import Draft, Use
from tidalog.analysis.rewrite import placed_atoms
from tidalog.lang.names import ABSOLUTE
from tidalog.lang.printer import Printer
from tidalog.model.column_types import TYPES, fitted, suggestion
from tidalog.model.errors import Span
from tidalog.model.program import WITNESS, Aggregate, Call, Declaration, Fact, Parameter, Program, Variable
from tidalog.model.terms import IRI, Term
from tidalog.rdf.layout import Layout


def check_declarations(draft: Draft) -> None:
    """A predicate is declared once, or several times in the same way.  A declaration is the first use of its
    predicate; that of a property or class of triples only names and types what comes in under its name."""
    first = draft.program.declared
    for declaration in draft.program.declarations:
        known = first[declaration.predicate]
        if known != declaration:
            name, position = draft.label(declaration.predicate), text_position(known.span)
            draft.report(DeclaredTwice(declaration.span, predicate=name, first_position=position))
    draft.uses = declared_uses(draft.program, draft.layout) | draft.uses


def declared_uses(program: Program, layout: Layout) -> dict[str, Use]:
    """Declared predicates, without the properties and classes of triples."""
    return {
        predicate: Use(declaration.arity, declaration.span, declared=True)
        for predicate, declaration in program.declared.items()
        if not (layout.is_shorthand(predicate) and declaration.arity in (1, 2))
    }


def check_fact_types(draft: Draft) -> None:
    """Facts of the text fit the types of their predicate."""
    declared = {name: one for name, one in draft.program.declared.items() if one.is_typed}
    if not declared:
        return
    for fact in draft.program.facts:
        declaration = declared.get(fact.predicate)
        if declaration is not None and len(fact.arguments) == declaration.arity:
            for diagnostic in fact_faults(fact, declaration):
                draft.report(diagnostic)


def fact_faults(fact: Fact, declaration: Declaration) -> list[FactOfAnotherType]:
    """The arguments of a fact that do not fit their types."""
    found: list[FactOfAnotherType] = []
    for number, (term, kind) in enumerate(zip(fact.arguments, declaration.types, strict=True)):
        if term is not WITNESS and fitted(term, kind) is None:
            values = _words(term, number, declaration)
            found.append(FactOfAnotherType(_position(fact.span, term), **values))
    return found


def warn_of_constants(draft: Draft) -> None:
    """A constant of another type than its column's matches no fact that comes in, or makes one of another
    type."""
    declared = {name: one for name, one in draft.program.declared.items() if one.is_typed}
    for working in draft.rules if declared else ():
        for atom, in_head in placed_atoms(working.rule):
            declaration = declared.get(atom.predicate)
            if declaration is None or atom.arity != declaration.arity:
                continue
            for number, (term, kind) in enumerate(zip(atom.arguments, declaration.types, strict=True)):
                if isinstance(term, Variable | Parameter | Call | Aggregate) or fitted(term, kind) == term:
                    continue
                values = _words(term, number, declaration)
                values["effect"] = (
                    "the rule derives facts of another type"
                    if in_head
                    else "no fact that comes in matches it"
                )
                span = _position(atom.span or working.rule.span, term)
                draft.report(ConstantOfAnotherType(span, **values))


def _words(term: Term, number: int, declaration: Declaration) -> dict[str, object]:
    kind = TYPES[declaration.types[number]]
    name = declaration.columns[number].name
    meant = suggestion(term, kind.name)
    return {
        "value": _written(term),
        "description": kind.description,
        "column": f"{number + 1} ({name})" if name is not None else number + 1,
        "type": kind.name,
        "position": text_position(declaration.span),
        "hint": kind.in_programs or kind.hint if meant is None else _advice(meant),
    }


def _advice(meant: Term) -> str:
    written = _written(meant)
    if not isinstance(meant, IRI) or re.match(ABSOLUTE, meant.value):
        return f"write {written}"
    if ":" in meant.value:
        return f"write {meant.value} without quotes"
    return f"write {written}, or ex:{meant.value} with a prefix"


def _position(span: Span | None, term: Term) -> Span | None:
    return locate(span, _written(term))


def _written(term: Term) -> str:
    return Printer().expression(term)
