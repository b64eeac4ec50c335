"""What a term's number means in arithmetic and comparison.  Nothing here needs numpy."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Final

from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    Literal,
    duration_value,
    instant_value,
    nearest_double,
    numeric_value,
    time_value,
)
from tidalog.model.values import SECOND

NO_VALUE: Final = 0
INT_VALUE: Final = 1
DOUBLE_VALUE: Final = 2
INSTANT_VALUE: Final = 3
BOOLEAN_VALUE: Final = 4
DECIMAL_BELOW: Final = 5  # a decimal that is less than the nearest double, whose bits are the number
DECIMAL_VALUE: Final = 6  # … that is equal to it
DECIMAL_ABOVE: Final = 7  # … that is greater than it
BIG_BELOW: Final = 8  # an integer beyond 64 bits, likewise
BIG_VALUE: Final = 9
BIG_ABOVE: Final = 10
TIME_VALUE: Final = 11  # a time of day: microseconds since midnight UTC
DAY_TIME_VALUE: Final = 12  # a duration without months: seconds
YEAR_MONTH_VALUE: Final = 13  # a duration of months
MIXED_VALUE: Final = 14  # a duration of both: seconds, a month taken as the average one


def value_of_literal(term: Literal) -> tuple[int, int]:
    """What a typed literal counts as (`dictionary_kernels`), and its number."""
    value = numeric_value(term)
    if isinstance(value, int) and INT64_MIN <= value <= INT64_MAX:
        return INT_VALUE, value
    if isinstance(value, float):
        return DOUBLE_VALUE, _bits(value)
    if value is not None:
        nearest = nearest_double(value)
        exact = DECIMAL_VALUE if isinstance(value, Decimal) else BIG_VALUE
        return exact + (value > nearest) - (value < nearest), _bits(nearest)
    for kind, nanoseconds in (
        (INSTANT_VALUE, instant_value),
        (TIME_VALUE, time_value),
    ):
        found = nanoseconds(term)
        if found is not None:
            return kind, found // 1000
    duration = duration_value(term)
    if duration is None:
        return NO_VALUE, 0
    if duration.months and not duration.nanoseconds:
        return YEAR_MONTH_VALUE, duration.months
    kind = MIXED_VALUE if duration.months else DAY_TIME_VALUE
    seconds = abs(duration.length) // SECOND
    return kind, -seconds if duration.length < 0 else seconds


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value + 0.0))[0])
