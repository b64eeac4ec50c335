"""Deletions of growing size, after paper 003: what each strategy does, and when starting over is cheaper.

Two sets of data, as there: facts with many derivations (the paper's cliques of a symmetric and transitive
relation, with classes above them) and facts with few (chains, with joins above them).  Larger deletions
contain the smaller ones.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from bench.generators import chains
from bench.incremental.driver import Kept, Rows, as_rows
from tidalog.maintain.choose import Options

CLIQUES = """\
near(?x, ?y) :- link(?x, ?y) .
near(?y, ?x) :- near(?x, ?y) .
near(?x, ?z) :- near(?x, ?y), near(?y, ?z) .
place(?x) :- near(?x, ?y) .
place(?x) :- kind(?x, ?k) .
alike(?x, ?y) :- near(?x, ?y), kind(?x, ?k), kind(?y, ?k) .
known(?k) :- place(?x), kind(?x, ?k) .
"""
CHAINS = """\
above(?x, ?y) :- link(?x, ?y) .
above(?x, ?z) :- link(?x, ?y), above(?y, ?z) .
rated(?x, ?y, ?k) :- above(?x, ?y), kind(?y, ?k) .
same(?x, ?k) :- rated(?x, ?y, ?k), kind(?x, ?k) .
"""
STRATEGIES = ("bf", "dred", "ranked", "auto", "recompute")
COUNTED = ("checked", "backward", "forward", "deletions", "derivations", "rederivations")
_CLIQUE, _LINKS, _CHAIN, _KINDS = 12, 30, 13, 5
_WARMING_LINKS = 120
_STEPS = 5
"""Halvings (of the logarithm) on the way to the equilibrium."""


@dataclass(frozen=True)
class Data:
    program: str
    links: Rows
    """Deletions are taken from these, in this order."""
    kinds: Rows

    def kept(self, strategy: str) -> Kept:
        kept = Kept(self.program, {"link": self.links, "kind": self.kinds}, Options(strategy))
        kept.prepare()
        return kept


def datasets(links: int) -> dict[str, Data]:
    """Both with about `links` links."""
    draw = random.Random(7)
    cliques: list[tuple[int, int]] = []
    for group in range(max(1, links // _LINKS)):
        members = [(a, b) for a in range(_CLIQUE) for b in range(_CLIQUE) if a != b]
        cliques += [(group * _CLIQUE + a, group * _CLIQUE + b) for a, b in draw.sample(members, _LINKS)]
    table = chains(max(1, links // (_CHAIN - 1)), _CHAIN)
    lines = list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))
    found = {}
    for name, program, rows in (("many derivations", CLIQUES, cliques), ("few derivations", CHAINS, lines)):
        draw.shuffle(rows)
        nodes = np.unique(as_rows(rows))
        found[name] = Data(program, as_rows(rows), np.stack([nodes, -1 - nodes % _KINDS], axis=1))
    return found


def run(links: int, sizes: Sequence[int], repeat: int, cap: float) -> dict[str, object]:
    """Every figure is of an update on a store that has seen none; small data comes first and warms up."""
    found: dict[str, object] = {}
    for data in datasets(_WARMING_LINKS).values():
        _measured(data, _WARMING_LINKS // 10, STRATEGIES, 1, cap)
    for name, data in datasets(links).items():
        start = data.kept("recompute")
        rows = {str(size): _measured(data, size, STRATEGIES, repeat, cap) for size in sizes}
        found[name] = {
            "explicit": len(data.links) + len(data.kinds),
            "facts": start.facts,
            "scratch_cpu_seconds": start.scratch_seconds,
            "derivations": start.derivations,
            "links": len(data.links),
            "sizes": rows,
            "equilibrium": _equilibrium(data, sizes[0], cap),
        }
    return {"datasets": found}


def _measured(
    data: Data, size: int, strategies: Sequence[str], repeat: int, cap: float
) -> dict[str, dict[str, float]]:
    """A deletion of the first `size` links by strategy, in turn; stopped ones have no `cpu_seconds`."""
    found: dict[str, dict[str, float]] = {}
    stopped: set[str] = set()
    for _ in range(repeat):
        for strategy in strategies:
            if strategy in stopped:
                continue
            kept = data.kept(strategy)
            before = kept.facts
            outcome, seconds = kept.timed(kept.update("link", deleted=data.links[:size]), cap=cap)
            if outcome is None:
                stopped.add(strategy)
                found[strategy] = {"stopped_after": seconds}
                continue
            counters = outcome.counters.as_dict()
            best = min(seconds, found.get(strategy, {}).get("cpu_seconds", seconds))
            found[strategy] = {
                "cpu_seconds": best,
                "implicit_deleted": before - kept.facts - size,
                **{key: counters[key] for key in COUNTED},
            }
    return found


def _equilibrium(data: Data, least: int, cap: float) -> dict[str, object]:
    """The size at which B/F costs as much as starting over, roughly: between `low` and `high`."""
    low, high = least, len(data.links)
    tried = []
    for step in range(_STEPS + 1):
        size = low if step == 0 else round(sqrt(low * high))
        both = _measured(data, size, ("bf", "recompute"), 1, cap)
        bf = both["bf"].get("cpu_seconds", cap)
        again = both["recompute"].get("cpu_seconds", cap)
        tried.append({"size": size, "bf": bf, "recompute": again})
        if bf < again:
            low = size
        elif step == 0:
            return {"low": 0, "high": least, "tried": tried}
        else:
            high = size
    return {"low": low, "high": high, "tried": tried}
