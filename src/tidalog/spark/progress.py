"""The progress of a stream: reports on batches, and totals.

Invariant.  In total, rows = applied + quarantined + skipped + refused + waiting.  In a batch the same holds
if the rows that waited before it are counted as its own.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import psutil

from tidalog.api.delta import Delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEPT: Final = 10_000
"""How many latencies are kept, for quantiles."""


@dataclass
class Counts:
    """Counts of rows, updates and changed facts, of a batch or of a run."""

    rows: int = 0
    applied: int = 0
    quarantined: int = 0
    skipped: int = 0
    """Rows of updates that had been applied before."""
    refused: int = 0
    """Rows of an update that violates a constraint or a limit."""
    updates: int = 0
    inserted: int = 0
    deleted: int = 0
    """Facts that are gone, with those that expired."""
    expired: int = 0
    """Facts that were too old for a window, or followed from such facts."""
    ignored: int = 0
    """Insertions of facts that were explicit, and deletions of facts that were not; unknown of keys."""
    engine_seconds: float = 0.0


@dataclass
class BatchReport(Counts):
    """One batch.  Rows are those that came with it; facts are insertions and deletions."""

    batch: int = -1
    held: bool = False
    """Whether the report is about updates that waited after the batch, not about the batch itself."""
    label: int | str | None = None
    """The last update that was applied."""
    waiting: int = 0
    """Rows of logged updates that are applied when more have arrived."""
    read_seconds: float = 0.0
    """From the start of the batch until its rows are at the driver."""
    log_seconds: float = 0.0
    apply_seconds: float = 0.0
    """Including `engine_seconds`."""
    write_seconds: float = 0.0
    seconds: float = 0.0

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass
class Totals(Counts):
    """All batches of a run."""

    batches: int = 0
    waiting: int = 0
    rules_added: int = 0
    rules_removed: int = 0
    recovered: int = 0
    """Updates that an earlier run had logged and this one applied; their rows were counted then."""
    seconds: float = 0.0
    """With at least one batch in progress, without waiting for data."""
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """Seconds from the start of its batch until an update was applied."""
    by_predicate: dict[str, list[int]] = field(default_factory=dict)
    """How many facts were inserted and deleted."""
    facts: dict[str, int] = field(default_factory=dict)
    """By predicate, at the end of the stream."""
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes in use after the last batch: by this process, and by the JVM and workers that it started."""
    last: BatchReport | None = None

    def count(self, predicate: str, inserted: int, deleted: int) -> None:
        counts = self.by_predicate.setdefault(predicate, [0, 0])
        counts[0] += inserted
        counts[1] += deleted

    def changed(self, delta: Delta) -> None:
        self.rules_added += len(delta.rules.added)
        self.rules_removed += len(delta.rules.removed)
        for name, change in delta.items():
            self.count(name, change.inserted_count, change.deleted_count)

    def add(self, report: BatchReport) -> None:
        self.batches += not report.held
        for one in fields(Counts):
            setattr(self, one.name, getattr(self, one.name) + getattr(report, one.name))
        self.waiting = report.waiting
        self.memory = memory()
        self.last = report

    @property
    def rate(self) -> float:
        """Rows per second, without waiting for data."""
        return self.rows / self.seconds if self.seconds else 0.0

    def latency(self, quantile: float) -> float | None:
        """The quantile of the seconds until an update was applied."""
        if not self.latencies:
            return None
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * quantile))]

    def to_json(self) -> dict[str, object]:
        hidden = ("latencies", "last", "by_predicate", "facts")
        shown: dict[str, object] = {name: value for name, value in vars(self).items() if name not in hidden}
        shown["predicates"] = {
            name: {"inserted": inserted, "deleted": deleted, "now": self.facts.get(name)}
            for name, (inserted, deleted) in sorted(self.by_predicate.items())
        }
        quantiles = {f"p{int(q * 100)}": self.latency(q) for q in (0.5, 0.95, 0.99)}
        return {**shown, "rows_per_second": self.rate, "latency_seconds": quantiles}


Listener = Callable[[BatchReport, Totals], None]


class Reporter:
    """Adds the report of each batch to the totals and calls the listener."""

    def __init__(self, listener: Listener | None) -> None:
        self.totals = Totals()
        self._listener = listener
        self._busy_until = 0.0

    def add(self, report: BatchReport, start: float) -> None:
        """The report of a batch that was started at `start`, by `time.perf_counter`, and ends now."""
        now = time.perf_counter()
        report.seconds = now - start
        # Batches overlap: time counts once, however many are in progress.
        self.totals.seconds += now - max(start, self._busy_until)
        self._busy_until = now
        self.totals.add(report)
        if self._listener is not None:
            self._listener(report, self.totals)


def memory() -> dict[str, int]:
    own = psutil.Process()
    children = 0
    for child in own.children(recursive=True):
        try:
            children += child.memory_info().rss
        except psutil.Error:
            continue
    return {"driver": own.memory_info().rss, "spark": children}


@contextmanager
def progress_events(spark: SparkSession, receive: Callable[[Mapping[str, Any]], None]) -> Iterator[None]:
    """Calls `receive` with Spark's report on every batch of the session's streams."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Events(StreamingQueryListener):
        def onQueryStarted(self, event: object) -> None: ...

        def onQueryProgress(self, event: Any) -> None:
            receive(json.loads(event.progress.json))

        def onQueryIdle(self, event: object) -> None: ...

        def onQueryTerminated(self, event: object) -> None: ...

    events = Events()
    spark.streams.addListener(events)
    try:
        yield
    finally:
        spark.streams.removeListener(events)
