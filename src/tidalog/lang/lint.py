"""Warnings: valid text that is probably not what the author meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tidalog.lang.conditions import is_condition
from tidalog.lang.diagnostics import BuiltinAsPredicate, NoVariable, SingleVariable
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Atom, Condition, Negation, Rule, flat_literals, variables
from tidalog.model.term_text import NAME
from tidalog.model.terms import String


def rule_warnings(rule: Rule) -> Iterator[Diagnostic]:
    """Warnings about one rule."""
    occurrences = Counter(variable for part in (*rule.heads, *rule.body) for variable in variables(part))
    atoms = (*rule.heads, *flat_literals(rule.body))
    if rule.body and not occurrences and any(isinstance(a, Atom) and a.arguments for a in atoms):
        yield from _no_variable(rule)
    in_heads = {variable for head in rule.heads for variable in variables(head)}
    if rule.is_constraint:
        return  # the name of a constraint's variable appears in the message when it is violated
    for literal in flat_literals(rule.body):
        if isinstance(literal, Condition):
            continue
        for variable in variables(literal):
            once = occurrences[variable] == 1 and variable not in in_heads
            if once and not variable.name.startswith("_"):
                span = _span_of(rf"\?{re.escape(variable.name)}(?!\w)", literal.span)
                yield SingleVariable(span, variable=f"?{variable.name}")


def predicate_warning(predicate: str, span: Span | None) -> Iterator[Diagnostic]:
    """Warnings about a predicate that has facts, rules or imported data."""
    if is_condition(predicate):
        yield BuiltinAsPredicate(span, name=predicate, function=predicate.upper())


def _no_variable(rule: Rule) -> Iterator[Diagnostic]:
    """A rule about constants alone: in other languages its names would be variables."""
    names: dict[str, Span] = {}
    for part in (*rule.heads, *flat_literals(rule.body)):
        atom = part.atom if isinstance(part, Negation) else part
        if isinstance(atom, Atom):
            for argument in atom.arguments:
                name = argument.value if isinstance(argument, String) else ""
                if NAME.match(name) and (span := _bare(name, atom.span)):
                    names.setdefault(name, span)
    upper = [name for name in names if name[0].isupper()]
    shown = upper or list(names)
    if not shown:
        yield NoVariable(rule.span, constants="", advice="a variable is written ?x")
        return
    advice = f"write ?{shown[0]} for a variable"
    yield NoVariable(
        names[shown[0]],
        constants=f": {', '.join(shown)} {'are constants' if len(shown) > 1 else 'is a constant'}",
        advice=f"{advice}, or read the file with --dialect zodiac" if upper else advice,
    )


def _bare(name: str, span: Span | None) -> Span | None:
    """The span of a name without quotes within a literal, if there is one."""
    found = _span_of(rf'(?<![\w"]){re.escape(name)}(?![\w"])', span)
    return None if found == span else found


def _span_of(pattern: str, span: Span | None) -> Span | None:
    """The span of a pattern within a literal; that of the literal if the pattern is not found."""
    if span is None:
        return None
    text = span.source.text[span.start : span.end]
    opening = text.find("(") + 1
    found = re.compile(pattern).search(text, opening) or re.search(pattern, text)
    if found is None:
        return span
    return Span(span.source, span.start + found.start(), span.start + found.end())
