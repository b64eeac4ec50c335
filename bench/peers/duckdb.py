"""DuckDB: recursive common table expressions, every derived predicate stored as a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from bench.digest import Content, expression
from bench.measure import Stopwatch
from bench.staging import Job

_SQL_TYPES = {"int64": "INTEGER", "string": "VARCHAR"}
"""32 bits hold every number of the workloads and are what serves DuckDB best."""


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    with watch.phase("load"):
        for predicate, columns in job.columns.items():
            connection.execute(_load_statement(job.kind, folder, predicate, columns))
    with watch.phase("evaluate"):
        for statement in job.scripts.get("duckdb", ()):
            connection.execute(statement)
    watch.finish()
    return {predicate: _content(connection, predicate) for predicate in job.results}


def _load_statement(kind: str, folder: Path, predicate: str, columns: Mapping[str, str]) -> str:
    types = {name: _SQL_TYPES[arrow_type] for name, arrow_type in columns.items()}
    if kind == "load-csv":
        return f"CREATE TABLE {predicate} AS FROM read_csv('{folder}/{predicate}.csv', columns = {types})"
    selected = ", ".join(f"{name}::{sql_type} AS {name}" for name, sql_type in types.items())
    return f"CREATE TABLE {predicate} AS SELECT {selected} FROM '{folder}/{predicate}.parquet'"


def _content(connection: duckdb.DuckDBPyConnection, predicate: str) -> Content:
    described = connection.execute(f"DESCRIBE {predicate}").fetchall()
    if any(row[1] == "VARCHAR" for row in described):
        (count,) = connection.execute(f"SELECT count(*) FROM {predicate}").fetchall()[0]
        return Content(int(count))
    folded = expression([f"{row[0]}::BIGINT" for row in described])
    count, digest = connection.execute(
        f"SELECT count(*), coalesce(sum({folded}), 0) FROM {predicate}"
    ).fetchall()[0]
    return Content(int(count), int(digest))
