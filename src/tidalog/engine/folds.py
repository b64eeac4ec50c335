"""Aggregates over a run of facts; see `builtins` for their meaning.

Sums of integers are exact (128 bits inside); sums with a double are the correctly rounded sum of all values
(Shewchuk's partial sums), so the order of facts never shows.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.dictionary_kernels import (
    DOUBLE_VALUE,
    INT_VALUE,
    Terms,
    compare_int_double,
    compare_terms,
    intern_double,
    intern_integer,
)
from tidalog.engine.facts import Facts
from tidalog.engine.native import bits_double, compiled

COUNT: Final = 0
SUM: Final = 1
MIN: Final = 2
MAX: Final = 3
AVG: Final = 4
MEDIAN: Final = 5
OPERATORS: Final = {"count": COUNT, "sum": SUM, "min": MIN, "max": MAX, "avg": AVG, "median": MEDIAN}

_PARTIALS: Final = 64  # 2098 bits of exponent range in steps of 53


@compiled
def value_at(facts: Facts, pool: np.ndarray, start: int, k: int, column: int) -> int:
    fact = np.int64(-1 - start) if start < 0 else np.int64(pool[start + k])
    return facts.arguments[np.int64(facts.offset[fact]) + column]


@compiled
def as_double(terms: Terms, term: int) -> float:
    if terms.value[term] == INT_VALUE:
        return np.float64(terms.number[term])
    return bits_double(terms.number[term])


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
    high = partials[n]
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
    """By value (NaN last); equal values in the order of terms."""
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
    return c if c != 0 else compare_terms(terms, a, b)


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


@compiled
def fold_extreme(
    facts: Facts, terms: Terms, pool: np.ndarray, start: int, length: int, sign: int, column: int
) -> int:
    best = value_at(facts, pool, start, 0, column)
    for k in range(1, length):
        value = value_at(facts, pool, start, k, column)
        if value != best and compare_terms(terms, value, best) * sign > 0:
            best = value
    return best


@compiled
def fold_sum(
    facts: Facts, terms: Terms, pool: np.ndarray, start: int, length: int, average: bool, column: int
) -> tuple[int, int]:
    """The sum or the average of the numbers in a group; what is not a number is left out and counted."""
    low, high = np.uint64(0), np.int64(0)  # an exact sum of integers
    partials = np.empty(_PARTIALS, np.float64)
    parts = 0
    special = 0.0
    numbers = 0
    has_double = False
    finite = True
    for k in range(length):
        t = value_at(facts, pool, start, k, column)
        kind = terms.value[t]
        if kind == INT_VALUE:
            numbers += 1
            v = terms.number[t]
            before = low
            low += np.uint64(v)
            high += (np.int64(1) if low < before else np.int64(0)) + (v >> 63)
            parts = add_partial(partials, parts, np.float64(v))
        elif kind == DOUBLE_VALUE:
            numbers += 1
            has_double = True
            x = bits_double(terms.number[t])
            if x - x != 0.0:
                special += x
                finite = False
            else:
                parts = add_partial(partials, parts, x)
    failed = length - numbers
    if numbers == 0:
        return -1, failed
    if not has_double:
        if high != np.int64(low) >> 63:
            return -1, failed + 1
        if average:
            return intern_double(terms, np.float64(np.int64(low)) / numbers), failed
        return intern_integer(terms, np.int64(low)), failed
    if not finite:
        total = special
    else:
        total = round_partials(partials, parts)
        if total - total != 0.0:
            return -1, failed + 1
    if average:
        total /= numbers
    return intern_double(terms, total), failed


@compiled
def fold_median(
    facts: Facts, terms: Terms, pool: np.ndarray, start: int, length: int, column: int
) -> tuple[int, int]:
    values = np.empty(length, np.int32)
    n = 0
    for k in range(length):
        t = value_at(facts, pool, start, k, column)
        if terms.value[t] == INT_VALUE or terms.value[t] == DOUBLE_VALUE:
            values[n] = t
            n += 1
    if n == 0:
        return -1, length
    sort_numbers(terms, values, n)
    if n % 2 == 1:
        return values[n // 2], length - n
    a, b = as_double(terms, values[n // 2 - 1]), as_double(terms, values[n // 2])
    return intern_double(terms, (a + b) / 2.0), length - n


@compiled
def fold_run(
    facts: Facts, terms: Terms, pool: np.ndarray, start: int, length: int, operator: int, column: int
) -> tuple[int, int]:
    """(the term, or -1 for none; how many values could not be used)."""
    if operator == COUNT:
        return intern_integer(terms, length), 0
    if operator == MIN:
        return fold_extreme(facts, terms, pool, start, length, -1, column), 0
    if operator == MAX:
        return fold_extreme(facts, terms, pool, start, length, 1, column), 0
    if operator == MEDIAN:
        return fold_median(facts, terms, pool, start, length, column)
    return fold_sum(facts, terms, pool, start, length, operator == AVG, column)
