"""Checks that functions exist and take the number of arguments they are given."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from tidalog.analysis.diagnostics import UnknownFunction, WrongArgumentCount, counted, locate
from tidalog.analysis.draft import ArgumentRange, Draft
from tidalog.analysis.rewrite import rule_nodes
from tidalog.builtins import BUILTINS
from tidalog.model.program import Call


def check_functions(draft: Draft) -> None:
    for working in draft.rules:
        for node, literal in rule_nodes(working.rule):
            if not isinstance(node, Call):
                continue
            span = node.span or locate(literal.span or working.rule.span, node.function)
            given = len(node.arguments)
            accepted = argument_range(node.function, draft.functions)
            if accepted is None:
                suggestion = _suggestion(node.function, draft.functions)
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


def argument_range(function: str, registered: Mapping[str, ArgumentRange]) -> ArgumentRange | None:
    """How many arguments a function takes; None if there is no such function."""
    builtin = BUILTINS.get(function)
    if builtin is not None:
        return builtin.min_arity, builtin.max_arity
    return registered.get(function.upper())


def _suggestion(function: str, registered: Mapping[str, ArgumentRange]) -> str:
    known = [*(name for name in BUILTINS if name[:1].isalpha()), *registered]
    near = get_close_matches(function.upper(), known, 1, 0.7)
    if near:
        return f"did you mean {near[0]}?"
    return "register it before the program is loaded, or use a built-in function"


def _in_words(accepted: ArgumentRange) -> str:
    least, most = accepted
    if most is None:
        return f"at least {counted(least, 'argument')}"
    if least == most:
        return counted(least, "argument")
    return f"{least} to {counted(most, 'argument')}"
