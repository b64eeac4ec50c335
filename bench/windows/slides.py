"""What a slide costs by the size of the window and of the background, and through `kb.update`."""

from __future__ import annotations

import gc
import time
from collections import Counter
from statistics import mean

import numpy as np
import pyarrow as pa

import tidalog
from bench.incremental.driver import Rows
from bench.windows.streams import WindowStream, trees_beside
from bench.windows.variants import PROGRAMS, BareKernel, Codes, Rules, Slid

_WARM = 5
USERS = "kb.update"
"""In place of a strategy: `auto` as a user calls it, from numbers in Arrow columns to a delta."""


def run(strategy: str, window: int, background: int, step: int, steps: int, repeat: int) -> dict[str, object]:
    """`steps` slides by `step` rows, `repeat` times on other rows; the best of these is the one whose sum is
    least."""
    rules = PROGRAMS["closure"]
    stream = trees_beside(window, step, background)
    judge = BareKernel(stream)
    began = time.process_time()
    slid: Slid | _ByUser = _ByUser(rules, stream) if strategy == USERS else Slid(rules, stream, strategy)
    number = slid.fill()
    filling = time.process_time() - began
    judge.step(number)  # compiled code is read, and its arrays grow
    for _ in range(_WARM):
        slid.step(number)
        number += 1
    blocks, counted, scratch = list[list[float]](), list[dict[str, float]](), list[float]()
    wrong = False
    for _ in range(repeat):
        gc.collect()
        seconds, counters = list[float](), Counter[str]()
        for _ in range(steps):
            seconds.append(slid.step(number))
            counters.update(slid.counters)
            number += 1
        scratch.append(judge.step(number - 1))
        codes, right = slid.codes(), judge.codes()
        wrong |= len(codes) != len(right) or bool((codes != right).any())
        blocks.append(seconds)
        counted.append(dict(counters))
    best = min(blocks, key=sum)
    return {
        "paths": len(judge.codes()),
        "cpu_seconds": mean(best),
        "worst_cpu_seconds": max(best),
        "worst_of_all": max(map(max, blocks)),
        "blocks": [mean(block) for block in blocks],
        "bare_kernel": min(scratch),
        "filling": filling,
        "counters": counted,
        "wrong": wrong,
    }


class _ByUser:
    """The same window under `kb.update`."""

    def __init__(self, rules: Rules, stream: WindowStream) -> None:
        self._rules, self._stream = rules, stream
        self._kb = tidalog.open()
        self._kb.load(rules.in_window(stream.seconds))
        if len(stream.background):
            self._kb.insert("fixed", _columns(stream.background))
        self.counters: dict[str, float] = {}

    def _update(self, number: int) -> tidalog.Update:
        rows = self._stream.entering(number)
        return tidalog.Update(time=number, insertions={self._rules.stream: _columns(rows)})

    def fill(self) -> int:
        updates = [self._update(number) for number in range(self._stream.seconds)]
        for _ in self._kb.stream(updates, latest_only=True):
            pass
        return len(updates)

    def step(self, number: int) -> float:
        columns = _columns(self._stream.entering(number))
        began = time.process_time()
        with self._kb.update(time=number) as update:
            update.insert(self._rules.stream, columns)
        return time.process_time() - began

    def codes(self) -> Codes:
        table = self._kb.facts(self._rules.result).to_arrow()
        x, y = (column.to_numpy() for column in table.columns)
        codes: Codes = np.sort(x * self._stream.nodes + y)
        return codes


def _columns(rows: Rows) -> pa.Table:
    return pa.table({"x": pa.array(rows[:, 0]), "y": pa.array(rows[:, 1])})
