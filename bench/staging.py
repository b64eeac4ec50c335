"""Jobs: a workload written to a folder, where a process of its own can read it.

job.json            name, scripts, result predicates
PREDICATE.parquet   the facts
PREDICATE.facts     the same, tab-separated without a header, as egglog and Soufflé read them
PREDICATE.csv       only where a job asks for it (loading)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset  # reading Parquet would import it while a load is being timed
import pyarrow.parquet

from bench.workload import Workload


@dataclass(frozen=True)
class Job:
    """The instructions for a child process.  `kind` is `evaluate`, or `load-csv`, `load-parquet` for loading
    alone; `columns` gives names and Arrow types of the columns of each fact table."""

    kind: str
    name: str
    program: str
    scripts: Mapping[str, list[str]]
    results: Mapping[str, int]
    columns: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, folder: Path) -> Job:
        return cls(**json.loads((folder / "job.json").read_text()))

    def write(self, folder: Path) -> None:
        (folder / "job.json").write_text(json.dumps(asdict(self), indent=1))


def columns_of(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, str]]:
    return {name: {f.name: str(f.type) for f in table.schema} for name, table in tables.items()}


def stage(workload: Workload, folder: Path) -> Job:
    """Generate the facts of a workload and write everything that a run of it needs."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = workload.facts()
    write_files(tables, folder)
    job = Job(
        "evaluate",
        workload.name,
        workload.program,
        {system: list(lines) for system, lines in workload.scripts.items()},
        dict(workload.results),
        columns_of(tables),
    )
    job.write(folder)
    return job


def write_files(tables: Mapping[str, pa.Table], folder: Path) -> None:
    """The facts in every format that some system reads."""
    plain = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
        pyarrow.csv.write_csv(table, folder / f"{name}.facts", plain)
