"""Keyed streams compared with one entry of state per key, and with deriving each key from scratch.

    python -m bench.spark_keyed [--keys 10000] [--rows 100000] [--facts 20 100 300] [--batches 40]

The program is the two-rule closure.  Each key has chains of six nodes, `--facts` edges in all; every batch
inserts new chains and deletes the oldest, so that each key keeps its number of facts.  Reported for each
number of facts, as medians for a batch of seconds and of CPU seconds of all processes, without the first
batches, in which the JVM compiles:

    keyed                  tidalog.spark.keyed, all changes to a sink that drops them
    per key                a lean transformWithState with one entry per key: keeps the facts, derives nothing
    per key, changes       the same with a closure by plain dictionaries before and after, and all changes
    from scratch           applyInArrow over all facts, grouped by key: every closure by dictionaries
    from scratch, changes  the same with the rows of the batch: closures before and after, the remaining facts
                           to Parquet files for the next batch, and all changes

`per key` does less than a user needs, and `from scratch` neither reads nor changes the facts, nor reports
changes: their factors are lower bounds.  The others do the same as `keyed`.  All share one session.  `keyed`
runs first, while the JVM compiles the code that all of them run, so it has more batches before those that
count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.spark_stream import write
from tidalog.spark.keyed.stream import keyed
from tidalog.spark.session import spark_session

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
SCHEMA = "farm string, update long, op string, predicate string, arg1 long, arg2 long"
EDGES = 5
"""Edges of a chain."""
COMPARED = ("keyed", "per key", "per key, changes", "from scratch", "from scratch, changes")
WARM = 6
"""Batches that are not counted, while the JVM compiles."""
COUNTED = 9
"""Batches of each peer that are counted."""


def chains(keys: int, first: int, count: int, op: str, label: int) -> pa.Table:
    """`count` chains for each key."""
    starts = np.arange(first, first + count)[:, None] * (EDGES + 1) + np.arange(EDGES)
    own = np.tile(starts.reshape(-1), keys)
    farms = pa.array([f"farm{number}" for number in range(keys)])
    rows = len(own)
    return pa.table(
        {
            "farm": farms.take(pa.array(np.repeat(np.arange(keys), count * EDGES))),
            "update": pa.repeat(pa.scalar(label, pa.int64()), rows),
            "op": pa.repeat(op, rows),
            "predicate": pa.repeat("edge", rows),
            "arg1": pa.array(own),
            "arg2": pa.array(own + 1),
        }
    )


def batches(keys: int, rows: int, facts: int, count: int) -> Iterator[pa.Table]:
    """All facts, and then `count` batches of changes."""
    kept = max(1, facts // EDGES)
    each = max(1, rows // keys // EDGES // 2)
    yield chains(keys, 0, kept, "+", 1)
    for number in range(count):
        new = chains(keys, kept + number * each, each, "+", number + 2)
        yield pa.concat_tables([new, chains(keys, number * each, each, "-", number + 2)])


def lean_processor(changes: bool) -> Any:
    """Keeps the facts of a key as text; computes their closure only to report `changes`."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Lean(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.facts = handle.getValueState("facts", "facts binary")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            kept = self.facts.get()
            facts = set(bytes(kept[0]).split(b" ")) if kept is not None else set()
            before = closure(facts) if changes else set()
            changed = 0
            for row in rows:
                fact = b"%d,%d" % (row["arg1"], row["arg2"])
                (facts.add if row["op"] == "+" else facts.discard)(fact)
                changed += 1
            self.facts.update((b" ".join(facts),))
            if not changes:
                yield Row(farm=key[0], changed=changed)
                return
            after = closure(facts)
            for op, found in (("-", before - after), ("+", after - before)):
                for start, end in found:
                    yield Row(farm=key[0], op=op, arg1=start, arg2=end)

        def close(self) -> None:
            pass

    return Lean()


def closure(facts: set[bytes]) -> set[tuple[int, int]]:
    following: dict[int, list[int]] = {}
    for fact in facts:
        start, end = fact.split(b",")
        following.setdefault(int(start), []).append(int(end))
    return set(paths(following))


def paths(following: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    for start in following:
        seen: set[int] = set()
        waiting = list(following[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += following.get(node, ())
        for end in seen:
            yield start, end


def closure_of_group(group: pa.Table) -> pa.Table:
    """All paths of one key."""
    following: dict[int, list[int]] = {}
    for start, end in zip(group["arg1"].to_pylist(), group["arg2"].to_pylist(), strict=True):
        following.setdefault(start, []).append(end)
    found = list(paths(following))
    starts, ends = zip(*found, strict=True) if found else ((), ())
    farm = pa.repeat(group["farm"][0], len(starts))
    return pa.table({"farm": farm, "arg1": pa.array(starts, pa.int64()), "arg2": pa.array(ends, pa.int64())})


def changes_of_group(facts: pa.Table, rows: pa.Table) -> pa.Table:
    """The facts of one key after a batch, and the changes of its closure."""
    pairs = zip(facts["arg1"].to_pylist(), facts["arg2"].to_pylist(), strict=True)
    known = set(pairs)
    before = _paths_of(known)
    for op, *pair in zip(*(rows[name].to_pylist() for name in ("op", "arg1", "arg2")), strict=True):
        (known.add if op == "+" else known.discard)((pair[0], pair[1]))
    after = _paths_of(known)
    rows_of = [("fact", known), ("-", before - after), ("+", after - before)]
    kinds = [kind for kind, found in rows_of for _ in found]
    starts, ends = (
        pa.array([pair[at] for _, found in rows_of for pair in found], pa.int64()) for at in (0, 1)
    )
    farm = pa.repeat((facts if facts.num_rows else rows)["farm"][0], len(kinds))
    return pa.table({"farm": farm, "row": pa.array(kinds, pa.string()), "arg1": starts, "arg2": ends})


def _paths_of(facts: set[tuple[int, int]]) -> set[tuple[int, int]]:
    following: dict[int, list[int]] = {}
    for start, end in facts:
        following.setdefault(start, []).append(end)
    return set(paths(following))


@dataclass(frozen=True)
class Cost:
    """Medians for a batch."""

    seconds: float
    cpu: float


def cpu_seconds() -> float:
    """Of this process, of JVMs and of Python workers."""
    spent = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        spent += times.user + times.system
    return spent


def memory() -> dict[str, int]:
    """Bytes of this process, of JVMs and of Python workers."""
    found = {"driver": psutil.Process().memory_info().rss, "jvm": 0, "workers": 0}
    for child in psutil.Process().children(recursive=True):
        try:
            found["jvm" if "java" in child.name() else "workers"] += child.memory_info().rss
        except psutil.Error:
            continue
    return found


def streamed(frame: Any, checkpoint: Path, warm: int = WARM) -> Cost:
    """The figures of batches are taken when Spark reports on them."""
    writer = frame.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    marks: list[float] = []
    while query.isActive:
        if len(query.recentProgress) > len(marks):
            marks.append(cpu_seconds())
        query.awaitTermination(0.02)
    spent = [progress["durationMs"] for progress in query.recentProgress]
    seconds = [parts["triggerExecution"] / 1000 for parts in spent if "addBatch" in parts]
    cpu = [after - before for before, after in itertools.pairwise(marks)]
    return Cost(statistics.median(seconds[1 + warm :]), statistics.median(cpu[warm:]))


def derived_from_scratch(spark: Any, source: Path, root: Path) -> Cost:
    first = pq.read_table(source / "00000.parquet")
    pq.write_table(first.take(pc.sort_indices(first["arg1"])), root / "all.parquet")
    state = spark.read.parquet(str(root / "all.parquet")).select("farm", "arg1", "arg2").cache()
    state.count()
    seconds: list[float] = []
    cpu: list[float] = []
    for _ in range(WARM + 3):
        start, before = time.perf_counter(), cpu_seconds()
        derived = state.groupBy("farm").applyInArrow(closure_of_group, "farm string, arg1 long, arg2 long")
        derived.write.format("noop").mode("overwrite").save()
        seconds.append(time.perf_counter() - start)
        cpu.append(cpu_seconds() - before)
    state.unpersist()
    return Cost(statistics.median(seconds[WARM:]), statistics.median(cpu[WARM:]))


def changes_from_scratch(spark: Any, source: Path, root: Path) -> Cost:
    """Batch by batch, as the streams do it."""
    first, *rest = sorted(source.iterdir())
    facts = root / "facts-0"
    pq.write_table(pq.read_table(first).select(["farm", "arg1", "arg2"]), root / "first.parquet")
    spark.read.parquet(str(root / "first.parquet")).write.parquet(str(facts))
    seconds: list[float] = []
    cpu: list[float] = []
    for number, file in enumerate(rest[: WARM + 3], 1):
        start, before = time.perf_counter(), cpu_seconds()
        by_key = (spark.read.parquet(str(path)).groupBy("farm") for path in (facts, file))
        both = next(by_key).cogroup(next(by_key))
        found = both.applyInArrow(changes_of_group, "farm string, row string, arg1 long, arg2 long").persist()
        facts = root / f"facts-{number}"
        found.filter("row = 'fact'").drop("row").write.parquet(str(facts))
        found.filter("row <> 'fact'").write.format("noop").mode("overwrite").save()
        found.unpersist()
        seconds.append(time.perf_counter() - start)
        cpu.append(cpu_seconds() - before)
    return Cost(statistics.median(seconds[WARM:]), statistics.median(cpu[WARM:]))


def timed(spark: Any, keys: int, rows: int, facts: int, count: int, root: Path) -> dict[str, Any]:
    source, few = root / "in", root / "few"
    write(source, batches(keys, rows, facts, count))
    few.mkdir()
    for file in sorted(source.iterdir())[: 1 + WARM + COUNTED]:
        (few / file.name).hardlink_to(file)

    def stream(folder: Path) -> Any:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(folder))

    def per_key(changes: bool, result: str) -> Any:
        rows = stream(few).groupBy("farm")
        return rows.transformWithState(lean_processor(changes), result, "Update", "None")

    changes = keyed(stream(source), "farm", PROGRAM).changes
    costs = {"keyed": streamed(changes, root / "keyed", max(WARM, count // 2))}
    used = memory()
    costs["per key"] = streamed(per_key(False, "farm string, changed long"), root / "lean")
    schema = "farm string, op string, arg1 long, arg2 long"
    costs["per key, changes"] = streamed(per_key(True, schema), root / "changes")
    costs["from scratch"] = derived_from_scratch(spark, source, root)
    costs["from scratch, changes"] = changes_from_scratch(spark, source, root)
    own = costs["keyed"]
    result: dict[str, Any] = {"facts": facts, "memory": used}
    for name, cost in costs.items():
        result[name] = {"seconds": round(cost.seconds, 3), "cpu": round(cost.cpu, 3)}
        result[name]["times"] = round(cost.seconds / own.seconds, 2)
        result[name]["times cpu"] = round(cost.cpu / own.cpu, 2)
    return result


def run(keys: int, rows: int, facts: int, count: int) -> dict[str, Any]:
    """On the session that is there, or on a new one with two cores."""
    spark = spark_session("local[2]")
    root = Path(tempfile.mkdtemp(prefix="tidalog-bench-"))
    try:
        return timed(spark, keys, rows, facts, count, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--facts", type=int, nargs="+", default=[20, 100, 300])
    parser.add_argument("--batches", type=int, default=40)
    given = parser.parse_args()
    for facts in given.facts:
        print(json.dumps(run(given.keys, given.rows, facts, given.batches)), flush=True)


if __name__ == "__main__":
    main()
