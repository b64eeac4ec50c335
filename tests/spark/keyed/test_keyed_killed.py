"""Keyed streams on a cluster: workers and executors may die at any time, and no key notices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from keyed_oracle import in_batches, random_rows
from keyed_workspace import KEYS, POOL, KeyedWorkspace
from update_streams import run_driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("keyed_cluster_driver.py")


def test_workers_and_executors_that_are_killed_leave_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    workspace = KeyedWorkspace(spark, tmp_path)
    batches = in_batches(random_rows(POOL, 11, KEYS, 150), 11, 5)
    workspace.write(batches)
    found = run_driver(DRIVER, tmp_path, timeout=900)
    assert found["workers"] >= 2
    assert (found["executors"], found["rows"], found["batches"]) == (1, sum(map(len, batches)), 5)
    workspace.check()
    more = in_batches(random_rows(POOL, 12, [f"more {key}" for key in KEYS], 30), 12, 2)
    workspace.write(more)  # and another session continues from the checkpoint, with only its state
    workspace.run()
    workspace.check()
