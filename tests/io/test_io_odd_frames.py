"""Frames and arrays that are odd, and what must not happen to them: values lost, changed, or a traceback."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tidalog
from tidalog.model.errors import DataError
from tidalog.model.terms import XSD, Double, Integer, Literal, String, Term


def terms_of(data: object, **options: object) -> list[tuple[Term, ...]]:
    kb = tidalog.open()
    kb.insert("p", data, **options)  # type: ignore[arg-type]
    return kb.facts("p").to_terms()


def test_two_columns_of_one_name_are_two_columns() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert terms_of(frame) == [(Integer(1), Integer(2))]
    for data in (frame, pa.table([[1], [2]], names=["a", "a"])):
        with pytest.raises(DataError, match="T048"):
            terms_of(data, columns=["a"])


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["x", "y"])])
def test_categories_are_their_values(kind: pl.DataType) -> None:
    frame = pl.DataFrame({"a": pl.Series(["x", "y", None, "x"], dtype=kind)})
    assert terms_of(frame, on_error="skip") == [(String("x"),), (String("y"),)]


def test_what_a_mask_hides_is_missing() -> None:
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert terms_of(masked, on_error="skip") == [(Integer(3), Integer(4))]
    with pytest.raises(DataError, match="T037"):
        terms_of(masked)


@pytest.mark.parametrize(
    "data",
    [
        np.array([[7]], ">i4"),
        np.array([(7,)], [("a", ">i8")]),
        pd.DataFrame({"a": pd.arrays.SparseArray([7])}),
        [{0: 7}],
    ],
)
def test_a_number_is_one_however_it_is_kept(data: object) -> None:
    assert terms_of(data) == [(Integer(7),)]


def test_a_long_double_is_a_double() -> None:
    assert terms_of(np.array([[1.5]], np.longdouble)) == [(Double(1.5),)]


@pytest.mark.parametrize(
    ("number", "data"),
    [
        ("T036", np.array([[1 + 2j]])),
        ("T036", pd.DataFrame({"a": [1 + 2j]})),
        ("T036", pa.table({"a": [[1], [2]]}).to_pandas()),
        ("T036", [(np.array([1]),)]),
        ("T036", [(pl.Series([1]),)]),
        ("T036", np.array([(1, (2, 3))], [("a", "i4"), ("b", [("c", "i4"), ("d", "i4")])])),
        ("T036", np.array([((1, 2),)], [("a", "i4", (2,))])),
        ("T036", [(Fraction(10**400, 3),)]),
        ("T036", [(time(12, tzinfo=timezone(timedelta(hours=5, seconds=30))),)]),
        ("T036", [(time(12, tzinfo=timezone(timedelta(hours=20))),)]),
        ("T048", pl.DataFrame({"a": pl.Series([2**100], dtype=pl.Int128)})),
        ("T045", pa.table({"a": pa.array([2**62], pa.timestamp("s"))})),
        ("T045", pa.table({"a": pa.array([2**31 - 1], pa.date32())})),
        (
            "T045",
            pa.table({"a": pa.array([b"\xff"]).view(pa.string())}),
        ),
        ("T035", [{"a": 1}, {"a": 2, "c": 3}]),
        ("T035", [{"a": 1, "b": 2}, {"a": 2, "c": 3}]),
    ],
)
def test_what_is_no_fact_is_an_error_with_a_number(number: str, data: object) -> None:
    with pytest.raises(DataError) as raised:
        terms_of(data)
    assert raised.value.diagnostics[0].number == number


@pytest.mark.parametrize(
    ("value", "lexical", "kind"),
    [
        (10**10_000, "1" + "0" * 10_000, "integer"),
        (Decimal("1E+5"), "100000", "decimal"),
        (Decimal("1E-10"), "0.0000000001", "decimal"),
        (time(1, 2, 3), "01:02:03", "time"),
        (time(1, 2, 3, 500_000), "01:02:03.5", "time"),
        (time(1, 2, 3, tzinfo=UTC), "01:02:03Z", "time"),
        (time(1, 2, 3, 500_000, tzinfo=timezone(timedelta(hours=-2))), "01:02:03.5-02:00", "time"),
        (date(1, 1, 1), "0001-01-01", "date"),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "9999-12-31T23:59:59Z", "dateTime"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), "0001-01-01T00:00:00+05:00", "dateTime"),
        (np.datetime64("2024-01-01T00:00:00.123456789"), "2024-01-01T00:00:00.123456789", "dateTime"),
        (np.datetime64("2024-01-01T00:00:00.500000000"), "2024-01-01T00:00:00.5", "dateTime"),
        (np.datetime64("2024-01-01"), "2024-01-01", "date"),
    ],
    ids=lambda value: "large" if isinstance(value, int) else repr(value)[:40],
)
def test_a_value_is_the_literal_it_stands_for(value: object, lexical: str, kind: str) -> None:
    assert terms_of([(value,)]) == [(Literal(lexical, XSD + kind),)]


def test_a_format_reads_what_strings_and_decimals_spell_whatever_is_beside_them() -> None:
    for others in ([], [5]):
        rows = [(value,) for value in ("501", "true", *others)]
        assert terms_of(rows, formats=["string"]) == [(String(str(value)),) for (value,) in rows]
        rows = [(value,) for value in ("501", Decimal("2"), *others)]
        assert terms_of(rows, formats=["int"]) == [(Integer(int(value)),) for (value,) in rows]
        assert terms_of(rows, formats=["double"]) == [(Double(float(value)),) for (value,) in rows]


def test_decimals_have_no_exponents() -> None:
    column = pa.array([Decimal("0.0000000001"), Decimal("2.5")], pa.decimal128(20, 10))
    found = {row[0] for row in terms_of({"a": column})}
    assert found == {
        Literal("0.0000000001", XSD + "decimal"),
        Literal("2.5000000000", XSD + "decimal"),
    }


def test_numbers_without_a_decimal_are_doubles() -> None:
    assert terms_of([(Decimal("Infinity"),)]) == [(Double(float("inf")),)]
