"""Terms and the values of Python: what a literal is in Python, and durations as terms."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Final

from tidalog.model.terms import Boolean, Double, Integer, Literal, String, Term, instant, numeric_value
from tidalog.model.values import (
    DATE,
    DATE_TIME,
    DAY,
    DAY_TIME,
    MINUTE,
    SECOND,
    TIME,
    YEAR_MONTH,
    Duration,
    Moment,
    day_value,
    duration_text,
    duration_value,
    moment_value,
    time_value,
)

Native = int | float | bool | str | Decimal | datetime | date | time | timedelta

_MOMENTS: Final = {DATE_TIME: moment_value, DATE: day_value, TIME: time_value}
_NUMPY_UNITS: Final = {
    "weeks": 7 * DAY,
    "days": DAY,
    "hours": 60 * MINUTE,
    "minutes": MINUTE,
    "seconds": SECOND,
    "milliseconds": 10**6,
    "microseconds": 1000,
    "nanoseconds": 1,
}


def native_value(term: Term) -> Native | None:
    """The Python value that a term stands for; None if Python has no type for it: IRIs, blank nodes, language
    strings, dates with a zone, durations of months, times finer than a microsecond."""
    if isinstance(term, Integer | Double | Boolean | String):
        return term.value
    if not isinstance(term, Literal):
        return None
    text, datatype = term.lexical, term.datatype
    if datatype == DAY_TIME:
        duration = duration_value(text, datatype)
        return None if duration is None else _timedelta_of(duration.nanoseconds)
    if datatype in _MOMENTS:
        moment = _MOMENTS[datatype](text)
        return None if moment is None or moment.local % 1000 else _moment_of(moment, datatype)
    return numeric_value(term)


def _moment_of(moment: Moment, datatype: str) -> Native | None:
    zone = None if moment.zone is None else timezone(timedelta(minutes=moment.zone))
    if datatype == DATE and zone is not None:
        return None
    found = datetime(1970, 1, 1) + timedelta(microseconds=moment.local // 1000)
    if datatype == DATE:
        return found.date()
    return found.replace(tzinfo=zone) if datatype == DATE_TIME else found.time().replace(tzinfo=zone)


def _timedelta_of(nanoseconds: int) -> timedelta | None:
    try:
        return None if nanoseconds % 1000 else timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None


def temporal_of_python(value: date | time | timedelta) -> Term:
    """A datetime is in UTC if it has a zone; dates, times of day and durations are as they are."""
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, date):
        return Literal(value.isoformat(), DATE)
    return _time_of_python(value) if isinstance(value, time) else _duration_of_python(value)


def _time_of_python(value: time) -> Literal:
    """An xsd:time in the zone of the value, and UTC written Z, as points in time have it."""
    clock = value.replace(tzinfo=None).isoformat()
    zone = value.isoformat()[len(clock) :].replace("+00:00", "Z")
    lexical = (clock.rstrip("0") if value.microsecond else clock) + zone
    if time_value(lexical) is None:  # XML Schema has zones of whole minutes, up to 14 hours from UTC
        raise TypeError(f"a time of day in the zone {zone} cannot be a term")
    return Literal(lexical, TIME)


def _duration_of_python(value: timedelta) -> Term:
    """An xsd:dayTimeDuration; those of pandas have nanoseconds."""
    seconds = value.days * 86_400 + value.seconds
    return day_time(seconds * SECOND + value.microseconds * 1000 + getattr(value, "nanoseconds", 0))


def duration_of_numpy(value: object) -> Term:
    """A timedelta64 by its text, `5 days`: years and months are an xsd:yearMonthDuration."""
    count, _, unit = str(value).partition(" ")
    if unit in ("years", "months"):
        months = int(count) * (12 if unit == "years" else 1)
        return _checked(Duration(months, 0), YEAR_MONTH)
    if unit not in _NUMPY_UNITS:
        raise TypeError(f"a timedelta64 of {unit or value} cannot be a term")
    return day_time(int(count) * _NUMPY_UNITS[unit])


def moment_of_numpy(value: object) -> Literal:
    """A datetime64 of hours or finer, by its text: those of nanoseconds are just a count to Python."""
    text = str(value)
    clock = text.partition("T")[2]
    lexical = text.rstrip("0").rstrip(".") if "." in text else text + "00:00:00"[len(clock) :]
    if moment_value(lexical) is None:
        raise TypeError(f"the datetime64 {text} cannot be a term")
    return Literal(lexical, DATE_TIME)


def day_time(nanoseconds: int) -> Literal:
    return _checked(Duration(0, nanoseconds), DAY_TIME)


def _checked(duration: Duration, datatype: str) -> Literal:
    if not duration.exists:
        raise TypeError("a duration of more than 2^63 seconds cannot be a term")
    return Literal(duration_text(duration, datatype), datatype)
