"""Keyed streams beside one entry of state for each key, and beside deriving each key anew, in one run.

    python -m bench.spark_keyed [--keys 10000] [--rows 100000] [--facts 20 100 300] [--batches 6]

The program is the two-rule closure.  Each key has chains of six nodes, `--facts` edges in all; every batch
inserts new chains and deletes the oldest, so that each key keeps its number of facts.  Reported for each
number of facts, as medians of seconds for a batch without the first:

    keyed       tidalog.spark.keyed, all changes to a sink that drops them
    per key     a lean transformWithState with one entry for each key: it keeps the facts and derives nothing
    anew        applyInArrow over all facts, grouped by key: every closure from scratch, by plain dictionaries

`per key` and `anew` are less than a user would need, so the factors are lower bounds.
"""

from __future__ import annotations

import argparse
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
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalog.spark.buckets.stream import keyed
from tidalog.spark.session import spark_session

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
SCHEMA = "farm string, update long, op string, predicate string, arg1 long, arg2 long"
EDGES = 5
"""Edges of a chain."""
WARM = 1
"""Steady batches that are not counted."""


def chains(keys: int, first: int, count: int, op: str, label: int) -> pa.Table:
    """So many chains for each key."""
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
    """All facts, and then batches that change so many."""
    kept = max(1, facts // EDGES)
    each = max(1, rows // keys // EDGES // 2)
    yield chains(keys, 0, kept, "+", 1)
    for number in range(count):
        new = chains(keys, kept + number * each, each, "+", number + 2)
        yield pa.concat_tables([new, chains(keys, number * each, each, "-", number + 2)])


def write(folder: Path, tables: Iterator[pa.Table]) -> None:
    folder.mkdir()
    now = time.time() - 3600
    for number, table in enumerate(tables):
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path, row_group_size=max(1, -(-table.num_rows // 2)))
        os.utime(path, (now + number, now + number))


def lean_processor() -> Any:
    """Keeps the facts of a key as text; what follows from them it does not ask."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Lean(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.facts = handle.getValueState("facts", "facts binary")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            found = self.facts.get()
            facts = set(bytes(found[0]).split(b" ")) if found is not None else set()
            changed = 0
            for row in rows:
                fact = b"%d,%d" % (row["arg1"], row["arg2"])
                (facts.add if row["op"] == "+" else facts.discard)(fact)
                changed += 1
            self.facts.update((b" ".join(facts),))
            yield Row(farm=key[0], changed=changed)

        def close(self) -> None:
            pass

    return Lean()


def closure_anew(group: pa.Table) -> pa.Table:
    """All paths of one key."""
    following: dict[int, list[int]] = {}
    for start, end in zip(group["arg1"].to_pylist(), group["arg2"].to_pylist(), strict=True):
        following.setdefault(start, []).append(end)
    found: list[tuple[int, int]] = []
    for start in following:
        seen: set[int] = set()
        waiting = list(following[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += following.get(node, ())
        found += [(start, end) for end in seen]
    starts, ends = zip(*found, strict=True) if found else ((), ())
    farm = pa.repeat(group["farm"][0], len(starts))
    return pa.table({"farm": farm, "arg1": pa.array(starts, pa.int64()), "arg2": pa.array(ends, pa.int64())})


def median_of_triggers(query: Any) -> float:
    spent = [progress["durationMs"] for progress in query.recentProgress]
    seconds = [parts["triggerExecution"] / 1000 for parts in spent if "addBatch" in parts]
    return statistics.median(seconds[1 + WARM :])


def memory() -> dict[str, int]:
    """Bytes of this process, of JVMs and of Python workers."""
    found = {"driver": psutil.Process().memory_info().rss, "jvm": 0, "workers": 0}
    for child in psutil.Process().children(recursive=True):
        try:
            found["jvm" if "java" in child.name() else "workers"] += child.memory_info().rss
        except psutil.Error:
            continue
    return found


def streamed(frame: Any, checkpoint: Path) -> Any:
    writer = frame.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    return query


def timed(spark: Any, keys: int, rows: int, facts: int, count: int, root: Path) -> dict[str, Any]:
    source = root / "in"
    write(source, batches(keys, rows, facts, count))

    def stream() -> Any:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(source))

    query = streamed(keyed(stream(), "farm", PROGRAM).changes, root / "keyed")
    result: dict[str, Any] = {"facts": facts, "keyed": median_of_triggers(query), "memory": memory()}
    lean = (
        stream()
        .groupBy("farm")
        .transformWithState(lean_processor(), "farm string, changed long", "Update", "None")
    )
    result["per key"] = median_of_triggers(streamed(lean, root / "lean"))
    first = pq.read_table(source / "00000.parquet")
    pq.write_table(first.take(pc.sort_indices(first["arg1"])), root / "all.parquet")
    state = spark.read.parquet(str(root / "all.parquet")).select("farm", "arg1", "arg2").cache()
    state.count()
    anew: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        derived = state.groupBy("farm").applyInArrow(closure_anew, "farm string, arg1 long, arg2 long")
        derived.write.format("noop").mode("overwrite").save()
        anew.append(time.perf_counter() - start)
    state.unpersist()
    result["anew"] = statistics.median(anew)
    result["times faster than per key"] = result["per key"] / result["keyed"]
    result["times faster than anew"] = result["anew"] / result["keyed"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--facts", type=int, nargs="+", default=[20, 100, 300])
    parser.add_argument("--batches", type=int, default=6)
    given = parser.parse_args()
    spark = spark_session("local[2]")
    for facts in given.facts:
        root = Path(tempfile.mkdtemp(prefix="tidalog-bench-"))
        try:
            found = timed(spark, given.keys, given.rows, facts, given.batches, root)
        finally:
            shutil.rmtree(root, ignore_errors=True)
        print(json.dumps(found), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
