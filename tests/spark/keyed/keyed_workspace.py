"""Keyed streams in files, and their results, compared with an engine for each key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from keyed_oracle import Alone, ChangeRow, Row, RuleRow, changes_in, table_of
from update_streams import add_table

from tidalog.lang import parse
from tidalog.model.program import Fact
from tidalog.model.terms import IRI
from tidalog.spark.keyed.stream import Keyed, keyed
from tidalog.spark.progress import Totals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
    lonely(?x) :- node(?x), ~path(?x, _) .
    reach(?x, #count(?y)) :- path(?x, ?y) .
    loop: :- edge(?x, ?x) .
    edge(n0, n1) .
"""
KEYS = tuple(f"farm {number}" for number in range(12))
NODES = tuple(map(IRI, ("n0", "n1", "n2", "n3", "n4")))
POOL = [Fact("edge", (x, y)) for x in NODES for y in NODES if x != y or x == NODES[3]]
POOL += [Fact("node", (x,)) for x in NODES]
SCHEMA = "farm string, update long, op string, predicate string, arg1 string, arg2 string"


@dataclass
class KeyedWorkspace:
    """The folders of one test."""

    spark: SparkSession
    root: Path
    alone: Alone = field(default_factory=lambda: Alone(parse(PROGRAM), 2))

    @property
    def input(self) -> Path:
        return self.root / "in"

    @property
    def feed(self) -> Path:
        return self.root / "feed"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    def write(self, batches: Sequence[Sequence[Row]], rules: Sequence[RuleRow] = ()) -> None:
        """A file for each batch, also applied to the engine of each key.  Rules are in the last file."""
        for rows in batches:
            own = rules if rows is batches[-1] else ()
            about = [(None, label, op, name, (text,) if text else ()) for label, op, name, text in own]
            self.write_alone([*rows, *about])
            self.alone.apply(rows, own)

    def write_alone(self, rows: Sequence[Row | tuple[object, ...]]) -> None:
        """A file that only the stream gets."""
        add_table(self.input, table_of(rows, 2).rename_columns(["farm", *SCHEMA_NAMES]))

    def frame(self) -> DataFrame:
        self.input.mkdir(parents=True, exist_ok=True)
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.input))

    def stream(self, frame: DataFrame | None = None, **how: Any) -> Keyed:
        given = frame if frame is not None else self.frame()
        return keyed(given, "farm", PROGRAM, **{"buckets": 5, **how})

    def run(self, **how: Any) -> Totals:
        """Processes everything that is available."""
        query = self.stream(**how).start(
            self.feed,
            checkpoint=self.checkpoint,
            quarantine=self.root / "quarantine",
            trigger="available-now",
        )
        assert query.awaitTermination(600)
        return query.totals

    def emitted(self) -> list[ChangeRow]:
        """The change feed, batch by batch."""
        found: list[ChangeRow] = []
        for folder in sorted(self.feed.iterdir()):
            files = sorted(folder.glob("*.parquet"))
            tables = [pq.read_table(file, partitioning=None) for file in files]
            found += changes_in(
                pa.concat_tables(tables).rename_columns(["key", *tables[0].column_names[1:]]), 2
            )
        return found

    def refused(self) -> set[tuple[str, int]]:
        lines = [line for f in (self.root / "quarantine").glob("*") for line in f.read_text().splitlines()]
        values = [json.loads(line)["values"] for line in lines if '"T055"' in line]
        return {(value["farm"], value["update"]) for value in values}

    def check(self) -> None:
        """Every change of every key once, and the same refusals as an engine for the key alone."""
        assert sorted(self.emitted()) == sorted(self.alone.emitted)
        assert self.refused() == self.alone.refused
        assert len(self.alone.refused) < len(self.alone.emitted)


SCHEMA_NAMES = [part.split()[0] for part in SCHEMA.split(", ")[1:]]
