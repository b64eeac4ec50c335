"""Aggregates over distinct rows: exact where integers are, rounded once where doubles are, in any order."""

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators import terms
from tidalog.builtins import CannotCompute, aggregate, rows_left_out
from tidalog.model.program import AGGREGATES
from tidalog.model.terms import INT64_MAX, IRI, Double, Integer, String, Term, integer, sort_key


def rows(*values: float | str) -> list[tuple[Term, ...]]:
    """Rows that differ in a second column."""
    kinds = {int: Integer, float: Double, str: String}
    return [(kinds[type(v)](v), Integer(n)) for n, v in enumerate(values)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("count", (1, 1, 1), Integer(3)),
        ("sum", (1, 1, 1), Integer(3)),
        ("sum", (1, 0.5), Double(1.5)),
        ("sum", (0.1,) * 10, Double(1.0)),
        ("sum", (1e308, 1e308, -1e308), Double(1e308)),
        ("sum", (1e308, 1e308), Double(math.inf)),
        ("sum", (1, math.nan), Double(math.nan)),
        ("sum", (1, "a", 2), Integer(3)),
        ("sum", (INT64_MAX, 1, -1), Integer(INT64_MAX)),
        ("sum", (INT64_MAX, 1), integer(2**63)),
        ("avg", (1, 2), Double(1.5)),
        ("avg", (INT64_MAX, 1), Double(2.0**62)),
        ("avg", (2**53 + 1, 2**53 + 3, 2**53 + 2), Double(2.0**53 + 2)),
        ("avg", (2, 2), Double(2.0)),
        ("avg", (2, "a"), Double(2.0)),
        ("min", (3, 1.0, 1), Integer(1)),
        ("max", (3, 3.0), Double(3.0)),
        ("max", (3, "a"), String("a")),
        ("min", (3, "a"), Integer(3)),
        ("median", (5, 1, 3), Integer(3)),
        ("median", (5, 1), Double(3.0)),
        ("median", (2, 2.0, 1), Integer(2)),
        ("median", (2, 2.0, 3), Double(2.0)),
        ("median", ("a", 7), Integer(7)),
        ("median", (math.nan, 1, 2), Integer(2)),
    ],
)
def test_values(operator: str, values: tuple[float | str, ...], expected: Term) -> None:
    assert aggregate(operator, rows(*values)) == expected


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("sum", ("a", "b")),
        ("median", ("a",)),
        ("sum", (math.inf, -math.inf)),
        ("median", (math.inf, -math.inf)),
        ("count", ()),
        ("max", ()),
    ],
)
def test_groups_without_a_value(operator: str, values: tuple[float | str, ...]) -> None:
    with pytest.raises(CannotCompute):
        aggregate(operator, rows(*values))


def test_rows_left_out_are_counted_where_numbers_are_needed() -> None:
    mixed = rows(1, "a", "b")
    assert {name: rows_left_out(name, mixed) for name in AGGREGATES} == {
        "count": 0,
        "sum": 2,
        "min": 0,
        "max": 0,
        "avg": 2,
        "median": 2,
    }


any_row = st.tuples(terms(), st.integers(0, 3).map(Integer))


@given(st.sampled_from(AGGREGATES), st.lists(any_row, min_size=1, unique=True, max_size=8), st.randoms())
def test_the_order_of_rows_changes_nothing(
    operator: str, group: list[tuple[Term, ...]], random: object
) -> None:
    def value(rows: list[tuple[Term, ...]]) -> Term | None:
        try:
            return aggregate(operator, rows)
        except CannotCompute:
            return None

    shuffled = list(group)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert value(group) == value(shuffled)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_a_sum_of_doubles_is_the_exact_sum_rounded_once(values: list[float]) -> None:
    exact = sum(map(Fraction, values))
    assert aggregate("sum", rows(*values)) == Double(float(exact))


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_median_agrees_with_the_standard_library(values: list[int]) -> None:
    result = aggregate("median", rows(*values))
    assert isinstance(result, Integer if len(values) % 2 else Double)
    assert result.value == statistics.median(values)


@given(st.lists(any_row, min_size=1, max_size=8))
def test_min_and_max_bound_every_value(group: list[tuple[Term, ...]]) -> None:
    low, high = sort_key(aggregate("min", group)), sort_key(aggregate("max", group))
    assert all(low <= sort_key(row[0]) <= high for row in group)


def test_an_unknown_aggregate_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(LookupError):
        aggregate("product", [(IRI("a"),)])
