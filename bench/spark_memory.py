"""Memory of a long stream.

    python -m bench.spark_memory [--batches 1000] [--rows 1000] [--master local[2]] [--keys N] [--new-terms]

Small batches, one update each; half of the rows insert chains, half delete those of earlier batches.  Chains
repeat after a while, so that the numbers of facts and terms stay constant: any growth is a leak.  Chains that
never repeat (`--new-terms`) show the cost of a term, since the dictionary never drops terms.  With `--keys`
the chains belong to that many keys, each a knowledge base of its own on the executors.

Measured after each batch, resident: this process, the JVM of the driver, and each executor with a process of
its own (a master such as `local-cluster[2,1,1024]`).  At intervals the JVMs are asked to collect their
garbage, and the live heap is measured.  Early are the batches from a fifth to two fifths of the way, when
everything is warm; late are those of the last fifth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from bench.spark_stream import LIFE, NODES, PROGRAM, SCHEMA, chains, write
from tidalog.spark.keyed.stream import keyed
from tidalog.spark.progress import BatchReport
from tidalog.spark.session import spark_session
from tidalog.spark.stream import maintain

PERIOD = 20
"""Batches after which the same chains come again."""
JCMD = shutil.which("jcmd")
"""A tool of the JDK with which other JVMs are asked; without it, what executors hold is not measured."""
COLLECTIONS = 50
"""Times that the JVM is asked to collect its garbage."""


def with_keys(tables: Iterator[pa.Table], keys: int) -> Iterator[pa.Table]:
    """The chains of each table, dealt out in turn."""
    for table in tables:
        of_rows = np.arange(table.num_rows) // (NODES - 1) % keys
        yield table.append_column("farm", pa.array(of_rows).cast(pa.string()))


def batches(rows: int, count: int, new_terms: bool) -> Iterator[pa.Table]:
    half = rows // 2 // (NODES - 1)
    for number in range(count):

        def some(batch: int, op: str, present: bool, label: int = number + 1) -> pa.Table:
            first = (batch if new_terms else batch % PERIOD) * half
            return chains(first, half if present else 0, op, label, "string")

        old = number - LIFE
        yield pa.concat_tables([some(number, "+", True), some(max(0, old), "-", old >= 0)])


class Memory:
    """Megabytes by kind of process, batch by batch."""

    def __init__(self, spark: Any, count: int) -> None:
        self._count = count
        self._every = max(1, count // COLLECTIONS)
        self._runtime = spark.sparkContext._jvm.java.lang.Runtime.getRuntime()
        self.samples: dict[str, list[tuple[int, float]]] = {}

    def measure(self, batch: int) -> None:
        here = psutil.Process()
        found = {"python": here.memory_info().rss, "jvm": 0, "executors": 0, "workers": 0}
        executors: list[int] = []
        for child in here.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                kind = kind_of(child)
                found[kind] += child.memory_info().rss
                executors += [child.pid] * (kind == "executors")
        if batch % self._every == self._every - 1:
            self._runtime.gc()
            found["jvm_live"] = self._runtime.totalMemory() - self._runtime.freeMemory()
            if executors and JCMD is not None:
                found["executors_live"] = sum(live(JCMD, pid) for pid in executors)
        found["arrow"] = pa.total_allocated_bytes()
        for name, size in found.items():
            self.samples.setdefault(name, []).append((batch, size / 1e6))

    def report(self) -> dict[str, dict[str, float]]:
        count = self._count
        parts = {"early": (count // 5, 2 * count // 5), "late": (count - count // 5, count)}
        found: dict[str, dict[str, float]] = {}
        for name, samples in self.samples.items():
            if not any(size for _, size in samples):
                continue
            median = {
                part: statistics.median(size for batch, size in samples if first <= batch < last)
                for part, (first, last) in parts.items()
            }
            growth = {"growth": median["late"] / median["early"]} if median["early"] else {}
            found[name] = {**median, **growth, "peak": max(size for _, size in samples)}
        return found


def live(jcmd: str, pid: int) -> int:
    """Bytes that another JVM holds after a collection of its garbage."""
    subprocess.run([jcmd, str(pid), "GC.run"], capture_output=True, check=True)
    said = subprocess.run([jcmd, str(pid), "GC.heap_info"], capture_output=True, text=True, check=True).stdout
    used = re.search(r"heap\s+total \d+K, used (\d+)K", said)
    assert used is not None, said
    return int(used[1]) * 1024


def kind_of(process: psutil.Process) -> str:
    command = process.cmdline()
    if not command or "java" not in Path(command[0]).name:
        return "workers"
    return "executors" if any("CoarseGrainedExecutorBackend" in part for part in command) else "jvm"


def run(rows: int, count: int, master: str, new_terms: bool, root: Path, keys: int = 0) -> dict[str, object]:
    source = root / "in"
    tables = batches(rows, count, new_terms)
    write(source, with_keys(tables, keys) if keys else tables)
    spark = spark_session(master)
    memory = Memory(spark, count)

    def listener(report: BatchReport, totals: object) -> None:
        memory.measure(report.batch)

    schema = SCHEMA.format(term="string") + (", farm string" if keys else "")
    updates = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    began = time.perf_counter()
    if keys:
        stream = keyed(updates, "farm", PROGRAM)
        query = stream.start(root / "feed", trigger="available-now", listener=listener)
    else:
        maintained = maintain(updates, PROGRAM, root / "store.tidalog")
        query = maintained.start(root / "feed", root / "facts", trigger="available-now", listener=listener)
    query.awaitTermination()
    seconds = time.perf_counter() - began
    totals = query.totals
    result: dict[str, object] = {
        "batches": totals.batches,
        "rows": totals.rows,
        "seconds": seconds,
        "facts": totals.facts,
        "megabytes": memory.report(),
    }
    spark.stop()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_memory")
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--keys", type=int, default=0)
    parser.add_argument("--new-terms", action="store_true")
    given = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="tidalog-bench-"))
    try:
        found = run(given.rows, given.batches, given.master, given.new_terms, root, given.keys)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
