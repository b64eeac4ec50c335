"""egglog: facts through its file input, rules saturated by its own schedule."""

from __future__ import annotations

import re
from pathlib import Path

from egglog import bindings

from bench.digest import Content, of_rows
from bench.measure import Stopwatch
from bench.staging import Job

_SORTS = {"int64": "i64", "string": "String"}
_ROWS_WORTH_READING = 300_000
"""Rows come out as text only; beyond this they are counted."""


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    graph = bindings.EGraph()
    with watch.phase("load"):
        for predicate, columns in job.columns.items():
            sorts = " ".join(_SORTS[arrow_type] for arrow_type in columns.values())
            _execute(graph, f"(relation {predicate} ({sorts}))")
            _execute(graph, f'(input {predicate} "{folder}/{predicate}.facts")')
    if job.kind == "evaluate":
        with watch.phase("evaluate"):
            _execute(graph, "(ruleset rules)\n" + "\n".join(job.scripts["egglog"]))
            _execute(graph, "(run-schedule (saturate rules))")
    watch.finish()
    return {predicate: _content(graph, job, predicate) for predicate in job.results}


def _execute(graph: bindings.EGraph, text: str) -> list[str]:
    return [str(output) for output in graph.run_program(*graph.parse_program(text))]


def _content(graph: bindings.EGraph, job: Job, predicate: str) -> Content:
    (size,) = _execute(graph, f"(print-size {predicate})")
    count = int(size.strip().removeprefix("PrintFunctionSize(").removesuffix(")"))
    if count > _ROWS_WORTH_READING or job.kind != "evaluate":
        return Content(count)
    (text,) = _execute(graph, f"(print-function {predicate} {count + 1})")
    rows = re.finditer(rf"^\s*\({predicate} ([-0-9 ]+)\)", text, re.MULTILINE)
    return of_rows([int(value) for value in row[1].split()] for row in rows)
