"""Does cost follow the change?  The same update on stores of which ever less is concerned by it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.generators import chains
from bench.incremental.closure import PROGRAM
from bench.incremental.driver import Kept, Rows, as_rows
from tidalog.maintain.choose import Options

LENGTH = 20
FACTS_OF_A_CHAIN = LENGTH - 1 + LENGTH * (LENGTH - 1) // 2
STRATEGIES = ("auto", "dred", "bf")
"""In an order in which each may follow the one before on the same store."""
_CHANGED = 10


def run(sizes: Sequence[int], repeat: int) -> dict[str, object]:
    """Each update takes ten edges out of one chain, the next puts them back; other chains are other updates.
    Sizes take turns, so that a busy moment hits all alike."""
    stores = {size: _store(size) for size in sizes}
    found: dict[str, dict[str, object]] = {}
    for strategy in STRATEGIES:
        seconds: dict[int, list[float]] = {size: [] for size in sizes}
        counted: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
        for kept in stores.values():
            kept.maintainer.use(Options(strategy))
            _change(kept, 0)
        for turn in range(1, repeat + 1):
            for size, kept in stores.items():
                counters, cpu = _change(kept, turn)
                seconds[size].append(cpu)
                counted[size].append(counters)
        found[strategy] = {
            str(size): {
                "facts": stores[size].facts,
                "bytes": stores[size].engine.nbytes,
                "median_cpu_seconds": median(seconds[size]),
                "best_cpu_seconds": min(seconds[size]),
                "counters": {key: sum(one[key] for one in counted[size]) for key in counted[size][0]},
            }
            for size in sizes
        }
    return {"strategies": found}


def _store(size: int) -> Kept:
    table = chains(max(1, round(size / FACTS_OF_A_CHAIN)), LENGTH)
    rows: Rows = as_rows(list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True)))
    kept = Kept(PROGRAM, {"edge": rows}, Options())
    kept.prepare()
    return kept


def _change(kept: Kept, turn: int) -> tuple[dict[str, float], float]:
    """Ten edges of a chain out and in again: counters and CPU seconds of both updates."""
    first = turn * LENGTH
    rows = as_rows([(first + n, first + n + 1) for n in range(2, 2 + _CHANGED)])
    total: dict[str, float] = {}
    cpu = 0.0
    for update in (kept.update("edge", deleted=rows), kept.update("edge", inserted=rows)):
        outcome, seconds = kept.timed(update)
        assert outcome is not None
        cpu += seconds
        for key, value in outcome.counters.as_dict().items():
            if key != "seconds":
                total[key] = total.get(key, 0) + value
    return total, cpu
