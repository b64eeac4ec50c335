"""All suites, in the order in which they run."""

from __future__ import annotations

from bench.suites import (
    keyed,
    loading,
    maintenance,
    ontologies,
    papers,
    pipeline,
    queries,
    rule_edits,
    scaling,
    speed,
    startup,
    storage,
)
from bench.suites.options import Suite
from bench.workloads import speed_workloads


def _speed_names(quick: bool) -> tuple[str, ...]:
    return tuple(workload.name for workload in speed_workloads(quick))


SUITES: tuple[Suite, ...] = (
    Suite("speed", "evaluation and memory, beside the peers", speed.run, _speed_names),
    Suite("scaling", "three sizes that each double the result", scaling.run),
    Suite("loading", "five million pairs from CSV and Parquet", loading.run),
    Suite("startup", "cold and warm start of the command line", startup.run),
    Suite("papers", "the evaluations of papers, run again", papers.run, lambda quick: papers.NAMES),
    Suite(
        "maintenance",
        "updates of a materialisation, by strategy and beside the peers",
        maintenance.run,
        lambda quick: maintenance.NAMES,
    ),
    Suite("edits", "one rule added and removed, by the number of rules", rule_edits.run),
    Suite("ontologies", "OWL 2 RL over LUBM, beside owlrl and reasonable", ontologies.run),
    Suite("queries", "queries with a constant, by the number of facts", queries.run),
    Suite("storage", "stores beside the same work in memory", storage.run),
    Suite(
        "pipeline",
        "streams through Spark: batches, a sustained rate, memory",
        pipeline.run,
        lambda quick: pipeline.NAMES,
    ),
    Suite("keyed", "keyed streams, beside an entry of state for each key", keyed.run),
)
