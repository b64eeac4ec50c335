"""Continuous queries in streams on Spark: every answer is emitted once, whatever is killed, and is what a
knowledge base in memory emits."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from queried_streams import OVER, PROGRAM, QUERIES, STREAM, E, Oracle, QueryWorkspace, emitted, random_triples
from windowed_streams import TimedRow, in_files

import tidalog
from tidalog.api.stored import StoredKnowledgeBase
from tidalog.model.errors import TidalogError, UsageError
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.feed import facts_of_feed
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLED = Path(__file__).with_name("queries_killed_driver.py")
SLOW = pytest.mark.slow


def killed(root: Path, *about: object) -> None:
    command = [sys.executable, str(KILLED), str(root), *map(str, about)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, start_new_session=True)
    assert ended.returncode == -9, ended.stderr


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_every_batch_and_every_restart_emit_what_a_knowledge_base_emits(
    spark: SparkSession, tmp_path: Path
) -> None:
    workspace = QueryWorkspace(spark, tmp_path)
    oracle = Oracle(tmp_path)
    oracle.register(QUERIES)
    rows = random_triples(7, 36)
    half = next(n for n, row in enumerate(rows) if row.label == 19)
    for part in (rows[:half], rows[half:]):
        for file in in_files(part, 3, 7):
            workspace.write(file)
        oracle.apply(part)
        workspace.run()
        workspace.check(oracle)
    assert all(oracle.emitted.values())


@pytest.mark.parametrize(
    ("point", "times"),
    [
        pytest.param("batch logged", 2, marks=SLOW),
        ("applied", 1),
        pytest.param("applied", 13, marks=SLOW),
        ("feed written", 8),
        pytest.param("feed written", 4, marks=SLOW),
        ("changes written", 2),
        pytest.param("acknowledged", 2, marks=SLOW),
    ],
)
def test_what_was_killed_emits_every_answer_once(
    spark: SparkSession, tmp_path: Path, point: str, times: int
) -> None:
    workspace = QueryWorkspace(spark, tmp_path)
    oracle = Oracle(tmp_path)
    oracle.register(QUERIES)
    rows = random_triples(times, 30)
    files = in_files(rows, 4, times)
    for file in files[:3]:
        workspace.write(file)
    killed(tmp_path, point, times)
    workspace.write(files[3])
    oracle.apply(rows)
    workspace.run()
    workspace.check(oracle)


REPLACED = f"""
PREFIX ex: <{E}>
REGISTER QUERY "moved/in" AS ISTREAM SELECT ?x ?y {OVER} WHERE {{ ?x ex:in ?y FILTER (?x != ?y) }}
REGISTER QUERY near AS CHANGES SELECT ?x FROM STREAM {STREAM} [RANGE 9s] WHERE {{ ?x ex:near ?y }}
REGISTER QUERY more COMPUTED EVERY 1s AS SELECT ?y {OVER}
WHERE {{ ?x ex:near ?y }}
"""


def test_a_restart_with_another_file_ends_and_replaces_queries_after_what_was_logged(
    spark: SparkSession, tmp_path: Path
) -> None:
    workspace = QueryWorkspace(spark, tmp_path)
    oracle = Oracle(tmp_path)
    oracle.register(QUERIES)
    rows = random_triples(3, 30)
    parts = [[row for row in rows if low < row.label <= low + 10] for low in (0, 10, 20)]
    for part in parts[:2]:
        workspace.write(part)
        oracle.apply(part)
    killed(tmp_path, "changes written", 2)
    with tidalog.open(workspace.store) as kb:
        assert isinstance(kb, StoredKnowledgeBase)
        assert len(kb.pending) > 1  # not acknowledged
    ended = {name: [*oracle.emitted[name]] for name in ("inside", "left", "any", "seen")}
    before = [*oracle.emitted["near"]]
    oracle.emitted["near"].clear()
    oracle.register(REPLACED, "near")
    layout = "PREFIX other: <http://o/>\n# A comment.\n" + REPLACED.replace(" ISTREAM", "\n ISTREAM")
    workspace.queries.write_text(layout)
    workspace.write(parts[2])
    oracle.apply(parts[2])
    workspace.run()
    found = workspace.emitted()
    assert {name: found[name] for name in ended} == ended
    near = [(time, op, cells) for time, op, cells in found["near"]]
    assert near[: len(before)] == before
    gone = [row for row in near[len(before) :] if row[2][1:] != (None, None)]
    assert {row[1] for row in gone} == {"-"}
    after = [
        (time, op, cells[:1]) for time, op, cells in near[len(before) :] if (time, op, cells) not in gone
    ]
    assert after == oracle.emitted["near"]
    assert found["moved/in"] == oracle.emitted["moved/in"]
    assert found["more"] == oracle.emitted["more"]
    near_feed = workspace.answers / "near"
    with tidalog.open(workspace.store, read_only=True) as kb:
        assert sorted(kb.queries) == ["more", "moved/in", "near"]
        last = set(kb.queries["near"].result().to_rows())
    assert {(row["arg1"],) for row in facts_of_feed(near_feed).to_pylist()} == last
    # Without queries, those of the store go on.
    workspace.write([replace(row, label=99, time=row.time + 60) for row in parts[2][-1:]])
    oracle.apply([replace(row, label=99, time=row.time + 60) for row in parts[2][-1:]])
    workspace.run(queries=None, answers=None)
    assert workspace.emitted()["more"] == oracle.emitted["more"]


def test_what_changes_between_runs_comes_with_the_next_update_and_a_store_may_move(
    spark: SparkSession, tmp_path: Path
) -> None:
    workspace = QueryWorkspace(spark, tmp_path, "n0(?x) :- road(?x, _) .")
    queries = {
        name: {"text": "?x :- n0(?x)", "emit": emit}
        for name, emit in (("came", "istream"), ("went", "dstream"), ("both", "changes"))
    }
    roads = [TimedRow(n, "+", "road", (x, "b", None), 0) for n, x in enumerate("ac")]  # type: ignore[arg-type]
    workspace.write(roads[:1])
    workspace.run(queries=queries, answers=None)
    moved = tmp_path / "moved"
    workspace.store.rename(moved)
    with tidalog.open(moved) as kb:
        kb.insert("road", [("d", "b")])
        kb.delete("road", [("a", "b")])
        assert kb.queries["both"].result().to_rows() == [("d",)]
    workspace.write(roads[1:])
    maintained = maintain(workspace.frame(), workspace.program, moved, queries=queries, fsync="off")
    maintained.start(trigger="available-now").awaitTermination(120)
    answers = moved / "spark" / "answers"
    first, then = [("0", "+", ("a",))], [("1", "+", ("c",)), ("1", "+", ("d",))]
    assert sorted(emitted(answers, "came")) == sorted([*first, *then])
    assert emitted(answers, "went") == [("1", "-", ("a",))]
    assert sorted(emitted(answers, "both")) == sorted([*first, ("1", "-", ("a",)), *then])
    # A feed that was removed begins with what there is; so does one in another folder, with the next update.
    shutil.rmtree(answers / "both")
    maintained.start(trigger="available-now").awaitTermination(120)
    assert sorted(emitted(answers, "both")) == then
    other = {"queries": queries, "answers": tmp_path / "other", "fsync": "off"}
    workspace.write([TimedRow(2, "+", "road", ("c", "c", None), 0)])  # type: ignore[arg-type]
    maintained = maintain(workspace.frame(), workspace.program, moved, **other)
    maintained.start(trigger="available-now").awaitTermination(120)
    assert sorted(emitted(tmp_path / "other", "both")) == [("2", op, cells) for _, op, cells in then]


def test_periods_need_no_windows_and_feeds_can_be_replayed(spark: SparkSession, tmp_path: Path) -> None:
    workspace = QueryWorkspace(spark, tmp_path, "n0(?x) :- road(?x, _) .")
    changes = {"text": "?x :- n0(?x)", "emit": "changes"}
    queries = {"timed": {**changes, "every": "2s"}, "always": changes}
    rows = [
        (1, "+", "a", 101),
        (2, "+", "c", 103),
        (3, "-", "a", 103),
        (4, "+", "d", 103),
        (5, "-", "c", 112),
    ]
    roads = [TimedRow(n, op, "road", (x, "b", None), at) for n, op, x, at in rows]  # type: ignore[arg-type]
    for part in (roads[:2], roads[2:]):
        workspace.write(part)
        workspace.run(queries=queries)
    assert emitted(workspace.answers, "timed") == [("102", "+", ("a",)), ("104", "-", ("a",)), *[
        ("104", "+", (x,)) for x in "cd"
    ], ("112", "-", ("c",))]  # fmt: skip
    assert [row[:2] for row in emitted(workspace.answers, "always")] == [
        ("101", "+"), ("103", "+"), ("103#2", "-"), ("103#3", "+"), ("112", "-"),
    ]  # fmt: skip
    for name in queries:
        kb = tidalog.open()
        kb.load(f"r(?x) :- {name}(?x) .")
        for _ in kb.stream(workspace.answers / name):
            pass
        assert kb.facts(name).to_rows() == [("d",)]


def test_a_period_is_over_where_nothing_comes(spark: SparkSession, tmp_path: Path) -> None:
    workspace = QueryWorkspace(spark, tmp_path)
    text = f"REGISTER QUERY q COMPUTED EVERY 2s AS CHANGES SELECT ?x FROM STREAM {STREAM} [RANGE 9h] "
    text += f"WHERE {{ ?x <{E}in> ?y }}"
    workspace.write([TimedRow(1, "+", STREAM, ("<a:b>", f"<{E}in>", "c"), 101)])  # type: ignore[arg-type]
    maintained = workspace.maintained(queries=text, idle_advance="200ms", update_wait=0.0)
    query = maintained.start()
    until(lambda: query.exception() is not None or bool(emitted(workspace.answers, "q")))
    query.stop()
    assert emitted(workspace.answers, "q") == [("102", "+", ("<a:b>",))]


@pytest.mark.parametrize(
    ("queries", "number"),
    [
        (f"REGISTER QUERY a AS SELECT ?x WHERE {{ ?x <{E}p> ?y }}\n" * 2, "T182"),
        ({"mine": "?x :- n0(?x)"}, "T182"),
        ({"a|b": "?x :- n0(?x)"}, "T184"),
        ({"a": {"text": "?x :- n0(?x)", "emits": "changes"}}, "T184"),
        ({"a": {"text": "?x :- n0(?x)", "emit": "all"}}, "T184"),
        ({"a": 3}, "T184"),
        ({3: "?x :- n0(?x)"}, "T184"),
        (["?x :- n0(?x)"], "T076"),
        ("REGISTER QUERY a AS SELECT ?x WHERE { ?x ", "T001"),
        (f"REGISTER QUERY a AS SELECT ?x FROM <no.ttl> WHERE {{ ?x <{E}p> ?y }}", "T181"),
        ("no/file.csparql", "T001"),
    ],
)
def test_queries_that_cannot_be_registered_are_an_error_before_the_first_batch(
    spark: SparkSession, tmp_path: Path, queries: Any, number: str
) -> None:
    workspace = QueryWorkspace(spark, tmp_path)
    workspace.write(random_triples(1, 3))
    with tidalog.open(workspace.store) as kb:
        kb.load(workspace.program)
        kb.register("mine", "?x :- road(?x, _)")
    with pytest.raises(TidalogError) as caught:
        workspace.run(queries=queries)
    assert caught.value.diagnostics[0].number == number
    assert not spark.streams.active
    with tidalog.open(workspace.store, read_only=True) as kb:
        assert list(kb.queries) == ["mine"]
        assert kb.sources == ()  # type: ignore[attr-defined]
    assert not workspace.answers.exists()
    workspace.run()
    assert workspace.emitted()["near"]


def test_queries_need_a_place_for_their_answers(spark: SparkSession, tmp_path: Path) -> None:
    frame = QueryWorkspace(spark, tmp_path).frame()
    with pytest.raises(UsageError, match="the answers of queries go nowhere"):
        maintain(frame, PROGRAM, queries=QUERIES)
    with pytest.raises(UsageError, match="there are no queries"):
        maintain(frame, PROGRAM, answers=tmp_path)


def test_a_feed_of_another_store_or_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    workspace = QueryWorkspace(spark, tmp_path)
    workspace.run()
    other = maintain(workspace.frame(), PROGRAM, queries=workspace.queries, answers=workspace.answers)
    with pytest.raises(SparkError, match="belongs to another store"):
        other.start()
    with pytest.raises(SparkError, match="belongs to another store"):
        workspace.maintained().start(workspace.answers / "near")
    workspace.run()


def test_answers_are_streams_of_spark_and_tables(spark: SparkSession, tmp_path: Path) -> None:
    queries = {
        "who": {"text": "?update, ?name :- road(?update, ?name)", "emit": "changes"},
        "a/b": "?x :- n0(?x)",
        "a b": "?- road(a, b)",
        "long" * 100: "?x :- n0(?x)",
    }
    frame = QueryWorkspace(spark, tmp_path).frame()
    workspace = QueryWorkspace(spark, tmp_path)
    maintained = maintain(frame.drop("time"), PROGRAM, workspace.store, queries=queries, fsync="off")
    workspace.write(
        [TimedRow(4, "+", "road", ("a", "b", None), 0), TimedRow(4, "+", "road", ("c", "d", None), 0)]
    )  # type: ignore[arg-type]
    workspace.write([TimedRow(5, "-", "road", ("c", "d", None), 0)])  # type: ignore[arg-type]
    stream = maintained.answers("who")
    assert stream.columns == ["update", "op", "arg1", "name"]
    read = stream.writeStream.format("memory").queryName("who").start()
    assert maintained.query is not None
    maintained.query.processAllAvailable()
    read.processAllAvailable()
    rows = sorted(tuple(row) for row in spark.sql("select * from who").collect())
    assert rows == [("4", "+", "a", "b"), ("4", "+", "c", "d"), ("5", "-", "c", "d")]
    read.stop()
    maintained.query.stop()
    reader = spark.read.format("tidalog")
    table = reader.option("query", "a/b").load(str(workspace.store))
    assert table.columns == ["update", "op", "x"]
    assert sorted(map(tuple, table.collect())) == [("4", "+", "a"), ("4", "+", "c"), ("5", "+", "a")]
    yes = spark.read.format("tidalog").option("query", "a b").load(str(workspace.store / "spark" / "answers"))
    assert [tuple(row) for row in yes.collect()] == [("4", "+"), ("5", "+")]
    folders = sorted(path.name for path in (workspace.store / "spark" / "answers").iterdir())
    assert folders == ["a_b", "a_b.2", "long" * 15, "who"]
    with pytest.raises(Exception, match="queries are a b, a/b, long"):
        spark.read.format("tidalog").option("query", "whom").load(str(workspace.store))
    with pytest.raises(UsageError, match="there is no query whom"):
        maintained.answers("whom")
    assert maintained.query is not None
    maintained.query.stop()
