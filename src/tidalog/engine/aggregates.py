"""Aggregates over a run of facts; see `builtins` for their meaning.

Sums of integers are exact (128 bits inside); sums with a double are the correctly rounded sum of all values
(Shewchuk's partial sums), so the result does not depend on the order of facts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Int32s, int64
from tidalog.engine.dictionary_kernels import (
    INTEGER,
    Terms,
    compare_int_double,
    intern_double,
    intern_integer,
)
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.index_kernels import fact_of_run
from tidalog.engine.jit import bits_double, compiled, entry, hash_add, hash_end, hash_start
from tidalog.engine.value_kinds import DOUBLE_VALUE, INT_VALUE
from tidalog.engine.value_order import compare_terms, is_duration, is_exact

COUNT: Final = 0
SUM: Final = 1
MIN: Final = 2
MAX: Final = 3
AVG: Final = 4
MEDIAN: Final = 5
PYTHON: Final = 6
"""A registered aggregate."""
OPERATORS: Final = {"count": COUNT, "sum": SUM, "min": MIN, "max": MAX, "avg": AVG, "median": MEDIAN}

LEFT_TO_PYTHON: Final = -2
"""The result of a group with decimals, large integers or durations, of sums that leave 64 bits, and of
registered aggregates."""
EXACT_AVERAGE: Final = 2**53
"""Sums up to this are doubles, so that their averages are rounded once."""
_PARTIALS: Final = 64  # 2098 bits of exponent range in steps of 53
_FEW: Final = 48  # values that are sorted in by hand
_SCALE: Final = 2.0**-100  # of doubles whose partial sums overflow
_TINY: Final = 2.0**-900  # below it, scaling would lose bits
_LEAST: Final = 5e-324


@compiled
def gather_values(
    facts: Facts, pool: np.ndarray, start: int, length: int, columns: np.ndarray, distinct: bool
) -> np.ndarray:
    """The values of a run: the first column of its tuples, of those that differ if `distinct`."""
    arguments, offset = facts.arguments, facts.offset
    rows = np.empty(length, np.int64)
    for k in range(length):
        fact = fact_of_run(pool, start, k)
        rows[k] = int64(offset[fact])
    if distinct and length > 1:
        if len(columns) == 1 and length <= _FEW:
            return few_distinct(arguments, rows, columns[0])
        length = distinct_rows(arguments, rows, columns)
    values = np.empty(length, np.int32)
    column = columns[0]
    for k in range(length):
        values[k] = arguments[rows[k] + column]
    return values


@compiled
def few_distinct(arguments: np.ndarray, rows: np.ndarray, column: int) -> np.ndarray:
    """The distinct values of a column in a short run, by insertion into a sorted array."""
    values = np.empty(len(rows), np.int32)
    count = 0
    for k in range(len(rows)):
        value = arguments[rows[k] + column]
        at = count
        while at > 0 and values[at - 1] > value:
            at -= 1
        if at > 0 and values[at - 1] == value:
            continue
        for j in range(count, at, -1):
            values[j] = values[j - 1]
        values[at] = value
        count += 1
    return values[:count]


@compiled
def distinct_rows(arguments: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> int:
    """Moves one row of each distinct tuple to the front, with a small table; returns how many."""
    size = 4
    while size < 2 * len(rows):
        size *= 2
    table = np.full(size, -1, np.int32)
    count = 0
    for k in range(len(rows)):
        h = hash_start(0)
        for j in range(len(columns)):
            h = hash_add(h, arguments[rows[k] + columns[j]])
        s = int64(hash_end(h) & np.uint64(size - 1))
        found = False
        while table[s] >= 0:
            found = True
            for j in range(len(columns)):
                if arguments[rows[table[s]] + columns[j]] != arguments[rows[k] + columns[j]]:
                    found = False
                    break
            if found:
                break
            s = (s + 1) & (size - 1)
        if not found:
            table[s] = count
            rows[count] = rows[k]
            count += 1
    return count


@compiled
def as_double(terms: Terms, term: int) -> float:
    if terms.value[term] == INT_VALUE:
        return float(terms.number[term])
    return float(bits_double(terms.number[term]))


@compiled
def add_partial(partials: np.ndarray, count: int, x: float) -> int:
    """One more number into the partial sums, which do not overlap and rise in magnitude."""
    kept = 0
    for j in range(count):
        y = partials[j]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            partials[kept] = low
            kept += 1
        x = high
    partials[kept] = x
    return kept + 1


@compiled
def round_partials(partials: np.ndarray, count: int) -> float:
    """The sum of the partials, rounded once (half to even)."""
    if count == 0:
        return 0.0
    n = count - 1
    high = float(partials[n])
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = partials[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and partials[n - 1] < 0.0) or (low > 0.0 and partials[n - 1] > 0.0)):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return high


@compiled
def compare_numbers(terms: Terms, a: int, b: int) -> int:
    """By value (NaN last); of equal values integers first."""
    c = 0
    if terms.value[a] == INT_VALUE:
        if terms.value[b] == INT_VALUE:
            if terms.number[a] != terms.number[b]:
                c = -1 if terms.number[a] < terms.number[b] else 1
        else:
            y = bits_double(terms.number[b])
            c = -1 if y != y else compare_int_double(terms.number[a], y)
    else:
        x = bits_double(terms.number[a])
        if terms.value[b] == INT_VALUE:
            c = 1 if x != x else -compare_int_double(terms.number[b], x)
        else:
            y = bits_double(terms.number[b])
            if x != x or y != y:
                c = (1 if x != x else 0) - (1 if y != y else 0)
            elif x != y:
                c = -1 if x < y else 1
    if c == 0 and terms.value[a] != terms.value[b]:
        c = -1 if terms.value[a] == INT_VALUE else 1
    return c


@compiled
def sift(terms: Terms, heap: np.ndarray, root: int, size: int) -> None:
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and compare_numbers(terms, heap[child], heap[child + 1]) < 0:
            child += 1
        if compare_numbers(terms, heap[root], heap[child]) >= 0:
            return
        heap[root], heap[child] = heap[child], heap[root]
        root = child


@compiled
def sort_numbers(terms: Terms, values: np.ndarray, size: int) -> None:
    """Heap sort: no recursion, no worst case."""
    for root in range(size // 2 - 1, -1, -1):
        sift(terms, values, root, size)
    for end in range(size - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        sift(terms, values, 0, end)


@entry
def fold_extreme(terms: Terms, values: Int32s, sign: int) -> int:
    kind, number = terms.kind, terms.number
    best = values[0]
    for k in range(1, len(values)):
        t = values[k]
        if kind[t] == INTEGER and kind[best] == INTEGER:
            better = number[t] < number[best] if sign < 0 else number[t] > number[best]
        else:
            better = t != best and compare_terms(terms, t, best) * sign > 0
        if better:
            best = t
    return int64(best)


@compiled
def fold_sum(terms: Terms, values: np.ndarray, average: bool) -> tuple[int, int]:
    """The sum or the average of the numbers in a group; what is not a number is left out and counted.  An
    average of integers is exact until it is rounded to a double."""
    low, high = np.uint64(0), int64(0)  # an exact sum of integers
    numbers = 0
    has_double = False
    for t in values:
        kind = terms.value[t]
        if kind == INT_VALUE:
            numbers += 1
            v = terms.number[t]
            before = low
            low += np.uint64(v)
            high += (int64(1) if low < before else int64(0)) + (v >> 63)
        elif kind == DOUBLE_VALUE:
            numbers += 1
            has_double = True
        elif is_exact(kind) or is_duration(kind):
            return LEFT_TO_PYTHON, 0
    failed = len(values) - numbers
    if numbers == 0:
        return -1, failed
    if has_double:
        computed, real = sum_doubles(terms, values)
        if not computed:
            return -1, failed + 1
        return intern_double(terms, real / numbers if average else real), failed
    total = int64(low)
    if high != total >> 63 or (average and (total > EXACT_AVERAGE or total < -EXACT_AVERAGE)):
        return LEFT_TO_PYTHON, 0
    if average:
        return intern_double(terms, np.float64(total) / numbers), failed
    return intern_integer(terms, total), failed


@compiled
def sum_doubles(terms: Terms, values: np.ndarray) -> tuple[bool, float]:
    """The exact sum of all numbers as doubles, rounded once; none for infinities of both signs."""
    special, nan_among, infinite = 0.0, False, False
    for t in values:
        if terms.value[t] == DOUBLE_VALUE:
            x = bits_double(terms.number[t])
            if x - x != 0.0:
                special += x
                infinite = True
                nan_among = nan_among or x != x
    if infinite:
        return nan_among or special == special, special
    total = add_all(terms, values)
    if total - total != 0.0:
        # A partial sum overflowed: add everything up far below the limit instead.
        total = add_far_below(terms, values)
    return True, total


@compiled
def add_all(terms: Terms, values: np.ndarray) -> float:
    partials = np.empty(_PARTIALS, np.float64)
    parts = 0
    for t in values:
        kind = terms.value[t]
        if kind == INT_VALUE or kind == DOUBLE_VALUE:
            parts = add_partial(partials, parts, as_double(terms, t))
    return round_partials(partials, parts)


@compiled
def add_far_below(terms: Terms, values: np.ndarray) -> float:
    """The same scaled down.  Numbers that would lose bits by scaling are summed separately: their sum is
    added to the rest, scaled up again, where that is possible, and otherwise only breaks a tie."""
    large, tiny = np.empty(_PARTIALS, np.float64), np.empty(_PARTIALS, np.float64)
    larges = tinies = 0
    for t in values:
        kind = terms.value[t]
        if kind == INT_VALUE or kind == DOUBLE_VALUE:
            x = as_double(terms, t)
            if abs(x) >= _TINY:
                larges = add_partial(large, larges, x * _SCALE)
            else:
                tinies = add_partial(tiny, tinies, x)
    if larges == 0 or abs(large[larges - 1]) < 1.0:
        for j in range(larges):
            tinies = add_partial(tiny, tinies, large[j] / _SCALE)
        return round_partials(tiny, tinies)
    rest = round_partials(tiny, tinies)
    if rest != 0.0:
        larges = add_partial(large, larges, _LEAST if rest > 0.0 else -_LEAST)
    return round_partials(large, larges) / _SCALE


@compiled
def fold_median(terms: Terms, values: np.ndarray) -> tuple[int, int]:
    """The middle number as a plain integer or double; the mean of the middle two."""
    numbers = np.empty(len(values), np.int32)
    n = 0
    for t in values:
        if terms.value[t] == INT_VALUE or terms.value[t] == DOUBLE_VALUE:
            numbers[n] = t
            n += 1
        elif is_exact(terms.value[t]) or is_duration(terms.value[t]):
            return LEFT_TO_PYTHON, 0
    failed = len(values) - n
    if n == 0:
        return -1, failed
    sort_numbers(terms, numbers, n)
    middle = numbers[n // 2]
    if n % 2 == 0:
        low, high = as_double(terms, numbers[n // 2 - 1]), as_double(terms, middle)
        mean = (low + high) / 2.0
        if mean != mean and low == low and high == high:
            return -1, failed + 1
        return intern_double(terms, mean), failed
    if terms.value[middle] == INT_VALUE:
        return intern_integer(terms, terms.number[middle]), failed
    return intern_double(terms, bits_double(terms.number[middle])), failed


@compiled
def fold_run(
    facts: Facts,
    terms: Terms,
    pool: np.ndarray,
    start: int,
    length: int,
    operator: int,
    columns: np.ndarray,
    distinct: bool,
) -> tuple[int, int]:
    """(the term, -1 for none or LEFT_TO_PYTHON; how many values could not be used)."""
    if operator == PYTHON:
        return LEFT_TO_PYTHON, 0
    if operator == COUNT and not distinct:
        return intern_integer(terms, length), 0
    values = gather_values(facts, pool, start, length, columns, distinct)
    if operator == COUNT:
        return intern_integer(terms, len(values)), 0
    if operator == MIN:
        return fold_extreme(terms, values, -1), 0
    if operator == MAX:
        return fold_extreme(terms, values, 1), 0
    if operator == MEDIAN:
        return fold_median(terms, values)
    return fold_sum(terms, values, operator == AVG)
