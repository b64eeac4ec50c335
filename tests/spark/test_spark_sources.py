"""Streams of updates by name: what each source gives is what the same rows in a local table give."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from update_streams import Workspace, consequences

from tidalog.spark.diagnostics import SparkError
from tidalog.spark.sources import read_stream
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FACTS = "fact(?a, ?b, ?c) :- given(?a, ?b, ?c) .\nshort(?a) :- one(?a) .\nnothing :- zero ."


@pytest.fixture(autouse=True)
def input_folder(workspace: Workspace) -> None:
    workspace.input.mkdir()


def facts(workspace: Workspace, frame: DataFrame, program: str = FACTS) -> dict[str, set[tuple[object, ...]]]:
    import tidalog

    query = maintain(frame, program, workspace.store, fsync="off").start(trigger="available-now")
    assert query.awaitTermination(120)
    with tidalog.open(workspace.store, read_only=True) as kb:
        return {name: set(kb.facts(name).to_terms()) for name in kb.predicates}


def local_facts(path: Path) -> dict[str, set[tuple[object, ...]]]:
    import tidalog

    with tidalog.open() as kb:
        kb.load(FACTS)
        for _ in kb.stream(path):
            pass
        return {name: set(kb.facts(name).to_terms()) for name in kb.predicates}


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            (
                "t.csv",
                'update,op,predicate,arg1,arg2,arg3\n10,+,given,a,,c\n9,+,given,"x,y","say ""hi""",1.5\n'
                '9,-,given,a,,c\n10,+,one,"""""",,\n10,+,zero,,,\n11,+,given,,,<http://x.org/a>\n',
            ),
            (
                "t.tsv",
                "update\top\tpredicate\targ1\targ2\targ3\n1\t+\tgiven\ta b\t\t7\n2\t+\tone\ttrue\t\t\n",
            ),
            (
                "t.ndjson",
                '{"update":1,"op":"+","predicate":"given","arg1":1,"arg2":2.0,"arg3":true}\n'
                '{"update":2,"op":"+","predicate":"one","arg1":"\\"3\\"@en"}\n'
                '{"update":2,"op":"+","predicate":"zero"}\n',
            ),
        ],
        ids=["csv", "tsv", "json"],
    )
    def test_a_text_file_gives_what_it_gives_without_spark(
        self, workspace: Workspace, name: str, text: str
    ) -> None:
        (workspace.input / name).write_text(text)
        frame = read_stream(workspace.spark, str(workspace.input), arguments=3)
        assert facts(workspace, frame) == local_facts(workspace.input / name)

    def test_lines_that_cannot_be_read_are_quarantined_whole(self, workspace: Workspace) -> None:
        lines = ["op,predicate,arg1,arg2", "+,edge,a,b", "+,edge,a,b,c,d", "+,edge", "+,edge,b,c"]
        (workspace.input / "t.csv").write_text("\n".join(lines) + "\n")
        totals = workspace.run(read_stream(workspace.spark, str(workspace.input), arguments=2))
        assert (totals.applied, totals.quarantined) == (2, 2)
        (file,) = (workspace.store / "spark" / "quarantine").iterdir()
        assert "+,edge,a,b,c,d" in file.read_text()
        workspace.check({("edge", "a", "b"), ("edge", "b", "c")})

    def test_a_csv_file_with_other_columns_stops_the_stream(self, workspace: Workspace) -> None:
        (workspace.input / "a.csv").write_text("op,predicate,arg1,arg2\n+,edge,a,b\n")
        frame = read_stream(workspace.spark, str(workspace.input), arguments=2)
        workspace.run(frame)
        (workspace.input / "b.csv").write_text("predicate,op,arg1,arg2\nedge,+,x,y\n")
        with pytest.raises(SparkError, match="T116"):
            workspace.run(frame)
        workspace.check({("edge", "a", "b")})

    def test_one_file_is_a_stream_too(self, workspace: Workspace) -> None:
        (workspace.input / "a.csv").write_text("op,predicate,arg1,arg2\n+,edge,a,b\n")
        (workspace.input / "b.csv").write_text("op,predicate,arg1,arg2\n+,edge,x,y\n")
        workspace.run(read_stream(workspace.spark, str(workspace.input / "b.csv"), arguments=2))
        workspace.check({("edge", "x", "y")})

    def test_what_cannot_be_a_stream_is_t114(self, workspace: Workspace) -> None:
        (workspace.input / "a.csv").touch()
        (workspace.input / "b.json").touch()
        for updates in (str(workspace.input), str(workspace.root / "no" / "where"), None):
            with pytest.raises(SparkError, match="T114"):
                read_stream(workspace.spark, updates)


class TestOthers:
    def test_a_source_that_spark_does_not_have_is_t113_and_says_what_to_fetch(
        self, workspace: Workspace
    ) -> None:
        options = {"kafka.bootstrap.servers": "localhost:1"}
        with pytest.raises(SparkError, match="T113") as raised:
            read_stream(workspace.spark, "topic", "kafka", options)
        version = workspace.spark.version
        assert f"--packages org.apache.spark:spark-sql-kafka-0-10_2.13:{version}\n" in f"{raised.value}\n"
        with pytest.raises(SparkError, match="T113") as raised:
            read_stream(workspace.spark, "x", "delta")
        minor = version.rpartition(".")[0]
        assert f"--packages io.delta:delta-spark_{minor}_2.13:VERSION" in str(raised.value)
        with pytest.raises(SparkError, match="T113"):
            read_stream(workspace.spark, "x", "nosuchsource")

    def test_a_query_makes_updates_of_any_rows(self, workspace: Workspace) -> None:
        program = "even(?x) :- tick(?x), ?x >= 0 ."
        sql = "select value as update, '+' as op, 'tick' as predicate, value as arg1 from source"
        frame = read_stream(workspace.spark, None, "rate", {"rowsPerSecond": "100"}, sql=sql)
        enough = threading.Event()

        def listen(report: object, totals: object) -> None:
            if getattr(totals, "applied", 0) > 20:
                enough.set()

        query = maintain(frame, program, workspace.store, fsync="off").start(listener=listen)
        assert enough.wait(60)
        query.stop()
        import tidalog

        with tidalog.open(workspace.store, read_only=True) as kb:
            assert kb.count("even") == kb.count("tick") == query.totals.applied

    def test_messages_of_a_socket_are_objects(self, workspace: Workspace) -> None:
        lines = [
            '{"op":"+","predicate":"edge","arg1":"a","arg2":"b"}',
            "this is none",
            '{"op":"+","predicate":"edge","arg1":"b","arg2":"c"}',
        ]
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            connections: list[socket.socket] = []

            def serve() -> None:
                while True:
                    try:
                        connection = server.accept()[0]
                    except OSError:
                        return
                    connections.append(connection)
                    connection.sendall("".join(line + "\n" for line in lines).encode())

            threading.Thread(target=serve, daemon=True).start()
            frame = read_stream(
                workspace.spark,
                address,
                "socket",
                schema="op string, predicate string, arg1 string, arg2 string",
            )
            done = threading.Event()
            query = workspace.maintained(frame).start(
                listener=lambda _, totals: done.set() if totals.applied + totals.quarantined == 3 else None
            )
            assert done.wait(60)
            query.stop()
            for connection in connections:
                connection.close()
        assert (query.totals.applied, query.totals.quarantined) == (2, 1)
        assert workspace.facts() == consequences({("edge", "a", "b"), ("edge", "b", "c")})

    def test_a_table_of_the_catalogue_streams(self, workspace: Workspace) -> None:
        spark = workspace.spark
        columns = "op string, predicate string, arg1 string, arg2 string"
        rows = spark.createDataFrame([("+", "edge", "a", "b")], columns)
        rows.write.option("path", str(workspace.root / "table")).saveAsTable("updates_of_a_test")
        try:
            workspace.run(read_stream(spark, "updates_of_a_test", "table"))
        finally:
            spark.sql("drop table updates_of_a_test")
        workspace.check({("edge", "a", "b")})
