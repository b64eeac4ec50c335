"""Inputs and moments that a stream was once wrong about: each must be reported, counted or handled."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from update_streams import Row, Workspace, check_counts, table, write_files

import tidalog
from tidalog.model.errors import TidalogError
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.feed import facts_of_feed, feed_files
from tidalog.spark.materialised import Materialised
from tidalog.spark.progress import BatchReport, Totals
from tidalog.spark.quarantine import write_bad_rows
from tidalog.spark.sources import read_stream
from tidalog.spark.stream import maintain
from tidalog.storage import faults

if TYPE_CHECKING:
    pass

CONSTRAINED = "linked(?x) :- edge(?x, _) . :- edge(?x, ?x) ."
EDGE: list[Row] = [(1, "+", ("edge", "a", "b"))]


FaultPoints = dict[str, Callable[[], object]]
"""Functions to call at named points of a batch."""


@pytest.fixture
def fault_points() -> Iterator[FaultPoints]:
    """Calls functions at named points of a batch."""
    known: FaultPoints = {}
    before, faults.at = faults.at, lambda point: known.get(point, lambda: None)()
    yield known
    faults.at = before


def write_dated(workspace: Workspace, *dates: datetime.date) -> None:
    workspace.input.mkdir()
    rows: list[Row] = [(0, "+", ("edge", f"n{number}", "b")) for number in range(len(dates))]
    dated = table(rows).set_column(0, "update", pa.array(dates))
    pq.write_table(dated, workspace.input / "dated.parquet")


class TestErrorsAreReported:
    def test_whatever_stops_the_engine_s_thread_ends_the_stream_with_an_error(
        self, workspace: Workspace, fault_points: FaultPoints
    ) -> None:
        write_files(workspace.input, [EDGE])

        def fails() -> None:
            raise ArithmeticError("nobody expected this")

        fault_points["changes written"] = fails
        with pytest.raises(SparkError, match="nobody expected this"):
            workspace.run()
        assert "nobody expected this" in (workspace.feed / "_failed.txt").read_text()

    def test_stopping_while_a_batch_is_read_is_no_failure_of_the_feed(
        self, workspace: Workspace, fault_points: FaultPoints
    ) -> None:
        write_files(workspace.input, [EDGE])
        reads, goes_on = threading.Event(), threading.Event()

        def waits() -> None:
            reads.set()
            assert goes_on.wait(60)

        fault_points["batch begun"] = waits
        query = workspace.maintained().start(workspace.feed)
        assert reads.wait(60)
        stopping = threading.Thread(target=query.stop)
        stopping.start()
        query._pipeline.close()  # the store is let go of, and the batch is still to be read
        goes_on.set()
        stopping.join(120)
        assert not query.isActive
        assert query.exception() is None
        assert not (workspace.feed / "_failed.txt").exists()

    def test_an_update_that_is_refused_while_nobody_waits_leaves_no_traceback(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[object] = []
        monkeypatch.setattr(threading, "excepthook", seen.append)
        write_files(workspace.input, [[(1, "+", ("edge", "a", "a"))]])
        held = maintain(workspace.read(), CONSTRAINED, workspace.store, look_ahead=2, look_ahead_wait=0.1)
        with pytest.raises(TidalogError, match="constraint"):
            held.start().awaitTermination(120)
        assert seen == []

    def test_another_folder_of_updates_needs_a_checkpoint_of_its_own(self, workspace: Workspace) -> None:
        write_files(workspace.input, [EDGE])
        workspace.run()
        workspace.input.rename(workspace.root / "before")
        write_files(workspace.input, [[(2, "+", ("edge", "b", "c"))]])
        elsewhere = workspace.root / "elsewhere"
        workspace.input.rename(elsewhere)
        frame = read_stream(workspace.spark, str(elsewhere))
        with pytest.raises(SparkError, match="checkpoint"):
            workspace.run(frame)
        workspace.run(frame, checkpoint=workspace.root / "other")
        workspace.check({("edge", "a", "b"), ("edge", "b", "c")})


class TestCounts:
    def test_a_refused_update_is_counted_and_so_is_what_waits_behind_it(self, workspace: Workspace) -> None:
        rows: list[Row] = [(n, "+", ("edge", *ends)) for n, ends in enumerate(("ab", "cc", "de"), 1)]
        write_files(workspace.input, [rows])
        reports: list[BatchReport] = []

        def listen(report: BatchReport, _: Totals) -> None:
            reports.append(report)

        query = maintain(workspace.read(), CONSTRAINED, workspace.store).start(listener=listen)
        with pytest.raises(TidalogError, match="constraint"):
            query.awaitTermination(120)
        check_counts(query.totals)
        totals = query.totals
        assert (totals.rows, totals.applied, totals.refused, totals.waiting) == (3, 1, 1, 1)
        assert len(reports) == 1

    def test_bad_rows_of_a_checkpoint_that_was_put_back_are_beside_those_before(self, tmp_path: Path) -> None:
        query = "0a1b2c3d-0000-0000-0000-000000000000"
        files = {write_bad_rows(tmp_path, source, 3, []) for source in (query, f"{query}#1", f"{query}#2")}
        assert len(files) == 3


class TestLabels:
    def test_labels_that_are_dates_are_texts_of_the_feed(self, workspace: Workspace) -> None:
        write_dated(workspace, datetime.date(2024, 1, 2), datetime.date(2024, 1, 1))
        totals = workspace.run(read_stream(workspace.spark, str(workspace.input)))
        assert totals.applied == 2
        workspace.check({("edge", "n0", "b"), ("edge", "n1", "b")})
        assert set(facts_of_feed(workspace.feed)["update"].to_pylist()) == {"2024-01-01", "2024-01-02"}

    def test_labels_of_another_kind_than_those_before_are_t127(self, workspace: Workspace) -> None:
        write_files(workspace.input, [EDGE])
        workspace.run()
        workspace.input.rename(workspace.root / "before")
        write_dated(workspace, datetime.date(2024, 1, 2))
        with pytest.raises(SparkError, match="T127"):
            workspace.run(
                read_stream(workspace.spark, str(workspace.input)), checkpoint=workspace.root / "other"
            )
        workspace.check({("edge", "a", "b")})

    def test_integers_behind_texts_go_by_their_text_if_that_is_said(self, workspace: Workspace) -> None:
        workspace.input.mkdir()
        (workspace.input / "a.csv").write_text("update,op,predicate,arg1,arg2\n1a,+,edge,a,b\n")
        workspace.run(read_stream(workspace.spark, str(workspace.input)), changes=False, text_labels=True)
        others = workspace.root / "others"
        write_files(others, [[(1, "+", ("node", "old")), (2, "+", ("node", "new"))]])
        how = {"checkpoint": workspace.root / "other"}
        with pytest.raises(SparkError, match="T127"):
            workspace.run(read_stream(workspace.spark, str(others)), **how)
        totals = workspace.run(read_stream(workspace.spark, str(others)), **how, text_labels=True)
        assert (totals.applied, totals.quarantined) == (1, 1), "1 is before 1a, and was never there"
        workspace.check({("edge", "a", "b"), ("node", "new")})

    def test_a_text_among_the_first_labels_is_a_bad_row(self, workspace: Workspace) -> None:
        workspace.input.mkdir()
        lines = ["update,op,predicate,arg1,arg2", "9,+,edge,a,b", "x,+,edge,b,c", "10,-,edge,a,b"]
        (workspace.input / "a.csv").write_text("\n".join(lines) + "\n")
        totals = workspace.run(read_stream(workspace.spark, str(workspace.input)))
        assert (totals.applied, totals.quarantined) == (2, 1)
        workspace.check(set())

    def test_labelled_and_unlabelled_streams_of_one_store_do_not_count_together(
        self, workspace: Workspace
    ) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))]])
        workspace.run()
        others = workspace.root / "others"
        write_files(others, [[(0, "+", ("node", "x"))], [(0, "+", ("node", "y"))]], labels=False)
        unlabelled = read_stream(workspace.spark, str(others), options={"maxFilesPerTrigger": "1"})
        workspace.run(unlabelled, checkpoint=workspace.root / "other", other_updates=True)
        write_files(workspace.input, [[(2, "+", ("edge", "b", "c"))]])
        totals = workspace.run()
        assert (totals.applied, totals.rows) == (1, 1), "update 2 is new, whatever has come without labels"
        workspace.check({("edge", "a", "b"), ("edge", "b", "c"), ("node", "x"), ("node", "y")})

    def test_a_label_with_a_line_end_is_no_integer(self, workspace: Workspace) -> None:
        workspace.input.mkdir()
        line = '{"update": "%s", "op": "+", "predicate": "node", "arg1": "%s"}\n'
        (workspace.input / "a.json").write_text(line % ("1", "a"))
        workspace.run(read_stream(workspace.spark, str(workspace.input), arguments=2))
        (workspace.input / "b.json").write_text(line % (r"2\n", "b") + line % ("3", "c"))
        totals = workspace.run(read_stream(workspace.spark, str(workspace.input), arguments=2))
        assert (totals.applied, totals.quarantined) == (1, 1)

    def test_a_feed_of_integers_refuses_labels_that_are_text(self, workspace: Workspace) -> None:
        workspace.input.mkdir()
        workspace.run(workspace.read())
        (workspace.input / "a.csv").write_text("update,op,predicate,arg1,arg2\nx,+,edge,a,b\n")
        with pytest.raises(SparkError, match="labels"):
            frame = read_stream(workspace.spark, str(workspace.input))
            workspace.run(frame, checkpoint=workspace.root / "other", text_labels=True)

    def test_what_a_feed_has_missed_goes_by_the_last_label(self, workspace: Workspace) -> None:
        write_files(workspace.input, [EDGE])
        workspace.run()
        write_files(workspace.input, [[(2, "-", ("edge", "a", "b"))]])
        workspace.run(changes=False)
        workspace.run()
        missed = pq.read_table(feed_files(workspace.feed)[-1].path)
        assert set(missed["op"].to_pylist()) == {"-"}
        assert set(missed["update"].to_pylist()) == {2}


class TestPlaces:
    @pytest.mark.parametrize("name", ["a store", "100% städte", "a#b?c"])
    def test_folders_may_be_called_anything(self, workspace: Workspace, name: str) -> None:
        write_files(workspace.input, [EDGE, [(2, "x", ("edge", "b", "c"))]])
        store = workspace.root / name
        for rows in (2, 0):
            query = maintain(workspace.read(), CONSTRAINED, store).start(trigger="available-now")
            assert query.awaitTermination(120)
            assert query.totals.rows == rows
        assert (store / "spark" / "checkpoint" / "metadata").is_file()
        assert len(list((store / "spark" / "quarantine").iterdir())) == 1

    def test_a_folder_that_is_not_there_is_said_to_be_missing(self, workspace: Workspace) -> None:
        for source in (None, "csv"):
            with pytest.raises(SparkError, match=r"there is no .*nowhere"):
                read_stream(workspace.spark, str(workspace.root / "nowhere"), source)

    def test_a_folder_may_be_a_uri(self, workspace: Workspace) -> None:
        write_files(workspace.input, [EDGE])
        workspace.run(read_stream(workspace.spark, f"file://{workspace.input}", "parquet"))
        workspace.check({("edge", "a", "b")})

    def test_the_link_to_the_facts_leads_somewhere_at_every_moment(
        self, tmp_path: Path, fault_points: FaultPoints
    ) -> None:
        current = tmp_path / "facts" / "current"
        there: list[bool] = []
        with tidalog.open() as kb:
            kb.load("edge(a, b) .")
            Materialised(tmp_path / "facts", kb).write(7)
            for point in ("facts written", "facts linked"):
                fault_points[point] = lambda: there.append((current / "edge.parquet").is_file())
            for _ in range(2):
                Materialised(tmp_path / "facts", kb).write(7)
        assert there == [True] * 4
        assert (current / "edge.parquet").is_file()
        assert len(list((tmp_path / "facts").iterdir())) == 3, "two versions and the link"


def test_an_argument_too_many_in_an_object_is_a_bad_row(workspace: Workspace) -> None:
    workspace.input.mkdir()
    line = '{"update": 1, "op": "+", "predicate": "edge", "arg1": "a", "arg2": "b", "arg3": "c"}\n'
    (workspace.input / "a.json").write_text(line)
    totals = workspace.run(read_stream(workspace.spark, str(workspace.input), arguments=2))
    assert totals.quarantined == totals.rows == 1
