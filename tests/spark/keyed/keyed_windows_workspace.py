"""Keyed streams with windows in files, and their results, compared with a knowledge base for each key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from keyed_oracle import ChangeRow, changes_in
from keyed_windows import LATE, SECOND, AloneWithWindows, TimedRow, table_of
from update_streams import add_table

from tidalog.keyed.packing import TIME
from tidalog.spark.keyed.stream import Keyed, keyed
from tidalog.spark.progress import Totals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidalog.spark.query import MaintenanceQuery

SCHEMA = "farm string, update long, op string, predicate string, arg1 string, arg2 string"
LIMIT = 240
KEYS = tuple(f"farm {number}" for number in range(6))


@dataclass
class WindowedKeys:
    """The folders of one test."""

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

    def stream(self, frame: DataFrame | None = None, **how: Any) -> Keyed:
        given = self.frame() if frame is None else frame
        return keyed(given, "farm", self.program, **{"late": LATE, **how})

    def started(self, stream: Keyed, **how: Any) -> MaintenanceQuery:
        return stream.start(
            self.root / "feed",
            checkpoint=self.root / "checkpoint",
            quarantine=self.root / "quarantine",
            **how,
        )

    def run(self, frame: DataFrame | None = None, **how: Any) -> Totals:
        """Processes everything that is available."""
        query = self.started(self.stream(frame, **how), trigger="available-now")
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
        late = [row for row in self.quarantined() if row["number"] == "T174"]
        assert {(row["values"]["farm"], row["values"]["update"]) for row in late} == self.alone.late
        assert len({(row["file"], row["row"]) for row in late}) == len(late)
        for row in late:
            source = pq.read_table(urlsplit(row["file"]).path).slice(row["row"] - 1, 1).to_pylist()[0]
            names = ("farm", "update", "op", "predicate", "arg1")
            assert {name: source[name] for name in names}.items() <= row["values"].items()


def stopped_when(query: MaintenanceQuery, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    try:
        while query.exception() is None and not holds():
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        query.stop()
    assert query.exception() is None
