"""What a term's number means in arithmetic and comparison.  Nothing here needs numpy."""

from __future__ import annotations

from typing import Final

NO_VALUE: Final = 0
INT_VALUE: Final = 1
DOUBLE_VALUE: Final = 2
INSTANT_VALUE: Final = 3
BOOLEAN_VALUE: Final = 4
DECIMAL_BELOW: Final = 5  # a decimal: the bits of the nearest double, than which it is less
DECIMAL_VALUE: Final = 6  # … to which it is equal
DECIMAL_ABOVE: Final = 7  # … than which it is greater
BIG_BELOW: Final = 8  # an integer beyond 64 bits, likewise
BIG_VALUE: Final = 9
BIG_ABOVE: Final = 10
TIME_VALUE: Final = 11  # a time of day: microseconds since midnight UTC
DAY_TIME_VALUE: Final = 12  # a duration without months: seconds
YEAR_MONTH_VALUE: Final = 13  # a duration of months
MIXED_VALUE: Final = 14  # a duration of both: seconds, a month taken as the average one
