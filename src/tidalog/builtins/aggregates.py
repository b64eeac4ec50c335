"""Aggregates over the distinct rows of a group.  The order of the rows does not matter."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

from tidalog.builtins.base import CannotCompute, double_result, integer_result, number_result
from tidalog.model.program import AGGREGATES
from tidalog.model.terms import Double, Integer, Term, numeric_value, sort_key

Row = tuple[Term, ...]


def aggregate(operator: str, rows: Collection[Row]) -> Term:
    """The value of an aggregate over distinct rows; the first column is the value.

    Raises `CannotCompute` if there is no row, or for sum, avg and median no row with a number: the group then
    has no fact.
    """
    if operator not in AGGREGATES:
        raise LookupError(f"there is no aggregate {operator}")
    if not rows:
        raise CannotCompute("there is nothing to aggregate")
    if operator == "count":
        return Integer(len(rows))
    if operator == "min":
        return min((row[0] for row in rows), key=sort_key)
    if operator == "max":
        return max((row[0] for row in rows), key=sort_key)
    numbers = [value for row in rows if (value := numeric_value(row[0])) is not None]
    if not numbers:
        raise CannotCompute(f"#{operator} has no number among its values")
    if operator == "sum":
        return total(numbers)
    if operator == "avg":
        return average(numbers)
    return median(numbers)


def rows_left_out(operator: str, rows: Collection[Row]) -> int:
    """The number of rows that the aggregate skips because their value is not a number."""
    if operator not in ("sum", "avg", "median"):
        return 0
    return sum(numeric_value(row[0]) is None for row in rows)


def total(numbers: Collection[int | float]) -> Term:
    """Integers alone: the exact sum if it fits 64 bits.  Otherwise the exact sum of all, each integer
    first converted to double, rounded once."""
    whole = [value for value in numbers if isinstance(value, int)]
    if len(whole) == len(numbers):
        return integer_result(sum(whole))
    doubles = [float(value) for value in numbers]
    return double_result(_rounded_sum(doubles), *doubles)


def _rounded_sum(doubles: list[float]) -> float:
    if not all(map(math.isfinite, doubles)):
        return sum(value for value in doubles if not math.isfinite(value))
    try:
        return math.fsum(doubles)
    except OverflowError:
        # fsum fails if a partial sum overflows, which depends on the order; the exact sum does not.
        exact = sum(map(Fraction, doubles), Fraction(0))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


def average(numbers: Collection[int | float]) -> Term:
    whole = total(numbers)
    assert isinstance(whole, Integer | Double)
    return Double(float(whole.value) / len(numbers))


def median(numbers: Collection[int | float]) -> Term:
    """By value, equal ones integer first, NaN last; an even count gives the mean of the middle two."""
    ordered = sorted(numbers, key=_position)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return number_result(ordered[middle])
    low, high = float(ordered[middle - 1]), float(ordered[middle])
    return double_result((low + high) / 2.0, low, high)


def _position(value: int | float) -> tuple[bool, int | float, bool]:
    return (value != value, 0 if value != value else value, isinstance(value, float))
