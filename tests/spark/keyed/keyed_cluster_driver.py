"""A keyed stream on a cluster of real executor processes, of which some are killed while it is at work.

python keyed_cluster_driver.py ROOT

Before batches 1 and 3 every Python worker is killed, before batch 2 an executor, all by SIGKILL.  Batch 4
goes on undisturbed.  If ROOT has a file `windows.rls`, that is the program, and rows have times.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from keyed_windows_workspace import WindowedKeys
from keyed_workspace import KeyedWorkspace

from tidalog.spark.keyed.pipeline import KeyedPipeline
from tidalog.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def processes(named: str) -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if any(named in part for part in child.cmdline()):
                found.append(child)
        except psutil.Error:  # it has ended meanwhile
            continue
    return found


def python_workers() -> list[psutil.Process]:
    """Those that are forked from a daemon, which stays."""
    daemons = {process.pid for process in processes("pyspark.daemon")}
    return [process for process in processes("pyspark.daemon") if process.ppid() in daemons]


def kill_around_batches() -> dict[str, int]:
    """Counts what was killed."""
    killed = {"workers": 0, "executors": 0}
    process = KeyedPipeline._process

    def with_a_kill(self: KeyedPipeline, frame: DataFrame, batch: int) -> None:
        victims = python_workers() if batch in (1, 3) else []
        killed["workers"] += len(victims)
        if batch == 2:
            victims = processes("CoarseGrainedExecutorBackend")[:1]
            killed["executors"] += len(victims)
        for victim in victims:
            victim.kill()
        process(self, frame, batch)

    KeyedPipeline._process = with_a_kill  # type: ignore[method-assign]
    return killed


def main(root: Path) -> None:
    killed = kill_around_batches()
    spark = spark_session("local-cluster[2,1,1024]", {"spark.task.maxFailures": "8"})
    windowed = root / "windows.rls"
    if windowed.exists():
        totals = WindowedKeys(spark, root, windowed.read_text()).run(buckets=4)
    else:
        totals = KeyedWorkspace(spark, root).run()
    print(json.dumps({**killed, "rows": totals.rows, "batches": totals.batches}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
