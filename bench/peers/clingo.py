"""clingo: the programs are stratified, so that grounding computes the whole model."""

from __future__ import annotations

from pathlib import Path

import clingo
import pyarrow.parquet

from bench.digest import Content, of_rows
from bench.measure import Stopwatch
from bench.staging import Job

_ROWS_WORTH_READING = 300_000
"""Atoms come out one Python object at a time; beyond this they are counted only."""


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    control = clingo.Control(["--warn=none"])
    with watch.phase("load"):
        for predicate in job.columns:
            control.add("facts", [], _facts(folder, predicate))
        control.ground([("facts", [])])
    loaded = len(control.symbolic_atoms)
    if job.kind == "evaluate":
        with watch.phase("evaluate"):
            control.add("rules", [], "\n".join(job.scripts["clingo"]))
            control.ground([("rules", [])])
    watch.finish()
    if job.kind != "evaluate":
        return {predicate: Content(loaded) for predicate in job.results}
    derived = len(control.symbolic_atoms) - loaded
    if derived > _ROWS_WORTH_READING and len(job.results) == 1:
        return {predicate: Content(derived) for predicate in job.results}
    return {
        predicate: of_rows(
            [argument.number for argument in atom.symbol.arguments]
            for atom in control.symbolic_atoms.by_signature(predicate, arity)
        )
        for predicate, arity in job.results.items()
    }


def _facts(folder: Path, predicate: str) -> str:
    """The facts in the words of clingo: it has no other way in for bulk data."""
    table = pyarrow.parquet.read_table(folder / f"{predicate}.parquet")
    quoted = [
        [f'"{value}"' if isinstance(value, str) else str(value) for value in column.to_pylist()]
        for column in table.columns
    ]
    return "".join([f"{predicate}({','.join(row)})." for row in zip(*quoted, strict=True)])
