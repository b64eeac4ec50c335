"""Aggregates over the distinct rows of a group.  The order of the rows does not matter."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce

from tidalog.builtins import times
from tidalog.builtins.base import CannotCompute, Number, decimal_result, double_result, number_result
from tidalog.builtins.evaluation import NO_FUNCTIONS, PythonFunction, called, python_value
from tidalog.model.program import AGGREGATES
from tidalog.model.terms import (
    Double,
    Integer,
    Term,
    duration_value,
    integer,
    nearest_double,
    numeric_value,
    sort_key,
)
from tidalog.model.values import EXACT, ROUNDED

Row = tuple[Term, ...]


def aggregate(
    operator: str, rows: Collection[Row], functions: Mapping[str, PythonFunction] = NO_FUNCTIONS
) -> Term:
    """The value of an aggregate over distinct rows; the first column is the value.  `functions` has
    registered ones by `key_of`.

    No row, or for sum, avg and median no row with a number or a duration, raises `CannotCompute`: the group
    has no fact.
    """
    if operator not in AGGREGATES and key_of(operator) not in functions:
        raise LookupError(f"there is no aggregate {operator}")
    if not rows:
        raise CannotCompute("there is nothing to aggregate")
    if operator not in AGGREGATES:
        return _registered(functions[key_of(operator)], rows, f"#{operator}")
    if operator == "count":
        return Integer(len(rows))
    if operator == "min":
        return min((row[0] for row in rows), key=sort_key)
    if operator == "max":
        return max((row[0] for row in rows), key=sort_key)
    numbers = [value for row in rows if (value := numeric_value(row[0])) is not None]
    if not numbers:
        return _of_durations(operator, [row[0] for row in rows if duration_value(row[0]) is not None])
    if operator == "sum":
        return total(numbers)
    if operator == "avg":
        return average(numbers)
    return median(numbers)


def key_of(operator: str) -> str:
    """The name of a registered aggregate among the registered functions, none of which can have it."""
    return f"#{operator.upper()}"


def _registered(function: PythonFunction, rows: Collection[Row], name: str) -> Term:
    """Calls a registered function with a list for each of its parameters: the values of the first column, of
    the second and so on.  Rows come in the order of terms, so that the result cannot depend on another."""
    ordered = sorted(rows, key=lambda row: [sort_key(term) for term in row])
    taken = columns_taken(function)
    columns = [[python_value(row[c]) for row in ordered] for c in range(len(ordered[0]))]
    return called(function, columns if taken is None else columns[:taken], name)


def columns_taken(function: PythonFunction) -> int | None:
    """How many columns a registered function gets: one for each positional parameter; None: all."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # a function written in C that does not say, such as max
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def rows_left_out(operator: str, rows: Collection[Row]) -> int:
    """How many rows the aggregate passes over because their value is not a number, or, where there is no
    number, not a duration."""
    if operator not in ("sum", "avg", "median"):
        return 0
    numbers = sum(numeric_value(row[0]) is not None for row in rows)
    return len(rows) - (numbers or sum(duration_value(row[0]) is not None for row in rows))


def total(numbers: Collection[Number]) -> Term:
    """With a double: the exact sum of all as doubles, rounded once.  Otherwise the exact sum."""
    if not any(isinstance(value, float) for value in numbers):
        return exact_total(_exact_sum(numbers))
    doubles = [nearest_double(value) for value in numbers]
    return double_result(_rounded_sum(doubles), *doubles)


def _exact_sum(numbers: Collection[Number]) -> int | Decimal:
    whole = sum(value for value in numbers if isinstance(value, int))
    decimals = [value for value in numbers if isinstance(value, Decimal)]
    return reduce(EXACT.add, decimals, Decimal(whole)) if decimals else whole


def exact_total(exact: int | Decimal) -> Term:
    """A sum of integers, of any size, or of integers and decimals."""
    return integer(exact) if isinstance(exact, int) else decimal_result(exact)


def exact_average(exact: int | Decimal, count: int) -> Term:
    """Of integers the double nearest to the exact average; with decimals a decimal of 34 digits."""
    if isinstance(exact, Decimal):
        return decimal_result(ROUNDED.divide(exact, Decimal(count)))
    try:
        return Double(exact / count)  # Python rounds a quotient of integers once
    except OverflowError:
        return Double(math.inf if exact > 0 else -math.inf)


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


def average(numbers: Collection[Number]) -> Term:
    if not any(isinstance(value, float) for value in numbers):
        return exact_average(_exact_sum(numbers), len(numbers))
    whole = total(numbers)
    assert isinstance(whole, Double)
    return Double(whole.value / len(numbers))


def median(numbers: Collection[Number]) -> Term:
    """By value, equal ones as in the order of terms, NaN last; an even count gives the mean of the middle
    two, a decimal if both are exact and one is a decimal, else a double."""
    ordered = sorted(numbers, key=_position)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return number_result(ordered[middle])
    low, high = ordered[middle - 1], ordered[middle]
    if not isinstance(low, float) and not isinstance(high, float) and Decimal in (type(low), type(high)):
        return exact_average(EXACT.add(Decimal(low), Decimal(high)), 2)
    a, b = nearest_double(low), nearest_double(high)
    return double_result((a + b) / 2.0, a, b)


def _position(value: Number) -> tuple[bool, Number, int]:
    return (value != value, 0 if value != value else value, (int, Decimal, float).index(type(value)))


def _of_durations(operator: str, terms: list[Term]) -> Term:
    if not terms:
        raise CannotCompute(f"#{operator} has no number among its values")
    if operator == "median":
        return _median_of_durations(terms)
    duration, types = times.total(terms)
    return times.scaled(duration, Fraction(1, len(terms) if operator == "avg" else 1), types)


def _median_of_durations(terms: list[Term]) -> Term:
    """In the order of terms, which is by value among durations of days and time, or of years and months."""
    ordered = sorted(terms, key=sort_key)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    duration, types = times.total(ordered[middle - 1 : middle + 1])
    return times.scaled(duration, Fraction(1, 2), types)
