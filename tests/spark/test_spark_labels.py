"""Updates keep their order and stay whole wherever batches end; what comes too late is never lost."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from update_streams import PROGRAM, Row, Workspace, check_counts, random_stream, write_files

from tidalog.model.errors import TidalogError
from tidalog.spark.feed import feed_files
from tidalog.spark.progress import BatchReport, Totals
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MATCHED = PROGRAM + ":- edge(?x, _), ~node(?x) ."
"""Every edge begins at a node: true of updates that are whole."""


def quarantined(workspace: Workspace) -> list[dict[str, Any]]:
    folder = workspace.store / "spark" / "quarantine"
    files = sorted(folder.iterdir()) if folder.exists() else []
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def changes_by_update(workspace: Workspace) -> dict[object, list[tuple[object, ...]]]:
    found: dict[object, list[tuple[object, ...]]] = {}
    for file in feed_files(workspace.feed):
        for row in pq.read_table(file.path).to_pylist():
            found.setdefault(row["update"], []).append(tuple(row.values())[1:])
    return {label: sorted(rows, key=repr) for label, rows in found.items()}


class Progress:
    """The latest totals of a stream, to wait for."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._totals: Totals | None = None

    def __call__(self, report: BatchReport, totals: Totals) -> None:
        with self._news:
            check_counts(totals)
            self._totals = totals
            self._news.notify_all()

    def wait_for(self, what: Callable[[Totals], bool]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self._totals is not None and what(self._totals), 60)


class TestUpdatesInParts:
    @pytest.mark.parametrize("how", [{}, {"latest_only": True}, {"look_ahead": 3, "look_ahead_wait": 60.0}])
    def test_borders_of_batches_within_updates_change_nothing(
        self, spark: SparkSession, tmp_path: Path, how: dict[str, Any]
    ) -> None:
        stream = random_stream(len(how) + 40)
        workspaces = [Workspace(spark, tmp_path / name) for name in ("whole", "cut")]
        for workspace, parts in zip(workspaces, ([stream.rows], stream.cut(5, seed=1)), strict=True):
            write_files(workspace.input, parts)
            totals = workspace.run(**how)
            assert totals.applied == len(stream.rows)
            workspace.check(stream.explicit)
        if "latest_only" not in how:
            assert changes_by_update(workspaces[0]) == changes_by_update(workspaces[1])

    def test_an_update_in_many_batches_is_one_update(self, workspace: Workspace) -> None:
        rows: list[Row] = [
            (7, "+", ("edge", "a", "b")),
            (7, "-", ("edge", "a", "b")),
            (7, "+", ("node", "a")),
        ]
        write_files(workspace.input, [[row] for row in rows])
        query = maintain(workspace.read(), MATCHED, workspace.store).start(
            workspace.feed, trigger="available-now"
        )
        assert query.awaitTermination(120), "an edge whose node comes in another batch breaks nothing"
        assert (query.totals.updates, query.totals.applied) == (1, 3)
        workspace.check({("edge", "a", "b"), ("node", "a")})

    def test_an_update_goes_on_after_a_restart_if_it_was_held(self, workspace: Workspace) -> None:
        """A stream that fails while an update waits leaves it in the log, to go on."""
        rows: list[Row] = [(1, "+", ("edge", "a", "b")), (1, "+", ("node", "a")), (2, "+", ("node", "b"))]
        write_files(workspace.input, [rows[:1], [(1, "?", ("edge", "a", "b"))], rows[1:]])

        def run(**how: Any) -> Totals:
            query = maintain(workspace.read(), MATCHED, workspace.store, **how).start(trigger="available-now")
            assert query.awaitTermination(120)
            return query.totals

        with pytest.raises(TidalogError, match="T115"):
            run(strict=True)
        workspace.check(set())
        assert run().recovered == 1
        workspace.check({("edge", "a", "b"), ("node", "a"), ("node", "b")})

    def test_an_update_is_applied_when_nothing_comes_behind_it(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))]])
        progress = Progress()
        query = workspace.maintained(update_wait=0.2).start(workspace.feed, listener=progress)
        progress.wait_for(lambda totals: totals.applied == 1)
        write_files(workspace.input, [[(1, "+", ("edge", "b", "c"))]])
        progress.wait_for(lambda totals: totals.quarantined == 1)
        query.stop()
        workspace.check({("edge", "a", "b")})

    def test_everything_available_is_whole_to_who_waits_for_it(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))]])
        query = workspace.maintained(update_wait=600).start(workspace.feed)
        query.processAllAvailable()
        assert (query.totals.applied, query.totals.waiting) == (1, 0)
        query.stop()

    def test_an_update_waits_for_the_batch_that_is_on_its_way(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))]])
        progress = Progress()
        query = workspace.maintained(update_wait=600).start(workspace.feed, listener=progress)
        progress.wait_for(lambda totals: totals.waiting == 1)
        write_files(workspace.input, [[(1, "+", ("edge", "b", "c")), (2, "+", ("node", "a"))]])
        progress.wait_for(lambda totals: totals.applied == 2 and totals.waiting == 1)
        query.stop()
        assert query.totals.updates == 2
        workspace.check({("edge", "a", "b"), ("edge", "b", "c"), ("node", "a")})


class TestTooLate:
    def test_rows_of_an_update_that_is_applied_go_to_quarantine(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))], [(2, "+", ("edge", "b", "c"))]])
        workspace.run()
        late: list[Row] = [(1, "+", ("edge", "x", "y")), (2, "+", ("node", "z")), (3, "+", ("node", "new"))]
        write_files(workspace.input, [late])
        totals = workspace.run()
        assert (totals.applied, totals.quarantined, totals.skipped) == (1, 2, 0)
        found = quarantined(workspace)
        assert [row["number"] for row in found] == ["T125", "T125"]
        assert found[0]["message"] == "update 1 comes too late: it was applied with other rows"
        assert found[1]["file"].endswith("part-0002.parquet")
        assert (found[1]["row"], found[1]["values"]["arg1"]) == (2, "z")
        workspace.check({("edge", "a", "b"), ("edge", "b", "c"), ("node", "new")})

    def test_an_update_that_never_was_and_comes_behind_a_higher_label_goes_to_quarantine(
        self, workspace: Workspace
    ) -> None:
        write_files(workspace.input, [[(1, "+", ("node", "a"))], [(9, "+", ("node", "b"))]])
        write_files(workspace.input, [[(5, "+", ("node", "c"))], [(10, "+", ("node", "d"))]])
        totals = workspace.run()
        assert (totals.applied, totals.quarantined, totals.skipped) == (3, 1, 0)
        (row,) = quarantined(workspace)
        assert row["message"] == "update 5 comes too late: update 9 came before it"

    def test_the_same_rows_in_any_order_and_files_are_a_duplicate(self, workspace: Workspace) -> None:
        rows: list[Row] = [(1, "+", ("node", name)) for name in "abcdef"]
        write_files(workspace.input, [rows[:2], rows[2:], rows[:2]])
        assert (workspace.run().skipped, quarantined(workspace)) == (0, []), (
            "held, an update has its rows twice"
        )
        write_files(
            workspace.input, [[(2, "+", ("node", "g"))], [(2, "+", ("node", "g"))], [*rows[::-1], *rows[:2]]]
        )
        totals = workspace.run()
        assert (totals.applied, totals.skipped, totals.quarantined) == (1, 9, 0)
        workspace.check({("node", name) for name in "abcdefg"})

    def test_strict_stops_at_rows_that_come_too_late(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("node", "a"))]])
        workspace.run()
        write_files(workspace.input, [[(1, "+", ("node", "b"))]])
        with pytest.raises(TidalogError, match="update 1 comes too late"):
            workspace.run(strict=True)
        workspace.check({("node", "a")})

    def test_a_batch_that_comes_again_keeps_what_was_set_aside(self, workspace: Workspace) -> None:
        write_files(
            workspace.input, [[(5, "+", ("node", "a"))], [(3, "+", ("node", "b")), (6, "+", ("node", "c"))]]
        )
        workspace.run()
        before = quarantined(workspace)
        assert [row["values"]["update"] for row in before] == [3]
        commits = workspace.checkpoint / "commits"
        shutil.move(commits / "1", workspace.root / "commit")
        (commits / ".1.crc").unlink(missing_ok=True)
        totals = workspace.run()
        assert (totals.rows, totals.skipped, totals.quarantined) == (2, 2, 0)
        assert quarantined(workspace) == before
        workspace.check({("node", "a"), ("node", "c")})
