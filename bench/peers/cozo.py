"""CozoDB, embedded and in memory: every derived predicate becomes a stored relation."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
from pycozo.client import Client

from bench.digest import Content, expression
from bench.measure import Stopwatch
from bench.staging import Job


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    database = Client("mem", "", dataframe=False)
    with watch.phase("load"):
        for predicate, columns in job.columns.items():
            names = list(columns)
            database.run(f":create {predicate} {{{', '.join(names)}}}")
            if job.kind == "load-csv":
                table = pyarrow.csv.read_csv(folder / f"{predicate}.csv")
            else:
                table = pyarrow.parquet.read_table(folder / f"{predicate}.parquet")
            rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
            database.import_relations({predicate: {"headers": names, "rows": rows}})
    with watch.phase("evaluate"):
        for query in job.scripts.get("cozo", ()):
            database.run(query)
    watch.finish()
    textual = {name for name, columns in job.columns.items() if "string" in columns.values()}
    return {predicate: _content(database, predicate, predicate in textual) for predicate in job.results}


def _content(database: Client, predicate: str, textual: bool) -> Content:
    names = [row[0] for row in database.run(f"::columns {predicate}")["rows"]]
    stored = f"*{predicate}{{{', '.join(names)}}}"
    if textual:
        rows = database.run(f"?[count({names[0]})] := {stored}")["rows"]
        return Content(int(rows[0][0]))
    folded = expression(names)
    rows = database.run(f"?[count({names[0]}), sum(h)] := {stored}, h = {folded}")["rows"]
    return Content(int(rows[0][0]), int(rows[0][1]))
