"""Streams of triples with times, continuous queries over them, and what these emit: by a knowledge base in
memory that gets one update after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from update_streams import add_table, check_counts
from windowed_streams import EPOCH, LATE, TimedRow

import tidalog
from tidalog.api.continuous import register_all
from tidalog.api.query_sinks import Answered
from tidalog.model.errors import UsageError
from tidalog.spark.feed import feed_files, feed_shape, read_feed
from tidalog.spark.progress import Totals
from tidalog.spark.stream import Maintained, maintain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

E = "http://e/"
STREAM = f"<{E}s>"
PROGRAM = f"""
@prefix ex: <{E}> .
ex:in(?x, ?z) :- ex:in(?x, ?y), ex:in(?y, ?z) .
n0(?x) :- road(?x, _) .
"""
OVER = f"FROM STREAM {STREAM} [RANGE 6s STEP 2s]"
QUERIES = f"""
PREFIX ex: <{E}>
REGISTER QUERY inside COMPUTED EVERY 2s AS SELECT ?x ?y {OVER} WHERE {{ ?x ex:in ?y }}
REGISTER QUERY "moved/in" AS ISTREAM SELECT ?x ?y {OVER} WHERE {{ ?x ex:in ?y FILTER (?x != ?y) }}
REGISTER QUERY left COMPUTED EVERY 3s AS DSTREAM SELECT ?x {OVER} WHERE {{ ?x ex:in ?y }}
REGISTER QUERY near AS CHANGES SELECT ?x ?y ?z FROM <background.ttl> {OVER}
WHERE {{ ?x ex:near ?y OPTIONAL {{ ?y ex:in ?z }} }}
REGISTER STREAM moves COMPUTED EVERY 1s AS ISTREAM CONSTRUCT {{ ?y ex:in ?x . ?x ex:seen ?y }} {OVER}
WHERE {{ ?x ex:in ?y FILTER (?x != ?y) }}
REGISTER QUERY seen COMPUTED EVERY 2s AS CHANGES SELECT ?x ?p ?y FROM STREAM <moves> [RANGE 7s STEP 1s]
WHERE {{ ?x ?p ?y }}
REGISTER QUERY any COMPUTED EVERY 1s AS CHANGES ASK {OVER} WHERE {{ ?x ex:in ex:n0 }}
"""
BACKGROUND = f"@prefix ex: <{E}> . ex:n0 ex:in ex:n1 . ex:n1 ex:near ex:n2 ."
Row = tuple[str, str, tuple[str | None, ...]]
"""Time, operation, answer."""


def random_triples(seed: int, updates: int) -> list[TimedRow]:
    """Most updates in order, some of them late, a few too late."""
    chance = random.Random(seed)
    rows: list[TimedRow] = []
    now = 100
    for label in range(1, updates + 1):
        now += chance.choice([0, 1, 1, 2, 7])
        at = now - chance.choice([0, 0, 0, 0, 2, LATE, 9])
        for _ in range(chance.randrange(1, 5)):
            names = [f"<{E}n{chance.randrange(4)}>" for _ in "so"]
            triple = (names[0], f"<{E}{chance.choice(['in', 'in', 'near'])}>", names[1])
            predicate = STREAM if chance.random() < 0.9 else "triple"
            rows.append(TimedRow(label, chance.choice("+++-"), predicate, triple, at))  # type: ignore[arg-type]
    return rows


def table_of(rows: Sequence[TimedRow]) -> pa.Table:
    times = [EPOCH + timedelta(seconds=row.time) for row in rows]
    cells = [pa.array([row.arguments[n] for row in rows], pa.string()) for n in range(3)]
    arguments = {f"arg{n}": column for n, column in enumerate(cells, 1)}
    return pa.table(
        {
            "update": pa.array([row.label for row in rows], pa.int64()),
            "op": [row.op for row in rows],
            "predicate": [row.predicate for row in rows],
            **arguments,
            "time": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


class Oracle:
    """What queries emit over rows, each batch of which may come with other queries."""

    def __init__(self, folder: Path, program: str = PROGRAM) -> None:
        self._kb = tidalog.open(late=LATE)
        self._kb.load(program)
        self._folder = folder
        self.emitted: dict[str, list[Row]] = {}

    def register(self, text: str, *replaced: str) -> None:
        """Makes the queries of a text the queries; others end."""
        for name in [*self._kb.queries]:
            if name not in text or name in replaced:
                self._kb.queries[name].drop()
        known = set(self._kb.queries)
        for query in register_all(self._kb, text, base_dir=self._folder):
            if query.name not in known:
                self.emitted.setdefault(query.name, [])
                query.listen(self)

    def write(self, answered: Answered, /) -> None:
        for batch in answered.batches:
            columns = [[_value(cell) for cell in column.to_pylist()] for column in batch.columns]
            width = len(self._kb.queries[answered.name].columns)
            rows = zip(*columns, strict=True) if columns or not width else [(None,) * width]
            self.emitted[answered.name] += [(str(batch.update), batch.sign, row) for row in rows]

    def apply(self, rows: Sequence[TimedRow]) -> None:
        for label in sorted({row.label for row in rows}):
            own = [row for row in rows if row.label == label]
            update = tidalog.Update(label=label, time=max(row.time for row in own))
            for row in own:
                change = update.insert if row.op == "+" else update.delete
                change(row.predicate, [row.arguments], formats=["any"] * 3)
            try:
                self._kb.apply(update)
            except UsageError as error:
                assert error.diagnostics[0].number == "T175"


def _value(cell: object) -> str | None:
    return None if "unbound" in str(cell) else str(cell).lower() if isinstance(cell, bool) else str(cell)


def emitted(answers: Path, name: str) -> list[Row]:
    """The rows of a query's feed."""
    found: list[Row] = []
    for folder in answers.iterdir() if answers.is_dir() else ():
        shape = feed_shape(folder)
        if shape is not None and shape.query == name:
            files = feed_files(folder)
            assert [file.first for file in files] == [0, *(file.last + 1 for file in files)][:-1]
            for table in read_feed(files):
                for row in table.to_pylist():
                    cells = tuple(row[f"arg{n}"] for n in range(1, shape.arguments + 1))
                    found.append((row["update"], row["op"], cells))
    return found


@dataclass
class QueryWorkspace:
    """The folders of one test."""

    spark: SparkSession
    root: Path
    program: str = PROGRAM
    queries: Path = field(init=False)

    def __post_init__(self) -> None:
        self.queries = self.root / "queries.csparql"
        self.queries.write_text(QUERIES)
        (self.root / "background.ttl").write_text(BACKGROUND)

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def answers(self) -> Path:
        return self.root / "answers"

    def write(self, rows: Sequence[TimedRow]) -> None:
        add_table(self.root / "in", table_of(rows))

    def frame(self) -> DataFrame:
        (self.root / "in").mkdir(exist_ok=True)
        columns = "update long, op string, predicate string, arg1 string, arg2 string, arg3 string"
        reader = self.spark.readStream.schema(f"{columns}, time timestamp").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.root / "in"))

    def maintained(self, **how: Any) -> Maintained:
        how = {"fsync": "off", "late": LATE, "queries": self.queries, "answers": self.answers, **how}
        return maintain(self.frame(), self.program, self.store, **how)

    def run(self, **how: Any) -> Totals:
        """Processes everything that is available."""
        query = self.maintained(**how).start(self.root / "feed", trigger="available-now")
        assert query.awaitTermination(120)
        check_counts(query.totals)
        return query.totals

    def emitted(self) -> dict[str, list[Row]]:
        shapes = [feed_shape(folder) for folder in self.answers.iterdir()]
        names = [shape.query for shape in shapes if shape is not None and shape.query is not None]
        return {name: emitted(self.answers, name) for name in names}

    def check(self, oracle: Oracle) -> None:
        """Every answer is emitted once."""
        found = self.emitted()
        assert found.keys() == oracle.emitted.keys()
        for name, rows in oracle.emitted.items():
            assert sorted(found[name], key=str) == sorted(rows, key=str), name
