"""Deletions of random explicit facts by strategy, after Table 2 of paper 003.

One set of facts is drawn, as large as that at which B/F costs as much as starting over, and parts of it are
deleted: each contains the smaller ones.  Timed is `Database.apply`, on a database that has seen one small
deletion and insertion, by the same strategy, so that plans and indexes exist.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from bench.papers.bf_data import Data, datasets
from tidalog.api.database import Database
from tidalog.api.load import Environment
from tidalog.api.outcome import Outcome
from tidalog.engine.limits import Limits
from tidalog.lang import parse
from tidalog.maintain.choose import Options
from tidalog.model.errors import RunError
from tidalog.model.facts import Facts
from tidalog.model.update import EncodedUpdate

STRATEGIES = ("dred", "bf", "ranked", "auto", "recompute")
COUNTED = ("deletions", "checked", "backward", "forward", "derivations", "rederivations")
_PARTS = (0.25, 0.5, 0.75, 1.0)
_FIXED = (100, 1_000, 5_000)
_WARMING = 10
_HALVINGS = 4
"""Of the logarithm, on the way to the equilibrium."""

Figures = Mapping[str, Mapping[str, float]]


def run(universities: int, repeat: int, cap: float) -> dict[str, object]:
    """`cap`: CPU seconds after which an update is stopped."""
    found = {}
    for data in datasets(universities):
        table = Deletions(data)
        equal = table.equilibrium(cap)
        parts = [(f"{size:,}", size) for size in _FIXED]
        parts += [(f"{part:.0%}".replace("%", " %"), round(part * equal["high"])) for part in _PARTS]
        found[data.name] = {
            "paper": data.paper,
            "explicit": len(data.triples),
            "facts": table.facts,
            "scratch": table.scratch,
            "derivations": table.derivations,
            "equilibrium": equal,
            "sizes": [
                {"label": label, "size": size, "by": table.measured(size, STRATEGIES, repeat, cap)}
                for label, size in parts
            ],
        }
    return {"datasets": found}


class Deletions:
    def __init__(self, data: Data) -> None:
        self._data = data
        self._order = np.random.default_rng(1).permutation(len(data.triples))
        opened = self._open()
        self.facts, self.scratch, self.derivations = opened.facts, opened.seconds, opened.derivations

    def _open(self) -> _Opened:
        return _Opened(self._data)

    def measured(
        self, size: int, strategies: Sequence[str], repeat: int, cap: float
    ) -> dict[str, dict[str, float]]:
        """The best of several runs; a strategy that was stopped has no `cpu_seconds`."""
        found: dict[str, dict[str, float]] = {}
        for _ in range(repeat):
            for strategy in strategies:
                if "stopped_after" in found.get(strategy, {}):
                    continue
                figures = self._once(size, strategy, cap)
                best = found.get(strategy, figures)
                if "cpu_seconds" in figures:
                    figures["cpu_seconds"] = min(figures["cpu_seconds"], best["cpu_seconds"])
                found[strategy] = figures
        return found

    def _once(self, size: int, strategy: str, cap: float) -> dict[str, float]:
        opened = self._open()
        opened.warm(self._order[-_WARMING:], strategy)
        outcome, seconds = opened.delete(self._order[:size], strategy, cap)
        if outcome is None:
            return {"stopped_after": seconds}
        counted = outcome.counters.as_dict()
        gone = opened.facts - opened.live() - size
        return {"cpu_seconds": seconds, "implicit": gone, **{key: counted[key] for key in COUNTED}}

    def equilibrium(self, cap: float) -> dict[str, object]:
        """The size at which B/F costs as much as starting over lies between `low` and `high`."""
        low, high = _FIXED[0], len(self._order)
        tried = []
        for step in range(_HALVINGS + 1):
            size = low if step == 0 else round(sqrt(low * high))
            both = self.measured(size, ("bf", "recompute"), 1, cap)
            bf, again = (both[name].get("cpu_seconds", cap) for name in ("bf", "recompute"))
            tried.append({"size": size, "bf": bf, "recompute": again})
            if bf < again:
                low = size
            elif step == 0:
                return {"low": 0, "high": low, "tried": tried}
            else:
                high = size
        return {"low": low, "high": high, "tried": tried}


class _Opened:
    """A database with all facts, derived."""

    def __init__(self, data: Data) -> None:
        self._database = Database()
        self._database.load(self._database.plan_load(parse(data.program), Environment()))
        encode = self._database.dictionary.encode
        self._columns = [encode(column.combine_chunks(), "any") for column in data.triples.columns]
        facts = Facts("triple", self._columns, len(data.triples))
        self._database.load(self._database.plan_insertion([facts]))
        began = time.process_time()
        self.derivations = self._database.materialise().derivations
        self.seconds = time.process_time() - began
        self.facts = self.live()
        self._database.maintained().maintainer.prepare()

    def live(self) -> int:
        return int(self._database.engine.store.live)

    def _some(self, rows: np.ndarray) -> Facts:
        columns = [np.ascontiguousarray(column[rows]) for column in self._columns]
        return Facts("triple", columns, len(rows))

    def warm(self, rows: np.ndarray, strategy: str) -> None:
        facts = self._some(rows)
        for update in EncodedUpdate((facts,), ()), EncodedUpdate((), (facts,)):
            self._database.apply([update], options=Options(strategy))

    def delete(self, rows: np.ndarray, strategy: str, cap: float) -> tuple[Outcome | None, float]:
        update = EncodedUpdate((self._some(rows),), ())
        self._database.limits = Limits(max_seconds=cap)
        gc.collect()
        began = time.process_time()
        try:
            outcome = self._database.apply([update], options=Options(strategy))
        except RunError:
            return None, time.process_time() - began
        return outcome, time.process_time() - began
