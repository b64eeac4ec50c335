"""Everything once on little data, so that compiled code is made before a process is timed or limited."""

from __future__ import annotations

from bench.incremental import closure, equilibrium, locality
from bench.incremental.driver import STRATEGIES, drive
from bench.incremental.marking import SHORT_LIVED_VARIANTS, TABLE_VARIANTS
from bench.incremental.sustained import PREDICATE, journey, streamed
from bench.papers.programs import PROGRAMS
from bench.papers.short_lived import short_lived_edges
from bench.papers.streams import Stream


def run() -> dict[str, object]:
    """The jobs' own code, except that streams are short."""
    edges, ways = short_lived_edges(4, updates=6), Stream("ways", PREDICATE, tuple(journey(1)[-30:]))
    for family, program in PROGRAMS.items():
        variants = [*TABLE_VARIANTS.values()]
        variants += [options for part in SHORT_LIVED_VARIANTS.values() for options in part.values()]
        for options in variants:
            drive(program, ways if family == "map" else edges, options)
    closure.pairs(40, 80, 2, STRATEGIES, 600.0, 1)
    locality.run([1_000], 1)
    streamed(journey(1)[-30:])
    equilibrium.run(120, [10], 1, 600.0)
    return {}
