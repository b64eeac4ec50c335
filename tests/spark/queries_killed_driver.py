"""A stream with continuous queries in a process group of its own that is killed at a point on a batch's way.

python queries_killed_driver.py ROOT POINT TIMES
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from queried_streams import QueryWorkspace

from tidalog.spark.session import spark_session
from tidalog.storage import faults


def main(root: Path, point: str, times: int) -> None:
    left = times

    def at(passed: str) -> None:
        nonlocal left
        left -= passed == point
        if not left:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    faults.at = at
    QueryWorkspace(spark_session("local[2]"), root).run(fsync="batch")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
