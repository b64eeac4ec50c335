"""What positive marks could save: facts that one update deletes and the next inserts again.

The return of such facts is the only thing that marks could make cheaper.  `share` is that part of a pair of
updates which the second one costs beyond an update without consequences, so it is more than any way of
bringing facts back can save.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.incremental import closure, equilibrium
from bench.incremental.driver import Kept, Rows, as_rows
from tidalog.maintain.choose import Options

STRATEGIES = ("ranked", "bf", "dred")


def _worlds(nodes: int, links: int) -> dict[str, tuple[str, str, Mapping[str, Rows]]]:
    """Program, predicate whose facts blink, facts."""
    worlds: dict[str, tuple[str, str, Mapping[str, Rows]]] = {}
    for name, data in equilibrium.datasets(links).items():
        worlds[name] = data.program, "link", {"link": data.links, "kind": data.kinds}
    graph = as_rows(closure.edges_of(nodes, 2 * nodes))
    worlds["closure of a random digraph"] = closure.PROGRAM, "edge", {"edge": graph}
    return worlds


def run(nodes: int, links: int, batches: Sequence[int], pairs: int, cap: float) -> dict[str, object]:
    """By world, batch and strategy: CPU milliseconds of a deletion, of its return, and `share`."""
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for world, (program, predicate, facts) in _worlds(nodes, links).items():
        for batch in batches:
            for strategy in STRATEGIES:
                kept = Kept(program, facts, Options(strategy, "none", look_ahead=0))
                kept.prepare()
                figures = _measured(kept, predicate, facts[predicate], batch, pairs, cap)
                found.setdefault(world, {}).setdefault(str(batch), {})[strategy] = figures
    return {"worlds": found}


def _measured(kept: Kept, predicate: str, rows: Rows, batch: int, pairs: int, cap: float) -> dict[str, float]:
    draw = np.random.default_rng(9)
    times: dict[str, list[float]] = {"deleted": [], "returned": [], "nothing": []}
    for number in range(pairs + 1):
        chosen = rows[draw.choice(len(rows), batch, replace=False)]
        other = kept.update("nothing", inserted=as_rows([[k] for k in range(batch)]))
        back = kept.update("nothing", deleted=as_rows([[k] for k in range(batch)]))
        for name, update in (
            ("deleted", kept.update(predicate, deleted=chosen)),
            ("returned", kept.update(predicate, inserted=chosen)),
            ("nothing", other),
            ("", back),
        ):
            outcome, seconds = kept.timed(update, cap=cap)
            if outcome is None:
                return {}
            if name and number:
                times[name].append(1000 * seconds)
    mean = {name: sum(values) / len(values) for name, values in times.items()}
    pair = mean["deleted"] + mean["returned"]
    return {**mean, "share": max(0.0, mean["returned"] - mean["nothing"]) / pair}
