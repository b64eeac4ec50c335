"""Warnings: valid text that is probably not what the author meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tidalog.lang.conditions import is_condition
from tidalog.lang.diagnostics import BuiltinAsPredicate, SingleVariable, UpperCaseConstants
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Atom, Condition, Negation, Rule, variables
from tidalog.model.term_text import NAME
from tidalog.model.terms import String


def rule_warnings(rule: Rule) -> Iterator[Diagnostic]:
    """Warnings about one rule."""
    occurrences = Counter(variable for part in (*rule.heads, *rule.body) for variable in variables(part))
    if rule.body and not occurrences:
        yield from _upper_case_constants(rule)
    in_heads = {variable for head in rule.heads for variable in variables(head)}
    if rule.is_constraint:
        return  # the name of a constraint's variable appears in the message when it is violated
    for literal in rule.body:
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


def _upper_case_constants(rule: Rule) -> Iterator[Diagnostic]:
    names: dict[str, Span | None] = {}
    for part in (*rule.heads, *rule.body):
        atom = part.atom if isinstance(part, Negation) else part
        if isinstance(atom, Atom):
            for argument in atom.arguments:
                name = argument.value if isinstance(argument, String) else ""
                if NAME.match(name) and name[0].isupper() and (span := _bare(name, atom.span)):
                    names.setdefault(name, span)
    if names:
        first = next(iter(names))
        yield UpperCaseConstants(
            names[first],
            names=", ".join(names),
            are="are constants" if len(names) > 1 else "is a constant",
            example=f"?{first}",
        )


def _bare(name: str, span: Span | None) -> Span | None:
    """Where a name stands in a literal without quotes; None if it does not."""
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
