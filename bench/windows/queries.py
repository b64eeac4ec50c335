"""Continuous queries over windows of one stream: what follows is derived once, or for each window.

Windows whose lengths differ by whole steps share it.  Those beside them are shorter by up to half a step, so
they do not; as rows come at whole steps, they hold the same.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from statistics import mean

import numpy as np
import pyarrow as pa

import tidalog
from bench.incremental.driver import Rows
from bench.windows.streams import SHAPES

_E = "http://example/"
_RULE = f"@prefix : <{_E}> . :isIn(?x, ?z) :- :isIn(?x, ?y), :isIn(?y, ?z) ."
_QUERY = "PREFIX : <{}> SELECT ?x ?y FROM STREAM <{}s> [RANGE {}ms STEP 1s] WHERE {{ ?x :isIn ?y }}"
_WARM = 3
SHARED, APART, ALONE = "shared", "one by one", "the longest alone"


class _Queries:
    """A knowledge base with a query over each window, whose changes someone gets."""

    def __init__(self, lengths: Sequence[int]) -> None:
        """`lengths`: milliseconds."""
        self._kb = tidalog.open()
        self._kb.load(_RULE)
        self._queries = [
            self._kb.register(f"q{n}", _QUERY.format(_E, _E, length), lambda came, went: None, emit="changes")
            for n, length in enumerate(lengths)
        ]
        self.derivations = 0

    def step(self, number: int, triples: pa.Table) -> float:
        began = time.process_time()
        with self._kb.update(time=number) as update:
            update.insert(f"<{_E}s>", triples, formats=["any"] * 3)
        spent = time.process_time() - began
        self.derivations += update.delta.counters.derivations
        return spent

    def answers(self) -> list[int]:
        return [len(query.result()) for query in self._queries]


def run(
    shape: str, seconds: Sequence[int], step: int, steps: int, repeat: int
) -> dict[str, dict[str, object]]:
    """`step` rows come in each step, into windows of so many seconds.  The three take turns, a block of steps
    at a time; the best block counts."""
    stream = SHAPES[shape](max(seconds) * step, step)
    whole = [1000 * length for length in seconds]
    apart = [length - 500 * n // len(whole) for n, length in enumerate(whole)]
    variants = {SHARED: _Queries(whole), APART: _Queries(apart), ALONE: _Queries([max(whole)])}
    number = 0
    for number in range(stream.seconds + _WARM):
        triples = _triples(stream.entering(number))
        for queries in variants.values():
            queries.step(number, triples)
    blocks: dict[str, list[float]] = {name: [] for name in variants}
    for queries in variants.values():
        queries.derivations = 0
    for _ in range(repeat):
        tables = [_triples(stream.entering(number + 1 + n)) for n in range(steps)]
        for name, queries in variants.items():
            gc.collect()
            spent = [queries.step(number + 1 + n, triples) for n, triples in enumerate(tables)]
            blocks[name].append(mean(spent))
        number += steps
    right = variants[SHARED].answers()
    return {
        name: {
            "cpu_seconds": min(blocks[name]),
            "blocks": blocks[name],
            "derivations": queries.derivations / (repeat * steps),
            "answers": queries.answers(),
            "wrong": queries.answers() != (right if len(queries.answers()) == len(right) else [max(right)]),
        }
        for name, queries in variants.items()
    }


def _triples(rows: Rows) -> pa.Table:
    def nodes(column: int) -> pa.Array:
        return pa.array([f"<{_E}n{node}>" for node in np.asarray(rows[:, column]).tolist()])

    is_in = pa.array([f"<{_E}isIn>"] * len(rows))
    return pa.table({"s": nodes(0), "p": is_in, "o": nodes(1)})
