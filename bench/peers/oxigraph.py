"""Oxigraph: the bulk loader of its store in memory."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph as ox

from bench.digest import Content
from bench.measure import Stopwatch
from bench.staging import Job


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    store = ox.Store()
    (predicate,) = job.columns
    ending = job.kind.removeprefix("load-")
    path = folder / f"{predicate}.{ending}"
    with watch.phase("load"):
        if ending.endswith(".gz"):
            with gzip.open(path) as file:
                store.bulk_load(file, ox.RdfFormat.N_TRIPLES)
        else:
            store.bulk_load(path=str(path), format=ox.RdfFormat.N_TRIPLES)
    watch.finish()
    return {predicate: Content(len(store))}
