"""Windows in streams on Spark: what a store holds, what the feed says, what comes too late, and what a kill
leaves, held against `reference.windows` and a knowledge base in memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from update_streams import add_table
from windowed_streams import (
    LATE,
    PROGRAMS,
    Expected,
    TimedRow,
    WindowedWorkspace,
    in_files,
    random_rows,
)

import tidalog
from tidalog.model.errors import DataError, UsageError
from tidalog.spark.columns import update_columns, with_time
from tidalog.spark.stream import maintain
from tidalog.spark.tables import materialise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidalog.spark.query import MaintenanceQuery

KILLED = Path(__file__).with_name("windows_killed_driver.py")
LIMIT = 120


def killed(root: Path, *about: object) -> None:
    command = [sys.executable, str(KILLED), str(root), *map(str, about)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, start_new_session=True)
    assert ended.returncode == -9, ended.stderr


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("program", "seed"), [("range", 1), pytest.param("count", 2, marks=SLOW), ("two", 3)]
)
def test_every_batch_and_every_restart_agree_with_the_oracle(
    spark: SparkSession, tmp_path: Path, program: str, seed: int
) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, PROGRAMS[program])
    expected = Expected(workspace.program)
    rows = random_rows(seed, 40)
    half = next(n for n, row in enumerate(rows) if row.label == 21)
    expired = 0
    for part in (rows[:half], rows[half:]):
        for file in in_files(part, 3, seed):
            workspace.write(file)
        expected.apply(part)
        expired += workspace.run().expired
        workspace.check(expected)
    edges = spark.read.format("tidalog").option("predicate", "edge").load(str(workspace.store))
    assert {tuple(row) for row in edges.collect()} == expected.facts["edge"]
    assert expected.late
    assert expired == sum(change[-1] == "expired" for change in expected.changes) > 0


@pytest.mark.parametrize(("point", "times"), [("applied", 11), pytest.param("batch logged", 2, marks=SLOW)])
def test_what_was_killed_knows_all_expiries(
    spark: SparkSession, tmp_path: Path, point: str, times: int
) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, PROGRAMS["two"])
    expected = Expected(workspace.program)
    rows = random_rows(times, 30)
    files = in_files(rows, 3, times)
    for file in files[:2]:
        workspace.write(file)
    killed(tmp_path, "two", point, times)
    workspace.write(files[2])
    expected.apply(rows)
    workspace.run()
    workspace.check(expected)


def stopped_when(query: MaintenanceQuery, holds: Callable[[], bool]) -> None:
    try:
        until(lambda: query.exception() is not None or holds())
    finally:
        query.stop()
    assert query.exception() is None


def test_time_moves_where_nothing_comes_and_a_kill_does_not_move_it_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, PROGRAMS["idle"])
    workspace.write([TimedRow(1, "+", "edge", ("a", "b"), 100), TimedRow(2, "+", "edge", ("b", "c"), 100)])
    killed(tmp_path, "idle", "time advanced", 1)
    first = [change for change in workspace.changes() if change[1] == "-"]
    assert first == []
    workspace.run()
    gone = {(op, predicate, kind) for _, op, predicate, _, kind in workspace.changes() if op == "-"}
    assert gone == {("-", "edge", "expired"), ("-", "path", "expired")}
    assert {change[0] for change in workspace.changes() if change[1] == "-"} == {2}
    assert workspace.facts() == {}
    with tidalog.open(workspace.store, read_only=True) as kb:
        assert kb.now is not None and kb.now > datetime(1970, 1, 1, 0, 1, 41, tzinfo=UTC)
    workspace.write([TimedRow(3, "+", "edge", ("d", "e"), 10_000)])
    assert workspace.run().updates == 1
    assert workspace.facts() == {"edge": {("d", "e")}, "path": {("d", "e")}}


def test_without_times_rows_have_that_of_their_arrival(spark: SparkSession, tmp_path: Path) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, "@window edge :- range 1s . seen(?x) :- edge(?x, _) .")
    frame = workspace.frame().drop("time")
    before = datetime.now(UTC)
    workspace.write([TimedRow(1, "+", "edge", ("a", "b"), 5)])
    workspace.run(frame)
    with tidalog.open(workspace.store, read_only=True) as kb:
        assert kb.now is not None and before - timedelta(seconds=1) <= kb.now <= datetime.now(UTC)
        assert kb.facts("seen").to_rows() == [("a",)]
    query = workspace.maintained(frame, idle_advance="200ms").start(workspace.root / "feed")
    stopped_when(query, lambda: query.totals.expired == 2)
    assert workspace.facts() == {}
    assert [change[-1] for change in workspace.changes() if change[1] == "-"] == ["expired"] * 2


READINGS = """
@declare reading(turbine: string, value: double, at: dateTime) .
@window reading :- range 10s, time at .
fast(?t) :- reading(?t, ?v, _), ?v > 10.0 .
"""


def readings(spark: SparkSession, folder: Path, rows: list[tuple[int, str, str, datetime]]) -> DataFrame:
    """A stream of readings, the last argument of which is a timestamp."""
    labels, turbines, values, times = zip(*rows, strict=True)
    table = pa.table(
        {
            "update": pa.array(labels, pa.int64()),
            "op": ["+"] * len(rows),
            "predicate": ["reading"] * len(rows),
            "arg1": turbines,
            "arg2": values,
            "arg3": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )
    add_table(folder, table)
    schema = "update long, op string, predicate string, arg1 string, arg2 string, arg3 timestamp"
    return spark.readStream.schema(schema).parquet(str(folder))


def test_times_come_from_the_argument_that_has_them(spark: SparkSession, tmp_path: Path) -> None:
    start = datetime(2026, 5, 31, 18, tzinfo=UTC)
    rows = [
        (1, "t1", "12.5", start),
        (2, "t2", "11.0", start + timedelta(seconds=8)),
        (3, "t3", "20.0", start + timedelta(seconds=2)),
        (4, "t4", "1.0", start + timedelta(seconds=11)),
    ]
    frame = readings(spark, tmp_path / "in", rows)
    query = maintain(frame, READINGS, tmp_path / "store", late="3s").start(trigger="available-now")
    query.awaitTermination(LIMIT)
    assert (query.totals.quarantined, query.totals.expired) == (1, 2)
    with tidalog.open(tmp_path / "store", read_only=True) as kb:
        assert kb.now == start + timedelta(seconds=11)
        assert kb.facts("fast").to_rows() == [("t2",)]


def test_a_batch_without_labels_is_an_update_for_each_of_its_times(
    spark: SparkSession, tmp_path: Path
) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, PROGRAMS["range"])
    frame = workspace.frame().drop("update")
    workspace.write([TimedRow(0, "+", "edge", ("a", "b"), 100), TimedRow(0, "+", "edge", ("b", "c"), 92)])
    workspace.write([TimedRow(0, "+", "edge", ("x", "y"), 50), TimedRow(0, "+", "edge", ("c", "d"), 101)])
    workspace.write([TimedRow(0, "+", "road", ("b", "c"), 105)])
    totals = workspace.run(frame)
    assert (totals.applied, totals.quarantined, totals.updates) == (4, 1, 4)
    (row,) = workspace.quarantined()
    assert row["message"] == "the update at 50 comes too late: time is at 100"
    assert (row["number"], row["column"], row["row"]) == ("T174", "time", 1)
    assert workspace.facts()["edge"] == {("a", "b"), ("c", "d")}, "b, c left at 102"
    gone = {change[1:-1] for change in workspace.changes() if change[-1] == "expired"}
    paths = [("b", "c"), ("a", "c"), ("b", "d"), ("a", "d")]
    assert gone == {("-", "edge", ("b", "c")), *(("-", "path", row) for row in paths)}


def test_rows_without_labels_have_the_times_of_their_facts(spark: SparkSession, tmp_path: Path) -> None:
    start = datetime(2026, 5, 31, 18, tzinfo=UTC)
    for seconds in ([20], [8, 16, 25]):
        moments = [(start + timedelta(seconds=second)) for second in seconds]
        rows = [(0, f"t{second}", "12.5", at) for second, at in zip(seconds, moments, strict=True)]
        frame = readings(spark, tmp_path / "in", rows).drop("update")
        query = maintain(frame, READINGS, tmp_path / "store", late="5s").start(trigger="available-now")
        query.awaitTermination(LIMIT)
    assert (query.totals.applied, query.totals.quarantined) == (2, 1)
    with tidalog.open(tmp_path / "store", read_only=True) as kb:
        leave = {turbine: expiry for turbine, _, _, expiry in kb.facts("reading", expiry=True).to_rows()}
        assert leave == {f"t{second}": start + timedelta(seconds=second + 10) for second in (16, 20, 25)}


@pytest.mark.parametrize(
    ("kind", "cells", "bad"),
    [
        ("string", ["1970-01-01T00:01:40Z", "101.5", "soon", None], 1),
        ("double", [100.0, 101.5, float("nan"), None], 1),
        ("date", [datetime(1970, 1, 2).date()] * 2 + [datetime(1970, 1, 3).date(), None], 0),
        ("timestamp_ntz", [datetime(1970, 1, 1, 0, 1, second) for second in (40, 41, 42)] + [None], 0),
    ],
)
def test_times_of_every_type(
    spark: SparkSession, tmp_path: Path, kind: str, cells: list[object], bad: int
) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, "@window edge :- landmark . seen(?x) :- edge(?x, _) .")
    times = pa.array(cells, pa.timestamp("us")) if kind == "timestamp_ntz" else pa.array(cells)
    rows = pa.table(
        {
            "update": pa.array(range(1, 5), pa.int64()),
            "op": ["+"] * 4,
            "predicate": ["edge"] * 4,
            "arg1": ["a", "b", "c", "d"],
            "arg2": ["z"] * 4,
        }
    )
    add_table(tmp_path / "in", rows.append_column("time", times))
    schema = f"update long, op string, predicate string, arg1 string, arg2 string, time {kind}"
    frame = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    totals = workspace.run(frame)
    assert (totals.applied, totals.quarantined) == (rows.num_rows - bad, bad)
    assert {row["number"] for row in workspace.quarantined()} == ({"T036"} if bad else set())
    with tidalog.open(workspace.store, read_only=True) as kb:
        seconds = {"string": 101.5, "double": 101.5, "date": 2 * 86_400, "timestamp_ntz": 102}[kind]
        assert kb.now == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def test_what_is_no_time_and_no_duration_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([], "op string, predicate string, arg1 string, time array<int>")
    with pytest.raises(DataError, match="T045"):
        with_time(update_columns(frame.schema), frame.schema)
    workspace = WindowedWorkspace(spark, tmp_path, PROGRAMS["range"])
    for how in ({"late": "soon"}, {"idle_advance": "0s"}, {"idle_advance": "x"}):
        with pytest.raises(UsageError):
            workspace.maintained(**how)


def test_a_store_takes_what_it_has_logged_however_late_is_set_later(
    spark: SparkSession, tmp_path: Path
) -> None:
    workspace = WindowedWorkspace(spark, tmp_path, PROGRAMS["range"])
    expected = Expected(workspace.program)
    rows = [
        TimedRow(1, "+", "edge", ("a", "b"), 100),
        TimedRow(2, "+", "edge", ("b", "c"), 100 - LATE),
        TimedRow(3, "-", "edge", ("a", "b"), 101),
    ]
    workspace.write(rows)
    expected.apply(rows)
    workspace.run()
    workspace.check(expected)
    workspace.run(late=0)
    workspace.check(expected)


def test_tables_have_no_times(spark: SparkSession) -> None:
    edges = spark.createDataFrame([("a", "b")], "x string, y string")
    with pytest.raises(UsageError, match="T178"):
        materialise({"edge": edges}, PROGRAMS["range"])
