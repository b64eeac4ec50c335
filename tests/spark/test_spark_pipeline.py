"""The pipeline on real Spark: what goes in, in whatever way, is in the store, the feed and the files once."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.parquet as pq
import pytest
from update_streams import (
    PREDICATES,
    PROGRAM,
    Row,
    Stream,
    Workspace,
    check_counts,
    consequences,
    random_stream,
    write_file,
    write_files,
)

import tidalog
from tidalog.model.errors import TidalogError
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.feed import feed_files
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def number_of(error: TidalogError) -> str:
    return error.diagnostics[0].number


MODES: list[tuple[str, dict[str, Any]]] = [
    ("csv", {}),
    ("parquet", {"look_ahead": 3, "look_ahead_wait": 60.0, "fsync": "batch"}),
    ("json", {"latest_only": True, "materialised": True}),
    ("parquet", {"look_ahead": 0, "strategy": "bf", "materialised": True}),
]


class TestEveryMode:
    @pytest.mark.parametrize(("ending", "how"), MODES, ids=["csv", "held back", "latest only", "bf"])
    def test_store_feed_and_files_are_what_the_updates_make_from_scratch(
        self, workspace: Workspace, ending: str, how: dict[str, Any]
    ) -> None:
        stream = random_stream(seed=len(how) + 7)
        parts = stream.parts(4)
        write_files(workspace.input, parts[:3], ending)
        workspace.run(workspace.read(ending), **how)
        write_files(workspace.input, parts[3:], ending)
        totals = workspace.run(workspace.read(ending), **how)
        workspace.check(stream.explicit)
        assert totals.rows == len(parts[3])
        if how.get("materialised"):
            wanted = consequences(stream.explicit)
            for name in PREDICATES:
                table = pq.read_table(workspace.root / "materialised" / "current" / f"{name}.parquet")
                assert set(zip(*table.to_pydict().values(), strict=True)) == wanted[name]

    def test_latest_only_applies_a_batch_as_one_update(self, workspace: Workspace) -> None:
        stream = random_stream(3)
        write_files(workspace.input, stream.parts(1))
        workspace.run(latest_only=True, update_wait=0)
        assert [report.updates for report in workspace.reports] == [30]
        assert len(feed_files(workspace.feed)) == 2, "the beginning, and one update"
        workspace.check(stream.explicit)


class TestOrder:
    def test_updates_of_a_batch_come_in_the_order_of_their_labels_whatever_file_they_are_in(
        self, workspace: Workspace
    ) -> None:
        rows: list[Row] = [(2, "-", ("edge", "a", "b")), (10, "+", ("edge", "b", "c"))]
        others: list[Row] = [(9, "-", ("edge", "b", "c")), (1, "+", ("edge", "a", "b"))]
        write_files(workspace.input, [rows, others], "csv")
        totals = workspace.run(workspace.read("csv", files=2))
        assert totals.updates == 4
        workspace.check({("edge", "b", "c")})

    def test_labels_that_are_text_are_numbers_if_they_look_like_it(
        self, workspace: Workspace, spark: SparkSession
    ) -> None:
        rows: list[Row] = [(9, "+", ("edge", "a", "b")), (10, "-", ("edge", "a", "b"))]
        write_files(workspace.input, [rows, [(11, "+", ("node", "a"))]], "csv")
        schema = "update string, op string, predicate string, arg1 string, arg2 string"
        frame = spark.readStream.schema(schema).option("header", True).option("maxFilesPerTrigger", 1)
        workspace.run(frame.csv(str(workspace.input)))
        workspace.check({("node", "a")})

    def test_duplicates_and_older_updates_are_passed_over_and_counted(self, workspace: Workspace) -> None:
        stream = random_stream(5)
        write_files(workspace.input, stream.parts(2))
        workspace.run()
        shutil.copy(workspace.input / "part-0000.parquet", workspace.input / "again-1.parquet")
        shutil.copy(workspace.input / "part-0001.parquet", workspace.input / "again-2.parquet")
        totals = workspace.run()
        assert totals.skipped == totals.rows == len(stream.rows)
        workspace.check(stream.explicit)

    def test_without_labels_a_batch_is_an_update(self, workspace: Workspace) -> None:
        first: list[Row] = [(0, "+", ("edge", "a", "b")), (0, "-", ("edge", "a", "b"))]
        write_files(
            workspace.input, [first, [(0, "-", ("edge", "a", "b")), (0, "+", ("node", "a"))]], labels=False
        )
        totals = workspace.run(workspace.read(labels=False))
        assert totals.updates == 2
        workspace.check({("node", "a")})


class TestHeldBack:
    def test_the_last_update_waits_for_the_next_batch_and_is_applied_when_none_comes(
        self, workspace: Workspace
    ) -> None:
        stream = random_stream(8, updates=6)
        write_files(workspace.input, stream.parts(1))
        applied = threading.Event()
        waited: list[int] = []

        def listen(report: Any, totals: Any) -> None:
            waited.append(totals.waiting)
            check_counts(totals)
            if not totals.waiting:
                applied.set()

        query = workspace.maintained(look_ahead_wait=0.5).start(workspace.feed, listener=listen)
        assert applied.wait(60), "nothing came, so the last one is applied"
        assert waited[0] > 0
        assert query.isActive
        query.stop()
        workspace.check(stream.explicit)

    def test_stopping_applies_what_is_held_back(self, workspace: Workspace) -> None:
        stream = random_stream(9, updates=6)
        write_files(workspace.input, stream.parts(1))
        query = workspace.maintained(look_ahead_wait=600.0).start(workspace.feed)
        query.processAllAvailable()
        assert query.totals.waiting
        query.stop()
        assert not query.totals.waiting
        assert query.exception() is None
        workspace.check(stream.explicit)


class TestStartingAgain:
    def test_nothing_comes_twice_and_nothing_is_left_out(self, workspace: Workspace) -> None:
        stream = random_stream(11)
        for part in stream.parts(3):
            write_files(workspace.input, [part])
            assert workspace.run(changes=True).skipped == 0
        workspace.check(stream.explicit)

    def test_without_its_checkpoint_labels_tell_what_the_store_has_had(self, workspace: Workspace) -> None:
        stream = random_stream(12)
        parts = stream.parts(3)
        write_files(workspace.input, parts[:2])
        workspace.run()
        shutil.rmtree(workspace.checkpoint)
        write_files(workspace.input, parts[2:])
        assert workspace.run().skipped == len(parts[0]) + len(parts[1])
        workspace.check(stream.explicit)

    def test_without_checkpoint_and_labels_it_is_t118_unless_the_updates_are_others(
        self, workspace: Workspace
    ) -> None:
        write_files(workspace.input, [[(0, "+", ("edge", "a", "b"))]], labels=False)
        workspace.run(workspace.read(labels=False))
        shutil.rmtree(workspace.checkpoint)
        with pytest.raises(SparkError) as raised:
            workspace.run(workspace.read(labels=False))
        assert number_of(raised.value) == "T118"
        shutil.rmtree(workspace.input)
        write_files(workspace.input, [[(0, "-", ("edge", "a", "b")), (0, "+", ("node", "b"))]], labels=False)
        workspace.run(workspace.read(labels=False), other_updates=True)
        workspace.check({("node", "b")})

    def test_a_store_that_is_gone_is_t117_if_its_checkpoint_is_there(self, workspace: Workspace) -> None:
        stream = random_stream(13, updates=4)
        write_files(workspace.input, stream.parts(1))
        elsewhere = workspace.root / "checkpoint"
        workspace.run(checkpoint=elsewhere)
        shutil.rmtree(workspace.store)
        shutil.rmtree(workspace.feed)
        with pytest.raises(SparkError) as raised:
            workspace.run(checkpoint=elsewhere)
        assert number_of(raised.value) == "T117"
        shutil.rmtree(elsewhere)
        workspace.run(checkpoint=elsewhere)
        workspace.check(stream.explicit)

    def test_a_checkpoint_that_is_older_than_the_store_plans_batches_anew(self, workspace: Workspace) -> None:
        stream = random_stream(14)
        parts = stream.parts(4)
        write_files(workspace.input, parts[:1])
        workspace.run()
        shutil.copytree(workspace.checkpoint, workspace.root / "old")
        write_files(workspace.input, parts[1:3])
        workspace.run()
        shutil.rmtree(workspace.checkpoint)
        (workspace.root / "old").rename(workspace.checkpoint)
        write_files(workspace.input, parts[3:])
        # What was batch 1 and 2 is one batch now, with new updates in it.
        totals = workspace.run(workspace.read(files=3))
        assert totals.skipped == len(parts[1]) + len(parts[2])
        workspace.check(stream.explicit)
        assert workspace.run().rows == 0

    def test_a_store_that_is_open_elsewhere_is_refused(self, workspace: Workspace) -> None:
        write_files(workspace.input, random_stream(1, updates=2).parts(1))
        workspace.run()
        with tidalog.open(workspace.store), pytest.raises(TidalogError) as raised:
            workspace.run()
        assert number_of(raised.value) == "T091"


class TestBadInput:
    BAD: ClassVar[list[Row]] = [
        (2, "?", ("edge", "a", "b")),
        (3, "+", ("edges", "a", "b")),
        (4, "+", ("edge", "a")),
    ]

    def test_bad_rows_go_to_quarantine_and_the_rest_is_applied(self, workspace: Workspace) -> None:
        good: list[Row] = [(1, "+", ("edge", "a", "b")), (5, "+", ("node", "c"))]
        write_files(workspace.input, [[*good, *self.BAD]])
        totals = workspace.run()
        assert (totals.rows, totals.applied, totals.quarantined) == (5, 2, 3)
        (file,) = (workspace.store / "spark" / "quarantine").iterdir()
        assert len(file.read_text().splitlines()) == 3
        workspace.check({("edge", "a", "b"), ("node", "c")})

    def test_strict_stops_before_anything_of_the_batch_is_applied(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))], [(2, "+", ("node", "x")), *self.BAD]])
        with pytest.raises(SparkError) as raised:
            workspace.run(strict=True, update_wait=0)
        assert number_of(raised.value) == "T115"
        assert '"?" is not an operation' in str(raised.value)
        assert "part-0001.parquet, row 2" in str(raised.value)
        workspace.check({("edge", "a", "b")})
        workspace.run()
        workspace.check({("edge", "a", "b"), ("node", "x")})

    def test_a_file_that_is_cut_off_stops_the_stream_until_it_is_mended(self, workspace: Workspace) -> None:
        stream = random_stream(15)
        parts = stream.parts(3)
        write_files(workspace.input, parts)
        broken = workspace.input / "part-0001.parquet"
        whole, times = broken.read_bytes(), (broken.stat().st_atime, broken.stat().st_mtime)
        broken.write_bytes(whole[: len(whole) // 2])
        os.utime(broken, times)
        with pytest.raises(SparkError) as raised:
            workspace.run()
        assert number_of(raised.value) == "T116"
        assert broken.name in str(raised.value)
        broken.write_bytes(whole)
        workspace.run()
        workspace.check(stream.explicit)

    def test_columns_that_change_their_type_stop_the_stream(self, workspace: Workspace) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))]])
        other = pq.read_table(workspace.input / "part-0000.parquet")
        other = other.set_column(other.column_names.index("arg1"), "arg1", [[7]])
        pq.write_table(other, workspace.input / "part-0001.parquet")
        with pytest.raises(SparkError) as raised:
            workspace.run(update_wait=0)
        assert number_of(raised.value) == "T116"
        workspace.check({("edge", "a", "b")})

    def test_columns_that_are_new_are_passed_over_and_those_that_are_gone_are_bad_rows(
        self, workspace: Workspace
    ) -> None:
        write_files(workspace.input, [[(1, "+", ("edge", "a", "b"))]])
        first = pq.read_table(workspace.input / "part-0000.parquet")
        second = first.set_column(0, "update", [[2]]).append_column("note", [["new"]])
        second = second.set_column(second.column_names.index("arg2"), "arg2", [["c"]])
        pq.write_table(second, workspace.input / "part-0001.parquet")
        pq.write_table(
            first.set_column(0, "update", [[3]]).drop_columns(["op"]), workspace.input / "part-2.parquet"
        )
        assert workspace.run().quarantined == 1
        workspace.check({("edge", "a", "b"), ("edge", "a", "c")})

    def test_an_update_that_breaks_a_constraint_stops_the_stream_and_the_next_run_goes_on_behind_it(
        self, workspace: Workspace, caplog: pytest.LogCaptureFixture
    ) -> None:
        program = PROGRAM + "\n:- node(bad) ."
        rows: list[Row] = [(label, "+", ("node", name)) for label, name in enumerate(("a", "bad", "b"), 1)]
        write_files(workspace.input, [rows])

        def run() -> None:
            query = maintain(workspace.read(), program, workspace.store).start(
                workspace.feed, trigger="available-now"
            )
            query.awaitTermination(60)

        with caplog.at_level("ERROR"), pytest.raises(TidalogError) as raised:
            run()
        assert number_of(raised.value) == "T055"
        assert [d.number for d in raised.value.diagnostics] == ["T055", "T126"]
        said = str(raised.value)
        assert "update 2 of batch 0 is refused" in said
        assert "part-0000.parquet" in said
        assert caplog.records == [], "an error is reported once"
        run()
        workspace.check({("node", "a"), ("node", "b")})


class TestFeed:
    def test_a_feed_that_begins_later_begins_with_all_facts(self, workspace: Workspace) -> None:
        stream = random_stream(16)
        parts = stream.parts(2)
        write_files(workspace.input, parts[:1])
        workspace.run(changes=False)
        write_files(workspace.input, parts[1:])
        workspace.run()
        workspace.check(stream.explicit)

    def test_a_feed_catches_up_with_what_happened_while_nobody_wrote_to_it(
        self, workspace: Workspace
    ) -> None:
        stream = random_stream(17)
        parts = stream.parts(3)
        for number, part in enumerate(parts):
            write_files(workspace.input, [part])
            workspace.run(changes=number != 1)
        with tidalog.open(workspace.store) as kb:
            kb.insert("node", [("by hand",)])
            kb.materialise()
        workspace.run()
        assert workspace.fed() == workspace.facts() == consequences({*stream.explicit, ("node", "by hand")})

    def test_the_feed_of_another_store_is_t119(self, workspace: Workspace) -> None:
        write_files(workspace.input, random_stream(1, updates=2).parts(1))
        workspace.run()
        shutil.rmtree(workspace.store)
        with pytest.raises(SparkError) as raised:
            workspace.run()
        assert number_of(raised.value) == "T119"

    def test_a_table_is_no_stream(self, workspace: Workspace, spark: SparkSession) -> None:
        write_file(workspace.root / "x.parquet", [(1, "+", ("edge", "a", "b"))])
        with pytest.raises(SparkError) as raised:
            maintain(spark.read.parquet(str(workspace.root / "x.parquet")), PROGRAM)
        assert number_of(raised.value) == "T114"


def test_without_a_store_everything_is_gone_at_the_end(workspace: Workspace) -> None:
    stream: Stream = random_stream(18)
    write_files(workspace.input, stream.parts(2))
    query = maintain(workspace.read(), PROGRAM).start(workspace.feed, trigger="available-now")
    query.awaitTermination(60)
    assert workspace.fed() == consequences(stream.explicit)
    assert not query._pipeline.kb.path.exists()
