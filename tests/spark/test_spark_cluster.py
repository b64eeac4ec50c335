"""The same pipeline with executors that are processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from update_streams import Workspace, random_stream, run_driver, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("cluster_driver.py")


def test_an_executor_that_is_killed_leaves_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    stream = random_stream(21)
    workspace = Workspace(spark, tmp_path)
    write_files(workspace.input, stream.parts(4))
    found = run_driver(DRIVER, tmp_path, timeout=240)
    assert found == {"killed": 1, "rows": len(stream.rows), "batches": 4}
    workspace.check(stream.explicit)
