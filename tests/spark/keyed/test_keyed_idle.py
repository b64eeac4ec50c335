"""The time of keyed streams in which nothing comes: it moves with the clock, for every key, exactly once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from keyed_idle_driver import PROGRAM
from keyed_windows import FromScratch, TimedRow, folded
from keyed_windows_workspace import KEYS, LIMIT, SCHEMA, WindowedKeys, stopped_when

from tidalog.model.window_times import NEVER
from tidalog.spark.keyed.clock import ClockState, read_clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("keyed_idle_driver.py")


def killed(root: Path, *about: object) -> None:
    path = os.pathsep.join([str(DRIVER.parents[1]), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, str(DRIVER), str(root), *map(str, about)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=400,
        start_new_session=True,
    )
    assert ended.returncode == -9, ended.stderr


def chain(key: str, label: int, at: int) -> list[TimedRow]:
    return [TimedRow(key, label, "+", "edge", (f"n{label}", f"n{n}"), at) for n in (label + 1, label + 2)]


@pytest.mark.parametrize(
    ("point", "times"), [("time advanced", 1), pytest.param("changes written", 2, marks=pytest.mark.slow)]
)
def test_a_kill_does_not_move_time_twice(spark: SparkSession, tmp_path: Path, point: str, times: int) -> None:
    """Nor is an advance forgotten that was logged before the kill."""
    workspace = WindowedKeys(spark, tmp_path, PROGRAM)
    workspace.write([row for key in KEYS for row in chain(key, 1, 100)])
    killed(tmp_path, point, times)
    clock = read_clock(tmp_path / "checkpoint")
    assert clock.advance >= 102_000_000
    workspace.run(buckets=4)
    workspace.alone.advance(read_clock(tmp_path / "checkpoint").now // 1_000_000)
    workspace.check()
    assert folded(workspace.changes()) == {}
    assert {row[-1] for row in workspace.changes() if row[2] == "-"} == {"expired"}
    workspace.write(chain(KEYS[0], 2, 10_000))
    totals = workspace.run(buckets=4)
    workspace.check()
    assert (totals.rows, totals.batches) == (2, 1)


@pytest.mark.slow
def test_time_moves_for_keys_in_other_buckets_too(spark: SparkSession, tmp_path: Path) -> None:
    """Only where something is due: later facts stay, and the clock rests."""
    program = "@window edge :- range 30s . @window node :- range 1d . quiet(?x) :- node(?x), ~edge(?x, _) ."
    workspace = WindowedKeys(spark, tmp_path, program)
    scratch = FromScratch(program)
    at = 1000
    for round_, buckets in enumerate((4, 7, 2), 1):
        rows = [TimedRow(key, round_, "+", "node", (f"n{round_}",), at) for key in KEYS]
        rows += [row for key in KEYS[round_:] for row in chain(key, round_, at - 29)]
        rows.sort(key=lambda row: (row.key, row.label))
        workspace.write(rows)
        scratch.apply(rows)
        query = workspace.started(workspace.stream(buckets=buckets), idle_advance="500ms")
        folder = sorted((tmp_path / "checkpoint").glob("generation-*"))[-1:] or [tmp_path / "checkpoint"]
        stopped_when(query, lambda folder=folder[0], at=at: read_clock(folder).now > at * 1_000_000)
        clock = read_clock(folder[0])
        scratch.advance(clock.now // 1_000_000)
        assert folded(workspace.changes()) == scratch.facts()
        assert clock.advance == clock.now and clock.due == (1000 + 86_400) * 1_000_000
        at = clock.now // 1_000_000 + 100
    assert all("edge" not in {name for name, _ in facts} for facts in scratch.facts().values())
    late = {(row["values"]["farm"], row["values"]["update"]) for row in workspace.quarantined()}
    assert late == scratch.late


def test_without_times_it_is_that_of_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    workspace = WindowedKeys(spark, tmp_path, "@window edge :- tumbling 1s . seen(?x) :- edge(?x, _) .")
    workspace.write([TimedRow(key, 1, "+", "edge", ("x", "y"), None) for key in KEYS])
    before = time.time_ns() // 1000
    stream = workspace.stream(workspace.frame(SCHEMA))
    query = workspace.started(stream, idle_advance="200ms")
    stopped_when(query, lambda: query.totals.expired == 2 * len(KEYS))
    assert folded(workspace.changes()) == {}
    clock = read_clock(tmp_path / "checkpoint")
    assert before < clock.now <= time.time_ns() // 1000 and clock.due == NEVER
    assert query.totals.rows == len(KEYS)


def test_a_stream_without_windows_has_no_clock(spark: SparkSession, tmp_path: Path) -> None:
    workspace = WindowedKeys(spark, tmp_path, "seen(?x) :- edge(?x, _) .")
    workspace.write(chain(KEYS[0], 1, 100))
    query = workspace.started(workspace.stream(), idle_advance="100ms", trigger="available-now")
    assert query.awaitTermination(LIMIT)
    assert read_clock(tmp_path / "checkpoint") == ClockState()
