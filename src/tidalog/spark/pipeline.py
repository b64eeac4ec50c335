"""The pipeline of a stream: reads, checks, logs and applies a micro-batch, writes its changes, acknowledges
it.

    rows ─ ingest ─▶ updates ─ sequence ─▶ new ones ─ log ─▶ on disk ─ apply ─▶ deltas ─▶ feed ─▶ acknowledged

Exactly once.  A batch is in the store's log before anything of it is applied, and only then does
`foreachBatch` return, so that Spark may forget it.  The log has its query and number, so a repeated batch is
skipped.  If the process ends before updates are acknowledged, the next run applies them again before its
first batch; the feed knows which updates it has (feed.py), and files of the quarantine are replaced.  So
updates may wait for later ones: they are safe in the log.

For the same reason `foreachBatch` does not wait for the engine: a thread applies a logged batch while Spark
reads the next one, which is logged when the thread has finished.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from tidalog.model.errors import TidalogError
from tidalog.model.update import EncodedUpdate
from tidalog.spark.applying import Applying
from tidalog.spark.diagnostics import UpdateRefused
from tidalog.spark.idle import CLOCK, IdleClock
from tidalog.spark.ingest import BadRow, Batch, Ingest
from tidalog.spark.late_updates import late_texts
from tidalog.spark.materialised import Materialised
from tidalog.spark.progress import BatchReport, Listener, Reporter
from tidalog.spark.quarantine import Quarantine
from tidalog.spark.sequencer import Before, LabelKind, Ordered, ordered
from tidalog.storage import faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidalog.api.acceptance import Late
    from tidalog.api.delta import Delta
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.model.update import Label
    from tidalog.storage.inbox import Position


class ChangeOutput(Protocol):
    """A feed, or several, of what updates change; see feed.py."""

    def add(self, number: int, delta: Delta, label: Label | None = None) -> None: ...
    def write(self, last: int) -> None: ...
    def fail(self, why: str) -> None: ...


class Pipeline:
    """Feeds one store from one stream.  Its methods run under a lock and may be called by any thread."""

    def __init__(
        self,
        kb: StoredKnowledgeBase,
        ingest: Ingest,
        source: Callable[[], str],
        applying: Applying,
        *,
        quarantine: Quarantine,
        labels: LabelKind | None = None,
        feeds: Sequence[ChangeOutput] = (),
        materialised: Materialised | None = None,
        listener: Listener | None = None,
        idle_advance: float | None = None,
    ) -> None:
        self.kb = kb
        self._reporter = Reporter(listener)
        self.totals = self._reporter.totals
        self._ingest = ingest
        self._source = source
        self._applying = applying
        self._kind = labels
        self._feeds = feeds
        self._materialised = materialised
        self._quarantine = quarantine
        self._lock = threading.RLock()
        self._worker = ThreadPoolExecutor(1, "tidalog-apply")
        self._job: Future[None] | None = None
        """Applies the current or the last batch; before the first one, prepares the store."""
        self._closed = self._stopped = self._coming = False
        self._idle: threading.Timer | None = None
        self._origins: dict[int, DataFrame] = {}
        """The origins of rows, for batches with waiting updates."""
        self._rows: deque[tuple[int, int, float]] = deque()
        """Waiting updates, in order: number, rows, and the start of the batch."""
        self.error: BaseException | None = None
        """The error that ended the stream."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called by a new thread after a failure, to stop the query."""
        self.has_more: Callable[[], bool] = lambda: True
        """Whether Spark may be about to start another batch."""
        self._clock = IdleClock(idle_advance, self._advance) if idle_advance else None
        ingest.learn(kb.pending_rules)
        self._recover()
        if self._clock is not None:
            self._clock.start()
        # In parallel with Spark, which starts the query and reads the first batch.
        self._job = self._worker.submit(kb.get_ready)

    # --- batches ------------------------------------------------------------------------------------

    def process(self, frame: DataFrame, batch: int) -> None:
        """Called by Spark with each micro-batch; returns once the batch is logged.  Reading does not use the
        knowledge base, which is busy with the previous batch."""
        report = BatchReport(batch=batch)
        start = time.perf_counter()
        self._coming = True
        with self._recording_errors():
            faults.at("batch begun")
            read = self._ingest.read(frame)
            self._quarantine.check(read.bad, batch)
            report.rows = read.rows
            report.read_seconds = time.perf_counter() - start
            faults.at("batch read")
        self._join()
        with self._at_work():
            self._log(frame, read, batch, start, report)
            self._coming = False
            self._job = self._worker.submit(self._apply_logged, report, start)

    def _apply_logged(self, report: BatchReport, start: float) -> None:
        """Applies a logged batch."""
        with self._at_work():
            self._apply_and_report(self._applying.held, report, start)

    def _apply_and_report(self, keep: int, report: BatchReport, start: float) -> None:
        try:
            self._apply(keep, report)
        finally:
            report.waiting = sum(rows for _, rows, _ in self._rows)
            self._reporter.add(report, start)
        self._await_more()

    def drain(self) -> None:
        """Waits until all batches so far are applied, except updates that wait for later ones; the last
        update counts as complete.  Raises the error of a batch."""
        self._join()
        if self._applying.held > self._applying.ahead:
            self.flush(self._applying.ahead)

    def _join(self) -> None:
        if self._job is not None:
            self._job.result()

    def _log(self, frame: DataFrame, read: Batch, batch: int, start: float, report: BatchReport) -> None:
        """Logs a batch, even one without updates, so that the store knows every batch of Spark.  Bad rows are
        written first: once the batch is logged, they are in the quarantine."""
        began = time.perf_counter()
        kb, source = self.kb, self._source()
        report.quarantined = len(read.bad)
        last = kb.last_batch(source)
        if last is not None and batch <= last:  # a repetition
            report.skipped = read.table.num_rows
            return
        moments = None if self._ingest.has_labels else self._ingest.moments(read)
        found = ordered(read.table, batch, self._before(), self._kind, self._ingest.declarations, moments)
        updates = kb.prepare_updates(found.updates)
        for update, moment in zip(updates, found.times, strict=False):
            update.time = moment
        late = kb.accept_updates(updates, goes_on=found.goes_on, may_arrive=not self._ingest.has_times)
        bad = [*read.bad, *self._late_rows(frame, read, found, late)]
        self._quarantine.check(bad, batch)
        self._quarantine.write(source, batch, bad)
        report.quarantined = len(bad)
        report.skipped = found.skipped
        contents = found.contents and [
            one for one, gone in zip(found.contents, late, strict=True) if not gone
        ]
        updates = [update for update, gone in zip(updates, late, strict=True) if not gone]
        if not self._ingest.has_labels:
            for update in updates:
                update.label = None
        logged = kb.log_updates(updates, source=source, batch=batch, goes_on=found.goes_on, contents=contents)
        assert logged == len(updates)
        if updates and self._clock is not None:
            self._clock.update_came(timed=any(update.time is not None for update in updates))
        if updates:
            origins = self._ingest.origins(frame)
            if origins is not None:
                self._origins[batch] = origins
            first = kb.pending[-1].number - len(updates) + 1
            for number, update in enumerate(updates, first):
                self._rows.append((number, _rows(update), start))
        report.log_seconds = time.perf_counter() - began
        faults.at("batch logged")

    def _before(self) -> Before:
        """The state before the next batch."""
        last, pending = self.kb.last_label(), self.kb.pending
        waits = last is not None and len(pending) > 0 and pending[-1].label == last
        return Before(last, waits, self.kb.seen)

    def _late_rows(
        self, frame: DataFrame, read: Batch, found: Ordered, late: Sequence[Late | None]
    ) -> list[BadRow]:
        """The rows of updates that are too late to be applied: after other updates, or for windows."""
        texts = late_texts(found, late, self.kb.last_label())
        if not texts:
            return []
        if self._ingest.has_labels:
            return self._ingest.late_rows(frame, read, texts)
        times = zip(found.updates.updates, found.times, strict=True)
        return self._ingest.late_times(frame, read, {time: texts[own] for own, time in times if own in texts})

    # --- applying -----------------------------------------------------------------------------------

    def _apply(self, keep: int, report: BatchReport) -> None:
        """Applies waiting updates except the last `keep`, and writes their changes."""
        began = time.perf_counter()
        how = self._applying
        refused: TidalogError | None = None
        waiting = self.kb.pending[:]
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
                for feed in self._feeds:
                    feed.add(position.number, delta, self._label_of(position))
                if self._materialised is not None:
                    self._materialised.changed(delta, new_rules=bool(delta.rules))
                self.totals.changed(delta)
                report.label = position.label
                report.updates += delta.updates
                report.inserted += delta.inserted_count
                report.deleted += delta.deleted_count
                report.expired += delta.expired_count
                report.ignored += delta.ignored
                report.engine_seconds += delta.counters.seconds
                report.applied += self._finished(position.number)
        except TidalogError as error:
            refused = error
        report.apply_seconds += time.perf_counter() - began
        self._write_changes(report)
        if refused is not None:
            number = self.kb.applied_number
            report.refused += self._finished(number)
            found = [position for position in waiting if position.number == number]
            raise self._named(refused, found[0]) if found else refused
        self._drop_origins()

    def _label_of(self, position: Position) -> Label | None:
        """The label of what an advance of time changes: that of the last update before it, for an advance is
        logged only when nothing waits."""
        return self.kb.last_label() if position.source == CLOCK and self._ingest.has_labels else None

    def _named(self, error: TidalogError, position: Position) -> TidalogError:
        """The error with the update that caused it."""
        origins: list[str] = []
        kept = self._origins.get(position.batch)
        if kept is not None:
            with contextlib.suppress(Exception):  # the files may be gone, or Spark itself
                origins = self._ingest.origins_of(kept, position.label)
        update = f"update {position.label}" if position.label is not None else "the update"
        where = (
            f"its rows are in {' and '.join(origins)}" if origins else "the batch is in the log of the store"
        )
        refused = UpdateRefused(update=update, batch=position.batch, where=where)
        return type(error)([*error.diagnostics, refused])

    def _drop_origins(self) -> None:
        """Keeps only the origins of waiting updates."""
        pending = self.kb.pending
        oldest = pending[0].batch if pending else None
        self._origins = {
            batch: found for batch, found in self._origins.items() if oldest is not None and batch >= oldest
        }

    def _finished(self, number: int) -> int:
        """Removes the updates up to a number from the waiting ones; returns the number of their rows."""
        now = time.perf_counter()
        rows = 0
        while self._rows and self._rows[0][0] <= number:
            _, own, start = self._rows.popleft()
            rows += own
            self.totals.latencies.append(now - start)
        return rows

    def _write_changes(self, report: BatchReport) -> None:
        """Writes changes and facts, then acknowledges the updates."""
        began = time.perf_counter()
        number = self.kb.applied_number
        for feed in self._feeds:
            feed.write(number)
        if self._materialised is not None:
            self._materialised.write_if_due(number)
        faults.at("changes written")
        self.kb.acknowledge()
        faults.at("acknowledged")
        report.write_seconds += time.perf_counter() - began

    def _recover(self) -> None:
        """Applies the updates that an earlier run has logged; if Spark repeats their batches, they are
        skipped."""
        report = BatchReport()
        before = len(self.kb.pending)
        if before:
            is_advance = self.kb.pending[-1].source == CLOCK
            self._apply(0 if is_advance else self._applying.held, report)
            self.totals.recovered = before
            self.totals.inserted += report.inserted
            self.totals.deleted += report.deleted
            self.totals.ignored += report.ignored
            self._await_more()

    # --- waiting ------------------------------------------------------------------------------------

    def _await_more(self) -> None:
        """Applies waiting updates after a time without a batch."""
        if self.kb.pending and not self._closed:
            idle = threading.Timer(self._applying.wait, lambda: self._flush_after(idle))
            idle.daemon = True
            self._idle = idle
            idle.start()

    def _flush_after(self, idle: threading.Timer) -> None:
        """Called when the time is over.  Does nothing if a batch has arrived while this waited for the lock,
        or is arriving.  Errors end the stream (`_recording_errors`)."""
        with self._lock, contextlib.suppress(Exception):
            if self._idle is not idle or self._coming:
                return
            if self.has_more():
                self._await_more()
            else:
                self.flush()

    def flush(self, keep: int = 0) -> None:
        """Applies waiting updates except the last `keep`."""
        with self._at_work():
            if self._closed or len(self.kb.pending) <= keep:
                return
            last = self.totals.last
            report = BatchReport(batch=last.batch if last is not None else -1, held=True)
            self._apply_and_report(keep, report, time.perf_counter())

    def _advance(self) -> None:
        """Moves the time of an idle stream.  An advance by which no fact leaves, and at which no query has
        other answers, is not logged."""
        clock = self._clock
        with self._lock, contextlib.suppress(Exception):
            if clock is None or self._closed or self.error is not None:
                return
            if clock.is_idle and not self._coming and not self.kb.pending and not self.has_more():
                windows = self.kb.windows
                time_now = clock.time_after(windows.now, by_arrival=bool(windows.by_arrival))
                if windows.started and min(windows.next_expiry, self.kb.next_evaluation) <= time_now:
                    with self._at_work():
                        self._log_advance(time_now, arrived=bool(windows.by_arrival))
                        clock.moved()
            clock.start()

    def _log_advance(self, moment: int, *, arrived: bool) -> None:
        last = self.totals.last
        report = BatchReport(batch=last.batch if last is not None else -1, held=True)
        number = self.kb.last_batch(CLOCK)
        update = EncodedUpdate(time=moment, arrived=arrived, dictionary=self.kb.dictionary)
        self.kb.log_updates([update], source=CLOCK, batch=0 if number is None else number + 1)
        faults.at("time advanced")
        self._apply_and_report(0, report, time.perf_counter())

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """Closes after the current batch."""
        self._stopped = True
        self.close()

    def close(self) -> None:
        """Applies waiting updates and closes the store; a second call does nothing.  Later batches are
        refused: they are not in the store, and Spark will repeat them."""
        if self._job is not None:
            wait([self._job])
        with self._lock:
            if self._closed:
                return
            try:
                if self.error is None:
                    self.flush()
                    if self._materialised is not None:
                        self._materialised.write(self.kb.applied_number)
                    self.totals.facts = {name: self.kb.count(name) for name in self.kb.predicates}
            finally:
                self._closed = True
                self._cancel()
                if self._clock is not None:
                    self._clock.stop()
                self._worker.shutdown(wait=False)
                self.kb.close()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StreamClosed
            self._cancel()
            with self._recording_errors():
                yield

    @contextmanager
    def _recording_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if self.error is None and not self._closed:  # Spark interrupts calls after the end
                self.error = error
                for feed in self._feeds:
                    feed.fail(str(error))
                threading.Thread(target=self.on_failure, daemon=True).start()
            raise

    def _cancel(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


class StreamClosed(Exception):
    """A batch arrived after the stream was closed."""


def _rows(update: EncodedUpdate) -> int:
    facts = sum(rows.count for part in (update.insertions, update.deletions) for rows in part)
    return facts + len(update.rules.added) + len(update.rules.removed)
