"""Rules that come and go with a stream: facts, feed, materialised files and restarts follow them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidalog
from tidalog.model.errors import TidalogError
from tidalog.spark.feed import feed_shape, replayed
from tidalog.spark.sources import read_stream
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidalog.spark.progress import Totals

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
Row = tuple[int, str, str | None, str | None, str | None, str | None]
TRIPS = "trip(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z)"


class Place:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.files = 0
        (root / "in").mkdir()

    def write(self, *rows: Row) -> None:
        names = ("op", "predicate", "arg1", "arg2", "arg3")
        schema = pa.schema([("update", pa.int64()), *((name, pa.string()) for name in names)])
        self.files += 1
        path = self.root / "in" / f"{self.files:03d}.parquet"
        columns = [[row[place] for row in rows] for place in range(6)]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        pq.write_table(pa.table(arrays, schema), path)
        os.utime(path, (time.time() - 3600 + self.files,) * 2)

    def run(self) -> Totals:
        frame = read_stream(self.spark, str(self.root / "in"), options={"maxFilesPerTrigger": "1"})
        made = maintain(frame, PROGRAM, self.root / "store", fsync="off", update_wait=0)
        query = made.start(self.root / "feed", self.root / "facts", trigger="available-now")
        assert query.awaitTermination(120)
        return query.totals

    def check(self, expected: dict[str, set[tuple[str, ...]]]) -> None:
        """The store, the feed followed from its beginning, and the files of all facts say the same."""
        with tidalog.open(self.root / "store", read_only=True) as kb:
            assert {n: {tuple(map(str, f)) for f in kb.facts(n)} for n in kb.predicates} == expected
        fed: dict[str, set[tuple[str, ...]]] = {name: set() for name in expected}
        for row in replayed(self.root / "feed").to_pylist():
            arguments = [v for name, v in row.items() if name.startswith("arg") and v is not None]
            fed[row["predicate"]].add(tuple(arguments))
        assert fed == expected
        files = {path.stem: pq.read_table(path).num_rows for path in (self.root / "facts/current").iterdir()}
        assert files == {name: len(facts) for name, facts in expected.items()}


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


def edges(*pairs: str) -> set[tuple[str, ...]]:
    return {tuple(pair) for pair in pairs}


def test_rules_bring_predicates_that_are_wider_and_take_them_away(place: Place) -> None:
    place.write((1, "+", "edge", "a", "b", None), (1, "+", "edge", "b", "c", None))
    place.write(
        (2, "+rule", "trips", TRIPS, None, None),
        (2, "+", "edge", "c", "d", None),
        (3, "+", "trip", "x", "y", "z"),
    )
    first = place.run()
    assert (first.rows, first.applied, first.quarantined) == (5, 5, 0)
    assert (first.rules_added, first.rules_removed) == (1, 0)
    paths = edges("ab", "bc", "cd", "ac", "bd", "ad")
    trips = edges("abc", "bcd", "xyz")
    place.check({"edge": edges("ab", "bc", "cd"), "path": paths, "trip": trips})
    shape = feed_shape(place.root / "feed")
    assert shape is not None
    assert (shape.arguments, shape.arities["trip"]) == (3, 3)
    read = place.spark.read.format("tidalog").option("predicate", "trip").load(str(place.root / "feed"))
    assert {tuple(row)[2:5] for row in read.collect()} == trips
    everything = place.spark.read.format("tidalog").load(str(place.root / "feed"))
    assert everything.columns == ["update", "op", "predicate", "arg1", "arg2", "arg3", "kind"]
    assert everything.count() == 3 + 6 + 3
    place.write((4, "-rule", "trips", None, None, None), (4, "-rule", "r2", None, None, None))
    second = place.run()
    assert second.rows == second.applied == 2
    own = edges("ab", "bc", "cd")
    place.check({"edge": own, "path": own, "trip": edges("xyz")})


def test_a_rule_that_cannot_be_added_refuses_its_update_alone(place: Place) -> None:
    place.write((1, "+", "edge", "a", "b", None))
    place.write((2, "+rule", None, "odd(?z) :- path(?x, ?y)", None, None), (2, "+", "edge", "b", "c", None))
    place.write((3, "+", "edge", "c", "d", None), (3, "+", "odd", "x", None, None))
    with pytest.raises(TidalogError, match="T126"):
        place.run()
    totals = place.run()  # nobody knows of odd
    assert (totals.rows, totals.applied, totals.quarantined) == (2, 1, 1)
    own = edges("ab", "cd")
    place.check({"edge": own, "path": own})
