"""Keyed streams with windows on Spark: restarts, other numbers of buckets, times from everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from keyed_windows import PROGRAMS, TimedRow, random_batches
from keyed_windows_workspace import KEYS, SCHEMA, WindowedKeys
from update_streams import add_table

from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("program", ["two", pytest.param("count", marks=pytest.mark.slow)])
def test_keys_keep_their_windows_after_restarts_and_in_other_buckets(
    spark: SparkSession, tmp_path: Path, program: str
) -> None:
    workspace = WindowedKeys(spark, tmp_path, PROGRAMS[program])
    batches = random_batches(4, KEYS, 6, 8)
    expired = 0
    for buckets, part in ((4, batches[:2]), (7, batches[2:4]), (2, batches[4:])):
        for rows in part:
            workspace.write(rows)
        expired += workspace.run(buckets=buckets).expired
        workspace.check()
    assert workspace.alone.late
    assert expired == sum(row[-1] == "expired" for row in workspace.alone.emitted)


def test_a_key_without_rows_loses_its_old_facts_as_time_of_the_stream_moves(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also if times are those of an argument, one of which is unreadable as a row's own time."""
    program = """
        @declare reading(turbine: string, at: dateTime) .
        @window reading :- range 10s, time at .
        seen(?t) :- reading(?t, _) .
    """
    workspace = WindowedKeys(spark, tmp_path, program)
    rows = [
        ("a", 1, "+", "reading", "t1", "1970-01-01T00:01:40Z", None),
        ("b", 1, "+", "reading", "t2", "1970-01-01T00:01:41Z", None),
        ("b", 2, "+", "reading", "t2", "1970-01-01T00:01:42Z", "soon"),
    ]
    later = [("c", 1, "+", "reading", "t3", "1970-01-01T00:01:50Z", None)]
    for part in (rows, later):
        names = ["farm", "update", "op", "predicate", "arg1", "arg2", "time"]
        table = pa.table([pa.array(column) for column in zip(*part, strict=True)], names=names)
        kinds = [pa.string(), pa.int64(), *[pa.string()] * 5]
        add_table(tmp_path / "in", table.cast(pa.schema(list(zip(names, kinds, strict=True)))))
    totals = workspace.run(workspace.frame(f"{SCHEMA}, time string"), buckets=3)
    assert (totals.applied, totals.quarantined, totals.expired) == (3, 1, 2)
    gone = [(key, label, kind) for key, label, op, _, _, kind in workspace.changes() if op == "-"]
    assert gone == [("a", 1, "expired")] * 2
    (bad,) = workspace.quarantined()
    assert (bad["number"], bad["column"], bad["row"]) == ("T036", "time", 3)
    assert (bad["values"]["farm"], bad["values"]["time"]) == ("b", "soon")


def test_without_times_keys_have_those_of_their_batches(spark: SparkSession, tmp_path: Path) -> None:
    workspace = WindowedKeys(spark, tmp_path, "@window edge :- tumbling 1s . seen(?x) :- edge(?x, _) .")
    workspace.write([TimedRow("a", 1, "+", "edge", ("x", "y"), None)])
    assert workspace.run(workspace.frame(SCHEMA)).expired == 0
    workspace.write([TimedRow("b", 1, "+", "edge", ("z", "y"), None)])
    assert workspace.run(workspace.frame(SCHEMA)).expired == 2  # a restart takes longer than the window


def test_late_rows_are_in_the_quarantine_as_without_keys(spark: SparkSession, tmp_path: Path) -> None:
    """With file, row and reason, also of text files, whose rows have no numbers; and not again when the
    source is read again for other buckets."""
    program = "@window edge :- range 10s . seen(?x) :- edge(?x, _) ."
    lines = ["farm,update,op,predicate,arg1,arg2,time"]
    for label, time, rows in [(1, 100, 2), (2, 103, 1), (3, 99, 3), (4, 110, 1), (5, 50, 2), (6, 107, 1)]:
        lines += [f"a,{label},+,edge,n{n},m,{time - n}" for n in range(rows)]
    (tmp_path / "in").mkdir()
    for name, part in (("1.csv", lines[:6]), ("2.csv", [lines[0], "a,3,?,edge,x,y,100", *lines[6:]])):
        (tmp_path / "in" / name).write_text("\n".join(part) + "\n")
    reader = spark.readStream.schema(f"{SCHEMA}, time double").option("header", True)
    frame = reader.csv(str(tmp_path / "in"))
    workspace = WindowedKeys(spark, tmp_path, program)
    for buckets in (3, 2):
        workspace.run(frame, buckets=buckets, late="3s")
    keyed_rows = [row for row in workspace.quarantined() if row["number"] == "T174"]
    query = maintain(frame, program, tmp_path / "store", late="3s").start(trigger="available-now")
    assert query.awaitTermination(600)
    files = sorted((tmp_path / "store" / "spark" / "quarantine").glob("*"))
    others = [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def shown(rows: list[dict[str, Any]]) -> list[str]:
        """In any order, also of the columns."""
        kept = [sorted({**row, "values": sorted(row["values"].items()), "batch": 0}.items()) for row in rows]
        return sorted(map(repr, kept))

    for row in keyed_rows:
        row["values"]["time"] = float(row["values"]["time"])
    assert shown(keyed_rows) == shown([row for row in others if row["number"] == "T174"])
    assert {row["values"]["update"] for row in keyed_rows} == {3, 5}
    bad = [row for row in workspace.quarantined() if row["number"] != "T174"]
    assert {row["row"] for row in bad} == {row["row"] for row in others if row["number"] != "T174"} == {1}
