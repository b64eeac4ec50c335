"""Declarations and Spark: rows of streams are of the declared types, tables have the declared names."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from update_streams import Workspace

import tidalog
import tidalog.spark
from tidalog.model.terms import IRI, XSD, Double, String, literal
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
    @declare reading(turbine: string, value: double, kind: date) .
    @declare hot(turbine) .
    hot(?t) :- reading(?t, ?v, _), ?v > 20 .
"""
ROWS = """op,predicate,arg1,arg2,arg3
+,reading,007,21,2026-05-31
+,reading,8,warm,2026-05-31
+,reading,9,25.50,2026-02-30
-,reading,8,cold,2026-05-31
+,note,warm,warm,
"""


def read(workspace: Workspace) -> DataFrame:
    workspace.input.mkdir()
    (workspace.input / "rows.csv").write_text(ROWS)
    columns = "op string, predicate string, arg1 string, arg2 string, arg3 string"
    return workspace.spark.readStream.schema(columns).option("header", True).csv(str(workspace.input))


def run(workspace: Workspace, **options: bool) -> None:
    program = PROGRAM + "seen(?x) :- note(?x, _) ."
    query = maintain(read(workspace), program, workspace.store, fsync="off", **options).start(
        workspace.feed, workspace.root / "materialised", trigger="available-now"
    )
    assert query.awaitTermination(120)


def test_rows_that_do_not_fit_go_to_quarantine_and_others_are_converted(workspace: Workspace) -> None:
    run(workspace)
    with tidalog.open(workspace.store, read_only=True) as kb:
        found = kb.facts("reading").to_terms()
        assert found == [(String("007"), Double(21.0), literal("2026-05-31", XSD + "date"))]
        assert kb.facts("seen").to_rows() == [("warm",)]
    (file,) = (workspace.store / "spark" / "quarantine").iterdir()
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted((row["number"], row["column"], row["message"], row["row"]) for row in kept) == [
        ("T156", "arg2", '"cold" is not a double', 4),
        ("T156", "arg2", '"warm" is not a double', 2),
        ("T156", "arg3", '"2026-02-30" is not a date', 3),
    ]
    check_names(workspace)


def test_a_prefix_in_a_column_of_iris_is_expanded_and_an_unknown_one_quarantined(
    workspace: Workspace,
) -> None:
    workspace.input.mkdir()
    (workspace.input / "rows.csv").write_text("op,predicate,arg1\n+,link,ex:a\n+,link,no:a\n+,link,<ex:b>\n")
    rows = workspace.spark.readStream.schema("op string, predicate string, arg1 string")
    program = "@prefix ex: <http://e/> . @declare link(to: iri) . linked(?x) :- link(?x) ."
    stream = maintain(
        rows.option("header", True).csv(str(workspace.input)), program, workspace.store, fsync="off"
    )
    assert stream.start(workspace.feed, trigger="available-now").awaitTermination(120)
    with tidalog.open(workspace.store, read_only=True) as kb:
        assert set(kb.facts("linked").to_terms()) == {(IRI("http://e/a"),), (IRI("ex:b"),)}
    (file,) = (workspace.store / "spark" / "quarantine").iterdir()
    (kept,) = (json.loads(line) for line in file.read_text().splitlines())
    assert (kept["number"], kept["column"]) == ("T156", "arg1")


def check_names(workspace: Workspace) -> None:
    """Tables have the declared names, but for a name that the columns of a feed have."""
    source = workspace.spark.read.format("tidalog")
    assert source.option("predicate", "reading").load(str(workspace.store)).columns == [
        "turbine", "value", "kind",
    ]  # fmt: skip
    feed = source.option("predicate", "reading").load(str(workspace.feed))
    assert feed.columns == ["update", "op", "turbine", "value", "arg3", "kind"]
    assert [row["turbine"] for row in feed.collect()] == ["007"]
    tidalog.spark.create_views(workspace.store, workspace.spark, "declared_")
    assert workspace.spark.sql("select turbine from declared_hot").collect()[0][0] == "007"
    current = workspace.root / "materialised" / "current"
    assert workspace.spark.read.parquet(str(current / "hot.parquet")).columns == ["turbine"]


def test_strict_stops_at_a_row_that_does_not_fit(workspace: Workspace) -> None:
    with pytest.raises(SparkError) as raised:
        run(workspace, strict=True)
    assert '"warm" is not a double' in str(raised.value)


def test_tables_are_matched_by_name(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.createDataFrame([(25, "x", "t1"), (5, "y", "t2")], "value int, note string, turbine string")
    found = tidalog.spark.materialise(
        {"reading": table}, PROGRAM.replace(", kind: date", "").replace(", _)", ")")
    )
    assert [tuple(row) for row in found["hot"].collect()] == [("t1",)]
    assert found["reading"].columns == ["turbine", "value"]
    assert found["reading"].dtypes == [("turbine", "string"), ("value", "double")]


def test_a_typed_column_of_a_stream_is_checked(workspace: Workspace) -> None:
    workspace.input.mkdir()
    stamps = [("+", "reading", 7, 21.5, datetime(2026, 5, 31)), ("+", "note", 1, 2.5, None)]
    schema = "op string, predicate string, arg1 int, arg2 double, arg3 timestamp"
    workspace.spark.createDataFrame(stamps, schema).write.parquet(str(workspace.input / "a"))
    frame = workspace.spark.readStream.schema(schema).parquet(str(workspace.input / "*"))
    query = maintain(frame, PROGRAM + "seen(?x) :- note(?x, _) .", workspace.store, fsync="off").start(
        trigger="available-now"
    )
    assert query.awaitTermination(120)
    assert (query.totals.applied, query.totals.quarantined) == (1, 1)
    (file,) = (workspace.store / "spark" / "quarantine").iterdir()
    (kept,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert (kept["number"], kept["message"]) == ("T156", "7 is not text")
