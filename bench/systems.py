"""The systems that are measured: what they are called, where their runner is, whether they are here.

A runner is a module with

    run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]

which loads the job's facts in the phase `load`, computes in the phase `evaluate`, and then says what the
result predicates hold.  It is imported in the measured process alone, so that no library taints another.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import cast

from bench.digest import Content
from bench.measure import Stopwatch
from bench.staging import Job

Runner = Callable[[Job, Path, int, Stopwatch], dict[str, Content]]


@dataclass(frozen=True)
class System:
    key: str
    label: str
    module: str
    distribution: str = ""
    """The Python package, or none for a program on the PATH."""
    threads: tuple[int, ...] = (1,)
    """Numbers of threads to try; a table shows the best CPU and the best wall time among them."""
    formats: tuple[str, ...] = ("csv", "parquet")
    """File formats that it loads from."""

    def version(self) -> str | None:
        """The version that is installed, or None."""
        if not self.distribution:
            return "on PATH" if shutil.which(self.key) else None
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def runner(self) -> Runner:
        return cast(Runner, import_module(self.module).run)


TIDALOG = System(
    "tidalog", "Tidalog", "bench.tidalog_runner", "tidalog", formats=("csv", "parquet", "nt", "nt.gz")
)
OXIGRAPH = System("oxigraph", "Oxigraph", "bench.peers.oxigraph", "pyoxigraph", formats=("nt", "nt.gz"))
"""It loads RDF, and evaluates no rules."""
PEERS = (
    System("duckdb", "DuckDB", "bench.peers.duckdb", "duckdb", threads=(1, 2)),
    System("clingo", "clingo", "bench.peers.clingo", "clingo", formats=("csv",)),
    System("egglog", "egglog", "bench.peers.egglog", "egglog", formats=("csv",)),
    System("cozo", "CozoDB", "bench.peers.cozo", "cozo-embedded", formats=("csv",)),
    System("souffle", "Soufflé", "bench.peers.souffle", formats=("csv",)),
)
SYSTEMS = {system.key: system for system in (TIDALOG, *PEERS)}
LOADERS = {OXIGRAPH.key: OXIGRAPH}
"""Systems that load only."""
