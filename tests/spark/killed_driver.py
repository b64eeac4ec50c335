"""A pipeline in a process group of its own that is killed at a point on a batch's way.

    python killed_driver.py ROOT POINT TIMES WHO HELD

WHO is `all` (JVM, workers and Python at once) or `jvm`; HELD is the seconds that updates are held back.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil
from update_streams import Workspace

from tidalog.model.errors import TidalogError
from tidalog.spark.session import spark_session
from tidalog.storage import faults


def main(root: Path, point: str, times: int, who: str, held: float) -> None:
    left = times

    def at(passed: str) -> None:
        nonlocal left
        if passed != point:
            return
        left -= 1
        if left:
            return
        if who == "all":
            os.killpg(os.getpgrp(), signal.SIGKILL)
        for child in psutil.Process().children(recursive=True):
            if "java" in child.name():
                child.kill()

    faults.at = at
    workspace = Workspace(spark_session("local[2]"), root)
    try:
        workspace.run(fsync="batch", look_ahead_wait=held)
    except TidalogError as error:
        print(error.diagnostics[0].number)
        sys.stdout.flush()
        os._exit(3)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
