"""Times and durations as a user gives them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidalog.api.diagnostics import NotATime
from tidalog.model.errors import UsageError
from tidalog.model.window_times import duration_in, time_in

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def checked_time(value: object) -> int:
    """Microseconds since 1970.  Raises `UsageError` (T179) for what is not a time."""
    time = time_in(value)
    if time is None:
        why, hint = (
            "a time is a datetime, an xsd:dateTime or a number of seconds since 1970",
            "write time=12.5",
        )
        raise UsageError(NotATime(value=repr(value), what="time", why=why, hint=hint))
    return time


def checked_duration(name: str, value: object) -> int:
    """Microseconds.  Raises `UsageError` (T179) for what is not a duration."""
    duration = duration_in(value)
    if duration is None or duration < 0:
        why, hint = (
            "a duration is a text such as 5s, a timedelta or a number of seconds",
            f'write {name}="5s"',
        )
        raise UsageError(NotATime(value=repr(value), what="duration", why=why, hint=hint))
    return duration


def shown_time(time: int) -> datetime | None:
    """A point in time as a datetime in UTC; None if no datetime has it."""
    try:
        return _EPOCH + timedelta(microseconds=time)
    except OverflowError:
        return None
