"""Keyed streams with windows on Spark: restarts, other numbers of buckets, times from everywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from keyed_oracle import ChangeRow, changes_in
from keyed_windows import LATE, PROGRAMS, SECOND, AloneWithWindows, TimedRow, random_batches, table_of
from update_streams import add_table

from tidalog.keyed.packing import TIME
from tidalog.spark.keyed.stream import keyed
from tidalog.spark.progress import Totals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "farm string, update long, op string, predicate string, arg1 string, arg2 string"
KEYS = tuple(f"farm {number}" for number in range(6))


@dataclass
class Workspace:
    spark: SparkSession
    root: Path
    program: str
    alone: AloneWithWindows = field(init=False)

    def __post_init__(self) -> None:
        self.alone = AloneWithWindows(self.program)

    def write(self, rows: Sequence[TimedRow]) -> None:
        table = table_of(rows).drop_columns([TIME])
        times = [None if row.time is None else row.time * SECOND for row in rows]
        table = table.append_column("time", pa.array(times, pa.timestamp("us", "UTC")))
        add_table(self.root / "in", table.rename_columns(["farm", *table.column_names[1:]]))
        self.alone.apply(rows)

    def frame(self, schema: str = f"{SCHEMA}, time timestamp") -> DataFrame:
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.root / "in"))

    def run(self, frame: DataFrame | None = None, **how: Any) -> Totals:
        given = self.frame() if frame is None else frame
        query = keyed(given, "farm", self.program, **{"late": LATE, **how}).start(
            self.root / "feed",
            checkpoint=self.root / "checkpoint",
            quarantine=self.root / "quarantine",
            trigger="available-now",
        )
        assert query.awaitTermination(600)
        totals = query.totals
        assert totals.rows == totals.applied + totals.quarantined + totals.skipped + totals.refused
        return totals

    def changes(self) -> list[ChangeRow]:
        found: list[ChangeRow] = []
        for folder in sorted((self.root / "feed").iterdir()):
            tables = [pq.read_table(file, partitioning=None) for file in sorted(folder.glob("*.parquet"))]
            if tables:
                whole = pa.concat_tables(tables).rename_columns(["key", *tables[0].column_names[1:]])
                found += changes_in(whole, 2)
        return found

    def quarantined(self) -> list[dict[str, Any]]:
        files = sorted((self.root / "quarantine").glob("*"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def check(self) -> None:
        assert sorted(map(repr, self.changes())) == sorted(map(repr, self.alone.emitted))
        late = [row["values"] for row in self.quarantined() if row["number"] == "T174"]
        assert {(row["key"], int(row["update"])) for row in late} == self.alone.late


@pytest.mark.parametrize("program", ["two", pytest.param("count", marks=pytest.mark.slow)])
def test_keys_keep_their_windows_after_restarts_and_in_other_buckets(
    spark: SparkSession, tmp_path: Path, program: str
) -> None:
    workspace = Workspace(spark, tmp_path, PROGRAMS[program])
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
    workspace = Workspace(spark, tmp_path, program)
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
    assert (bad["number"], bad["values"]["time"]) == ("T036", "soon")


def test_without_times_keys_have_those_of_their_batches(spark: SparkSession, tmp_path: Path) -> None:
    workspace = Workspace(spark, tmp_path, "@window edge :- tumbling 1s . seen(?x) :- edge(?x, _) .")
    workspace.write([TimedRow("a", 1, "+", "edge", ("x", "y"), None)])
    assert workspace.run(workspace.frame(SCHEMA)).expired == 0
    workspace.write([TimedRow("b", 1, "+", "edge", ("z", "y"), None)])
    assert workspace.run(workspace.frame(SCHEMA)).expired == 2  # a restart takes longer than the window
