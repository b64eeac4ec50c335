"""Limits as a user gives them, checked before a run meets them."""

from __future__ import annotations

from numbers import Integral, Real

from tidalog.api.diagnostics import BadArgument
from tidalog.engine.limits import Limits
from tidalog.model.errors import UsageError


def checked_limits(
    max_facts: int | None, max_seconds: float | None, max_memory: int | None, strict: bool
) -> Limits:
    """Limits that a run can keep.  Raises `UsageError` for what is no amount."""
    _check("max_facts", max_facts, Integral, "a whole number of facts, 1 or more", "max_facts=1_000_000")
    _check("max_seconds", max_seconds, Real, "a number of seconds above 0", "max_seconds=60")
    _check("max_memory", max_memory, Integral, "a whole number of bytes, 1 or more", "max_memory=2 * 10**9")
    return Limits(max_facts, max_seconds, max_memory, strict)


def _check(name: str, value: float | None, kind: type, what: str, example: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
        hint = f"write {example}, or leave it out"
        raise UsageError(BadArgument(problem=f"{name}={value!r} is no limit", why=f"it is {what}", hint=hint))
