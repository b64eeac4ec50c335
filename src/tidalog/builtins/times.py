"""Points in time, times of day and durations: arithmetic, order, parts, constructors.

The rules are those of XPath and XQuery Functions 3.1, section 9, where it has any.  A month that is added
keeps the day, or takes the last one of a shorter month.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Final

from tidalog.builtins.base import Builtin, CannotCompute, decimal_result, shown
from tidalog.model.terms import (
    Integer,
    Literal,
    String,
    Term,
    duration_value,
    instant_value,
    numeric_value,
    time_value,
)
from tidalog.model.values import (
    DATE,
    DATE_TIME,
    DAY,
    DAY_TIME,
    DURATION,
    DURATIONS,
    EPOCH,
    MINUTE,
    ROUNDED,
    SECOND,
    TIME,
    YEAR_MONTH,
    Duration,
    Moment,
    day_text,
    day_value,
    duration_text,
    moment_text,
    moment_value,
    time_text,
)
from tidalog.model.values import duration_value as duration_of_text
from tidalog.model.values import time_value as time_of_text

_MICROSECOND: Final = 1000
HOUR: Final = 60 * MINUTE
_ZONE: Final = re.compile(r"(Z|[+-]..:..)\Z")
_DAYS_OF_400_YEARS: Final = 146_097


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type of moments: how it is read and written."""

    name: str
    datatype: str
    read: Callable[[str], Moment | None]
    write: Callable[[Moment], str | None]


_DATE_TIMES: Final = _Kind("a point in time (xsd:dateTime)", DATE_TIME, moment_value, moment_text)
_DATES: Final = _Kind("a date (xsd:date)", DATE, day_value, day_text)
_TIMES: Final = _Kind("a time of day (xsd:time)", TIME, time_of_text, time_text)
_KINDS: Final = {kind.datatype: kind for kind in (_DATE_TIMES, _DATES, _TIMES)}


def _moment(term: Term, *kinds: _Kind) -> Moment:
    if isinstance(term, Literal):
        for kind in kinds:
            if term.datatype == kind.datatype and (moment := kind.read(term.lexical)) is not None:
                return moment
    raise CannotCompute(f"{shown(term)} is not {' or '.join(kind.name for kind in kinds)}")


def is_temporal(term: Term) -> bool:
    """Whether a term has the type of a moment or of a duration."""
    return isinstance(term, Literal) and (term.datatype in _KINDS or term.datatype in DURATIONS)


def _written(kind: _Kind, moment: Moment) -> Term:
    text = kind.write(moment)
    if text is None:
        raise CannotCompute("the result is outside the years 1 to 9999")
    return Literal(text, kind.datatype)


def duration_of(term: Term) -> Duration:
    value = duration_value(term)
    if value is None:
        raise CannotCompute(f"{shown(term)} is neither a number nor a duration")
    return value


def duration_result(duration: Duration, datatypes: Collection[str]) -> Term:
    """A duration of the type that all operands have, or an xsd:duration."""
    if not duration.exists:
        raise CannotCompute("the months and the days of the result have different signs, or it is too long")
    datatype = next(iter(datatypes)) if len(set(datatypes)) == 1 else DURATION
    return Literal(duration_text(duration, datatype), datatype)


def order(left: Term, right: Term) -> int | None:
    """-1, 0 or 1 of two points in time, two times of day or two durations; None if they have no order."""
    for value in (instant_value, time_value):
        a, b = value(left), value(right)
        if a is not None and b is not None:
            return _sign(a - b)
    c, d = duration_value(left), duration_value(right)
    return None if c is None or d is None else order_of_durations(c, d)


def _type(term: Term) -> str:
    assert isinstance(term, Literal)
    return term.datatype


# --- order --------------------------------------------------------------------------------------------------


def order_of_durations(a: Duration, b: Duration) -> int | None:
    """-1, 0, 1; None where it depends on the month: a month has 28 to 31 days."""
    if a == b:
        return 0
    ends = [(_days_after(a.months, y, m), _days_after(b.months, y, m)) for y, m in _REFERENCES]
    signs = {
        _sign((x * DAY + a.nanoseconds) - (y * DAY + b.nanoseconds)) for x, y in ends
    }  # XML Schema: one is less than the other if it ends earlier from each of four days
    return signs.pop() if len(signs) == 1 else None


_REFERENCES: Final = ((1696, 9), (1697, 2), (1903, 3), (1903, 7))


def _days_after(months: int, year: int, month: int) -> int:
    return _days(*_month_after(months, year, month), 1)


def _month_after(months: int, year: int, month: int) -> tuple[int, int]:
    years, zero_based = divmod(month - 1 + months, 12)
    return year + years, zero_based + 1


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a day in any year of the Gregorian calendar."""
    shifted = year - (month <= 2)  # years begin in March: the leap day is their last
    century, of_century = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    leap_days = of_century // 4 - of_century // 100
    return century * _DAYS_OF_400_YEARS + of_century * 365 + leap_days + of_year - 719_468


def _date(days: int) -> tuple[int, int, int]:
    """Year, month and day of days since 1970, in the years 1 to 9999."""
    day = date.fromordinal(days + EPOCH)
    return day.year, day.month, day.day


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


# --- arithmetic ---------------------------------------------------------------------------------------------


def add(left: Term, right: Term) -> Term:
    """Two durations, or a duration and a moment in either order."""
    if isinstance(left, Literal) and left.datatype in _KINDS:
        return _moved(left, duration_of(right), 1)
    if isinstance(right, Literal) and right.datatype in _KINDS:
        return _moved(right, duration_of(left), 1)
    a, b = duration_of(left), duration_of(right)
    both = Duration(a.months + b.months, a.nanoseconds + b.nanoseconds)
    return duration_result(both, (_type(left), _type(right)))


def subtract(left: Term, right: Term) -> Term:
    """Two durations, a moment and a duration, or two moments, whose difference is a duration."""
    for value in (instant_value, time_value):
        a, b = value(left), value(right)
        if a is not None and b is not None:
            return duration_result(Duration(0, a - b), (DAY_TIME,))
    if isinstance(left, Literal) and left.datatype in _KINDS:
        return _moved(left, duration_of(right), -1)
    c, d = duration_of(left), duration_of(right)
    difference = Duration(c.months - d.months, c.nanoseconds - d.nanoseconds)
    return duration_result(difference, (_type(left), _type(right)))


def _moved(term: Literal, duration: Duration, sign: int) -> Term:
    kind = _KINDS[term.datatype]
    moment = _moment(term, kind)
    if kind is _TIMES and duration.months:
        raise CannotCompute("a time of day has no months")
    local = _months_later(moment.local, sign * duration.months) + sign * duration.nanoseconds
    return _written(kind, moment._replace(local=local))


def _months_later(local: int, months: int) -> int:
    if not months:
        return local
    days, clock = divmod(local, DAY)
    year, month, day = _date(days)
    year, month = _month_after(months, year, month)
    next_year, next_month = _month_after(1, year, month)
    last = _days(next_year, next_month, 1) - _days(year, month, 1)
    return _days(year, month, min(day, last)) * DAY + clock


def multiply(left: Term, right: Term) -> Term:
    """A duration and a number, in either order."""
    if numeric_value(left) is not None:
        left, right = right, left
    return scaled(duration_of(left), _factor(right), (_type(left),))


def divide(left: Term, right: Term) -> Term:
    """A duration by a number, or by a duration: how many times one is the other, a decimal."""
    a = duration_of(left)
    b = duration_value(right)
    if b is None:
        factor = _factor(right)
        if factor == 0:
            raise CannotCompute("division by zero")
        return scaled(a, 1 / factor, (_type(left),))
    if b == (0, 0):
        raise CannotCompute("division by zero")
    if not a.months and not b.months:
        return decimal_result(ROUNDED.divide(Decimal(a.nanoseconds), Decimal(b.nanoseconds)))
    if not a.nanoseconds and not b.nanoseconds:
        return decimal_result(ROUNDED.divide(Decimal(a.months), Decimal(b.months)))
    raise CannotCompute("how many days a month has depends on the month")


def _factor(term: Term) -> Fraction:
    value = numeric_value(term)
    if value is None:
        raise CannotCompute(f"{shown(term)} is not a number")
    if value != value or value in (float("inf"), float("-inf")):
        raise CannotCompute("a duration has no infinite multiple")
    return Fraction(value)


def scaled(duration: Duration, factor: Fraction, datatypes: Collection[str]) -> Term:
    """Months are rounded to the nearest, halves up.  Nanoseconds stay if they come out whole; otherwise the
    result is rounded to microseconds, half to even, as Python's timedelta is."""
    months = math.floor(duration.months * factor + Fraction(1, 2))
    exact = duration.nanoseconds * factor
    if exact.denominator != 1:
        exact = Fraction(round(exact / _MICROSECOND) * _MICROSECOND)
    return duration_result(Duration(months, int(exact)), datatypes)


def negate(term: Term) -> Term:
    value = duration_of(term)
    return duration_result(Duration(-value.months, -value.nanoseconds), (_type(term),))


def absolute(term: Term) -> Term:
    value = duration_of(term)
    return duration_result(Duration(abs(value.months), abs(value.nanoseconds)), (_type(term),))


def total(terms: Collection[Term]) -> tuple[Duration, frozenset[str]]:
    """The sum of durations, and their types."""
    durations = [duration_of(term) for term in terms]
    months, nanoseconds = sum(d.months for d in durations), sum(d.nanoseconds for d in durations)
    return Duration(months, nanoseconds), frozenset(map(_type, terms))


# --- parts --------------------------------------------------------------------------------------------------


def _calendar(term: Term) -> tuple[int, int, int]:
    return _date(_moment(term, _DATES, _DATE_TIMES).local // DAY)


def _clock(term: Term) -> int:
    """Nanoseconds since midnight."""
    return _moment(term, _DATE_TIMES, _TIMES).local % DAY


def _part(term: Term, of_duration: Callable[[Duration], int], of_moment: Callable[[Term], int]) -> int:
    """A part of a duration, with its sign, or of a point in time."""
    duration = duration_value(term)
    if duration is None:
        return of_moment(term)
    months, nanoseconds = duration.months, duration.nanoseconds
    part = of_duration(Duration(abs(months), abs(nanoseconds)))
    return -part if months < 0 or nanoseconds < 0 else part


def _seconds(arguments: Sequence[Term]) -> Term:
    size = _part(arguments[0], lambda d: d.nanoseconds % MINUTE, lambda term: _clock(term) % MINUTE)
    return decimal_result(Decimal(size).scaleb(-9)) if size % SECOND else Integer(size // SECOND)


def _zone(arguments: Sequence[Term]) -> Term:
    _moment(arguments[0], *_KINDS.values())
    assert isinstance(arguments[0], Literal)
    found = _ZONE.search(arguments[0].lexical)
    return String(found[0] if found else "")


def _zone_as_duration(arguments: Sequence[Term]) -> Term:
    zone = _moment(arguments[0], *_KINDS.values()).zone
    if zone is None:
        raise CannotCompute(f"{shown(arguments[0])} has no zone")
    return duration_result(Duration(0, zone * MINUTE), (DAY_TIME,))


# --- constructors -------------------------------------------------------------------------------------------


def _read(kind: _Kind, term: Term) -> Term | None:
    """The literal of a type that a string spells; None for other terms."""
    if not isinstance(term, String):
        return None
    text = term.value.strip(" \t\r\n")
    if kind.read(text) is None:
        raise CannotCompute(f"{shown(term)} does not spell {kind.name}")
    return Literal(text, kind.datatype)


def to_date_time(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    return _read(_DATE_TIMES, term) or _written(_DATE_TIMES, _moment(term, _DATE_TIMES, _DATES))


def to_date(arguments: Sequence[Term]) -> Term:
    """The day on the calendar of its zone, and without it: as other tables have it."""
    term = arguments[0]
    return _read(_DATES, term) or _written(_DATES, Moment(_moment(term, _DATES, _DATE_TIMES).local, None))


def to_time(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    return _read(_TIMES, term) or _written(_TIMES, Moment(_moment(term, _TIMES, _DATE_TIMES).local, None))


def to_duration(arguments: Sequence[Term]) -> Term:
    """Of the narrowest type: days and time, years and months, or both."""
    term = arguments[0]
    if not isinstance(term, String):
        duration_of(term)
        return term
    text = term.value.strip(" \t\r\n")
    for datatype in (DAY_TIME, YEAR_MONTH, DURATION):
        if duration_of_text(text, datatype) is not None:
            return Literal(text, datatype)
    raise CannotCompute(f"{shown(term)} does not spell a duration such as P1DT12H")


def _whole(
    name: str, of_duration: Callable[[Duration], int], of_moment: Callable[[Term], int], summary: str
) -> Builtin:
    return Builtin(name, 1, 1, lambda a: Integer(_part(a[0], of_duration, of_moment)), summary)


_CALENDAR: Final = "a date, point in time or duration"
_CLOCK: Final = "a time, point in time (in its zone) or duration"

BUILTINS: tuple[Builtin, ...] = (
    Builtin("DATETIME", 1, 1, to_date_time, "point in time: reads a string, takes the beginning of a date"),
    Builtin(
        "DATE", 1, 1, to_date, "date: reads a string, takes the day of a point in time, without its zone"
    ),
    Builtin(
        "TIME", 1, 1, to_time, "time of day: reads a string, takes that of a point in time, without its zone"
    ),
    Builtin("DURATION", 1, 1, to_duration, "duration: reads a string such as P1DT12H or P1Y6M"),
    _whole("YEAR", lambda d: d.months // 12, lambda t: _calendar(t)[0], f"year of {_CALENDAR}"),
    _whole("MONTH", lambda d: d.months % 12, lambda t: _calendar(t)[1], f"month of {_CALENDAR}"),
    _whole("DAY", lambda d: d.nanoseconds // DAY, lambda t: _calendar(t)[2], f"day of {_CALENDAR}"),
    _whole("HOURS", lambda d: d.nanoseconds // HOUR % 24, lambda t: _clock(t) // HOUR, f"hours of {_CLOCK}"),
    _whole(
        "MINUTES",
        lambda d: d.nanoseconds // MINUTE % 60,
        lambda t: _clock(t) // MINUTE % 60,
        f"minutes of {_CLOCK}",
    ),
    Builtin("SECONDS", 1, 1, _seconds, f"seconds of {_CLOCK}, a decimal if they have a fraction"),
    Builtin("TZ", 1, 1, _zone, "zone of a point in time as written, empty if it has none"),
    Builtin("TIMEZONE", 1, 1, _zone_as_duration, "distance of the zone from UTC, a duration"),
)
