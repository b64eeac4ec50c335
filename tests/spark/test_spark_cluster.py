"""The same pipeline with executors that are processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from update_streams import Place, random_stream, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("cluster_driver.py")


def test_an_executor_that_is_killed_leaves_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    stream = random_stream(21)
    place = Place(spark, tmp_path)
    write_files(place.input, stream.parts(4))
    ended = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        start_new_session=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {"killed": 1, "rows": len(stream.rows), "batches": 4}
    place.check(stream.explicit)
