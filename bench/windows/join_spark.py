"""Spark: the join as its stateful join of two streams, whose watermarks let it forget what is too old.

    python -m bench.windows.join_spark FOLDER OUTPUT

The rows of a step are written as a file of each side, untimed.  Its wall time is what Spark reports for the
triggers that read them, its CPU time that of the JVM until they are done.  State and matches are in memory.
"""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.windows.join_task import HALF, Integers, JoinTask, main
from tidalog.spark.session import spark_session

_SETTINGS = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
}


def run(task: JoinTask, folder: Path) -> dict[str, object]:
    history = {"spark.sql.streaming.numRecentProgressUpdates": str(2 * task.steps + 5)}
    spark = spark_session("local[2]", {**_SETTINGS, **history})
    joined = _joined(spark, task, folder)
    _write(task, folder, 0)
    began = time.perf_counter()
    query = (
        joined.writeStream.format("memory")
        .queryName("matches")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    wall = [time.perf_counter() - began]
    cpu = list(wall)  # the first step starts everything: it is not counted
    for number in range(1, task.steps):
        _write(task, folder, number)
        cpu_before, triggers_before = _cpu_of_children(), len(_triggers(query))
        query.processAllAvailable()
        cpu.append(_cpu_of_children() - cpu_before)
        wall.append(sum(_triggers(query)[triggers_before:]))
    query.stop()
    found = spark.sql("SELECT x, z, greatest(lt, rt) AS at FROM matches").toArrow()
    spark.stop()
    results = _results(task, found)
    return {"system": f"Spark {spark.version}", "wall": wall, "cpu": cpu, "results": results}


def _joined(spark: Any, task: JoinTask, folder: Path) -> Any:
    sides = {}
    for side, columns in (
        ("left", "x long, ly long, lt timestamp"),
        ("right", "ry long, z long, rt timestamp"),
    ):
        (folder / side).mkdir()
        stream = spark.readStream.schema(columns).parquet(str(folder / side))
        sides[side] = stream.withWatermark(f"{side[0]}t", "0 seconds")
    near = f"INTERVAL {task.seconds - 1} SECONDS"
    on = f"ly = ry AND lt >= rt - {near} AND lt <= rt + {near}"
    from pyspark.sql.functions import expr

    return sides["left"].join(sides["right"], expr(on)).select("x", "z", "lt", "rt")


def _write(task: JoinTask, folder: Path, number: int) -> None:
    """A file of each side, which a stream sees whole: it is written under a name that is passed over."""
    for side, rows in zip(("left", "right"), task.entering(number), strict=True):
        hidden = folder / side / f"_{number:05d}.parquet"
        pq.write_table(_table(side, rows, number), hidden, coerce_timestamps="us")
        os.replace(hidden, folder / side / f"{number:05d}.parquet")


def _table(side: str, rows: Integers, number: int) -> pa.Table:
    at = np.datetime64("2026-01-01T00:00:00", "us") + np.timedelta64(timedelta(seconds=number))
    times = pa.array(np.full(len(rows), at), pa.timestamp("us", "UTC"))
    names = ["x", "ly", "lt"] if side == "left" else ["ry", "z", "rt"]
    return pa.table([pa.array(rows[:, 0]), pa.array(rows[:, 1]), times], names=names)


def _triggers(query: Any) -> list[float]:
    spent = [progress["durationMs"] for progress in query.recentProgress]
    return [parts["triggerExecution"] / 1000 for parts in spent if "addBatch" in parts]


def _cpu_of_children() -> float:
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(one.user + one.system for one in times)


def _results(task: JoinTask, found: pa.Table) -> list[list[int]]:
    at = found["at"].to_numpy().astype("datetime64[s]").astype(np.int64)
    steps = at - np.datetime64("2026-01-01T00:00:00", "s").astype(np.int64)
    codes = (found["x"].to_numpy() << HALF) + found["z"].to_numpy()
    counts = np.cumsum(np.bincount(steps, minlength=task.steps))
    sums = [int(codes[steps <= number].sum()) for number in range(task.steps)]
    return [[int(count), total] for count, total in zip(counts, sums, strict=True)]


if __name__ == "__main__":
    main(run)
