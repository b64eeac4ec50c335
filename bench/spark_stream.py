"""The pipeline on Spark beside a trigger that does nothing and beside the engine alone, in one run.

    python -m bench.spark_stream [--rows 100000] [--batches 100] [--term string|long] [--no-feed]

The program is the two-rule closure; the data are chains of four nodes.  Every batch is one update of so
many rows, half of which insert new chains and half delete those of some batches before, so that the number
of facts stays what it is.  Reported per batch, medians of the second half: in the first the JVM compiles what
it runs, on the same cores.

    nothing     a foreachBatch that does nothing, over the same files
    engine      the same updates from Arrow tables in this process: terms and maintenance alone
    pipeline    everything: Spark, checks, log, engine, change feed

Memory is that of this process and of the JVM, in the median of a tenth of the batches: the second tenth, when
everything is warm, and the last.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import tidalog
from tidalog.spark.progress import BatchReport
from tidalog.spark.sequencer import ordered
from tidalog.spark.session import spark_session
from tidalog.spark.stream import maintain

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
SCHEMA = "update long, op string, predicate string, arg1 {term}, arg2 {term}"
NODES = 4
"""Nodes of a chain."""
LIFE = 2
"""Batches that a chain lives for."""


def chains(first: int, count: int, op: str, label: int, term: str) -> pa.Table:
    """The edges of `count` chains."""
    starts = (np.arange(first, first + count)[:, None] * NODES + np.arange(NODES - 1)).reshape(-1)
    ends = [starts, starts + 1]
    nodes = [pa.array(end) if term == "long" else pa.array(end).cast(pa.string()) for end in ends]
    if term == "string":
        nodes = [pa.compute.binary_join_element_wise("node", node, "") for node in nodes]
    rows = len(starts)
    repeated = [pa.repeat(pa.scalar(label, pa.int64()), rows), pa.repeat(op, rows), pa.repeat("edge", rows)]
    return pa.table([*repeated, *nodes], names=["update", "op", "predicate", "arg1", "arg2"])


def batches(rows: int, count: int, term: str) -> Iterator[pa.Table]:
    half = rows // 2 // (NODES - 1)
    for number in range(count):
        new = chains(number * half, half, "+", number + 1, term)
        old = number - LIFE
        gone = chains(max(0, old) * half, half if old >= 0 else 0, "-", number + 1, term)
        yield pa.concat_tables([new, gone])


def write(folder: Path, tables: Iterator[pa.Table]) -> None:
    folder.mkdir()
    now = time.time() - 3600
    for number, table in enumerate(tables):
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path, row_group_size=max(1, -(-table.num_rows // 2)))
        os.utime(path, (now + number, now + number))


def triggers(query: Any) -> list[float]:
    """Seconds of each trigger, as Spark says."""
    spent = [progress["durationMs"] for progress in query.recentProgress]
    return [parts["triggerExecution"] / 1000 for parts in spent if "addBatch" in parts]


def resident() -> tuple[int, int]:
    """Bytes of this process, and of those that it has started: the JVM, and the workers of Spark."""
    here = psutil.Process()
    below = 0
    for child in here.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            below += child.memory_info().rss
    return here.memory_info().rss, below


def grown(memory: list[tuple[int, int]]) -> dict[str, float]:
    """Megabytes early and late, and their quotient."""
    tenth = max(1, len(memory) // 10)
    found: dict[str, float] = {}
    for column, name in enumerate(("python", "jvm")):
        early, late = (
            statistics.median(sample[column] for sample in part) / 1e6
            for part in (memory[tenth : 2 * tenth] or memory, memory[-tenth:])
        )
        found |= {f"{name}_mb_early": early, f"{name}_mb_late": late, f"{name}_growth": late / early}
    return found


def engine_alone(tables: Iterator[pa.Table]) -> list[float]:
    seconds: list[float] = []
    with tidalog.open() as kb:
        kb.load(PROGRAM)
        kb.materialise()
        for number, table in enumerate(tables):
            start = time.perf_counter()
            (update,) = kb.prepare_updates(ordered(table, number).updates)
            kb.apply(update, progress=False)
            seconds.append(time.perf_counter() - start)
    return seconds


def timed(rows: int, count: int, term: str, feed: bool, root: Path) -> dict[str, object]:
    source = root / "in"
    write(source, batches(rows, count, term))
    spark = spark_session("local[2]", {"spark.sql.streaming.numRecentProgressUpdates": str(count + 5)})

    def stream() -> Any:
        reader = spark.readStream.schema(SCHEMA.format(term=term)).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(source))

    def nothing(frame: Any, batch: int) -> None:
        pass

    idle = stream().writeStream.foreachBatch(nothing).option("checkpointLocation", str(root / "idle"))
    query = idle.trigger(availableNow=True).start()
    query.awaitTermination()
    reports: list[BatchReport] = []
    memory: list[tuple[int, int]] = []

    def listener(report: BatchReport, totals: object) -> None:
        reports.append(report)
        memory.append(resident())

    maintained = maintain(stream(), PROGRAM, root / "store.tidalog", update_wait=0)
    running = maintained.start(root / "feed" if feed else None, trigger="available-now", listener=listener)
    began = time.perf_counter()
    running.awaitTermination()
    whole = time.perf_counter() - began
    pipeline = triggers(running.query)
    alone = engine_alone(batches(rows, count, term))

    def median(values: list[float]) -> float:
        return statistics.median(values[len(values) // 2 :])

    parts = ("read_seconds", "log_seconds", "apply_seconds", "engine_seconds", "write_seconds", "seconds")
    actual = median([report.rows for report in reports])
    result: dict[str, object] = {
        "rows": actual,
        "batches": len(reports),
        "nothing": median(triggers(query)),
        "engine": median(alone),
        "pipeline": median(pipeline),
        **{name: median([getattr(report, name) for report in reports]) for name in parts},
        "rows_per_second": actual / median(pipeline),
        "rows_per_second_sustained": sum(r.rows for r in reports) / whole,
        **grown(memory),
    }
    beyond = float(str(result["pipeline"])) - float(str(result["nothing"]))
    result["beyond_nothing_over_engine"] = beyond / float(str(result["engine"]))
    spark.stop()
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--term", choices=("string", "long"), default="string")
    parser.add_argument("--no-feed", action="store_true")
    given = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="tidalog-bench-"))
    try:
        found = timed(given.rows, given.batches, given.term, not given.no_feed, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
