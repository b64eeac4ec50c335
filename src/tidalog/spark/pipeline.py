"""The path of a micro-batch: read and check, log, apply, write the changes, acknowledge.

    rows ─ ingest ─▶ updates ─ sequence ─▶ new ones ─ log ─▶ on disk ─ apply ─▶ deltas ─▶ feed ─▶ acknowledged

Exactly once.  A batch is in the store's log before anything of it is applied, and only then does
`foreachBatch` return, so that Spark may forget it.  The log has its query and number, so a batch that comes
again is skipped.  Updates that were applied but not acknowledged when the process ended are applied again by
the next run, before its first batch; the feed knows which updates it has (feed.py), and files of the
quarantine are replaced.  So updates may wait for later ones: they are in the log, whatever happens.

For the same reason `foreachBatch` does not wait for the engine: a thread applies a logged batch while Spark
reads the next one, which is logged after that.  At most one batch is ahead.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidalog.model.errors import TidalogError
from tidalog.model.update import EncodedUpdate
from tidalog.spark.applying import Applying
from tidalog.spark.diagnostics import BadRowsInStream, SparkError, UpdateRefused
from tidalog.spark.feed import Feed
from tidalog.spark.ingest import BadRow, Batch, Ingest
from tidalog.spark.materialised import Materialised
from tidalog.spark.progress import BatchReport, Listener, Totals
from tidalog.spark.quarantine import position_of, write_bad_rows
from tidalog.spark.sequencer import Before, LabelKind, Ordered, ordered
from tidalog.spark.validate import fault_line
from tidalog.storage import faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.model.update import Label
    from tidalog.storage.inbox import Position


class Pipeline:
    """Feeds one store from one stream.  Any thread may call its methods; a lock lets one at a time run."""

    def __init__(
        self,
        kb: StoredKnowledgeBase,
        ingest: Ingest,
        source: Callable[[], str],
        applying: Applying,
        *,
        labels: LabelKind | None = None,
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
        self._kind = labels
        self._feed = feed
        self._materialised = materialised
        self._quarantine = quarantine
        self._listener = listener
        self._lock = threading.RLock()
        self._worker = ThreadPoolExecutor(1, "tidalog-apply")
        self._job: Future[None] | None = None
        """Applies the current or the last batch; before the first one, prepares the store."""
        self._busy_until = 0.0
        self._closed = self._stopped = self._coming = False
        self._idle: threading.Timer | None = None
        self._places: dict[int, DataFrame] = {}
        """Where the rows of batches with waiting updates come from."""
        self._rows: deque[tuple[int, int, float]] = deque()
        """Waiting updates, in order: their number, their rows, and when their batch started."""
        self.error: BaseException | None = None
        """The error that ended the stream."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called by a new thread when something fails, so that the query stops."""
        self.has_more: Callable[[], bool] = lambda: True
        """Whether Spark may be about to bring a batch."""
        ingest.learn(kb.pending_rules)
        self._recover()
        # While Spark starts the query and reads the first batch.
        self._job = self._worker.submit(kb.get_ready)

    # --- batches ------------------------------------------------------------------------------------

    def process(self, frame: DataFrame, batch: int) -> None:
        """Spark calls it with each micro-batch; returns once that is logged.  Reading does not use the
        knowledge base, which is busy with the batch before."""
        report = BatchReport(batch)
        start = time.perf_counter()
        self._coming = True
        with self._noting_errors():
            faults.at("batch begun")
            read = self._ingest.read(frame)
            if self._quarantine is None:
                self._check_none(read.bad, batch)
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
            try:
                self._apply(self._applying.held, report)
            finally:
                self._measure(report, start)
                self._report(report)
            self._await_more()

    def _measure(self, report: BatchReport, start: float) -> None:
        now = time.perf_counter()
        report.seconds = now - start
        report.waiting = sum(rows for _, rows, _ in self._rows)
        # Batches overlap: time counts once, however many are in progress.
        self.totals.seconds += now - max(start, self._busy_until)
        self._busy_until = now

    def settle(self) -> None:
        """Waits until all batches so far are applied, but for updates that wait for later ones; the last
        update is taken to be complete.  Raises the error of a batch."""
        self._join()
        if self._applying.held > self._applying.ahead:
            self.flush(self._applying.ahead)

    def _join(self) -> None:
        if self._job is not None:
            self._job.result()

    def _check_none(self, bad: Sequence[BadRow], batch: int) -> None:
        if bad:
            first = fault_line(bad[0], position_of(bad[0]))
            rows = "1 row" if len(bad) == 1 else f"{len(bad):,} rows"
            raise SparkError(BadRowsInStream(rows=rows, batch=batch, first=first))

    def _log(self, frame: DataFrame, read: Batch, batch: int, start: float, report: BatchReport) -> None:
        """Logs a batch, also one without updates, so that the store has every batch that Spark has.  Bad rows
        are written before: if the batch is logged, they are in the quarantine."""
        began = time.perf_counter()
        kb, source = self.kb, self._source()
        report.quarantined = len(read.bad)
        last = kb.last_batch(source)
        if last is not None and batch <= last:  # a repetition
            report.skipped = read.table.num_rows
            return
        found = ordered(read.table, batch, self._before(), self._kind)
        bad = [*read.bad, *self._late_rows(frame, found)]
        if bad and self._quarantine is not None:
            write_bad_rows(self._quarantine, source, batch, bad)
        self._check_none(bad if self._quarantine is None else (), batch)
        report.quarantined = len(bad)
        report.skipped = found.skipped
        updates = kb.prepare_updates(found.updates)
        if not self._ingest.has_labels:
            for update in updates:
                update.label = None
        logged = kb.log_updates(
            updates, source=source, batch=batch, goes_on=found.goes_on, contents=found.contents
        )
        assert logged == len(updates)
        if updates:
            places = self._ingest.places(frame)
            if places is not None:
                self._places[batch] = places
            first = kb.pending[-1].number - len(updates) + 1
            for number, update in enumerate(updates, first):
                self._rows.append((number, _rows(update), start))
        report.log_seconds = time.perf_counter() - began
        faults.at("batch logged")

    def _before(self) -> Before:
        """What came before the next batch."""
        last, pending = self.kb.last_label(), self.kb.pending
        waits = last is not None and len(pending) > 0 and pending[-1].label == last
        return Before(last, waits, self.kb.seen)

    def _late_rows(self, frame: DataFrame, found: Ordered) -> list[BadRow]:
        """The rows of updates that come too late and are not applied."""
        late: dict[Label, str] = dict.fromkeys(found.changed, "it was applied with other rows")
        late |= dict.fromkeys(found.unseen, f"update {self.kb.last_label()} came before it")
        return self._ingest.late_rows(frame, late) if late else []

    # --- applying -----------------------------------------------------------------------------------

    def _apply(self, keep: int, report: BatchReport) -> None:
        """Applies waiting updates, all but the last `keep`, and writes their changes."""
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
                if self._feed is not None:
                    self._feed.add(position.number, delta)
                if self._materialised is not None:
                    self._materialised.changed(delta, new_rules=bool(delta.rules))
                self.totals.changed(delta)
                report.label = position.label
                report.updates += delta.updates
                report.inserted += delta.inserted_count
                report.deleted += delta.deleted_count
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
        self._forget_places()

    def _named(self, error: TidalogError, position: Position) -> TidalogError:
        """The error, and the update that it is about."""
        places: list[str] = []
        kept = self._places.get(position.batch)
        if kept is not None:
            with contextlib.suppress(Exception):  # files may be gone, and Spark may be too
                places = self._ingest.places_of(kept, position.label)
        update = f"update {position.label}" if position.label is not None else "the update"
        where = (
            f"its rows are in {' and '.join(places)}" if places else "the batch is in the log of the store"
        )
        refused = UpdateRefused(update=update, batch=position.batch, where=where)
        return type(error)([*error.diagnostics, refused])

    def _forget_places(self) -> None:
        """Keeps only those of waiting updates."""
        pending = self.kb.pending
        oldest = pending[0].batch if pending else None
        self._places = {
            batch: places for batch, places in self._places.items() if oldest is not None and batch >= oldest
        }

    def _finished(self, number: int) -> int:
        """Removes the updates up to a number from those that wait; returns their rows."""
        now = time.perf_counter()
        rows = 0
        while self._rows and self._rows[0][0] <= number:
            _, own, start = self._rows.popleft()
            rows += own
            self.totals.latencies.append(now - start)
        return rows

    def _write_changes(self, report: BatchReport) -> None:
        """Writes changes and facts; then the store may acknowledge the updates."""
        began = time.perf_counter()
        number = self.kb.applied_number
        if self._feed is not None:
            self._feed.write(number)
        if self._materialised is not None:
            self._materialised.write_if_due(number)
        faults.at("changes written")
        self.kb.acknowledge()
        faults.at("acknowledged")
        report.write_seconds += time.perf_counter() - began

    def _recover(self) -> None:
        """Applies what an earlier run has logged; its batches do not come again, or are skipped."""
        report = BatchReport(-1)
        before = len(self.kb.pending)
        if before:
            self._apply(self._applying.held, report)
            self.totals.recovered = before
            self.totals.inserted += report.inserted
            self.totals.deleted += report.deleted
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
        """The time is over: applies them, unless a batch came while this waited for the lock, or is coming.
        Errors end the stream (`_noting_errors`)."""
        with self._lock, contextlib.suppress(Exception):
            if self._idle is not idle or self._coming:
                return
            if self.has_more():
                self._await_more()
            else:
                self.flush()

    def flush(self, keep: int = 0) -> None:
        """Applies waiting updates, all but the last `keep`."""
        with self._at_work():
            if self._closed or len(self.kb.pending) <= keep:
                return
            last = self.totals.last
            report = BatchReport(last.batch if last is not None else -1, held=True)
            start = time.perf_counter()
            try:
                self._apply(keep, report)
            finally:
                self._measure(report, start)
                self._report(report)
            self._await_more()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """Closes after the current batch."""
        self._stopped = True
        self.close()

    def close(self) -> None:
        """Applies waiting updates and closes the store; a second call does nothing.  Refuses later batches:
        the store does not have it, and Spark will bring it again."""
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
            if self.error is None and not self._closed:  # Spark interrupts what runs after the end
                self.error = error
                if self._feed is not None:
                    self._feed.fail(str(error))
                threading.Thread(target=self.on_failure, daemon=True).start()
            raise

    def _cancel(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _report(self, report: BatchReport) -> None:
        self.totals.add(report)
        if self._listener is not None:
            self._listener(report, self.totals)


class StreamClosed(Exception):
    """A batch came after the stream was closed."""


def _rows(update: EncodedUpdate) -> int:
    facts = sum(rows.count for part in (update.insertions, update.deletions) for rows in part)
    return facts + len(update.rules.added) + len(update.rules.removed)
