"""The join by two windows of a knowledge base, as a user has it: Arrow columns in, deltas out.

python -m bench.windows.join_ours FOLDER OUTPUT
"""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa

import tidalog
from bench.windows.join_task import HALF, JoinTask, main

_PROGRAM = """
@window left :- range {seconds}s step 1s .
@window right :- range {seconds}s step 1s .
match(?x, ?z) :- left(?x, ?y), right(?y, ?z) .
"""


def run(task: JoinTask, folder: Path) -> dict[str, object]:
    del folder
    kb = tidalog.open()
    kb.load(_PROGRAM.format(seconds=task.seconds))
    wall, cpu, results, count, total = list[float](), list[float](), list[list[int]](), 0, 0
    for number in range(task.steps):
        left, right = (_table(rows) for rows in task.entering(number))
        began = time.perf_counter(), time.process_time()
        with kb.update(time=number) as update:
            update.insert("left", left)
            update.insert("right", right)
        new = update.delta["match"].inserted.to_arrow()
        wall.append(time.perf_counter() - began[0])
        cpu.append(time.process_time() - began[1])
        x, z = (column.to_numpy() for column in new.columns)
        count += len(x)
        total += int(((x << HALF) + z).sum())
        results.append([count, total])
    return {"system": f"Tidalog {metadata.version('tidalog')}", "wall": wall, "cpu": cpu, "results": results}


def _table(rows: np.ndarray) -> pa.Table:  # type: ignore[type-arg]
    return pa.table({"a": pa.array(rows[:, 0]), "b": pa.array(rows[:, 1])})


if __name__ == "__main__":
    main(run)
