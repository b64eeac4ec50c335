"""A materialised program under a `Maintainer`, and the cost of single updates on it.

What is timed is `Maintainer.apply` alone: rows have become term ids before, and plans are prepared where the
maintainer can do that ahead.  CPU time, of this process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.papers.streams import Stream
from tidalog.analysis import Analysis, analyse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits
from tidalog.lang import parse
from tidalog.maintain.choose import Options
from tidalog.maintain.counters import Counters
from tidalog.maintain.maintainer import Maintainer, Outcome
from tidalog.maintain.materialise import materialise
from tidalog.model.errors import RunError
from tidalog.model.facts import Facts
from tidalog.model.update import EncodedUpdate

Rows = npt.NDArray[np.int64]
"""One fact a row."""

STRATEGIES = ("ranked", "dred", "bf", "fbf", "recompute", "auto")


@cache
def analysed(program: str) -> Analysis:
    return analyse(parse(program))


class Kept:
    """A program over integers, materialised and ready for updates."""

    def __init__(self, program: str, facts: Mapping[str, Rows], options: Options) -> None:
        self.engine = EmbeddedEngine()
        analysis = analysed(program)
        for predicate, rows in facts.items():
            batch = self.batch(predicate, rows)
            self.engine.insert(predicate, batch.columns, batch.count)
        began = time.process_time()
        self.derivations = materialise(self.engine, analysis).derivations
        self.scratch_seconds = time.process_time() - began
        self.maintainer = Maintainer(self.engine, analysis, options=options)

    def prepare(self) -> None:
        """Plans ahead of the first update, where the maintainer can make them."""
        prepare = getattr(self.maintainer, "prepare", None)
        if prepare is not None:
            prepare()
        gc.collect()

    @property
    def facts(self) -> int:
        return int(self.engine.store.live)

    def batch(self, predicate: str, rows: Rows) -> Facts:
        return batch_of(self.engine, predicate, rows)

    def update(
        self, predicate: str, deleted: Rows | None = None, inserted: Rows | None = None
    ) -> EncodedUpdate:
        """The update as ids; terms that are new get theirs here."""
        gone, new = (
            (self.batch(predicate, rows),) if rows is not None and len(rows) else ()
            for rows in (deleted, inserted)
        )
        return EncodedUpdate(gone, new)

    def timed(
        self, update: EncodedUpdate, upcoming: Sequence[EncodedUpdate] = (), cap: float | None = None
    ) -> tuple[Outcome | None, float]:
        """What an update did and its seconds; no outcome if it took longer than `cap`, state as before."""
        limits = Limits() if cap is None else Limits(max_seconds=cap)
        began = time.process_time()
        try:
            outcome = self.maintainer.apply(update, upcoming, limits=limits)
        except RunError:
            if cap is None:
                raise
            return None, time.process_time() - began
        return outcome, time.process_time() - began


def batch_of(engine: EmbeddedEngine, predicate: str, rows: Rows) -> Facts:
    columns = [
        engine.dictionary.encode(pa.array(np.ascontiguousarray(rows[:, c])), "native")
        for c in range(rows.shape[1])
    ]
    return Facts(predicate, columns, len(rows))


def as_rows(rows: Sequence[Sequence[int]]) -> Rows:
    return np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if len(rows) else 0)


def drive(program: str, stream: Stream, options: Options) -> tuple[Counters, float]:
    """A stream from no facts to its end: what was counted, CPU seconds of all updates.

    As in the paper, the first update is applied before anything else is read.
    """
    kept = Kept(program, {}, options)
    updates = [
        kept.update(stream.predicate, as_rows(update.deleted), as_rows(update.inserted))
        for update in stream.updates
    ]
    kept.prepare()
    counters = Counters()
    seen = options.look_ahead
    began = time.process_time()
    for number, update in enumerate(updates):
        upcoming = updates[number + 1 : number + 1 + seen] if number else ()
        counters.add(kept.maintainer.apply(update, upcoming).counters)
    return counters, time.process_time() - began
