"""Values of the XML Schema types that are written as text: decimals, points in time, times of day, durations.

Each type has a reading (text → value, or None if the text is ill-typed) and, where results are computed, a
writing (value → its one text).  Times are exact to the nanosecond and lie in the years 1 to 9999; a finer
fraction, a leap second and a duration of more than 2^63 seconds are not values here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from typing import Final, NamedTuple

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
DECIMAL: Final = XSD + "decimal"
DATE_TIME: Final = XSD + "dateTime"
DATE: Final = XSD + "date"
TIME: Final = XSD + "time"
DURATION: Final = XSD + "duration"
DAY_TIME: Final = XSD + "dayTimeDuration"
YEAR_MONTH: Final = XSD + "yearMonthDuration"
DURATIONS: Final = frozenset((DURATION, DAY_TIME, YEAR_MONTH))

SECOND: Final = 10**9  # nanoseconds
MINUTE: Final = 60 * SECOND
DAY: Final = 86_400 * SECOND
MONTH: Final = 2_629_746 * SECOND
"""A twelfth of the average year: orders durations of months among durations of seconds."""
EPOCH: Final = date(1970, 1, 1).toordinal()
_END: Final = (date.max.toordinal() + 1 - EPOCH) * DAY
_LONGEST: Final = 2**63 * SECOND

EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Sums and products of decimals: nothing is rounded."""
ROUNDED: Final = Context(prec=34, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Quotients of decimals: 34 significant digits, as in IEEE 754 decimal128."""

MOST_DIGITS: Final = 1000
"""Of a number that is written as text: a longer one is not computed with, so that no program runs away."""

# --- decimals -----------------------------------------------------------------------------------------------

_DECIMAL: Final = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?\Z")


def canonical_decimal(text: str) -> str | None:
    """The one text of a decimal: no plus sign, no zeros at either end, no point without digits after it."""
    found = _DECIMAL.match(text)
    if found is None:
        return None
    whole, fraction = found[2].lstrip("0"), (found[3] or "").rstrip("0")
    if not whole and not fraction:
        return "0"
    sign = "-" if found[1] == "-" else ""
    return f"{sign}{whole or '0'}.{fraction}" if fraction else sign + whole


def decimal_text(value: Decimal) -> str:
    text = canonical_decimal(f"{value:f}")
    assert text is not None
    return text


# --- points in time -----------------------------------------------------------------------------------------

_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9})0*)?"
_CALENDAR = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?\Z"
_DATE_TIME: Final = re.compile(f"{_CALENDAR}T{_CLOCK}{_ZONE}")
_DATE: Final = re.compile(_CALENDAR + _ZONE)
_TIME: Final = re.compile(_CLOCK + _ZONE)


class Moment(NamedTuple):
    """`local`: nanoseconds since 1970 (of a time of day: since midnight) on the clock of its zone; `zone`:
    the distance of that from UTC in minutes, or None if it has none."""

    local: int
    zone: int | None

    @property
    def instant(self) -> int:
        """Nanoseconds in UTC, which a moment without a zone is taken to be in."""
        return self.local - (self.zone or 0) * MINUTE


def moment_value(text: str) -> Moment | None:
    """An xsd:dateTime."""
    found = _DATE_TIME.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    days, clock = _days(year, month, day), _clock(hour, minute, second, fraction)
    if days is None or clock is None or days * DAY + clock >= _END:
        return None
    return _in_zone(days * DAY + clock, zone)


def day_value(text: str) -> Moment | None:
    """The beginning of an xsd:date."""
    found = _DATE.match(text)
    if found is None:
        return None
    days = _days(found[1], found[2], found[3])
    return None if days is None else _in_zone(days * DAY, found[4])


def time_value(text: str) -> Moment | None:
    """An xsd:time."""
    found = _TIME.match(text)
    if found is None:
        return None
    clock = _clock(found[1], found[2], found[3], found[4])
    return None if clock is None else _in_zone(clock % DAY, found[5])


def _days(year: str, month: str, day: str) -> int | None:
    try:
        return date(int(year), int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        return None


def _clock(hour: str, minute: str, second: str, fraction: str | None) -> int | None:
    """Nanoseconds since midnight; 24:00:00 is the end of the day."""
    h, m, s = int(hour), int(minute), int(second)
    nanoseconds = int(fraction.ljust(9, "0")) if fraction else 0
    if m > 59 or s > 59 or h > 24 or (h == 24 and (m or s or nanoseconds)):
        return None
    return (h * 3600 + m * 60 + s) * SECOND + nanoseconds


def _in_zone(local: int, zone: str | None) -> Moment | None:
    if not zone:
        return Moment(local, None)
    if zone == "Z":
        return Moment(local, 0)
    minutes = int(zone[1:3]) * 60 + int(zone[4:])
    if minutes > 14 * 60 or int(zone[4:]) > 59:
        return None
    return Moment(local, -minutes if zone[0] == "-" else minutes)


def moment_text(moment: Moment) -> str | None:
    """None: outside the years 1 to 9999."""
    days, clock = divmod(moment.local, DAY)
    day = _day_text(days)
    return None if day is None else f"{day}T{_clock_text(clock)}{zone_text(moment.zone)}"


def day_text(moment: Moment) -> str | None:
    day = _day_text(moment.local // DAY)
    return None if day is None else day + zone_text(moment.zone)


def time_text(moment: Moment) -> str:
    return _clock_text(moment.local % DAY) + zone_text(moment.zone)


def _day_text(days: int) -> str | None:
    ordinal = days + EPOCH
    return date.fromordinal(ordinal).isoformat() if 1 <= ordinal <= date.max.toordinal() else None


def _clock_text(clock: int) -> str:
    seconds, fraction = divmod(clock, SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:09}".rstrip("0") if fraction else "")


def zone_text(zone: int | None) -> str:
    if not zone:
        return "" if zone is None else "Z"
    return f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}"


# --- durations ----------------------------------------------------------------------------------------------

_N = r"([0-9]{1,18})"
_DURATION: Final = re.compile(
    rf"(-)?P(?=[0-9T])(?:{_N}Y)?(?:{_N}M)?(?:{_N}D)?"
    rf"(?:T(?=[0-9])(?:{_N}H)?(?:{_N}M)?(?:{_N}(?:\.([0-9]{{1,9}})0*)?S)?)?\Z"
)


class Duration(NamedTuple):
    """Both numbers have the same sign, if neither is zero."""

    months: int
    nanoseconds: int

    @property
    def length(self) -> int:
        """Nanoseconds, a month taken as the average one."""
        return self.months * MONTH + self.nanoseconds

    @property
    def exists(self) -> bool:
        return self.months * self.nanoseconds >= 0 and abs(self.length) < _LONGEST


def duration_value(text: str, datatype: str = DURATION) -> Duration | None:
    found = _DURATION.match(text)
    if found is None:
        return None
    minus, *numbers, fraction = found.groups()
    years, months, days, hours, minutes, seconds = (int(number or 0) for number in numbers)
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    nanoseconds = whole * SECOND + int((fraction or "").ljust(9, "0"))
    of_calendar = numbers[0] is not None or numbers[1] is not None
    of_clock = any(number is not None for number in numbers[2:])
    if (datatype == DAY_TIME and of_calendar) or (datatype == YEAR_MONTH and of_clock):
        return None
    sign = -1 if minus else 1
    result = Duration(sign * (12 * years + months), sign * nanoseconds)
    return result if result.exists else None


def duration_text(duration: Duration, datatype: str) -> str:
    months, nanoseconds = abs(duration.months), abs(duration.nanoseconds)
    seconds, fraction = divmod(nanoseconds, SECOND)
    digits = f".{fraction:09}".rstrip("0") if fraction else ""
    calendar = _parts((months // 12, "Y"), (months % 12, "M"), (seconds // 86_400, "D"))
    clock = _parts((seconds // 3600 % 24, "H"), (seconds // 60 % 60, "M"))
    if seconds % 60 or digits:
        clock += f"{seconds % 60}{digits}S"
    if not calendar and not clock:
        return "P0M" if datatype == YEAR_MONTH else "PT0S"
    sign = "-" if duration.months < 0 or duration.nanoseconds < 0 else ""
    return f"{sign}P{calendar}{'T' if clock else ''}{clock}"


def _parts(*parts: tuple[int, str]) -> str:
    return "".join(f"{number}{unit}" for number, unit in parts if number)


def _canonical_duration(datatype: str) -> Callable[[str], str | None]:
    def canonical(text: str) -> str | None:
        duration = duration_value(text, datatype)
        return None if duration is None else duration_text(duration, datatype)

    return canonical


CANONICAL: Final[Mapping[str, Callable[[str], str | None]]] = {
    DECIMAL: canonical_decimal,
    **{datatype: _canonical_duration(datatype) for datatype in DURATIONS},
}
"""The types whose values have one text, and how it is found; None for an ill-typed text, which stays."""
