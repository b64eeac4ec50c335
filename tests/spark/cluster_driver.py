"""A pipeline on a cluster of real executor processes, one of which is killed between two batches.

python cluster_driver.py ROOT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psutil
from update_streams import Workspace

from tidalog.spark.session import spark_session
from tidalog.storage import faults


def executors() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if is_executor(child)]


def is_executor(process: psutil.Process) -> bool:
    try:
        return any("CoarseGrainedExecutorBackend" in part for part in process.cmdline())
    except psutil.Error:  # it has ended meanwhile
        return False


def main(root: Path) -> None:
    killed: list[int] = []

    def at(passed: str) -> None:
        if passed == "batch read" and not killed:
            victim = executors()[0]
            victim.kill()
            killed.append(victim.pid)

    faults.at = at
    spark = spark_session("local-cluster[2,1,1024]")
    workspace = Workspace(spark, root)
    totals = workspace.run(fsync="batch")
    print(json.dumps({"killed": len(killed), "rows": totals.rows, "batches": totals.batches}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
