"""kill -9 on a batch's way, at every point: after a restart nothing is missing and nothing is there twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from update_streams import Workspace, random_stream, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("killed_driver.py")
SLOW = pytest.mark.slow
CASES = [
    pytest.param("batch read", 2, "all", 0.0, id="batch read, all", marks=SLOW),
    pytest.param("batch logged", 2, "all", 60.0, id="batch logged, all", marks=SLOW),
    pytest.param("applied", 13, "all", 60.0, id="applied, all"),
    pytest.param("changes written", 2, "all", 0.0, id="changes written, all"),
    pytest.param("acknowledged", 2, "all", 60.0, id="acknowledged, all", marks=SLOW),
    pytest.param("applied", 11, "jvm", 0.0, id="applied, jvm"),
]


def killed(root: Path, point: str, times: int, who: str, held: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), str(root), point, str(times), who, str(held)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, start_new_session=True)


@pytest.mark.parametrize(("point", "times", "who", "held"), CASES)
def test_what_was_killed_goes_on_as_if_it_had_not_been(
    spark: SparkSession, tmp_path: Path, point: str, times: int, who: str, held: float
) -> None:
    stream = random_stream(seed=len(point) + times, updates=24)
    workspace = Workspace(spark, tmp_path)
    # Batches end within updates, which go on after the restart.
    parts = stream.cut(4, seed=times)
    write_files(workspace.input, parts[:3])
    ended = killed(tmp_path, point, times, who, held)
    if who == "all":
        assert ended.returncode == -9, ended.stderr
    else:
        assert (ended.returncode, ended.stdout) == (3, "T120\n"), ended.stderr
    write_files(workspace.input, parts[3:])
    totals = workspace.run(look_ahead_wait=held)
    assert totals.rows >= len(parts[3])
    workspace.check(stream.explicit)
