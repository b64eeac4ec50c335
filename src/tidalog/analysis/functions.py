"""Checks that functions exist and take the number of arguments they are given."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from tidalog.analysis.diagnostics import (
    UnknownAggregate,
    UnknownFunction,
    UnusablePattern,
    WrongArgumentCount,
    counted,
    locate,
)
from tidalog.analysis.draft import ArgumentRange, Draft
from tidalog.analysis.rewrite import map_conditions, rule_nodes
from tidalog.builtins import BUILTINS, key_of
from tidalog.builtins.patterns import problem
from tidalog.model.errors import Span
from tidalog.model.program import AGGREGATES, Aggregate, Atom, BodyLiteral, Call, Condition, Rule
from tidalog.model.terms import IRI, String


def read_parentheses(draft: Draft) -> None:
    draft.rules = [w.with_rule(with_atoms(w.rule, draft.functions)) for w in draft.rules]


def with_atoms(rule: Rule, registered: Container[str]) -> Rule:
    """`(p(?x))` is an atom where p is not a function.  A name in capitals is always one: a program that was
    stored with its functions has them so, and does not change its meaning without them."""

    def read(condition: Condition) -> BodyLiteral:
        match condition.expression:
            case IRI(name):
                return Atom(name, (), condition.span)
            case Call(name, arguments) as call if name not in BUILTINS and name != "neg":
                if name.upper() in registered:
                    return (
                        condition
                        if name.isupper()
                        else replace(condition, expression=replace(call, function=name.upper()))
                    )
                return condition if name.isupper() else Atom(name, arguments, condition.span)
        return condition

    return map_conditions(rule, read)


def check_functions(draft: Draft) -> None:
    for working in draft.rules:
        for node, literal in rule_nodes(working.rule):
            if isinstance(node, Aggregate):
                _check_aggregate(node, node.span or literal.span or working.rule.span, draft)
            if not isinstance(node, Call):
                continue
            span = node.span or locate(literal.span or working.rule.span, node.function)
            given = len(node.arguments)
            accepted = argument_range(node.function, draft.functions)
            if accepted is None:
                suggestion = _suggestion(node.function, draft.functions)
                if isinstance(literal, Condition) and literal.expression is node:
                    suggestion = f"{suggestion}; an atom in capitals is written without parentheses"
                draft.report(UnknownFunction(span, function=node.function, suggestion=suggestion))
            elif given < accepted[0] or (accepted[1] is not None and given > accepted[1]):
                draft.report(
                    WrongArgumentCount(
                        span,
                        function=node.function,
                        expected=_in_words(accepted),
                        given=given,
                    )
                )
            elif node.function in _FLAGS_OF and (why := _unusable_pattern(node)) is not None:
                draft.report(UnusablePattern(span, function=node.function, why=why))


def _check_aggregate(node: Aggregate, span: Span | None, draft: Draft) -> None:
    if node.operator in AGGREGATES:
        return
    spot = locate(span, node.operator)
    accepted = draft.functions.get(key_of(node.operator))
    if accepted is None:
        registered = [name[1:].lower() for name in draft.functions if name[:1] == "#" and " " not in name]
        known = [*AGGREGATES, *registered]
        near = get_close_matches(node.operator, known, 1)
        meant = _OTHER_NAMES_OF_AGGREGATES.get(node.operator) or (near[0] if near else None)
        listed = "known are " + ", ".join(f"#{name}" for name in known)
        suggestion = f"did you mean #{meant}? {listed}" if meant else f"{listed}; others are registered first"
        draft.report(UnknownAggregate(spot, function=f"#{node.operator}", suggestion=suggestion))
    elif len(node.arguments) < accepted[0]:
        function, given = f"#{node.operator}", len(node.arguments)
        draft.report(WrongArgumentCount(spot, function=function, expected=_in_words(accepted), given=given))


_OTHER_NAMES_OF_AGGREGATES: Final = {"mean": "avg", "average": "avg", "total": "sum", "size": "count"}
_FLAGS_OF: Final = {"REGEX": 2, "REPLACE": 3}
"""The functions that take a regular expression second, and the position of its flags."""


def _unusable_pattern(call: Call) -> str | None:
    """Why a constant regular expression has no value for any text; None if it has, or is not constant."""
    pattern, *flags = call.arguments[1], *call.arguments[_FLAGS_OF[call.function] :]
    if not isinstance(pattern, String) or not all(isinstance(flag, String) for flag in flags):
        return None
    return problem(pattern.value, "".join(flag.value for flag in flags if isinstance(flag, String)))


def argument_range(function: str, registered: Mapping[str, ArgumentRange]) -> ArgumentRange | None:
    """How many arguments a function takes; None if there is no such function."""
    builtin = BUILTINS.get(function)
    if builtin is not None:
        return builtin.min_arity, builtin.max_arity
    return registered.get(function.upper())


_ELSEWHERE: Final = {
    "UPPER": "UCASE",
    "LOWER": "LCASE",
    "LEN": "STRLEN",
    "LENGTH": "STRLEN",
    "SUBSTRING": "SUBSTR",
    "STARTSWITH": "STRSTARTS",
    "ENDSWITH": "STRENDS",
    "CEILING": "CEIL",
    "TOSTRING": "STR",
    "CAT": "CONCAT",
    "MATCH": "REGEX",
}
"""What functions are called in other languages, and here."""


def _suggestion(function: str, registered: Mapping[str, ArgumentRange]) -> str:
    names = (*BUILTINS, *registered, *_ELSEWHERE)
    known = [name for name in names if name[:1].isalpha() and " " not in name]
    near = get_close_matches(function.upper(), known, 1, 0.7)
    if near:
        here = near[0] if near[0] in registered else _ELSEWHERE.get(near[0], near[0])
        return f"did you mean {here}?"
    return "register it before the program is loaded, or use a built-in function"


def _in_words(accepted: ArgumentRange) -> str:
    least, most = accepted
    if most is None:
        return f"at least {counted(least, 'argument')}"
    if least == most:
        return counted(least, "argument")
    return f"{least} to {counted(most, 'argument')}"
