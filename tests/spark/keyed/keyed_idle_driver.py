"""A keyed stream in a process group of its own that is killed while its time moves because nothing comes.

python keyed_idle_driver.py ROOT POINT TIMES
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from keyed_windows_workspace import WindowedKeys

from tidalog.spark.session import spark_session
from tidalog.storage import faults

PROGRAM = """
    @window edge :- range 2s .
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


def main(root: Path, point: str, times: int) -> None:
    left = times

    def at(passed: str) -> None:
        nonlocal left
        left -= passed == point
        if not left:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    faults.at = at
    workspace = WindowedKeys(spark_session("local[2]"), root, PROGRAM)
    workspace.started(workspace.stream(buckets=4), idle_advance="200ms").awaitTermination(300)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
