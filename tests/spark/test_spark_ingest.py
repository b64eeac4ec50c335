"""Update rows are right, and then what local files give, or in quarantine with their reason."""

from __future__ import annotations

from datetime import date
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException

import tidalog
from tidalog.io.update_tables import read_update_table
from tidalog.model.errors import DataError
from tidalog.spark.catalog import known_predicates
from tidalog.spark.columns import CORRUPT, update_columns
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.ingest import Batch, Ingest
from tidalog.spark.quarantine import position_of, write_bad_rows
from tidalog.spark.sequencer import Before, ordered
from tidalog.spark.validate import SURE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
    @prefix ex: <http://example.org/> .
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
    ex:big(?x) :- node(?x), ex:size(?x, ?y, ?z) .
    stop :- halt .
"""
COLUMNS = "update long, op string, predicate string, arg1 string, arg2 string, arg3 string"
GOOD: tuple[object, ...] = (1, "+", "edge", "a", "b", None)


def ingest_for(frame: DataFrame, program: str = PROGRAM, **how: bool) -> Ingest:
    kb = tidalog.open()
    kb.load(program)
    return Ingest(frame, update_columns(frame.schema), known_predicates(kb), **how)


def read(spark: SparkSession, rows: list[tuple[object, ...]], columns: str = COLUMNS, **how: bool) -> Batch:
    frame = spark.createDataFrame(rows, columns)
    return read_by(ingest_for(frame, **how))


def read_by(ingest: Ingest) -> Batch:
    """What a table is to a stream of it, a batch: all its rows."""
    return ingest.read(ingest.updates)


FAULTS: list[tuple[tuple[object, ...], str, str]] = [
    ((None, "+", "edge", "a", "b", None), "T037", "the label of the update is missing"),
    ((1, None, "edge", "a", "b", None), "T037", "the operation is missing"),
    ((1, "add", "edge", "a", "b", None), "T036", '"add" is not an operation'),
    ((1, "+", "exx:size", "a", "b", "c"), "T003", 'unknown prefix in the predicate "exx:size"'),
    ((1, "+rule", "r1", None, None, None), "T037", "the text of the rule (arg1) is missing"),
    ((1, "-rule", None, None, None, None), "T037", "the name of the rule is missing"),
    ((1, "-", None, "a", "b", None), "T037", "the predicate is missing"),
    ((1, "+", "edge", None, "b", None), "T037", "a gap in the arguments"),
    ((1, "+", "edges", "a", "b", None), "T070", "there is no predicate edges"),
    ((1, "+", "edge", "a", None, None), "T010", "edge has 1 argument here and 2 arguments elsewhere"),
    ((1, "+", "edge", "a", "b", "c"), "T010", "edge has 3 arguments here and 2 arguments elsewhere"),
    ((1, "+", "edge", None, None, None), "T010", "edge has no arguments here and 2 arguments elsewhere"),
]


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> Batch:
    """All faults in one batch, good rows between."""
    return read(spark, [row for fault, _, _ in FAULTS for row in (GOOD, fault)])


class TestFaults:
    def test_rows_in_are_rows_out(self, batch: Batch) -> None:
        assert batch.rows == 2 * len(FAULTS)
        assert batch.table.num_rows == len(FAULTS)
        assert len(batch.bad) == len(FAULTS)

    @pytest.mark.parametrize("number", range(len(FAULTS)), ids=[message for _, _, message in FAULTS])
    def test_a_fault_is_told_by_number_and_message(self, batch: Batch, number: int) -> None:
        row, code, message = FAULTS[number]
        found = batch.bad[number]
        assert (found["number"], found["message"]) == (code, message)
        names = ("update", "op", "predicate", "arg1", "arg2", "arg3")
        given = {name: value for name, value in zip(names, row, strict=True) if value is not None}
        assert found["values"] == given

    def test_text_among_integer_labels_is_a_fault(self, spark: SparkSession) -> None:
        rows: list[tuple[object, ...]] = [("7", *GOOD[1:]), ("x", *GOOD[1:])]
        columns = COLUMNS.replace("update long", "update string")
        assert not read(spark, rows, columns, text_labels=True).bad
        (bad,) = read(spark, rows, columns).bad
        assert bad["message"] == '"x" is not an integer, as labels are without text_labels'

    def test_names_may_be_iris_or_have_prefixes(self, spark: SparkSession) -> None:
        names = ["edge", "<edge>"]
        rows: list[tuple[object, ...]] = [(1, "+", name, "a", "b", None) for name in names]
        rows += [(1, "+", n, "a", "b", "c") for n in ("ex:size", "<http://example.org/size>")]
        rows += [(1, "+", "http://example.org/size", "a", "b", "c"), (1, "+", "halt", None, None, None)]
        assert read(spark, rows).bad == []

    def test_in_a_program_about_triples_every_iri_is_a_class_or_a_property(self, spark: SparkSession) -> None:
        program = "@prefix ex: <http://example.org/> .\n?x a ex:Big :- ?x ex:size ?y, ?y > 3 ."
        rows: list[tuple[object, ...]] = [
            (1, "+", "ex:other", "a", "b", None),
            (1, "+", "ex:Class", "a", None, None),
            (1, "+", "triple", "<a>", "<b>", "c"),
            (1, "+", "triple", "a", "<b>", "c"),
            (1, "-", "triple", "a", "<b>", "c"),
            (1, "+", "<triple>", "<a>", "_:b", "c"),
            (1, "+", "zz:other", "<a>", "b", None),
            (1, "+", "ex:other", "a", "b", "c"),
            (1, "+", "edge", "a", "b", None),
        ]
        frame = spark.createDataFrame(rows, COLUMNS)
        batch = read_by(ingest_for(frame, program))
        assert [bad["number"] for bad in batch.bad] == ["T165", "T165", "T003", "T010", "T070"]


TRIPLES = "@prefix ex: <http://example.org/> .\n?x a ex:Big :- ?x ex:size ?y, ?y > 3 ."
NAMES = (None, "edge", "<edge>", "edges", "ex:size", "ex:other", "<http://a.b/c>", "<a", "halt", "triple", "")


class TestLabelsAndDates:
    @pytest.mark.parametrize(
        ("label", "text"),
        [
            ("timestamp'2020-01-01 00:00:00'", "2020-01-01 00:00:00.000000Z"),
            ("timestamp'2020-07-01 00:00:00.5'", "2020-07-01 00:00:00.500000Z"),
            ("timestamp'1955-10-30 01:30:00.000001'", "1955-10-30 01:30:00.000001Z"),
            ("timestamp_ntz'2020-01-01 10:00:00.25'", "2020-01-01 10:00:00.250000"),
            ("date'2020-01-01'", "2020-01-01"),
        ],
    )
    def test_late_updates_with_dates_for_labels_are_found_again(
        self, spark: SparkSession, label: str, text: str
    ) -> None:
        frame = spark.sql(f"select {label} update, '+' op, 'edge' predicate, 'a' arg1, 'b' arg2")
        ingest = ingest_for(frame, text_labels=True)
        batch = read_by(ingest)
        found = ordered(batch.table, 1, Before("9999", False, lambda label, content: "never"))
        assert found.unseen == [text]
        (late,) = ingest.late_rows(ingest.updates, batch, {text: ("T125", "why")})
        assert (late["number"], late["message"], late["column"]) == ("T125", "why", "update")

    def test_instants_are_labels_in_utc_in_every_zone(self, spark: SparkSession) -> None:
        """Of an hour that comes twice, too."""
        before = spark.conf.get("spark.sql.session.timeZone")
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        try:
            stamps = "timestamp'2020-10-25T00:30:00Z', timestamp'2020-10-25T01:30:00Z'"
            table = f"select explode(array({stamps})) update, '+' op, 'edge' predicate, 'a' arg1, 'b' arg2"
            labels = read_by(ingest_for(spark.sql(table), text_labels=True)).table.column("update")
        finally:
            spark.conf.set("spark.sql.session.timeZone", str(before))
        assert labels.to_pylist() == ["2020-10-25 00:30:00.000000Z", "2020-10-25 01:30:00.000000Z"]

    @pytest.mark.parametrize(
        "row",
        [
            "1, '+', 'edge', 'a', make_date(12026, 1, 2), null",
            "1, '+', 'edge', 'a', make_date(0, 1, 2), null",
            "1, 'x', 'edge', 'a', date'2026-01-02', array(make_date(12026, 1, 2))",
        ],
    )
    def test_rows_with_dates_that_nobody_can_hold_go_to_the_quarantine(
        self, spark: SparkSession, row: str
    ) -> None:
        table = f"select * from values ({row}) as t(update, op, predicate, arg1, arg2, days)"
        batch = read_by(ingest_for(spark.sql(table)))
        assert (batch.table.num_rows, len(batch.bad)) == (0, 1)
        assert "date" in str(batch.bad[0]["message"]) or batch.bad[0]["number"] == "T036"

    @pytest.mark.parametrize("label", ["make_date(12026, 1, 2)", "timestamp'+12026-01-02 00:00:00'"])
    def test_a_label_outside_the_calendar_is_a_fault(self, spark: SparkSession, label: str) -> None:
        frame = spark.sql(f"select {label} update, '+' op, 'edge' predicate, 'a' arg1, 'b' arg2")
        (bad,) = read_by(ingest_for(frame, text_labels=True)).bad
        assert (bad["number"], bad["column"]) == ("T045", "update")

    def test_a_late_update_beside_a_label_that_is_none(self, spark: SparkSession) -> None:
        rows: list[tuple[object, ...]] = [("07", *GOOD[1:]), ("x", *GOOD[1:])]
        columns = COLUMNS.replace("update long", "update string")
        ingest = ingest_for(spark.createDataFrame(rows, columns))
        (late,) = ingest.late_rows(ingest.updates, read_by(ingest), {7: ("T125", "why")})
        assert late["message"] == "why"

    def test_text_is_compared_byte_by_byte_whatever_its_collation(self, spark: SparkSession) -> None:
        words = "'{}' collate UTF8_LCASE op, '{}' collate UTF8_LCASE predicate"
        for op, predicate, bad in (("+", "edge", 0), ("+", "EDGE", 1), ("+RULE", "edge", 1)):
            frame = spark.sql(f"select 1 update, {words.format(op, predicate)}, 'a' arg1, 'b' arg2")
            assert len(read_by(ingest_for(frame)).bad) == bad

    def test_sparks_own_errors_stay_what_they_are(self, spark: SparkSession) -> None:
        read(spark, [GOOD])
        with pytest.raises(AnalysisException):
            spark.range(1).select("nonexistent").collect()


class TestAShortLook:
    @pytest.mark.parametrize("program", [PROGRAM, TRIPLES], ids=["predicates", "triples"])
    @pytest.mark.parametrize("label", ["long", "string", "text", "date"])
    def test_it_is_sure_of_the_facts_without_a_fault_and_of_nothing_else(
        self, spark: SparkSession, program: str, label: str
    ) -> None:
        """Every combination of operations, predicates, missing arguments and labels."""
        labels = {"long": [1, None], "date": [date(2026, 1, 2), None]}.get(label, ["1", "x", "", None])
        days = [date(2026, 1, 2), None, date(1, 1, 1)]
        rows = list(
            product(labels, ("+", "-", "+rule", "-rule", "x", None), NAMES, ("a", None), ("b", None), days)
        )
        columns = "update {}, op string, predicate string, arg1 string, arg2 string, arg3 date"
        frame = spark.createDataFrame(rows, columns.format("string" if label == "text" else label))
        ingest = ingest_for(frame, program, text_labels=label in ("text", "date"))
        looked = ingest.updates.select("op", SURE, ingest._fault.isNull().alias("right")).toArrow()
        for row in looked.to_pylist():
            assert row[SURE] == (row["right"] and row["op"] in ("+", "-"))
        assert 10 <= pc.sum(looked.column(SURE)).as_py() < len(rows)

    def test_dates_outside_the_calendar_and_lines_that_are_no_rows_are_not_sure(
        self, spark: SparkSession
    ) -> None:
        rows = (
            "(1, '+', 'edge', 'a', date'2026-01-02', {0}), (1, '+', 'edge', 'a', make_date(12026, 1, 2), {0})"
        )
        names = f"(update, op, predicate, arg1, arg2, {CORRUPT})"
        table = f"select * from values {rows.format('null')}, {rows.format(repr('junk'))} as t{names}"
        looked = ingest_for(spark.sql(table)).updates.select(SURE).toArrow().column(0).to_pylist()
        assert looked == [True, False, False, False]

    def test_where_it_is_not_sure_of_right_rows_all_are_looked_at_closer(self, spark: SparkSession) -> None:
        """Rules bring predicates that nobody knew; what is wrong is found as before."""
        new = (1, "+rule", "r", "far(?x) :- near(?x, ?y, ?z) .", None, None)
        near: tuple[object, ...] = (2, "+", "near", "a", "b", "c")
        frame = spark.createDataFrame([new, near, GOOD], COLUMNS)
        ingest = ingest_for(frame)
        assert read_by(ingest).table.num_rows == 3
        later = ingest_for(spark.createDataFrame([near, (2, "+", "nearer", "a", "b", "c")], COLUMNS))
        later.learn([str(new[3])])
        for _ in range(2):
            batch = read_by(later)
            assert (batch.table.num_rows, len(batch.bad)) == (1, 1)

    def test_a_batch_of_which_it_is_sure_ends_that(self, spark: SparkSession) -> None:
        good = spark.createDataFrame([GOOD, GOOD], COLUMNS)
        ingest = ingest_for(good)
        other = ingest_for(spark.createDataFrame([GOOD, (1, "+", None, "a", "b", None)], COLUMNS))
        for frame, bad, closer in (
            (ingest.updates, 0, False),
            (other.updates, 1, True),
            (other.updates, 1, True),
            (ingest.updates, 0, False),
        ):
            batch = ingest.read(frame)
            assert (batch.table.num_rows + len(batch.bad), len(batch.bad)) == (2, bad)
            assert ingest._was_unsure == closer


class TestColumns:
    @pytest.mark.parametrize(
        ("columns", "number", "said"),
        [
            ("op string, arg1 string", "T034", "it has no column predicate"),
            ("op string, predicate string, arg2 string", "T034", "it has no column arg1"),
            ("op string, predicate string, argument string", "T034", "argument is not the name of a column"),
            ("op int, predicate string", "T045", "holds values of type int"),
            ("op string, predicate string, arg1 array<int>", "T045", "holds values of type array"),
            ("update double, op string, predicate string", "T045", "an integer, a text or a time"),
        ],
    )
    def test_a_stream_that_cannot_be_updates_is_refused_before_it_starts(
        self, spark: SparkSession, columns: str, number: str, said: str
    ) -> None:
        with pytest.raises(DataError) as raised:
            update_columns(spark.createDataFrame([], columns).schema)
        assert raised.value.diagnostics[0].number == number
        assert said in str(raised.value)

    def test_columns_are_found_in_any_case_and_order_and_others_are_passed_over(
        self, spark: SparkSession
    ) -> None:
        columns = "note string, ARG2 string, Arg1 string, Predicate string, OP string"
        frame = spark.createDataFrame([("x", "b", "a", "edge", "+")], columns)
        batch = read_by(ingest_for(frame))
        assert batch.table.to_pylist() == [{"op": "+", "predicate": "edge", "arg1": "a", "arg2": "b"}]


class TestSameAsLocalFiles:
    def test_typed_columns_give_the_terms_that_a_local_file_gives(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        frame = spark.sql(
            "select * from values (3L, '+', 'fact', 1, 0.5D, true, date '2024-02-29', 12.50BD, "
            "timestamp '2024-02-29 12:00:00.5', 'text'), (2L, '-', 'fact', 2, double('NaN'), false, "
            "date '1999-01-01', 0.10BD, timestamp '1999-01-01 00:00:00', '<http://x.org/y>') "
            "as t(update, op, predicate, arg1, arg2, arg3, arg4, arg5, arg6, arg7)"
        )
        program = "p(?a) :- fact(?a, ?b, ?c, ?d, ?e, ?f, ?g) ."
        batch = read_by(ingest_for(frame, program))
        assert batch.bad == []
        own = ordered(batch.table, 0).updates
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        frame.coalesce(1).write.parquet(str(tmp_path / "t"))
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
        local = read_update_table(tmp_path / "t")
        assert own.updates == local.updates == [2, 3]
        assert [c.reading for c in own.arguments] == [c.reading for c in local.arguments]
        assert [c.array.to_pylist() for c in own.arguments[2:]] == [
            c.array.to_pylist() for c in local.arguments[2:]
        ]


class TestPlaces:
    def read_files(self, spark: SparkSession, path: Path, format: str) -> Batch:
        reader = spark.read.format(format).schema("op string, predicate string, arg1 string, arg2 string")
        frame = reader.option("header", True).load(str(path))
        return read_by(ingest_for(frame))

    def test_a_bad_row_of_a_text_file_has_its_file_and_row(self, spark: SparkSession, tmp_path: Path) -> None:
        for name in ("one", "two"):
            lines = [f"+,edge,{name}{n},b" for n in range(5)]
            lines[3] = f"+,nothing,{name},b"
            (tmp_path / f"{name}.csv").write_text("\n".join(["op,predicate,arg1,arg2", *lines]) + "\n")
        batch = self.read_files(spark, tmp_path, "csv")
        places = sorted((str(bad["file"]).rpartition("/")[2], bad["row"]) for bad in batch.bad)
        assert places == [("one.csv", 4), ("two.csv", 4)]
        assert position_of(batch.bad[0]).endswith(".csv, row 4")

    def test_a_bad_row_of_a_parquet_file_has_its_file_and_row(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        frame = spark.range(1000).selectExpr(
            "'+' op", "if(id = 700, 'nothing', 'edge') predicate", "string(id) arg1", "'b' arg2"
        )
        frame.coalesce(1).write.parquet(str(tmp_path / "p"))
        (bad,) = self.read_files(spark, tmp_path / "p", "parquet").bad
        assert bad["row"] == 701

    def test_a_file_that_is_cut_off_is_t116_and_named(self, spark: SparkSession, tmp_path: Path) -> None:
        frame = spark.range(10).selectExpr("'+' op", "'edge' predicate", "string(id) arg1", "'b' arg2")
        frame.coalesce(1).write.parquet(str(tmp_path / "p"))
        (file,) = (tmp_path / "p").glob("*.parquet")
        file.write_bytes(file.read_bytes()[:-20])
        with pytest.raises(SparkError, match="T116") as raised:
            self.read_files(spark, tmp_path / "p", "parquet")
        assert file.name in str(raised.value)


class TestQuarantine:
    def test_a_batch_that_comes_again_replaces_its_file_whole(self, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [
            {"number": "T036", "message": "m", "column": "op", "values": {"op": "x"}}
        ]
        first = write_bad_rows(tmp_path, "0123456789", 4, rows * 3)
        again = write_bad_rows(tmp_path, "0123456789", 4, rows)
        assert first == again
        assert len(again.read_text().splitlines()) == 1
        assert [path.name for path in tmp_path.iterdir()] == ["batch-000000004-01234567.ndjson"]
