"""Stores and feeds as tables and streams of Spark, and tables of Spark as facts."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from update_streams import PREDICATES, PROGRAM, Fact, Workspace, consequences, random_stream, write_files

import tidalog
import tidalog.spark
from generators.values import HOSTILE
from tidalog.model.term_text import from_python, parse_any
from tidalog.model.terms import IRI, XSD, Boolean, Double, Integer, LangString, String, Term, integer, literal
from tidalog.spark.data_source import _as_before
from tidalog.spark.feed import Feed
from tidalog.spark.materialised import Materialised

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


def load(workspace: Workspace, path: Path, **options: str | bool) -> DataFrame:
    return workspace.spark.read.format("tidalog").options(**options).load(str(path))


class TestMaterialise:
    def test_tables_in_and_what_follows_from_them_out(self, spark: SparkSession) -> None:
        edges = spark.createDataFrame([("a", "b"), ("b", "c")], "src string, dst string")
        nodes = spark.createDataFrame([("d",)], "name string")
        found = tidalog.spark.materialise({"edge": edges, "node": nodes}, PROGRAM)
        wanted = consequences({("edge", "a", "b"), ("edge", "b", "c"), ("node", "d")})
        assert {name: rows(frame) for name, frame in found.items()} == wanted

    def test_numbers_stay_numbers_and_a_predicate_without_arguments_is_a_row(
        self, spark: SparkSession
    ) -> None:
        found = tidalog.spark.materialise(
            {"size": spark.sql("select * from values (1, 2.5D), (4, 0.5D) t(a, b)")},
            "big(?x, ?y) :- size(?x, ?y), ?x > 2 .\nany :- big(_, _) .\nnone :- size(0, _) .",
        )
        assert rows(found["big"]) == {(4, 0.5)}
        assert found["big"].dtypes == [("arg1", "bigint"), ("arg2", "double")]
        assert (found["any"].count(), found["none"].count()) == (1, 0)

    @pytest.mark.parametrize("value", ["interval '5' month", "interval '1' year", "make_interval(1, 2)"])
    def test_a_type_that_arrow_lacks_is_an_error_with_a_number(self, spark: SparkSession, value: str) -> None:
        table = spark.sql(f"select {value} as x")
        with pytest.raises(tidalog.TidalogError, match=r"T045.*column 1 \(x\)"):
            tidalog.spark.materialise({"p": table}, "q(?x) :- p(?x) .")


class TestStoreAsTable:
    @pytest.fixture
    def explicit(self, workspace: Workspace) -> set[Fact]:
        stream = random_stream(31)
        write_files(workspace.input, stream.parts(1))
        workspace.run()
        return stream.explicit

    def test_predicates_are_tables_views_and_changes(self, workspace: Workspace, explicit: set[Fact]) -> None:
        wanted = consequences(explicit)
        for name in ("path", "lonely"):
            assert rows(load(workspace, workspace.store, predicate=name)) == wanted[name]
        everything = load(workspace, workspace.store)
        assert everything.columns == ["predicate", "arg1", "arg2"]
        assert dict.fromkeys(PREDICATES, 0) | {
            row["predicate"]: row["count"] for row in everything.groupBy("predicate").count().collect()
        } == {name: len(facts) for name, facts in wanted.items()}
        views = tidalog.spark.create_views(workspace.store, workspace.spark, prefix="kb_")
        assert set(views) == {f"kb_{name}" for name in PREDICATES}
        joined = workspace.spark.sql(
            "select p.arg1 from kb_path p join kb_edge e on p.arg1 = e.arg1 and p.arg2 = e.arg2"
        )
        assert joined.count() == len(wanted["edge"])
        feed = load(workspace, workspace.feed, predicate="path")
        assert feed.columns == ["update", "op", "arg1", "arg2", "kind"]
        signs = {row["op"]: row["count"] for row in feed.groupBy("op").count().collect()}
        assert signs["+"] - signs["-"] == len(wanted["path"])

    def test_a_predicate_may_be_named_with_a_prefix(self, workspace: Workspace) -> None:
        from pyspark.errors import PySparkException

        with tidalog.open(workspace.store) as kb:
            kb.load("@prefix ex: <http://e/> . ex:p(?x, ?y) :- e(?x, ?y) . e(a, b) . <foo:p>(c, d) .")
            kb.materialise(progress=False)
            Feed(workspace.feed, kb, 2, text_labels=False, synced=False)
        for name, fact in {"ex:p": ("a", "b"), "http://e/p": ("a", "b"), "<foo:p>": ("c", "d")}.items():
            assert rows(load(workspace, workspace.store, predicate=name)) == {fact}
            changes = load(workspace, workspace.feed, predicate=name)
            assert rows(changes.select("arg1", "arg2")) == {fact}
        for path in (workspace.store, workspace.feed):
            with pytest.raises(PySparkException, match="T003"):
                load(workspace, path, predicate="exx:p")

    def test_what_is_not_there_is_said(self, workspace: Workspace, explicit: set[Fact]) -> None:
        from pyspark.errors import PySparkException

        for path, options, said in (
            (workspace.root / "nothing", {}, "T121"),
            (workspace.root / "in", {}, "it is neither a store nor a change feed"),
            (workspace.store, {"predicate": "nobody"}, "T070"),
            (workspace.feed, {"predicate": "nobody"}, "predicates are edge"),
            (workspace.store, {"changes": "true"}, "no pipeline has written to it"),
        ):
            with pytest.raises(PySparkException, match=said):
                load(workspace, path, **options)
        with pytest.raises(PySparkException, match="T114"):
            stream = (
                workspace.spark.readStream.format("tidalog")
                .option("predicate", "path")
                .load(str(workspace.store))
            )
            stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()


class Taken:
    """Follows a stream of changes with a checkpoint, a run at a time."""

    def __init__(self, workspace: Workspace, frame: DataFrame, name: str) -> None:
        self.checkpoint = workspace.root / f"checkpoint-{name}"
        self.frame = frame
        self.rows: list[tuple[Any, ...]] = []

    def run(self) -> int:
        before = len(self.rows)

        def take(frame: DataFrame, batch: int) -> None:
            self.rows += [tuple(row) for row in frame.collect()]

        writer = self.frame.writeStream.foreachBatch(take).option("checkpointLocation", str(self.checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
        return len(self.rows) - before

    def left(self) -> set[tuple[Any, ...]]:
        """What is true after all rows (update, op, arguments …, kind), by update."""
        there: set[tuple[Any, ...]] = set()
        for _, op, *fact, _ in sorted(self.rows, key=lambda row: (row[0], row[1] == "+")):
            (there.add if op == "+" else there.remove)(tuple(fact))
        return there


class TestFeedAsStream:
    def test_a_stream_of_changes_goes_on_where_its_checkpoint_is(self, workspace: Workspace) -> None:
        stream = random_stream(32)
        parts = stream.parts(3)
        write_files(workspace.input, parts[:1])
        workspace.run()
        frame = (
            workspace.spark.readStream.format("tidalog").option("predicate", "path").load(str(workspace.feed))
        )
        taken = Taken(workspace, frame, "path")
        assert taken.run() > 0
        assert taken.run() == 0
        for part in parts[1:]:
            write_files(workspace.input, [part])
            workspace.run()
            taken.run()
        assert taken.left() == consequences(stream.explicit)["path"]

    def test_changes_of_a_maintained_stream_are_a_stream(self, workspace: Workspace) -> None:
        stream = random_stream(33)
        parts = stream.parts(2)
        write_files(workspace.input, parts)
        maintained = workspace.maintained()
        frame = maintained.changes
        assert maintained.query is not None
        maintained.query.processAllAvailable()
        lonely = frame.where("predicate = 'edge'").select("update", "op", "arg1", "arg2", "kind")
        taken = Taken(workspace, lonely, "edge")
        taken.run()
        maintained.query.stop()
        assert taken.left() == consequences(stream.explicit)["edge"]
        own = load(workspace, workspace.store, changes=True)
        assert own.where("predicate = 'edge'").count() == len(taken.rows)

    def test_whoever_waits_for_changes_is_told_that_their_source_has_failed(
        self, workspace: Workspace
    ) -> None:
        from pyspark.errors import StreamingQueryException

        write_files(workspace.input, [[(1, "?", ("edge", "a", "b"))]])
        maintained = workspace.maintained(strict=True)
        following = maintained.changes.writeStream.format("noop").start()
        with pytest.raises(StreamingQueryException, match="T115"):
            following.awaitTermination(60)


def test_nothing_needs_pandas(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('no pandas')\n")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import tidalog.spark
spark = tidalog.spark.spark_session("local[1]")
frame = spark.createDataFrame([("a", "b")], "x string, y string")
found = tidalog.spark.materialise({{"edge": frame}}, "path(?x, ?y) :- edge(?x, ?y) .")
with tidalog.open({str(tmp_path / "s")!r}) as kb:
    kb.load("p(a).")
read = spark.read.format("tidalog").option("predicate", "p").load({str(tmp_path / "s")!r})
print(found["path"].toArrow().to_pylist(), read.toArrow().to_pylist())
spark.stop()
"""
    import os

    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=200, env=environment
    )
    assert ended.stdout == "[{'arg1': 'a', 'arg2': 'b'}] [{'arg1': 'a'}]\n", ended.stderr


ROOT = Path(__file__).parents[2]
COLUMNS: dict[str, list[Term]] = {
    "long": [Integer(-(2**63)), Integer(7)],
    "double": [Double(float("nan")), Double(float("-inf"))],
    "boolean": [Boolean(True), Boolean(False)],
    "string": [String('a\n"<x>'), String("007")],
    "iri": [IRI("http://e/x"), IRI("a")],
    "decimal": [from_python(Decimal("2.50")), from_python(Decimal(-3))],
    "big": [integer(2**100), Integer(5)],
    "date": [from_python(date(1, 1, 1)), from_python(date(9999, 12, 31))],
    "instant": [from_python(datetime(year, 5, 1, 12, tzinfo=UTC)) for year in (1500, 2024)],
    "clock": [from_python(datetime(1, 1, 1, 0, 0, 0, 1)), from_python(datetime(9999, 12, 31, 23))],
    "duration": [from_python(timedelta(days=-3, microseconds=1)), from_python(timedelta(0))],
    "time": [from_python(time(12, 30)), from_python(time(0, 0, 0, 5))],
    "nanoseconds": [literal("2024-05-01T12:00:00.123456789", XSD + "dateTime")] * 2,
    "long decimal": [from_python(Decimal("9" * 50)), from_python(Decimal("0.5"))],
    "zone": [literal("2024-05-01T12:00:00+02:00", XSD + "dateTime")] * 2,
    "mixed": [Integer(1), String("1")],
    **{f"hostile {number}": [String(text), String("")] for number, text in enumerate(HOSTILE)},
}
ANSWERS = """
more_NAME(?x, ?y) :- NAME(?x, _), NAME(_, ?y), ?x < ?y .
least_NAME(#min(?y)) :- NAME(_, ?y) .
text_NAME(?s) :- NAME(_, ?y), ?s = STR(?y) .
"""
TYPES = [
    *(
        "bigint",
        "double",
        "boolean",
        "string",
        "string",
        "decimal(38,1)",
        "decimal(38,0)",
        "date",
        "timestamp",
    ),
    *("timestamp_ntz", "interval day to second", *["string"] * (5 + len(HOSTILE))),
]
MARKS = [*[None] * 4, "iri", None, "int", *[None] * 4, *["any"] * 5, *[None] * len(HOSTILE)]
FACTS = {repr(row) for row in zip(*COLUMNS.values(), strict=True)}
VARIABLES = ", ".join(f"?x{number}" for number in range(len(COLUMNS)))


class TestTypes:
    """A table of values of every type, and of hostile texts, goes through Spark as it is."""

    def facts_of(self, data: object) -> set[str]:
        with tidalog.open() as kb:
            kb.insert("p", data)
            return {repr(row) for row in kb.facts("p").to_terms()}

    def check(self, frame: DataFrame, *, terms: bool = False) -> None:
        """Its types and marks are the wanted ones, and it is the same facts."""
        assert [kind for _, kind in frame.dtypes] == (["string"] * len(TYPES) if terms else TYPES)
        marks = [field.metadata.get("tidalog.terms") for field in frame.schema]
        assert marks == (["any"] * len(MARKS) if terms else MARKS)
        assert self.facts_of(frame.toArrow()) == FACTS

    def test_values_of_every_type_come_through_spark(self, spark: SparkSession, tmp_path: Path) -> None:
        store, facts = tmp_path / "store", tmp_path / "facts"
        with tidalog.open(store) as kb:
            kb.insert("p", list(zip(*COLUMNS.values(), strict=True)))
            Materialised(facts, kb).write(1)
            kb.export("p", tmp_path / "p.parquet")
        materialised = spark.read.parquet(str(facts / "current" / "p.parquet"))
        self.check(materialised)
        read = spark.read.format("tidalog").option("predicate", "p")
        self.check(read.load(str(store)))
        self.check(read.option("terms", True).load(str(store)), terms=True)
        rules = f"q({VARIABLES}) :- p({VARIABLES}) ."
        copied = tidalog.spark.materialise({"p": materialised}, rules)
        self.check(copied["q"])
        self.check(tidalog.spark.materialise({"p": materialised}, rules, terms=True)["q"], terms=True)
        copied["q"].write.parquet(str(tmp_path / "written"))
        assert self.facts_of(tmp_path / "written" / "*.parquet") == FACTS
        assert self.facts_of(tmp_path / "p.parquet") == FACTS

    def test_the_same_facts_by_spark_give_the_same_answers(self, spark: SparkSession, tmp_path: Path) -> None:
        names = [name.replace(" ", "_") for name in COLUMNS if "hostile" not in name and name != "double"]
        rules = "".join(ANSWERS.replace("NAME", name) for name in names)
        with tidalog.open(tmp_path / "store") as kb:
            kb.load(rules)
            for name in names:
                values = COLUMNS[name.replace("_", " ")]
                kb.insert(name, [(a, b) for a in values for b in values])
            expected = {name: self.texts_of(kb, name) for name in kb.predicates}
        read = spark.read.format("tidalog")
        store = str(tmp_path / "store")
        tables = {name: read.option("predicate", name).load(store) for name in names}
        found = tidalog.spark.materialise(tables, rules)
        assert found.keys() == expected.keys()
        with tidalog.open() as kb:
            for name, frame in found.items():
                if name not in names:
                    kb.insert(name, frame.toArrow())
                    assert self.texts_of(kb, name) == expected[name], name

    def texts_of(self, kb: tidalog.KnowledgeBase, name: str) -> set[str]:
        return {repr(row) for row in kb.facts(name).to_terms()}

    def test_our_csv_is_read_with_the_options_of_the_pages(self, spark: SparkSession, tmp_path: Path) -> None:
        terms = [
            String("501"),
            String('say "x", \\'),
            LangString("a", "en"),
            *COLUMNS["decimal"],
            *COLUMNS["date"],
        ]
        with tidalog.open() as kb, tidalog.ChangeFeedWriter(tmp_path / "f.csv", arguments=1) as feed:
            kb.load("q(?x) :- p(?x) .")
            for batch in kb.apply(tidalog.Update(insertions={"p": [(term,) for term in terms]})).batches():
                feed.write(batch)
        read = spark.read.option("header", True).option("escape", '"').csv(str(tmp_path / "f.csv"))
        assert {parse_any(row["arg1"]) for row in read.collect()} == set(terms)
        for page in ("README.md", "docs/spark.md", "docs/keyed.md"):
            text = (ROOT / page).read_text()
            assert text.count('.option("header", True)') == text.count(""".option("escape", '"')\n""") == 1

    def test_an_option_that_the_source_does_not_have_is_an_error(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        with tidalog.open(tmp_path / "store") as kb:
            kb.insert("p", [(1,)])
        read = spark.read.format("tidalog")
        assert read.option("Predicate", "p").load(str(tmp_path / "store")).count() == 1
        with pytest.raises(Exception, match=r"no option predicat\b") as error:
            spark.read.format("tidalog").option("predicat", "p").load(str(tmp_path / "store"))
        assert "did you mean predicate?" in str(error.value)

    def test_whole_decimals_are_decimals(self, spark: SparkSession) -> None:
        table = spark.sql("select cast(5 as decimal(10, 0)) as d, cast(5 as decimal(10, 2)) as e, 5 as i")
        found = tidalog.spark.materialise({"p": table}, "q(?d, ?e, ?i) :- p(?d, ?e, ?i) .")["q"]
        five = from_python(Decimal(5))
        assert self.facts_of(found.toArrow()) == {repr((five, five, Integer(5)))}

    @pytest.mark.parametrize(
        ("before", "now", "fits"),
        [
            (pa.decimal128(38, 2), pa.decimal128(38, 1), True),
            (pa.decimal128(38, 1), pa.decimal128(38, 2), False),
            (pa.decimal128(38, 1), pa.decimal128(38, 0), False),
            (pa.int64(), pa.decimal128(38, 0), False),
            (pa.date32(), pa.date32(), True),
            (pa.date32(), pa.string(), False),
        ],
        ids=str,
    )
    def test_a_query_goes_on_only_if_its_types_hold_the_facts(
        self, before: pa.DataType, now: pa.DataType, fits: bool
    ) -> None:
        texts = {pa.date32(): "2024-05-01", pa.string(): "a", pa.decimal128(38, 2): "2.25"}
        table = pa.table({"x": pa.array([texts.get(now, "2")]).cast(now)})
        found = _as_before(table, pa.schema([pa.field("x", before)]))
        assert (found is not None) == fits
        assert found is None or (found.schema.types == [before] and found.to_pylist() == table.to_pylist())
