"""Pathway: the join as an interval join that forgets what is too old.

    python -m bench.windows.join_pathway FOLDER OUTPUT

The rows of a step are handed to a connector, untimed.  A step is timed from its commit to the moment when
Pathway says that all results of that commit are out.  What is asked of it is the number of matches and the
sum of their codes, so that no match has to cross into Python.
"""

from __future__ import annotations

import threading
import time
from importlib import metadata
from pathlib import Path

import pathway as pw

from bench.windows.join_task import HALF, JoinTask, main


class _Rows(pw.Schema):  # type: ignore[misc]
    side: int
    time: int
    a: int
    b: int


class _Totals:
    """The last result; `settled` is set once it is that of the last commit."""

    def __init__(self) -> None:
        self.settled = threading.Event()
        self.now = {"match": [0, 0]}

    def change(self, key: pw.Pointer, row: dict[str, object], time: int, is_addition: bool) -> None:
        if is_addition:
            self.now[str(row["kind"])] = [int(str(row["count"])), int(str(row["total"]))]

    def end(self, time: int) -> None:
        self.settled.set()


class _Source(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    def __init__(self, task: JoinTask, totals: _Totals) -> None:
        super().__init__()
        self._task, self._totals = task, totals
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.results: list[list[int]] = []

    def run(self) -> None:
        for number in range(self._task.steps):
            for side, rows in enumerate(self._task.entering(number)):
                for a, b in rows.tolist():
                    self.next(side=side, time=number, a=a, b=b)
            began = time.perf_counter(), time.process_time()
            self.commit()
            self._totals.settled.wait()
            self._totals.settled.clear()
            self.wall.append(time.perf_counter() - began[0])
            self.cpu.append(time.process_time() - began[1])
            self.results.append(self._totals.now["match"])


def _totals(rows: pw.Table, seconds: int) -> pw.Table:
    """The rows are counted too: a commit without a match has a result to wait for."""
    left, right = rows.filter(rows.side == 0), rows.filter(rows.side == 1)
    near = pw.temporal.interval(-(seconds - 1), seconds - 1)
    behaviour = pw.temporal.common_behavior(cutoff=seconds)
    joined = left.interval_join(right, left.time, right.time, near, left.b == right.a, behavior=behaviour)
    match = joined.select(code=left.a * 2**HALF + right.b)
    return match.reduce(
        kind="match", count=pw.reducers.count(), total=pw.reducers.sum(match.code)
    ).concat_reindex(rows.reduce(kind="rows", count=pw.reducers.count(), total=pw.reducers.sum(rows.side)))


def run(task: JoinTask, folder: Path) -> dict[str, object]:
    del folder
    totals = _Totals()
    source = _Source(task, totals)
    rows = pw.io.python.read(source, schema=_Rows, autocommit_duration_ms=None)
    pw.io.subscribe(_totals(rows, task.seconds), on_change=totals.change, on_time_end=totals.end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    version = metadata.version("pathway")
    return {"system": f"Pathway {version}", "wall": source.wall, "cpu": source.cpu, "results": source.results}


if __name__ == "__main__":
    main(run)
