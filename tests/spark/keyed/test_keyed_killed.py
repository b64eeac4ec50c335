"""Keyed streams on a cluster: workers and executors may die at any time, and no key notices."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from keyed_oracle import in_batches, random_rows
from keyed_places import KEYS, POOL, KeyedPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("keyed_cluster_driver.py")


def test_workers_and_executors_that_are_killed_leave_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    place = KeyedPlace(spark, tmp_path)
    batches = in_batches(random_rows(POOL, 11, KEYS, 150), 11, 5)
    place.write(batches)
    ended = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        start_new_session=True,
    )
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout.splitlines()[-1])
    assert said["workers"] >= 2
    assert (said["executors"], said["rows"], said["batches"]) == (1, sum(map(len, batches)), 5)
    place.check()
    more = in_batches(random_rows(POOL, 12, [f"more {key}" for key in KEYS], 30), 12, 2)
    place.write(more)  # and the same checkpoint goes on elsewhere, with nothing but its state
    place.run()
    place.check()
