"""Keyed streams on a cluster: workers and executors may die at any time, and no key notices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from keyed_oracle import in_batches, random_rows
from keyed_windows import FromScratch, TimedRow, folded, random_batches
from keyed_windows_workspace import WindowedKeys, stopped_when
from keyed_workspace import KEYS, POOL, KeyedWorkspace
from update_streams import run_driver

from tidalog.spark.keyed.clock import ClockState, read_clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("keyed_cluster_driver.py")


def test_workers_and_executors_that_are_killed_leave_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    workspace = KeyedWorkspace(spark, tmp_path)
    batches = in_batches(random_rows(POOL, 11, KEYS, 150), 11, 5)
    workspace.write(batches)
    found = run_driver(DRIVER, tmp_path, timeout=900)
    assert found["workers"] >= 2
    assert (found["executors"], found["rows"], found["batches"]) == (1, sum(map(len, batches)), 5)
    workspace.check()
    more = in_batches(random_rows(POOL, 12, [f"more {key}" for key in KEYS], 30), 12, 2)
    workspace.write(more)  # and another session continues from the checkpoint, with only its state
    workspace.run()
    workspace.check()


@pytest.mark.slow
def test_keys_with_windows_hold_what_follows_from_scratch(spark: SparkSession, tmp_path: Path) -> None:
    """Workers and executors are killed; then time moves alone, in other buckets."""
    program = """
        @window edge :- range 10s step 2s . @window long :- edge, tumbling 30s .
        @window few :- edge, count 3 .
        path(?x, ?y) :- edge(?x, ?y) .
        path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
        both(?x, ?y) :- long(?x, ?y), few(?x, ?y), ~path(?y, ?x) .
        degree(?x, #count(?y)) :- long(?x, ?y) .
        lonely(?x) :- node(?x), ~edge(?x, _) .
    """
    (tmp_path / "windows.rls").write_text(program)
    workspace, scratch = WindowedKeys(spark, tmp_path, program), FromScratch(program)
    batches = [with_times(rows) for rows in random_batches(8, KEYS, 7, 10)]
    for rows in batches[:5]:
        workspace.write(rows)
        scratch.apply(rows)
    found = run_driver(DRIVER, tmp_path, timeout=900)
    assert found["workers"] >= 2
    assert (found["executors"], found["rows"], found["batches"]) == (1, sum(map(len, batches[:5])), 5)
    assert folded(workspace.changes()) == scratch.facts()
    workspace.check()
    for rows, buckets in zip(batches[5:], (7, 2), strict=True):
        shift = (scratch.now or 0) + 20 - min(row.time for row in rows if row.time is not None)
        later = [replace(row, time=None if row.time is None else row.time + shift) for row in rows]
        workspace.write(later)
        scratch.apply(later)
        due = (scratch.now or 0) * 1_000_000
        query = workspace.started(workspace.stream(buckets=buckets), idle_advance="300ms")
        stopped_when(query, lambda due=due: clock_of(tmp_path).now > due)
        scratch.advance(clock_of(tmp_path).now // 1_000_000)
        workspace.alone.advance(scratch.now)
        assert folded(workspace.changes()) == scratch.facts()
    late = {(row["values"]["farm"], row["values"]["update"]) for row in workspace.quarantined()}
    assert late == scratch.late == workspace.alone.late
    assert any(row[-1] == "expired" for row in workspace.changes())


def with_times(rows: list[TimedRow]) -> list[TimedRow]:
    """Those of updates that have a time."""
    timed = {(row.key, row.label) for row in rows if row.time is not None}
    return [row for row in rows if (row.key, row.label) in timed]


def clock_of(root: Path) -> ClockState:
    """The clock of the present generation."""
    checkpoint = root / "checkpoint"
    return read_clock(max(checkpoint.glob("generation-*"), default=checkpoint))
