"""Facts from Python: every kind of data gives the same facts."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tidalog.io.frames import from_python
from tidalog.io.result import ReadResult
from tidalog.model.errors import DataError
from tidalog.model.term_text import parse_any
from tidalog.model.terms import IRI, XSD, Integer, LangString, String

ROWS = [("a", 1, 0.5, True), ("b c", 2, 1.0, False)]
NAMES = ("name", "size", "weight", "ok")
COLUMNS = dict(zip(NAMES, zip(*ROWS, strict=True), strict=True))


def rows_of(result: ReadResult) -> list[tuple[object, ...]]:
    return list(zip(*(column.array.to_pylist() for column in result.columns), strict=True))


SOURCES = {
    "tuples": lambda: ROWS,
    "lists": lambda: [list(row) for row in ROWS],
    "generator": lambda: (row for row in ROWS),
    "mappings": lambda: [dict(zip(NAMES, row, strict=True)) for row in ROWS],
    "columns": lambda: COLUMNS,
    "numpy columns": lambda: (
        {name: np.array(values) for name, values in COLUMNS.items() if name != "name"}
        | {"name": list(COLUMNS["name"])}
    ),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype(object),
    "polars": lambda: pl.DataFrame(ROWS, schema=list(NAMES), orient="row"),
    "polars lazy": lambda: pl.DataFrame(ROWS, schema=list(NAMES), orient="row").lazy(),
    "arrow table": lambda: pa.table({name: list(values) for name, values in COLUMNS.items()}),
    "arrow batch": lambda: pa.table({name: list(values) for name, values in COLUMNS.items()}).to_batches()[0],
    "arrow reader": lambda: pa.table({name: list(values) for name, values in COLUMNS.items()}).to_reader(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_all_sources_give_the_same_facts(source: str) -> None:
    names = None if source in ("tuples", "lists", "generator") else NAMES
    result = from_python(SOURCES[source](), 4, names)
    assert rows_of(result) == ROWS
    assert [column.reading for column in result.columns] == ["string", "native", "native", "native"]


@pytest.mark.parametrize(
    "data", [["a", "b"], [("a",), ("b",)], pd.Series(["a", "b"]), pl.Series(["a", "b"]), pa.array(["a", "b"])]
)
def test_plain_values_are_rows_of_one(data: object) -> None:
    assert rows_of(from_python(data, 1)) == [("a",), ("b",)]


@pytest.mark.parametrize("data", [np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]).T.copy().T])
def test_a_matrix_is_rows(data: object) -> None:
    assert rows_of(from_python(data, 2)) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    "data", [[], {}, pa.table({}), pd.DataFrame(), pl.DataFrame()], ids=lambda d: type(d).__name__
)
def test_no_data_has_no_facts(data: object) -> None:
    result = from_python(data, 2)
    assert (result.rows, len(result.columns)) == (0, 2)


def test_a_predicate_without_arguments_holds_if_there_is_a_row() -> None:
    assert [from_python(data, 0).rows for data in ([()], [(), ()], [])] == [1, 1, 0]


def test_values_of_different_kinds_keep_their_kinds() -> None:
    moment = datetime(2024, 1, 2, 3, 4, 5, 120_000, tzinfo=UTC)
    values = [1, 1.0, True, "1", IRI("1"), String("a"), LangString("a", "en"), Integer(2**62), 2**70, moment]
    (column,) = from_python(values, 1).columns
    assert [repr(parse_any(text)) for text in column.array.to_pylist()] == [
        "Integer(value=1)",
        "Double(value=1.0)",
        "Boolean(value=True)",
        "String(value='1')",
        "IRI(value='1')",
        "String(value='a')",
        "LangString(value='a', language='en')",
        f"Integer(value={2**62})",
        f"Literal(lexical='{2**70}', datatype='{XSD}integer')",
        f"Literal(lexical='2024-01-02T03:04:05.12Z', datatype='{XSD}dateTime')",
    ]


def test_a_moment_is_the_same_term_from_rows_and_from_frames() -> None:
    moments = [datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2, 3, 4, 5, 1000)]
    by_row = from_python([(m,) for m in moments], 1)
    assert rows_of(by_row) == rows_of(from_python(pd.DataFrame({"at": moments}), 1))
    assert rows_of(by_row) == rows_of(from_python(pl.DataFrame({"at": moments}), 1))


@pytest.mark.parametrize(
    "data",
    [
        [("a",), (None,)],
        pd.DataFrame({"a": ["x", None]}),
        pd.DataFrame({"a": [1.0, float("nan")]}),
        pd.DataFrame({"a": [pd.Timestamp("2024-01-01"), pd.NaT]}),
        pd.DataFrame({"a": [1, pd.NA]}, dtype=object),
        pl.DataFrame({"a": [1, None]}),
        [("a",), (object(),)],
        [("a",), ("\ud800",)],
        [("a",), ("a", "b")],
    ],
    ids=range(9),
)
def test_missing_and_strange_values_are_bad_rows(data: object) -> None:
    with pytest.raises(DataError):
        from_python(data, 1)
    result = from_python(data, 1, on_error="skip")
    assert (result.rows, result.bad.count) == (1, 1)


def test_names_pick_columns_in_their_order() -> None:
    assert rows_of(from_python(pd.DataFrame(COLUMNS), 2, ["size", "name"])) == [(1, "a"), (2, "b c")]
    with pytest.raises(DataError, match=r"T048.*no column height"):
        from_python(pd.DataFrame(COLUMNS), 1, ["height"])


def test_a_frame_of_another_width_is_refused() -> None:
    with pytest.raises(DataError, match=r"T034.*has 4 columns"):
        from_python(pd.DataFrame(COLUMNS), 2)


def test_formats_say_what_text_means() -> None:
    result = from_python([("a", "7")], 2, formats=("string", "int"))
    assert (rows_of(result), [c.reading for c in result.columns]) == ([("a", 7)], ["string", "native"])


def test_one_name_is_not_the_list_of_its_letters() -> None:
    result = from_python([("http://e/a",)], formats="iri")
    assert (rows_of(result), result.columns[0].reading) == ([("http://e/a",)], "iri")
    assert rows_of(from_python({"size": [1], "name": ["a"]}, names="name")) == [("a",)]


def test_data_frame_libraries_are_not_imported_unasked() -> None:
    """pyarrow itself imports pandas, if it is there, as soon as it sees a Python value."""
    code = (
        "import sys; from tidalog.io.frames import from_python; before = 'pandas' in sys.modules; "
        "from_python([('a', 1)], 2); "
        "print(before, 'polars' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout.strip() == "False False"
