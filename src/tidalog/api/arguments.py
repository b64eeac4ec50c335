"""Arguments as a user gives them, checked before anything is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

from tidalog.api.diagnostics import bad_argument
from tidalog.engine.limits import Limits
from tidalog.maintain.choose import MARKINGS, ORDERS, STRATEGIES, Options


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        why, hint = f"it is one of {', '.join(known)}", "leave it out for the default"
        raise bad_argument(f"{name}={value!r} is not known", why, hint)


def check_count(name: str, value: int, what: str, hint: str, *, least: int = 0) -> None:
    """A whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise bad_argument(f"{name}={value!r} is not {what}", f"it is {least} or more", hint)


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


def checked_options(strategy: str, marking: str, order: str, look_ahead: int) -> Options:
    """How updates are maintained.  Raises `UsageError` for an unknown value."""
    check_choice("strategy", strategy, STRATEGIES)
    check_choice("marking", marking, MARKINGS)
    check_choice("order", order, ORDERS)
    check_count("look_ahead", look_ahead, "a number of updates", "write look_ahead=1")
    return Options(strategy, marking, order, look_ahead)


def checked_limits(
    max_facts: int | None, max_seconds: float | None, max_memory: int | None, strict: bool
) -> Limits:
    """Limits of a run.  Raises `UsageError` for a value that cannot be one."""
    _check_limit("max_facts", max_facts, Integral, "a whole number of facts, 1 or more", "1_000_000")
    _check_limit("max_seconds", max_seconds, Real, "a number of seconds above 0", "60")
    _check_limit("max_memory", max_memory, Integral, "a whole number of bytes, 1 or more", "2 * 10**9")
    return Limits(max_facts, max_seconds, max_memory, strict)


def _check_limit(name: str, value: float | None, kind: type, what: str, example: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
        hint = f"write {name}={example}, or leave it out"
        raise bad_argument(f"{name}={value!r} is not a limit", f"it is {what}", hint)
