"""Times and durations of windows, as whole microseconds: since 1970 in UTC, or of an interval."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from tidalog.model.program import Window
from tidalog.model.terms import Literal
from tidalog.model.values import moment_value

NEVER: Final = 2**63 - 1
"""The expiry of what stays for ever."""
START: Final = -(2**62)
"""The time before the first: what comes then has the first time that is known."""
SECOND: Final = 1_000_000
UNITS: Final = {
    "us": 1,
    "ms": 1000,
    "s": SECOND,
    "sec": SECOND,
    "m": 60 * SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": 86_400 * SECOND,
}
_LARGEST: Final = ("d", "h", "m", "s", "ms", "us")
_DURATION: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*\Z")
_NUMBER: Final = re.compile(r"\s*-?[0-9]+(?:\.[0-9]+)?\s*\Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
LAST: Final = (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_MOST: Final = 2**62


def duration_of(number: str, unit: str) -> int | None:
    """A duration such as 10 and s; None if it is not one, or not a whole number of microseconds."""
    size = UNITS.get(unit)
    try:
        exact = Decimal(number) * size if size is not None else None
    except InvalidOperation:
        return None
    if exact is None or exact != exact.to_integral_value() or not 0 <= exact < _MOST:
        return None
    return int(exact)


def duration_in(value: object) -> int | None:
    """A duration given by a user: a text such as `5s`, a timedelta, or a number of seconds."""
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return _scaled(value)
    found = _DURATION.match(value) if isinstance(value, str) else None
    return duration_of(found[1], found[2]) if found is not None else None


def duration_text(duration: int) -> str:
    """The shortest text of a duration: 90s, 1m, 500ms."""
    for unit in _LARGEST:
        if duration % UNITS[unit] == 0:
            return f"{duration // UNITS[unit]}{unit}"
    raise AssertionError(duration)


def time_in(value: object) -> int | None:
    """A point in time given by a user: a datetime (UTC if it has no zone), an xsd:dateTime, its text, or a
    number of seconds since 1970; None for anything else."""
    match value:
        case bool():
            return None
        case datetime():
            at = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return (at - _EPOCH) // timedelta(microseconds=1)
        case date():
            return time_in(datetime(value.year, value.month, value.day))
        case int() | float() | Decimal():
            return _scaled(value)
        case Literal():
            return _time_of_text(value.lexical)
        case str():
            return _scaled(Decimal(value.strip())) if _NUMBER.match(value) else _time_of_text(value.strip())
    return None


def time_text(time: int) -> str:
    """A point in time for a person; one near 1970 is a number of seconds, as examples count, and so is one
    beyond the calendar."""
    if abs(time) < UNITS["d"] * 366 or not FIRST <= time <= LAST:
        return f"{Decimal(time) / SECOND:f}"
    return (_EPOCH + timedelta(microseconds=time)).isoformat().replace("+00:00", "Z")


def expiry_of(window: Window, time: int) -> int:
    """When a fact that came at a time leaves the window: the first slide from which on it is too old."""
    match window.kind:
        case "range":
            return min(-(-(time + window.length) // window.step) * window.step, NEVER)
        case "tumbling":
            return (time // window.length + 1) * window.length
    return NEVER


def _time_of_text(text: str) -> int | None:
    found = moment_value(text)
    return None if found is None else found.instant // 1000


def _scaled(seconds: float | Decimal) -> int | None:
    try:
        exact = Decimal(str(seconds)) * SECOND
    except InvalidOperation:
        return None
    return round(exact) if exact.is_finite() and abs(exact) < _MOST else None
