"""The pipeline on real Spark: what goes in, in whatever way, is in the store, the feed and the files once."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.parquet as pq
import pytest
from update_streams import (
    PREDICATES,
    PROGRAM,
    Place,
    Row,
    Stream,
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


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


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
        self, place: Place, ending: str, how: dict[str, Any]
    ) -> None:
        stream = random_stream(seed=len(how) + 7)
        parts = stream.parts(4)
        write_files(place.input, parts[:3], ending)
        place.run(place.read(ending), **how)
        write_files(place.input, parts[3:], ending)
        totals = place.run(place.read(ending), **how)
        place.check(stream.explicit)
        assert totals.rows == len(parts[3])
        if how.get("materialised"):
            wanted = consequences(stream.explicit)
            for name in PREDICATES:
                table = pq.read_table(place.root / "materialised" / "current" / f"{name}.parquet")
                assert set(zip(*table.to_pydict().values(), strict=True)) == wanted[name]

    def test_latest_only_applies_a_batch_as_one_update(self, place: Place) -> None:
        stream = random_stream(3)
        write_files(place.input, stream.parts(1))
        place.run(latest_only=True, update_wait=0)
        assert [report.updates for report in place.reports] == [30]
        assert len(feed_files(place.feed)) == 2, "the beginning, and one update"
        place.check(stream.explicit)


class TestOrder:
    def test_updates_of_a_batch_come_in_the_order_of_their_labels_whatever_file_they_are_in(
        self, place: Place
    ) -> None:
        rows: list[Row] = [(2, "-", ("edge", "a", "b")), (10, "+", ("edge", "b", "c"))]
        others: list[Row] = [(9, "-", ("edge", "b", "c")), (1, "+", ("edge", "a", "b"))]
        write_files(place.input, [rows, others], "csv")
        totals = place.run(place.read("csv", files=2))
        assert totals.updates == 4
        place.check({("edge", "b", "c")})

    def test_labels_that_are_text_are_numbers_if_they_look_like_it(
        self, place: Place, spark: SparkSession
    ) -> None:
        rows: list[Row] = [(9, "+", ("edge", "a", "b")), (10, "-", ("edge", "a", "b"))]
        write_files(place.input, [rows, [(11, "+", ("node", "a"))]], "csv")
        schema = "update string, op string, predicate string, arg1 string, arg2 string"
        frame = spark.readStream.schema(schema).option("header", True).option("maxFilesPerTrigger", 1)
        place.run(frame.csv(str(place.input)))
        place.check({("node", "a")})

    def test_duplicates_and_older_updates_are_passed_over_and_counted(self, place: Place) -> None:
        stream = random_stream(5)
        write_files(place.input, stream.parts(2))
        place.run()
        shutil.copy(place.input / "part-0000.parquet", place.input / "again-1.parquet")
        shutil.copy(place.input / "part-0001.parquet", place.input / "again-2.parquet")
        totals = place.run()
        assert totals.skipped == totals.rows == len(stream.rows)
        place.check(stream.explicit)

    def test_without_labels_a_batch_is_an_update(self, place: Place) -> None:
        first: list[Row] = [(0, "+", ("edge", "a", "b")), (0, "-", ("edge", "a", "b"))]
        write_files(
            place.input, [first, [(0, "-", ("edge", "a", "b")), (0, "+", ("node", "a"))]], labels=False
        )
        totals = place.run(place.read(labels=False))
        assert totals.updates == 2
        place.check({("node", "a")})


class TestHeldBack:
    def test_the_last_update_waits_for_the_next_batch_and_is_applied_when_none_comes(
        self, place: Place
    ) -> None:
        stream = random_stream(8, updates=6)
        write_files(place.input, stream.parts(1))
        applied = threading.Event()
        waited: list[int] = []

        def listen(report: Any, totals: Any) -> None:
            waited.append(totals.waiting)
            check_counts(totals)
            if not totals.waiting:
                applied.set()

        query = place.maintained(look_ahead_wait=0.5).start(place.feed, listener=listen)
        assert applied.wait(60), "nothing came, so the last one is applied"
        assert waited[0] > 0
        assert query.isActive
        query.stop()
        place.check(stream.explicit)

    def test_stopping_applies_what_is_held_back(self, place: Place) -> None:
        stream = random_stream(9, updates=6)
        write_files(place.input, stream.parts(1))
        query = place.maintained(look_ahead_wait=600.0).start(place.feed)
        query.processAllAvailable()
        assert query.totals.waiting
        query.stop()
        assert not query.totals.waiting
        assert query.exception() is None
        place.check(stream.explicit)


class TestStartingAgain:
    def test_nothing_comes_twice_and_nothing_is_left_out(self, place: Place) -> None:
        stream = random_stream(11)
        for part in stream.parts(3):
            write_files(place.input, [part])
            assert place.run(changes=True).skipped == 0
        place.check(stream.explicit)

    def test_without_its_checkpoint_labels_tell_what_the_store_has_had(self, place: Place) -> None:
        stream = random_stream(12)
        parts = stream.parts(3)
        write_files(place.input, parts[:2])
        place.run()
        shutil.rmtree(place.checkpoint)
        write_files(place.input, parts[2:])
        assert place.run().skipped == len(parts[0]) + len(parts[1])
        place.check(stream.explicit)

    def test_without_checkpoint_and_labels_it_is_t118_unless_the_updates_are_others(
        self, place: Place
    ) -> None:
        write_files(place.input, [[(0, "+", ("edge", "a", "b"))]], labels=False)
        place.run(place.read(labels=False))
        shutil.rmtree(place.checkpoint)
        with pytest.raises(SparkError) as raised:
            place.run(place.read(labels=False))
        assert number_of(raised.value) == "T118"
        shutil.rmtree(place.input)
        write_files(place.input, [[(0, "-", ("edge", "a", "b")), (0, "+", ("node", "b"))]], labels=False)
        place.run(place.read(labels=False), other_updates=True)
        place.check({("node", "b")})

    def test_a_store_that_is_gone_is_t117_if_its_checkpoint_is_there(self, place: Place) -> None:
        stream = random_stream(13, updates=4)
        write_files(place.input, stream.parts(1))
        elsewhere = place.root / "checkpoint"
        place.run(checkpoint=elsewhere)
        shutil.rmtree(place.store)
        shutil.rmtree(place.feed)
        with pytest.raises(SparkError) as raised:
            place.run(checkpoint=elsewhere)
        assert number_of(raised.value) == "T117"
        shutil.rmtree(elsewhere)
        place.run(checkpoint=elsewhere)
        place.check(stream.explicit)

    def test_a_checkpoint_that_is_older_than_the_store_plans_batches_anew(self, place: Place) -> None:
        stream = random_stream(14)
        parts = stream.parts(4)
        write_files(place.input, parts[:1])
        place.run()
        shutil.copytree(place.checkpoint, place.root / "old")
        write_files(place.input, parts[1:3])
        place.run()
        shutil.rmtree(place.checkpoint)
        (place.root / "old").rename(place.checkpoint)
        write_files(place.input, parts[3:])
        # What was batch 1 and 2 is one batch now, with new updates in it.
        totals = place.run(place.read(files=3))
        assert totals.skipped == len(parts[1]) + len(parts[2])
        place.check(stream.explicit)
        assert place.run().rows == 0

    def test_a_store_that_is_open_elsewhere_is_refused(self, place: Place) -> None:
        write_files(place.input, random_stream(1, updates=2).parts(1))
        place.run()
        with tidalog.open(place.store), pytest.raises(TidalogError) as raised:
            place.run()
        assert number_of(raised.value) == "T091"


class TestBadInput:
    BAD: ClassVar[list[Row]] = [
        (2, "?", ("edge", "a", "b")),
        (3, "+", ("edges", "a", "b")),
        (4, "+", ("edge", "a")),
    ]

    def test_bad_rows_go_to_quarantine_and_the_rest_is_applied(self, place: Place) -> None:
        good: list[Row] = [(1, "+", ("edge", "a", "b")), (5, "+", ("node", "c"))]
        write_files(place.input, [[*good, *self.BAD]])
        totals = place.run()
        assert (totals.rows, totals.applied, totals.quarantined) == (5, 2, 3)
        (file,) = (place.store / "spark" / "quarantine").iterdir()
        assert len(file.read_text().splitlines()) == 3
        place.check({("edge", "a", "b"), ("node", "c")})

    def test_strict_stops_before_anything_of_the_batch_is_applied(self, place: Place) -> None:
        write_files(place.input, [[(1, "+", ("edge", "a", "b"))], [(2, "+", ("node", "x")), *self.BAD]])
        with pytest.raises(SparkError) as raised:
            place.run(strict=True, update_wait=0)
        assert number_of(raised.value) == "T115"
        assert '"?" is not an operation' in str(raised.value)
        assert "part-0001.parquet, row 2" in str(raised.value)
        place.check({("edge", "a", "b")})
        place.run()
        place.check({("edge", "a", "b"), ("node", "x")})

    def test_a_file_that_is_cut_off_stops_the_stream_until_it_is_mended(self, place: Place) -> None:
        stream = random_stream(15)
        parts = stream.parts(3)
        write_files(place.input, parts)
        broken = place.input / "part-0001.parquet"
        whole, times = broken.read_bytes(), (broken.stat().st_atime, broken.stat().st_mtime)
        broken.write_bytes(whole[: len(whole) // 2])
        os.utime(broken, times)
        with pytest.raises(SparkError) as raised:
            place.run()
        assert number_of(raised.value) == "T116"
        assert broken.name in str(raised.value)
        broken.write_bytes(whole)
        place.run()
        place.check(stream.explicit)

    def test_columns_that_change_their_type_stop_the_stream(self, place: Place) -> None:
        write_files(place.input, [[(1, "+", ("edge", "a", "b"))]])
        other = pq.read_table(place.input / "part-0000.parquet")
        other = other.set_column(other.column_names.index("arg1"), "arg1", [[7]])
        pq.write_table(other, place.input / "part-0001.parquet")
        with pytest.raises(SparkError) as raised:
            place.run(update_wait=0)
        assert number_of(raised.value) == "T116"
        place.check({("edge", "a", "b")})

    def test_columns_that_are_new_are_passed_over_and_those_that_are_gone_are_bad_rows(
        self, place: Place
    ) -> None:
        write_files(place.input, [[(1, "+", ("edge", "a", "b"))]])
        first = pq.read_table(place.input / "part-0000.parquet")
        second = first.set_column(0, "update", [[2]]).append_column("note", [["new"]])
        second = second.set_column(second.column_names.index("arg2"), "arg2", [["c"]])
        pq.write_table(second, place.input / "part-0001.parquet")
        pq.write_table(
            first.set_column(0, "update", [[3]]).drop_columns(["op"]), place.input / "part-2.parquet"
        )
        assert place.run().quarantined == 1
        place.check({("edge", "a", "b"), ("edge", "a", "c")})

    def test_an_update_that_breaks_a_constraint_stops_the_stream_and_the_next_run_goes_on_behind_it(
        self, place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        program = PROGRAM + "\n:- node(bad) ."
        rows: list[Row] = [(label, "+", ("node", name)) for label, name in enumerate(("a", "bad", "b"), 1)]
        write_files(place.input, [rows])

        def run() -> None:
            query = maintain(place.read(), program, place.store).start(place.feed, trigger="available-now")
            query.awaitTermination(60)

        with caplog.at_level("ERROR"), pytest.raises(TidalogError) as raised:
            run()
        assert number_of(raised.value) == "T055"
        assert [d.number for d in raised.value.diagnostics] == ["T055", "T126"]
        said = str(raised.value)
        assert "update 2 of batch 0 is refused" in said
        assert "part-0000.parquet" in said
        assert caplog.records == [], "an error is told once"
        run()
        place.check({("node", "a"), ("node", "b")})


class TestFeed:
    def test_a_feed_that_begins_later_begins_with_all_facts(self, place: Place) -> None:
        stream = random_stream(16)
        parts = stream.parts(2)
        write_files(place.input, parts[:1])
        place.run(changes=False)
        write_files(place.input, parts[1:])
        place.run()
        place.check(stream.explicit)

    def test_a_feed_catches_up_with_what_happened_while_nobody_wrote_to_it(self, place: Place) -> None:
        stream = random_stream(17)
        parts = stream.parts(3)
        for number, part in enumerate(parts):
            write_files(place.input, [part])
            place.run(changes=number != 1)
        with tidalog.open(place.store) as kb:
            kb.insert("node", [("by hand",)])
            kb.materialise()
        place.run()
        assert place.fed() == place.facts() == consequences({*stream.explicit, ("node", "by hand")})

    def test_the_feed_of_another_store_is_t119(self, place: Place) -> None:
        write_files(place.input, random_stream(1, updates=2).parts(1))
        place.run()
        shutil.rmtree(place.store)
        with pytest.raises(SparkError) as raised:
            place.run()
        assert number_of(raised.value) == "T119"

    def test_a_table_is_no_stream(self, place: Place, spark: SparkSession) -> None:
        write_file(place.root / "x.parquet", [(1, "+", ("edge", "a", "b"))])
        with pytest.raises(SparkError) as raised:
            maintain(spark.read.parquet(str(place.root / "x.parquet")), PROGRAM)
        assert number_of(raised.value) == "T114"


def test_without_a_store_everything_is_gone_at_the_end(place: Place) -> None:
    stream: Stream = random_stream(18)
    write_files(place.input, stream.parts(2))
    query = maintain(place.read(), PROGRAM).start(place.feed, trigger="available-now")
    query.awaitTermination(60)
    assert place.fed() == consequences(stream.explicit)
    assert not query._pipeline.kb.path.exists()
