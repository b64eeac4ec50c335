"""A micro-batch on its way: read and checked, logged, applied, told of, acknowledged.

    rows ─ ingest ─▶ updates ─ order ─▶ new ones ─ log ─▶ on disk ─ apply ─▶ deltas ─▶ feed ─▶ acknowledged

Exactly once.  A batch is in the store's log before anything of it is applied, and `foreachBatch` returns
only then: Spark may forget it.  The log knows it by query and number, so one that comes again is passed
over.  What is applied and not acknowledged when the process ends is applied again by the next run, before
its first batch; the feed knows which updates it has (feed.py), and files of the quarantine are replaced
whole.  So updates may be held back to be looked at in advance: they are in the log, whatever happens.

For the same reason `foreachBatch` need not wait for the engine: a batch that is logged is applied by a thread
of its own while Spark reads the next one, which is logged when that is done.  One batch is ahead at most.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidalog.errors import TidalogError
from tidalog.session.prepared import PreparedUpdate
from tidalog.spark.diagnostics import BadRowsInStream, SparkError
from tidalog.spark.feed import Feed, applied_number
from tidalog.spark.ingest import Batch, Ingest
from tidalog.spark.materialised import Materialised
from tidalog.spark.order import ordered
from tidalog.spark.progress import BatchReport, Listener, Totals
from tidalog.spark.quarantine import place_of, write_bad_rows
from tidalog.spark.validate import told
from tidalog.storage import faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidalog.session.durable import StoredKnowledgeBase


@dataclass(frozen=True)
class Applying:
    """How updates are applied; the same as for `KnowledgeBase.stream`."""

    look_ahead: int = 1
    look_ahead_wait: float = 0.0
    """Seconds for which the last updates of a batch are held back, to see what comes behind them before
    they are applied; 0 applies all at once."""
    latest_only: bool = False
    strategy: str | None = None
    marking: str | None = None
    order: str | None = None

    @property
    def held(self) -> int:
        """Updates that stay in the log until more have come."""
        return self.look_ahead if self.look_ahead_wait > 0 and not self.latest_only else 0


class Pipeline:
    """Feeds one store from one stream.  Its methods may be called by any thread; one at a time goes on."""

    def __init__(
        self,
        kb: StoredKnowledgeBase,
        ingest: Ingest,
        source: Callable[[], str],
        applying: Applying,
        *,
        feed: Feed | None = None,
        materialised: Materialised | None = None,
        quarantine: Path | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.kb = kb
        self.totals = Totals()
        self._ingest = ingest
        self._source = source
        self._applying = applying
        self._feed = feed
        self._materialised = materialised
        self._quarantine = quarantine
        self._listener = listener
        self._lock = threading.RLock()
        self._worker = ThreadPoolExecutor(1, "tidalog-apply")
        self._job: Future[None] | None = None
        """The batch that is being applied, or was last."""
        self._busy_until = 0.0
        self._closed = self._stopped = False
        self._idle: threading.Timer | None = None
        self._rows: deque[tuple[int, int, float]] = deque()
        """Of updates that wait, in order: their number, their rows, and when their batch began."""
        self.error: BaseException | None = None
        """What ended the stream, if it was not asked to end."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called by a thread of its own when something fails while Spark waits for nothing."""
        self._recover()
        self._last_label = kb.last_label()

    # --- batches ------------------------------------------------------------------------------------

    def process(self, frame: DataFrame, batch: int) -> None:
        """What Spark calls with each micro-batch; returns when that is logged.  Reading it asks nothing of
        the knowledge base, which is busy with the batch before."""
        report = BatchReport(batch)
        start = time.perf_counter()
        with self._noting_errors():
            read = self._ingest.read(frame, integer_labels=isinstance(self._last_label, int))
            self._set_aside(read, batch, report)
            report.read_seconds = time.perf_counter() - start
            faults.at("batch read")
        self.settle()
        with self._at_work():
            self._log(read, batch, start, report)
            self._last_label = self.kb.last_label()
            self._job = self._worker.submit(self._carry_out, report, start)

    def _carry_out(self, report: BatchReport, start: float) -> None:
        """Applies a batch that is logged."""
        with self._at_work():
            try:
                self._apply(self._applying.held, report)
            finally:
                self._measure(report, start)
                self._told(report)
            self._await_more()

    def _measure(self, report: BatchReport, start: float) -> None:
        now = time.perf_counter()
        report.seconds = now - start
        report.waiting = sum(rows for _, rows, _ in self._rows)
        # Batches overlap: the time at work is that in which at least one was.
        self.totals.seconds += now - max(start, self._busy_until)
        self._busy_until = now

    def settle(self) -> None:
        """Waits until what is logged is applied, or held back.  Raises what went wrong with it."""
        if self._job is not None:
            self._job.result()

    def _set_aside(self, read: Batch, batch: int, report: BatchReport) -> None:
        report.rows = read.rows
        if not read.bad:
            return
        if self._quarantine is None:
            first = told(read.bad[0], place_of(read.bad[0]))
            rows = "1 row" if len(read.bad) == 1 else f"{len(read.bad):,} rows"
            raise SparkError(BadRowsInStream(rows=rows, batch=batch, first=first))
        write_bad_rows(self._quarantine, self._source(), batch, read.bad)
        report.quarantined = len(read.bad)

    def _log(self, read: Batch, batch: int, start: float, report: BatchReport) -> None:
        """Also a batch without updates is logged, so that the store knows of every batch that Spark does."""
        began = time.perf_counter()
        found = ordered(read.table, self.kb.last_label(), batch)
        updates = self.kb.prepare_updates(found.updates)
        report.skipped = found.skipped
        logged = self.kb.log_updates(updates, source=self._source(), batch=batch)
        if logged is None:
            report.skipped = read.table.num_rows
        else:
            numbers = self.kb.pending[len(self.kb.pending) - logged :]
            for position, update in zip(numbers, updates, strict=True):
                self._rows.append((position.number, _rows(update), start))
        report.log_seconds = time.perf_counter() - began
        faults.at("batch logged")

    # --- applying -----------------------------------------------------------------------------------

    def _apply(self, keep: int, report: BatchReport) -> None:
        """Applies what waits, all but the last `keep`; and tells of it."""
        began = time.perf_counter()
        how = self._applying
        refused: TidalogError | None = None
        try:
            for position, delta in self.kb.apply_pending(
                keep=keep,
                look_ahead=how.look_ahead,
                latest_only=how.latest_only,
                acknowledge=False,
                strategy=how.strategy,
                marking=how.marking,
                order=how.order,
            ):
                if self._feed is not None:
                    self._feed.add(position.number, delta)
                if self._materialised is not None:
                    self._materialised.changed(delta)
                self.totals.changed(delta)
                report.label = position.label
                report.updates += delta.updates
                report.inserted += delta.inserted_count
                report.deleted += delta.deleted_count
                report.engine_seconds += delta.counters.seconds
                report.applied += self._taken(position.number)
        except TidalogError as error:
            refused = error
        report.apply_seconds += time.perf_counter() - began
        self._tell(report)
        if refused is not None:
            report.refused += self._taken(applied_number(self.kb))
            raise refused

    def _taken(self, number: int) -> int:
        """The rows of the updates up to a number, which wait no longer."""
        now = time.perf_counter()
        rows = 0
        while self._rows and self._rows[0][0] <= number:
            _, own, start = self._rows.popleft()
            rows += own
            self.totals.latencies.append(now - start)
        return rows

    def _tell(self, report: BatchReport) -> None:
        """What is applied goes to whoever wants to know; then the store need not hand it out again."""
        began = time.perf_counter()
        number = applied_number(self.kb)
        if self._feed is not None:
            self._feed.write(number)
        if self._materialised is not None:
            self._materialised.write_if_due(number)
        faults.at("changes written")
        self.kb.acknowledge()
        faults.at("acknowledged")
        report.write_seconds += time.perf_counter() - began

    def _recover(self) -> None:
        """Applies what an earlier run has logged; its batches will not come again, or be passed over."""
        report = BatchReport(-1)
        before = len(self.kb.pending)
        if before:
            self._apply(0, report)
            self.totals.recovered = before
            self.totals.inserted += report.inserted
            self.totals.deleted += report.deleted

    # --- waiting ------------------------------------------------------------------------------------

    def _await_more(self) -> None:
        """Updates that are held back are applied after a time in which nothing came."""
        if self._rows and not self._closed:
            idle = threading.Timer(self._applying.look_ahead_wait, lambda: self._flush_after(idle))
            idle.daemon = True
            self._idle = idle
            idle.start()

    def _flush_after(self, idle: threading.Timer) -> None:
        """The time is over; unless more has come while this waited for its turn.  What goes wrong is noted,
        and told by whoever waits for the stream."""
        with self._lock, contextlib.suppress(Exception):
            if self._idle is idle:
                self.flush()

    def flush(self) -> None:
        """Applies what is held back."""
        with self._at_work():
            if self._closed or not self.kb.pending:
                return
            last = self.totals.last
            report = BatchReport(last.batch if last is not None else -1, held=True)
            start = time.perf_counter()
            try:
                self._apply(0, report)
            finally:
                self._measure(report, start)
                self._told(report)

    @property
    def stopped(self) -> bool:
        """Whether somebody asked it to end."""
        return self._stopped

    def stop(self) -> None:
        """Closes behind the batch that is at work, if there is one."""
        self._stopped = True
        self.close()

    def close(self) -> None:
        """Applies what is held back and lets go of the store; a second time does nothing.  A batch that comes
        later is refused: the store does not have it, and it will come again."""
        if self._job is not None:
            wait([self._job])
        with self._lock:
            if self._closed:
                return
            try:
                if self.error is None:
                    self.flush()
                    if self._materialised is not None:
                        self._materialised.write(applied_number(self.kb))
                    self.totals.facts = {name: self.kb.count(name) for name in self.kb.predicates}
            finally:
                self._closed = True
                self._cancel()
                self._worker.shutdown(wait=False)
                self.kb.close()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StreamClosed
            self._cancel()
            with self._noting_errors():
                yield

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if self.error is None and not self._closed:  # closed, whatever Spark interrupts is no failure
                self.error = error
                if self._feed is not None:
                    self._feed.fail(str(error))
                threading.Thread(target=self.on_failure, daemon=True).start()
            raise

    def _cancel(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _told(self, report: BatchReport) -> None:
        self.totals.add(report)
        if self._listener is not None:
            self._listener(report, self.totals)


class StreamClosed(Exception):
    """A batch came after the stream was closed."""


def _rows(update: PreparedUpdate) -> int:
    return sum(rows.rows for part in (update.insertions, update.deletions) for rows in part)
