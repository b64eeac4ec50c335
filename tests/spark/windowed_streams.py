"""Streams of updates with times, and what windows hold after them: by the oracle, and by a knowledge base in
memory that gets one update after the other."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from update_streams import add_table, check_counts, check_each_change_once

import tidalog
from tidalog.io.change_feed import ChangeBatch
from tidalog.lang import parse
from tidalog.model.errors import UsageError
from tidalog.model.program import Fact
from tidalog.model.terms import String, Term
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import WindowOracle
from tidalog.spark.feed import feed_files, read_feed
from tidalog.spark.progress import Totals
from tidalog.spark.stream import Maintained, maintain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RULES = """
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
    quiet(?x) :- road(?x, _), ~edge(?x, _) .
"""
PROGRAMS = {
    "range": "@window edge :- range 10s step 2s ." + RULES,
    "count": "@window edge :- count 6 . @window road :- tumbling 8s ." + RULES,
    "two": "@window edge :- range 6s . @window long :- edge, range 20s ."
    "both(?x, ?y) :- long(?x, ?y), ~edge(?x, ?y) ." + RULES,
}
PROGRAMS["idle"] = "@window edge :- range 1s ." + RULES.rpartition("quiet")[0]
LATE = 4
Change = tuple[int, str, str, tuple[str, ...], str]
"""Update, operation, predicate, arguments, kind."""


@dataclass(frozen=True)
class TimedRow:
    label: int
    op: str
    predicate: str
    arguments: tuple[str, str]
    time: int
    """Seconds."""


def random_rows(seed: int, updates: int) -> list[TimedRow]:
    """Most updates in order, some of them late, a few too late; rows of one update have several times."""
    chance = random.Random(seed)
    rows: list[TimedRow] = []
    now = 100
    for label in range(1, updates + 1):
        now += chance.choice([0, 1, 1, 2, 5])
        at = now - chance.choice([0, 0, 0, 0, 2, LATE, 9])
        for number in range(chance.randrange(2, 6)):
            op = chance.choice("+++-")
            arguments = (f"n{chance.randrange(5)}", f"n{chance.randrange(5)}")
            time = at if not number else at - chance.randrange(3)
            rows.append(TimedRow(label, op, chance.choice(["edge", "edge", "road"]), arguments, time))
    return rows


def in_files(rows: Sequence[TimedRow], count: int, seed: int) -> list[list[TimedRow]]:
    """The rows in `count` parts, with borders within updates."""
    inside = [n for n in range(1, len(rows)) if rows[n - 1].label == rows[n].label]
    borders = [0, *sorted(random.Random(seed).sample(inside, count - 1)), len(rows)]
    return [list(rows[low:high]) for low, high in pairwise(borders)]


def table_of(rows: Sequence[TimedRow]) -> pa.Table:
    times = [EPOCH + timedelta(seconds=row.time) for row in rows]
    return pa.table(
        {
            "update": pa.array([row.label for row in rows], pa.int64()),
            "op": [row.op for row in rows],
            "predicate": [row.predicate for row in rows],
            "arg1": [row.arguments[0] for row in rows],
            "arg2": [row.arguments[1] for row in rows],
            "time": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


@dataclass
class Expected:
    """What follows from rows; `late` are the updates that come too late."""

    program: str
    changes: list[Change] = field(default_factory=list)
    late: set[int] = field(default_factory=set)
    facts: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kb = tidalog.open(late=LATE)
        self._kb.load(self.program)
        self._parsed = parse(self.program)
        self._oracle = WindowOracle(self._parsed.windows, LATE * SECOND)
        self._sources = {window.source for window in self._parsed.windows}
        self._plain: set[tuple[str, tuple[Term, ...]]] = set()

    def apply(self, rows: Sequence[TimedRow]) -> None:
        for label in sorted({row.label for row in rows}):
            self._apply(label, [row for row in rows if row.label == label])
        facts = [(name, row) for name, content in self._oracle.explicit().items() for row in content]
        given = tuple(Fact(name, row) for name, row in [*facts, *self._plain])
        model = evaluate(replace(self._parsed, facts=given, windows=()))
        self.facts = {
            name: {tuple(term.value for term in row) for row in rows}  # type: ignore[union-attr]
            for name, rows in model.items()
            if rows
        }

    def _apply(self, label: int, rows: Sequence[TimedRow]) -> None:
        sides: dict[str, list[tuple[str, tuple[Term, ...]]]] = {"-": [], "+": []}
        update = tidalog.Update(label=label, time=max(row.time for row in rows))
        for row in rows:
            sides[row.op].append((row.predicate, tuple(map(String, row.arguments))))
            (update.insert if row.op == "+" else update.delete)(row.predicate, [row.arguments])
        deletions, insertions = (
            [fact for fact in sides[op] if fact[0] in self._sources] for op in ("-", "+")
        )
        time = max(row.time for row in rows) * SECOND
        if not self._oracle.update(time, deletions, insertions):
            self.late.add(label)
            try:
                self._kb.apply(update)
            except UsageError:
                return
            raise AssertionError("the update came too late")
        self._plain -= {fact for fact in sides["-"] if fact[0] not in self._sources}
        self._plain |= {fact for fact in sides["+"] if fact[0] not in self._sources}
        self.changes += [one for batch in self._kb.apply(update).batches(label) for one in _changes(batch)]


def _changes(batch: ChangeBatch) -> list[Change]:
    columns = [column.to_pylist() for column in batch.columns]
    op = "+" if batch.op > 0 else "-"
    return [(int(batch.update), op, batch.predicate, row, batch.kind) for row in zip(*columns, strict=True)]


@dataclass
class WindowedWorkspace:
    """The folders of one test."""

    spark: SparkSession
    root: Path
    program: str

    @property
    def store(self) -> Path:
        return self.root / "store"

    def write(self, rows: Sequence[TimedRow]) -> None:
        add_table(self.root / "in", table_of(rows))

    def frame(self) -> DataFrame:
        (self.root / "in").mkdir(exist_ok=True)
        schema = "update long, op string, predicate string, arg1 string, arg2 string, time timestamp"
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.root / "in"))

    def maintained(self, frame: DataFrame | None = None, **how: Any) -> Maintained:
        how = {"fsync": "off", "late": LATE, **how}
        given = frame if frame is not None else self.frame()
        return maintain(given, self.program, self.store, **how)

    def run(self, frame: DataFrame | None = None, **how: Any) -> Totals:
        """Processes everything that is available."""
        query = self.maintained(frame, **how).start(self.root / "feed", trigger="available-now")
        assert query.awaitTermination(120)
        check_counts(query.totals)
        return query.totals

    def changes(self) -> list[Change]:
        """The change feed."""
        found: list[Change] = []
        for table in read_feed(feed_files(self.root / "feed")):
            for row in table.to_pylist():
                arguments = tuple(row[name] for name in ("arg1", "arg2") if row[name] is not None)
                found.append((row["update"], row["op"], row["predicate"], arguments, row["kind"]))
        return found

    def quarantined(self) -> list[dict[str, Any]]:
        files = sorted((self.store / "spark" / "quarantine").glob("*.ndjson"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def facts(self) -> dict[str, set[tuple[str, ...]]]:
        with tidalog.open(self.store, read_only=True) as kb:
            found = {name: set(kb.facts(name).to_rows()) for name in kb.predicates}
        return {name: rows for name, rows in found.items() if rows}

    def check(self, expected: Expected) -> None:
        """Store and oracle agree, every change is in the feed once, late updates are in the quarantine."""
        assert self.facts() == expected.facts
        assert sorted(self.changes()) == sorted(expected.changes)
        check_each_change_once(self.root / "feed")
        rows = self.quarantined()
        assert {row["number"] for row in rows} <= {"T174"}
        assert {row["values"]["update"] for row in rows} == expected.late
