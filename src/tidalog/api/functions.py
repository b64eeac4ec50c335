"""Python functions that rules may call: their names and how many arguments they take."""

from __future__ import annotations

import inspect

from tidalog.analysis.draft import ArgumentRange
from tidalog.api.diagnostics import BadFunction
from tidalog.builtins import BUILTINS, PythonFunction
from tidalog.model.errors import UsageError


def function_name(name: str) -> str:
    """The name by which programs know a function."""
    upper = name.upper()
    if not (name.isidentifier() and name.isascii()):
        why = "the name of a function is letters, digits and underscores, and does not start with a digit"
        raise _bad(name or "(nothing)", why, "choose another name: kb.register(name, function)")
    if upper in BUILTINS:
        raise _bad(name, f"there is a built-in {upper}", "choose another name")
    return upper


def argument_range(name: str, function: PythonFunction) -> ArgumentRange:
    """The least and the greatest number of positional arguments (None: any number)."""
    if not callable(function):
        raise _bad(name, f"a {type(function).__name__} cannot be called", "pass a function")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0, None  # some functions written in C do not say
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if needed:
        why = f"its argument {needed[0]} can be passed by name only, and rules pass arguments by position"
        raise _bad(name, why, "pass a function of positional arguments")
    least = sum(p.default is p.empty for p in positional)
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return least, None if takes_any else len(positional)


def _bad(name: str, why: str, hint: str) -> UsageError:
    return UsageError(BadFunction(name=name, why=why, hint=hint))
