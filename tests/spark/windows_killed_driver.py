"""A stream with windows in a process group of its own that is killed at a point on a batch's way, or when
time has moved because nothing came.

    python windows_killed_driver.py ROOT PROGRAM POINT TIMES
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from windowed_streams import PROGRAMS, WindowedWorkspace

from tidalog.spark.session import spark_session
from tidalog.storage import faults


def main(root: Path, program: str, point: str, times: int) -> None:
    left = times

    def at(passed: str) -> None:
        nonlocal left
        left -= passed == point
        if not left:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    faults.at = at
    workspace = WindowedWorkspace(spark_session("local[2]"), root, PROGRAMS[program])
    if point != "time advanced":
        workspace.run(fsync="batch")
        return
    maintained = workspace.maintained(fsync="batch", idle_advance="200ms", update_wait=0.0)
    maintained.start(root / "feed").awaitTermination(150)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
