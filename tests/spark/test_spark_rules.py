"""Rules that come and go with a stream: facts, feed, materialised files and restarts follow them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from update_streams import add_table

import tidalog
from tidalog.model.errors import TidalogError
from tidalog.spark.feed import facts_of_feed, feed_shape
from tidalog.spark.sources import read_stream
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidalog.spark.progress import Totals

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
Row = tuple[int, str, str | None, str | None, str | None, str | None]
TRIPS = "trip(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z)"


class RulesWorkspace:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root

    def write(self, *rows: Row) -> None:
        names = ("op", "predicate", "arg1", "arg2", "arg3")
        schema = pa.schema([("update", pa.int64()), *((name, pa.string()) for name in names)])
        columns = [[row[number] for row in rows] for number in range(6)]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        add_table(self.root / "in", pa.table(arrays, schema))

    def run(self) -> Totals:
        frame = read_stream(self.spark, str(self.root / "in"), options={"maxFilesPerTrigger": "1"})
        made = maintain(frame, PROGRAM, self.root / "store", fsync="off", update_wait=0)
        query = made.start(self.root / "feed", self.root / "facts", trigger="available-now")
        assert query.awaitTermination(120)
        return query.totals

    def check(self, expected: dict[str, set[tuple[str, ...]]]) -> None:
        """The store, the replayed feed and the files of all facts agree."""
        with tidalog.open(self.root / "store", read_only=True) as kb:
            assert {n: {tuple(map(str, f)) for f in kb.facts(n)} for n in kb.predicates} == expected
        fed: dict[str, set[tuple[str, ...]]] = {name: set() for name in expected}
        for row in facts_of_feed(self.root / "feed").to_pylist():
            arguments = [v for name, v in row.items() if name.startswith("arg") and v is not None]
            fed[row["predicate"]].add(tuple(arguments))
        assert fed == expected
        files = {path.stem: pq.read_table(path).num_rows for path in (self.root / "facts/current").iterdir()}
        assert files == {name: len(facts) for name, facts in expected.items()}


@pytest.fixture
def workspace(spark: SparkSession, tmp_path: Path) -> RulesWorkspace:
    return RulesWorkspace(spark, tmp_path)


def edges(*pairs: str) -> set[tuple[str, ...]]:
    return {tuple(pair) for pair in pairs}


def test_rules_bring_predicates_that_are_wider_and_take_them_away(workspace: RulesWorkspace) -> None:
    workspace.write((1, "+", "edge", "a", "b", None), (1, "+", "edge", "b", "c", None))
    workspace.write(
        (2, "+rule", "trips", TRIPS, None, None),
        (2, "+", "edge", "c", "d", None),
        (3, "+", "trip", "x", "y", "z"),
    )
    first = workspace.run()
    assert (first.rows, first.applied, first.quarantined) == (5, 5, 0)
    assert (first.rules_added, first.rules_removed) == (1, 0)
    paths = edges("ab", "bc", "cd", "ac", "bd", "ad")
    trips = edges("abc", "bcd", "xyz")
    workspace.check({"edge": edges("ab", "bc", "cd"), "path": paths, "trip": trips})
    shape = feed_shape(workspace.root / "feed")
    assert shape is not None
    assert (shape.arguments, shape.arities["trip"]) == (3, 3)
    read = (
        workspace.spark.read.format("tidalog").option("predicate", "trip").load(str(workspace.root / "feed"))
    )
    assert {tuple(row)[2:5] for row in read.collect()} == trips
    everything = workspace.spark.read.format("tidalog").load(str(workspace.root / "feed"))
    assert everything.columns == ["update", "op", "predicate", "arg1", "arg2", "arg3", "kind"]
    assert everything.count() == 3 + 6 + 3
    workspace.write((4, "-rule", "trips", None, None, None), (4, "-rule", "r2", None, None, None))
    second = workspace.run()
    assert second.rows == second.applied == 2
    own = edges("ab", "bc", "cd")
    workspace.check({"edge": own, "path": own, "trip": edges("xyz")})


def test_a_rule_that_cannot_be_added_refuses_its_update_alone(workspace: RulesWorkspace) -> None:
    workspace.write((1, "+", "edge", "a", "b", None))
    workspace.write(
        (2, "+rule", None, "odd(?z) :- path(?x, ?y)", None, None), (2, "+", "edge", "b", "c", None)
    )
    workspace.write((3, "+", "edge", "c", "d", None), (3, "+", "odd", "x", None, None))
    with pytest.raises(TidalogError, match="T126"):
        workspace.run()
    totals = workspace.run()  # nobody knows of odd
    assert (totals.rows, totals.applied, totals.quarantined) == (2, 1, 1)
    own = edges("ab", "cd")
    workspace.check({"edge": own, "path": own})
