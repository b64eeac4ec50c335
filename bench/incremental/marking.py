"""Streams under several strategies and kinds of marks, measured in turn: the paper's and short-lived ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from bench.incremental.driver import drive
from bench.papers.programs import PROGRAMS
from bench.papers.short_lived import short_lived_edges, short_lived_ways
from bench.papers.streams import Stream, synthetic, track
from tidalog.maintain.choose import Options
from tidalog.maintain.counters import Counters

TABLE_VARIANTS: Mapping[str, Options] = {
    "without marks": Options("bf", "none", "paper"),
    "paper": Options("bf", "paper", "paper"),
    "linked": Options("bf", "linked", "paper"),
    "complete": Options("bf", "complete", "paper"),
    "ours": Options("bf", "complete", "ours"),
    "ours, auto": Options("bf", "auto", "ours"),
    "ours, no marks": Options("bf", "none", "ours"),
    "ranked": Options("ranked", "auto", "ours"),
    "ranked, no marks": Options("ranked", "none", "ours"),
}
_MORE_RUNS = 2

SHORT_LIVED_VARIANTS: Mapping[str, Mapping[str, Options]] = {
    strategy: {
        "none": Options(strategy, "none"),
        "look-ahead 1": Options(strategy, "complete"),
        "look-ahead 3": Options(strategy, "complete", look_ahead=3),
        "auto": Options(strategy, "auto", look_ahead=3),
    }
    for strategy in ("ranked", "dred", "bf")
}
"""`ranked` comes first: large streams are measured with it alone."""


def tables(
    family: str, rows: Sequence[int | str], repeat: int, often: Sequence[str] = ()
) -> dict[str, object]:
    """Rows of the table of `trans`, `seq` or `map`: by row and variant, averages over the row's streams."""
    runs = {name: repeat * _MORE_RUNS if name in often else repeat for name in TABLE_VARIANTS}
    found = {}
    for row in rows:
        streams = (
            [track(str(row))] if family == "map" else [synthetic(family, n, int(row)) for n in (1, 2, 3)]
        )
        found[str(row)] = _in_turn(PROGRAMS[family], streams, TABLE_VARIANTS, runs)
    return {"rows": found}


def short_lived(sizes: Sequence[int], repeat: int) -> dict[str, object]:
    """By kind of stream, size, strategy and look-ahead.  Where facts are sparse, what they derive goes with
    them; the dense ones, of the first size alone, derive facts that outlive them."""
    kinds: dict[str, tuple[str, Callable[[int], Stream]]] = {
        "paths": ("trans", lambda size: short_lived_edges(size, nodes=4 * size)),
        "names of edges": ("seq", lambda size: short_lived_edges(size, nodes=4 * size)),
        "map": ("map", lambda size: short_lived_ways(size, nodes=12 * size, ways=4 * size)),
        "paths, dense": ("trans", lambda size: short_lived_edges(size, nodes=20 + size // 8)),
        "map, dense": ("map", short_lived_ways),
    }
    found: dict[str, dict[str, dict[str, object]]] = {}
    for kind, (family, make) in kinds.items():
        for size in sizes[:1] if "dense" in kind else sizes:
            by_strategy = found.setdefault(kind, {}).setdefault(str(size), {})
            stream = make(size)
            for strategy, variants in SHORT_LIVED_VARIANTS.items():
                if by_strategy and size > sizes[0]:
                    break
                runs = dict.fromkeys(variants, repeat)
                by_strategy[strategy] = _in_turn(PROGRAMS[family], [stream], variants, runs)
    return {"kinds": found}


def _in_turn(
    program: str, streams: Sequence[Stream], variants: Mapping[str, Options], runs: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """Averages over streams of counters and of the best CPU seconds, by variant.  Variants take turns, after
    one run each that is not timed."""
    totals = {name: Counters() for name in variants}
    best: dict[str, list[float]] = {name: [] for name in variants}
    for stream in streams:
        for name, options in variants.items():
            totals[name].add(drive(program, stream, options)[0])
        times: dict[str, list[float]] = {name: [] for name in variants}
        for turn in range(max(runs.values())):
            for name, options in variants.items():
                if turn < runs[name]:
                    times[name].append(drive(program, stream, options)[1])
        for name, seconds in times.items():
            best[name].append(min(seconds))
    return {
        name: {
            **{key: value / len(streams) for key, value in asdict(totals[name]).items() if key != "seconds"},
            "cpu_seconds": sum(best[name]) / len(streams),
        }
        for name in variants
    }
