"""Python functions that rules may call, and aggregates: their names and how many arguments they take.

An aggregate is registered among the functions, under its name with `#`."""

from __future__ import annotations

import inspect

from tidalog.analysis.draft import ArgumentRange
from tidalog.api.diagnostics import BadFunction
from tidalog.builtins import BUILTINS, PythonFunction, key_of
from tidalog.model.amounts import article
from tidalog.model.errors import UsageError
from tidalog.model.program import AGGREGATES


def function_name(name: str) -> str:
    """The name by which programs know a function."""
    upper = name.upper()
    if name.startswith("#"):
        return _aggregate_name(name[1:])
    if not (name.isidentifier() and name.isascii()):
        why = "the name of a function is letters, digits and underscores, and does not start with a digit"
        raise _bad(name or "(nothing)", why, "choose another name: kb.register(name, function)")
    if upper in BUILTINS:
        raise _bad(name, f"there is a built-in {upper}", "choose another name")
    return upper


def _aggregate_name(name: str) -> str:
    if not (name.isidentifier() and name.isascii()):
        why = "the name of an aggregate is letters, digits and underscores, and does not start with a digit"
        raise _bad(f"#{name}", why, "choose another name: kb.register_aggregate(name, function)")
    if name.lower() in AGGREGATES:
        raise _bad(f"#{name}", f"there is a built-in #{name.lower()}", "choose another name")
    return key_of(name)


def argument_range(name: str, function: PythonFunction) -> ArgumentRange:
    """The least and the greatest number of positional arguments (None: any number).  Arguments of an
    aggregate that its function does not take only keep tuples apart, so there may be any number of them."""
    if not callable(function):
        raise _bad(name, f"{article(type(function).__name__)} cannot be called", "pass a function")
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
    if name.startswith("#"):
        if not positional and not takes_any:
            raise _bad(name, "it takes no argument", "an aggregate is a function of the list of values")
        return max(least, 1), None
    return least, None if takes_any else len(positional)


def _bad(name: str, why: str, hint: str) -> UsageError:
    return UsageError(BadFunction(name=name, why=why, hint=hint))
