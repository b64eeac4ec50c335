"""Warnings: valid text that is probably not what the author meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tidalog.lang.conditions import is_condition
from tidalog.lang.diagnostics import BuiltinAsPredicate, NameLikeVariable, NoVariable, SingleVariable
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Atom, Condition, Negation, Rule, flat_literals, variables
from tidalog.model.term_text import NAME
from tidalog.model.terms import String

_LIKE_A_VARIABLE: Final = re.compile(r"[u-z][0-9]*\Z")


def rule_warnings(rule: Rule) -> Iterator[Diagnostic]:
    """Warnings about one rule."""
    occurrences = Counter(variable for part in (*rule.heads, *rule.body) for variable in variables(part))
    yield from no_variable(rule, "?x", "without ?")
    if occurrences:
        yield from _like_variables(rule)
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


def no_variable(rule: Rule, example: str, kind: str) -> Iterator[Diagnostic]:
    """A warning for a rule about constants alone: in other languages its names would be variables.  `example`
    is a variable of the dialect, and `kind` says which names are constants."""
    parts = (*rule.heads, *flat_literals(rule.body))
    has_terms = any(isinstance(part, Atom) and part.arguments for part in parts)
    if not rule.body or not has_terms or any(True for part in parts for _ in variables(part)):
        return
    names = {name: spans[0] for name, spans in _bare_names(rule).items()}
    upper = [name for name in names if name[0].isupper()]
    shown = upper or list(names)
    if not shown:
        yield NoVariable(rule.span, constants="", kind=kind, advice=f"a variable is written {example}")
        return
    own = f"?{shown[0]}" if example.startswith("?") else shown[0][:1].upper() + shown[0][1:]
    advice = f"write {own} for a variable"
    yield NoVariable(
        names[shown[0]],
        kind=kind,
        constants=f": {', '.join(shown)} {'are constants' if len(shown) > 1 else 'is a constant'}",
        advice=f"{advice}, or read the file with --dialect zodiac" if upper else advice,
    )


def _like_variables(rule: Rule) -> Iterator[Diagnostic]:
    """Names such as y that several literals of a rule with variables have: in Soufflé they join these."""
    for name, spans in _bare_names(rule).items():
        if len(spans) > 1 and _LIKE_A_VARIABLE.match(name):
            yield NameLikeVariable(spans[0], name=name)


def _bare_names(rule: Rule) -> dict[str, list[Span]]:
    """The names without quotes that are arguments of atoms, and where: once for each atom."""
    names: dict[str, list[Span]] = {}
    for part in (*rule.heads, *flat_literals(rule.body)):
        atom = part.atom if isinstance(part, Negation) else part
        if isinstance(atom, Atom):
            for name in dict.fromkeys(a.value for a in atom.arguments if isinstance(a, String)):
                if NAME.match(name) and (span := _bare(name, atom.span)):
                    names.setdefault(name, []).append(span)
    return names


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
