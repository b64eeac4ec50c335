"""Streams of updates for tests, in files, and the facts after them by an obviously correct evaluation."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import tidalog
from tidalog.spark.feed import facts_of_feed, feed_files
from tidalog.spark.progress import BatchReport, Totals
from tidalog.spark.stream import Maintained, maintain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
    linked(?x) :- edge(?x, _) .
    linked(?y) :- edge(_, ?y) .
    lonely(?x) :- node(?x), ~linked(?x) .
"""
PREDICATES = ("edge", "node", "path", "linked", "lonely")
COLUMNS = ("update", "op", "predicate", "arg1", "arg2")
FIRST_TIME = time.time() - 3600
Fact = tuple[str, ...]
Row = tuple[int, str, Fact]
"""Label, operation, predicate and arguments."""


@dataclass
class Stream:
    """Rows by update, and the explicit facts after each."""

    rows: list[Row] = field(default_factory=list)
    explicit: set[Fact] = field(default_factory=set)

    def update(self, label: int, deleted: Iterable[Fact], inserted: Iterable[Fact]) -> None:
        deleted, inserted = list(deleted), list(inserted)
        self.rows += [(label, "-", fact) for fact in deleted] + [(label, "+", fact) for fact in inserted]
        self.explicit = (self.explicit - set(deleted)) | set(inserted)

    def parts(self, count: int) -> list[list[Row]]:
        """The rows of consecutive updates, in `count` parts."""
        labels = sorted({label for label, _, _ in self.rows})
        size = -(-len(labels) // count)
        groups = [set(labels[start : start + size]) for start in range(0, len(labels), size)]
        return [[row for row in self.rows if row[0] in group] for group in groups]

    def cut(self, count: int, seed: int) -> list[list[Row]]:
        """The rows in `count` parts, with borders within updates."""
        rows = self.rows
        inside = [n for n in range(1, len(rows)) if rows[n - 1][0] == rows[n][0]]
        borders = [0, *sorted(random.Random(seed).sample(inside, count - 1)), len(rows)]
        return [rows[low:high] for low, high in pairwise(borders)]


def random_stream(seed: int, updates: int = 30, nodes: int = 8, first: int = 1) -> Stream:
    chance = random.Random(seed)
    stream = Stream()
    names = [f"n{number}" for number in range(nodes)]
    for label in range(first, first + updates):
        known = sorted(stream.explicit)
        deleted = chance.sample(known, min(len(known), chance.randrange(4)))
        inserted: list[Fact] = [
            ("edge", chance.choice(names), chance.choice(names)) for _ in range(chance.randrange(4))
        ]
        inserted += [("node", chance.choice(names))] * chance.randrange(2)
        deleted.append(("edge", chance.choice(names), "nowhere"))
        stream.update(label, deleted, inserted)
    return stream


def consequences(explicit: Iterable[Fact]) -> dict[str, set[Fact]]:
    """All facts of the program, by predicate; from scratch, with nothing but sets."""
    facts = set(explicit)
    edges = {fact[1:] for fact in facts if fact[0] == "edge"}
    nodes = {fact[1] for fact in facts if fact[0] == "node"}
    paths = set(edges)
    while True:
        more = {(x, z) for x, y in paths for v, z in edges if y == v} - paths
        if not more:
            break
        paths |= more
    linked = {end for edge in edges for end in edge}
    return {
        "edge": edges,
        "node": {(node,) for node in nodes},
        "path": paths,
        "linked": {(end,) for end in linked},
        "lonely": {(node,) for node in nodes - linked},
    }


# --- files ----------------------------------------------------------------------------------------------


def table(rows: Sequence[Row], *, labels: bool = True) -> pa.Table:
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for label, op, fact in rows:
        for name, value in zip(COLUMNS, (label, op, *fact, None), strict=False):
            columns[name].append(value)
    made = pa.table(
        columns, schema=pa.schema([("update", pa.int64()), *((n, pa.string()) for n in COLUMNS[1:])])
    )
    return made if labels else made.drop_columns(["update"])


def write_file(path: Path, rows: Sequence[Row], *, labels: bool = True) -> None:
    """A file of updates in the format of its ending; it appears atomically."""
    part = path.with_name(f".{path.name}")
    made = table(rows, labels=labels)
    if path.suffix == ".parquet":
        pq.write_table(made, part)
    elif path.suffix == ".json":
        part.write_text("".join(json.dumps(row) + "\n" for row in made.to_pylist()))
    else:
        with part.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(made.column_names)
            writer.writerows([["" if v is None else v for v in row.values()] for row in made.to_pylist()])
    publish(part, path)


def write_files(folder: Path, parts: Sequence[Sequence[Row]], ending: str = "parquet", **how: bool) -> None:
    """Files that Spark reads in this order."""
    for rows in parts:
        write_file(next_file(folder, ending), rows, **how)


def next_file(folder: Path, ending: str = "parquet") -> Path:
    """A name for a file after those that are in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"part-{len(list(folder.iterdir())):04d}.{ending}"


def publish(part: Path, path: Path) -> None:
    """Renames a complete file.  Spark reads files in the order of their times."""
    moment = FIRST_TIME + len(list(path.parent.iterdir()))
    os.utime(part, (moment, moment))
    part.rename(path)


def add_table(folder: Path, rows: pa.Table) -> None:
    """A Parquet file that Spark reads after those that are in a folder."""
    path = next_file(folder)
    pq.write_table(rows, part := path.with_name(f".{path.name}"))
    publish(part, path)


def run_driver(driver: Path, root: Path, timeout: float) -> dict[str, Any]:
    """Runs a script in a process of its own, with this folder on its path; returns the JSON of its last
    line."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, str(driver), str(root)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        start_new_session=True,
    )
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout.splitlines()[-1]))


# --- pipelines ------------------------------------------------------------------------------------------


@dataclass
class Workspace:
    """The folders of one test."""

    spark: SparkSession
    root: Path
    reports: list[BatchReport] = field(default_factory=list)

    @property
    def input(self) -> Path:
        return self.root / "in"

    @property
    def store(self) -> Path:
        return self.root / "store.tidalog"

    @property
    def feed(self) -> Path:
        return self.root / "feed"

    @property
    def checkpoint(self) -> Path:
        return self.store / "spark" / "checkpoint"

    def read(self, ending: str = "parquet", *, labels: bool = True, files: int = 1) -> DataFrame:
        self.input.mkdir(exist_ok=True)
        label = "update long, " if labels else ""
        reader = self.spark.readStream.schema(f"{label}op string, predicate string, arg1 string, arg2 string")
        reader = reader.option("maxFilesPerTrigger", files).option("header", True)
        reader = reader.option("latestFirst", False)
        return reader.format("csv" if ending == "csv" else ending).load(str(self.input))

    def maintained(self, frame: DataFrame | None = None, **how: Any) -> Maintained:
        how.setdefault("fsync", "off")
        return maintain(frame if frame is not None else self.read(), PROGRAM, self.store, **how)

    def run(self, frame: DataFrame | None = None, *, changes: bool = True, **how: Any) -> Totals:
        """Processes everything that is available."""
        materialised = self.root / "materialised" if how.pop("materialised", False) else None
        query = self.maintained(frame, **how).start(
            self.feed if changes else None,
            materialised,
            trigger="available-now",
            listener=lambda report, _: self.reports.append(report),
        )
        assert query.awaitTermination(120)
        check_counts(query.totals)
        return query.totals

    # --- results --------------------------------------------------------------------------------

    def facts(self) -> dict[str, set[Fact]]:
        """The facts of the store, opened read-only."""
        with tidalog.open(self.store, read_only=True) as kb:
            return {name: set(kb.facts(name).to_rows()) for name in PREDICATES}

    def fed(self) -> dict[str, set[Fact]]:
        return fed(self.feed)

    def check(self, explicit: Iterable[Fact]) -> None:
        """Store and feed equal the evaluation from scratch, and the feed has every change once."""
        wanted = consequences(explicit)
        assert self.facts() == wanted
        if self.feed.exists():
            assert self.fed() == wanted
            check_each_change_once(self.feed)


def fed(folder: Path) -> dict[str, set[Fact]]:
    """The facts after replaying a feed."""
    found: dict[str, set[Fact]] = {name: set() for name in PREDICATES}
    for row in facts_of_feed(folder).to_pylist():
        found[row["predicate"]].add(tuple(row[n] for n in ("arg1", "arg2") if row[n] is not None))
    return found


def check_counts(totals: Totals) -> None:
    parts = totals.applied + totals.quarantined + totals.skipped + totals.refused + totals.waiting
    assert totals.rows == parts, totals


def check_each_change_once(folder: Path) -> None:
    """Files follow each other without a gap, and only absent facts are inserted, only present ones
    deleted."""
    files = feed_files(folder)
    assert [file.first for file in files] == [0, *(file.last + 1 for file in files[:-1])]
    there: set[Fact] = set()
    for file in files:
        for row in pq.read_table(file.path).to_pylist():
            fact = (row["predicate"], *(row[n] for n in ("arg1", "arg2") if row[n] is not None))
            if row["op"] == "+":
                assert fact not in there, (file.path.name, row)
                there.add(fact)
            else:
                assert fact in there, (file.path.name, row)
                there.remove(fact)
