"""Arguments as a user gives them, checked before anything is done with them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from numbers import Integral, Real
from typing import Any

from tidalog.api.diagnostics import bad_argument
from tidalog.api.maintenance import DEFAULT
from tidalog.engine.limits import Limits
from tidalog.maintain.choose import MARKINGS, ORDERS, STRATEGIES, Options
from tidalog.maintain.materialise import NO_LIMITS
from tidalog.model.amounts import article, counted


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        why, hint = f"it is one of {', '.join(known)}", "leave it out for the default"
        raise bad_argument(f"{name}={value!r} is not known", why, hint)


def check_text(value: object, what: str, hint: str) -> None:
    if not isinstance(value, str):
        raise bad_argument(f"{article(type(value).__name__)} is not {what}", f"{what} is a text", hint)


def check_callback(callback: object, given: Sequence[str], more: Sequence[str] = ()) -> None:
    """A function that takes these arguments by position, and `more` by name."""
    call = f"callback({', '.join(given)})"
    if not callable(callback):
        problem = f"{article(type(callback).__name__)} cannot be called"
        raise bad_argument(problem, f"a subscriber is a function: {call}", "pass a function")
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some functions written in C do not say
        return
    try:
        signature.bind(*given, **dict.fromkeys(more))
    except TypeError as error:
        hint = f"pass a function of {counted(len(given), 'parameter')}: {call}"
        raise bad_argument(f"this subscriber cannot be called as {call}", str(error), hint) from None


def check_count(name: str, value: int, what: str, hint: str, *, least: int = 0) -> None:
    """A whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise bad_argument(f"{name}={value!r} is not {what}", f"it is {least} or more", hint)


def check_seconds(name: str, value: float) -> None:
    """A time to wait."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or value < 0:
        hint = f"write {name}=0.5, or leave it out"
        raise bad_argument(f"{name}={value!r} is not a time to wait", "it is seconds, 0 or more", hint)


def check_on_error(value: str) -> None:
    check_choice("on_error", value, ("error", "skip"))


def check_batch(source: str, batch: int) -> None:
    if not isinstance(source, str) or not source:
        raise bad_argument(f"source={source!r} names no source", "it is a text", 'write source="orders"')
    check_count("batch", batch, "the number of a batch", "the batches of a source have ascending numbers")


def check_fitting(from_file: bool, *, format: object, header: object, columns: object) -> None:
    """`format` and `header` are about files, `columns` is about data in memory."""
    wrong = {"columns": columns} if from_file else {"format": format, "header": header}
    for name, value in wrong.items():
        if value is not None:
            why = f"the data is {'' if from_file else 'not '}a file"
            hint = "formats says what each column means, and skip leaves one out"
            raise bad_argument(f"{name} has no meaning here", why, hint)


def checked_options(
    strategy: str | None,
    marking: str | None,
    order: str | None,
    look_ahead: int,
    default: Options = DEFAULT,
) -> Options:
    """How updates are maintained; None stands for the default.  Raises `UsageError` for an unknown value."""
    check_count("look_ahead", look_ahead, "a number of updates", "write look_ahead=1")
    given = {"strategy": strategy, "marking": marking, "order": order}
    options = replace(default, look_ahead=look_ahead, **_given(given))
    check_choice("strategy", options.strategy, STRATEGIES)
    check_choice("marking", options.marking, MARKINGS)
    check_choice("order", options.order, ORDERS)
    return options


def checked_limits(
    max_facts: int | None,
    max_seconds: float | None,
    max_memory: int | None,
    strict: bool | None,
    default: Limits = NO_LIMITS,
) -> Limits:
    """Limits of a run; None stands for the default.  Raises `UsageError` for a value that cannot be one."""
    for name, value, kind, what, example in (
        ("max_facts", max_facts, Integral, "a whole number of facts, 1 or more", "1_000_000"),
        ("max_seconds", max_seconds, Real, "a number of seconds above 0", "60"),
        ("max_memory", max_memory, Integral, "a whole number of bytes, 1 or more", "2 * 10**9"),
    ):
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind) or not value > 0):
            hint = f"write {name}={example}, or leave it out"
            raise bad_argument(f"{name}={value!r} is not a limit", f"it is {what}", hint)
    given = {"max_facts": max_facts, "max_seconds": max_seconds, "max_memory": max_memory, "strict": strict}
    return replace(default, **_given(given))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
