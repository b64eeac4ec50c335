"""Tidalog: through the same knowledge base that a user holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import tidalog
from bench.digest import Content, of_columns
from bench.measure import Stopwatch
from bench.staging import Job

_LANGUAGE_TYPES = {"int64": "int", "string": "string"}


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    with watch.phase("start"):
        _warm_up(job, folder)
    kb = tidalog.open()
    with watch.phase("load"):
        if job.kind == "evaluate":
            kb.load(job.program)
            for predicate in job.columns:
                kb.insert(predicate, pyarrow.parquet.read_table(folder / f"{predicate}.parquet"))
        else:
            kb.load(_import(job, folder))
            kb.materialise()
    if job.kind == "evaluate":
        with watch.phase("evaluate"):
            done = kb.materialise()
        watch.notes["derivations"] = done.derivations
        watch.notes["engine_seconds"] = done.seconds
    stats = kb.stats()
    watch.notes["facts"] = stats.facts
    watch.notes["engine_bytes"] = stats.bytes
    watch.finish()
    return {predicate: _content(kb, job, predicate) for predicate in job.results}


def _warm_up(job: Job, folder: Path) -> None:
    """The same work on a few rows: compiled code comes from the disk cache before anything is timed."""
    kb = tidalog.open()
    if job.kind == "evaluate":
        kb.load(job.program)
        for predicate in job.columns:
            kb.insert(predicate, pyarrow.parquet.read_table(folder / f"{predicate}.parquet").slice(0, 8))
    kb.materialise()


def _import(job: Job, folder: Path) -> str:
    lines = []
    for predicate, columns in job.columns.items():
        if job.kind.startswith("load-nt"):
            ending = job.kind.removeprefix("load-")
            lines.append(f'@import {predicate} :- ntriples{{resource = "{folder}/{predicate}.{ending}"}} .')
            continue
        types = ", ".join(_LANGUAGE_TYPES[arrow_type] for arrow_type in columns.values())
        ending = job.kind.removeprefix("load-")
        header = ", header = true" if ending == "csv" else ""
        lines.append(
            f'@import {predicate} :- {ending}{{resource = "{folder}/{predicate}.{ending}", '
            f"format = ({types}){header}}} ."
        )
    return "\n".join(lines) + "\n"


def _content(kb: tidalog.KnowledgeBase, job: Job, predicate: str) -> Content:
    if job.kind != "evaluate":
        return Content(kb.count(predicate))
    table: pa.Table = kb.facts(predicate).to_arrow()
    return of_columns([np.asarray(column.combine_chunks(), np.int64) for column in table.columns])
