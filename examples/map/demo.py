"""A GPS track on a stream: roads come into reach and go out of it, and Tidalog keeps their connections right.

A thread plays the vehicle: it puts a file with the updates of one position after the other into a folder.
Spark Structured Streaming carries them to the engine, the engine keeps `connection` right, and what changes
goes to a feed, which is read back with SQL for the plot.

    python demo.py FOLDER [SECONDS]      the folder to write to, the time from one position to the next
"""

from __future__ import annotations

import csv
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import tidalog
import tidalog.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
TRACK = HERE / "track_0.csv"
PROGRAM = HERE / "track.rls"
PAUSE = 0.3
"""Seconds from one position to the next."""
PATIENCE = 100
"""Seconds after which the demo gives up."""
BARS = " ▁▂▃▄▅▆▇█"


def positions(track: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """The rows of each update, which is one position of the track."""
    with track.open(newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        for label, rows in groupby(reader, key=lambda row: row[0]):
            yield int(label), [header, *rows]


def drive(track: Path, folder: Path, pause: float, under_way: threading.Event) -> None:
    """Files appear under their names when they are whole.  The second position comes when the first has been
    seen, which takes Spark some seconds."""
    for label, rows in positions(track):
        part = folder / f".{label:04d}"
        with part.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        part.rename(folder / f"{label:04d}.csv")
        under_way.wait(PATIENCE)
        time.sleep(pause)


class Screen:
    """A line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.roads = self.connections = 0
        self.series: list[int] = []
        self.under_way, self.done = threading.Event(), threading.Event()
        self._said = 0

    def show(self, report: tidalog.spark.BatchReport, totals: tidalog.spark.Totals) -> None:
        counts = {name: came - went for name, (came, went) in totals.by_predicate.items()}
        self.roads, self.connections = counts.get("nextInWay", 0), counts.get("connection", 0)
        self.series.append(self.connections)
        line = (
            f"position {report.label!s:>3}/{self.wanted}   {self.roads:>4} pieces of road   "
            f"{self.connections:>5,} connections   +{report.inserted:,} −{report.deleted:,}"
        )
        if sys.stdout.isatty():
            print(f"\r\x1b[2K{line}   {sparkline(self.series[-24:])}", end="", flush=True)
        elif totals.updates - self._said >= self.wanted // 6:
            self._said = totals.updates
            print(line, flush=True)
        self.under_way.set()
        if totals.updates >= self.wanted:
            self.done.set()


def sparkline(series: Sequence[int]) -> str:
    top = max([1, *series])
    return "".join(BARS[round(value / top * (len(BARS) - 1))] for value in series)


def main(folder: Path, pause: float = PAUSE) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    updates = folder / "updates"
    updates.mkdir(parents=True)
    wanted = sum(1 for _ in positions(TRACK))
    begin = time.monotonic()
    spark = tidalog.spark.spark_session("local[2]")
    print(f"Spark {spark.version} is up. {wanted} positions of a GPS track, one at a time:")
    columns = "update long, op string, predicate string, arg1 long, arg2 long, arg3 long"
    stream = spark.readStream.schema(columns).option("header", True).csv(str(updates))
    # Each file has a whole update, so that none waits for the next file.
    maintained = tidalog.spark.maintain(stream, PROGRAM, folder / "city.tidalog", update_wait=0)
    screen = Screen(wanted)
    query = maintained.start(folder / "changes", listener=screen.show)
    threading.Thread(target=drive, args=(TRACK, updates, pause, screen.under_way), daemon=True).start()
    while query.isActive and not screen.done.wait(0.1) and time.monotonic() - begin < PATIENCE:
        pass
    query.stop()
    query.awaitTermination()
    if sys.stdout.isatty():
        print()
    series = connections_by_update(spark, folder / "changes")
    spark.stop()
    print_summary(query.totals, series, time.monotonic() - begin)
    picture = folder / "connections.svg"
    picture.write_text(svg(series), encoding="utf-8")
    return verify(folder, wanted, query.totals, picture)


def connections_by_update(spark: SparkSession, feed: Path) -> list[int]:
    """How many connections there are after each update: SQL over the change feed."""
    changes = spark.read.format("tidalog").option("predicate", "connection").load(str(feed))
    changes.createOrReplaceTempView("changes")
    rows = spark.sql("select update, sum(if(op = '+', 1, -1)) as net from changes group by update").collect()
    net = {row["update"]: row["net"] for row in rows}
    series, there = [], 0
    for label, _ in positions(TRACK):
        there += net.get(label, 0)
        series.append(there)
    return series


def print_summary(totals: tidalog.spark.Totals, series: Sequence[int], seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="\nWhat the track did to the map", title_justify="left")
    table.add_column("predicate")
    for heading in ("became true", "stopped being true", "true now"):
        table.add_column(heading, justify="right")
    for name, (came, went) in sorted(totals.by_predicate.items()):
        table.add_row(name, f"+{came:,}", f"−{went:,}", f"{totals.facts[name]:,}")
    console = Console(highlight=False)
    console.print(table)
    console.print("\nConnections after each position")
    console.print(plot(series))
    updates = f"{totals.updates} updates in {totals.batches} batches, {totals.rows:,} rows"
    engine = f"the engine took {totals.engine_seconds / max(1, totals.updates) * 1000:.1f} ms an update"
    console.print(f"{updates}; {engine}; {seconds:.0f} s in all, most of it Spark's start\n")


def plot(series: Sequence[int], height: int = 8) -> str:
    """Columns of blocks, with the largest value at the top of the axis."""
    top = max([1, *series])
    lines = []
    for row in range(height, 0, -1):
        cells = (value / top * height - (row - 1) for value in series)
        bars = "".join(BARS[max(0, min(8, round(cell * 8)))] for cell in cells)
        lines.append(f"{top if row == height else '':>6,} │{bars}" if row == height else f"{'':>6} │{bars}")
    return "\n".join([*lines, f"{0:>6} └{'─' * len(series)}", f"{'':>8}1{'position':>{len(series) - 1}}"])


def svg(series: Sequence[int], width: int = 800, height: int = 260) -> str:
    top, left, bottom = max([1, *series]), 60, 40
    step = (width - left - 20) / max(1, len(series))
    scale = (height - bottom - 30) / top
    bars = "".join(
        f'<rect x="{left + number * step:.1f}" y="{height - bottom - value * scale:.1f}" '
        f'width="{step * 0.8:.1f}" height="{value * scale:.1f}"/>'
        for number, value in enumerate(series)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="13"><text x="{left}" y="18">Connections of roads around a GPS track</text>'
        f'<g fill="#00796b">{bars}</g><text x="{left - 6}" y="40" text-anchor="end">{top:,}</text>'
        f'<text x="{left - 6}" y="{height - bottom}" text-anchor="end">0</text>'
        f'<text x="{width - 20}" y="{height - 14}" text-anchor="end">position 1 to {len(series)}</text>'
        "</svg>\n"
    )


def verify(folder: Path, wanted: int, totals: tidalog.spark.Totals, picture: Path) -> int:
    """Compares the store with a run from scratch on the final facts, without Spark, store or maintenance."""
    with tidalog.open(folder / "city.tidalog", read_only=True) as kb, tidalog.open() as scratch:
        scratch.load(PROGRAM)
        scratch.insert("nextInWay", kb.facts("nextInWay", explicit=True))
        same = set(kb.facts("connection").to_rows()) == set(scratch.facts("connection").to_rows())
    if totals.updates != wanted or not same:
        print(f"{totals.updates} of {wanted} updates were applied", file=sys.stderr)
        return 1
    print("A run from scratch derives the same connections.")
    print(f"Plot: {picture}   store and change feed: {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(float, sys.argv[2:])))
