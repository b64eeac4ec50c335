"""The driver's side of a keyed stream: writes changes to files, bad rows and refusals to the quarantine.

A repeated batch replaces its files, so that everything is written once.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidalog.api.diagnostics import ViolatedByTime
from tidalog.keyed.outcome import Clock
from tidalog.keyed.packing import BAD_ROW, OTHER, OVERDUE, REFUSED, WITH_RULES
from tidalog.maintain.materialise import Violated
from tidalog.spark.checkpoints import read_checkpoint
from tidalog.spark.diagnostics import UpdateRefused
from tidalog.spark.ingest import BadRow, bad_row
from tidalog.spark.keyed.clock import KeyedClock
from tidalog.spark.pipeline import StreamClosed
from tidalog.spark.progress import BatchReport, Listener, Reporter
from tidalog.spark.quarantine import Quarantine
from tidalog.storage import faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

_NOTED: Final = (REFUSED, WITH_RULES, OVERDUE)
"""Rows that are about updates and keys, for the quarantine."""


class KeyedPipeline:
    """Processes the batches of one keyed stream."""

    def __init__(
        self,
        changes: Path | None,
        quarantine: Quarantine,
        key: str,
        checkpoint: Path,
        listener: Listener | None,
        *,
        first: int,
        changes_of: Callable[[DataFrame], DataFrame],
        rows_of: Callable[[DataFrame], DataFrame],
        clock: KeyedClock | None = None,
    ) -> None:
        self._reporter = Reporter(listener)
        self.totals = self._reporter.totals
        self.error: BaseException | None = None
        self.stopped = self._closed = False
        self.on_failure: Callable[[], None] = lambda: None
        """Called by a new thread if time cannot move."""
        self._changes = changes
        self._quarantine = quarantine
        self._key = key
        self._checkpoint = checkpoint
        self._first = first
        self._changes_of = changes_of
        self._rows_of = rows_of
        self._clock = clock
        self._has_more: Callable[[], bool] = lambda: True
        self._lock = threading.RLock()

    def watch(self, has_more: Callable[[], bool]) -> None:
        """The query has started; `has_more` says whether it may be about to start another batch."""
        self._has_more = has_more
        if self._clock is not None:
            self._clock.start(self._advance)

    def process(self, frame: DataFrame, batch: int) -> None:
        """Called by Spark with the reports of each micro-batch."""
        with self._lock:
            if self.stopped:
                raise StreamClosed
            try:
                self._process(frame, batch)
            except BaseException as error:
                self.error = self.error or error
                raise

    def _process(self, frame: DataFrame, batch: int) -> None:
        from pyspark.sql import functions as F

        report = BatchReport(batch=batch)
        start = time.perf_counter()
        kept = frame.persist()  # buckets must not apply it twice
        try:
            others = kept.filter(F.col("row") == OTHER)
            notes = others.select("counts", F.col("payload").isNotNull().alias("more")).collect()
            report.read_seconds = time.perf_counter() - start
            rows = self._rows_of(others).collect() if any(note["more"] for note in notes) else []
            bad = [_bad_row(row["note"]) for row in rows if row["row"] == BAD_ROW]
            refused = [self._refusal(row) for row in rows if row["row"] in _NOTED]
            self._quarantine.check(bad, batch)
            if bad or refused:
                query = read_checkpoint(self._checkpoint).query or ""
                self._quarantine.write(query, batch, [*bad, *refused])
            counts = [json.loads(note["counts"]) for note in notes]
            self._count(counts, report)
            began = time.perf_counter()
            if self._changes is not None:
                changes = self._changes_of(kept).write.mode("overwrite")
                changes.parquet(str(self._changes / f"batch={self._first + batch:09d}"))
            if self._clock is not None:
                clocks = [Clock(**part["clock"]) for part in counts if "clock" in part]
                self._clock.batch_came(clocks, rows=report.rows > 0)
            faults.at("changes written")
            report.write_seconds = time.perf_counter() - began
        finally:
            kept.unpersist()
        self._reporter.add(report, start)

    def _refusal(self, row: Row) -> BadRow:
        """A refused update or rule edit, or what time has violated, in the form of the quarantine."""
        update = {self._key: row[self._key], "update": row["update"]}
        if row["row"] == WITH_RULES:
            message = f"this change of rules was refused: {row['note']}"
            return {"number": UpdateRefused.number, "message": message, "column": "", "values": update}
        if row["row"] == OVERDUE:
            overdue = ViolatedByTime(rule=row["note"], times="", examples="")
            message = f"time has violated constraint {row['note']} for this key, and no update was refused"
            return {"number": overdue.number, "message": message, "column": "", "values": update}
        violated = Violated(rule=row["note"], times="", examples="")
        message = f"constraint {row['note']} is violated: this update of the key was refused"
        return {"number": violated.number, "message": message, "column": "", "values": update}

    def _count(self, counts: list[dict[str, Any]], report: BatchReport) -> None:
        for part in counts:
            report.rows += part["rows"]
            report.quarantined += part["quarantined"]
            report.skipped += part["skipped"]
            report.refused += part["refused"]
            report.updates += part["updates"]
            report.expired += part["expired_facts"]
            for predicate, (inserted, deleted) in part["predicates"].items():
                report.inserted += inserted
                report.deleted += deleted
                self.totals.count(predicate, inserted, deleted)
        report.applied = report.rows - report.quarantined - report.skipped - report.refused

    def _advance(self) -> None:
        """Moves the time of an idle stream."""
        clock = self._clock
        with self._lock:
            if clock is None or self._ended:
                return
            is_quiet = False
            with contextlib.suppress(Exception):  # the query or Spark may be ending
                is_quiet = clock.is_due and not self._has_more()
            try:
                if is_quiet and clock.advance():
                    faults.at("time advanced")
            except OSError as error:
                self.error = error
                threading.Thread(target=self.on_failure, daemon=True).start()
                return
            clock.again()

    @property
    def _ended(self) -> bool:
        return self.stopped or self._closed or self.error is not None

    def drain(self) -> None:
        """Nothing to do: a batch is applied when Spark has processed it."""

    def stop(self) -> None:
        """Refuses later batches; waits for the current one."""
        with self._lock:
            self.stopped = True

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._clock is not None:
                self._clock.stop()


def _bad_row(note: str) -> BadRow:
    found = json.loads(note)
    fault = {name: found["fault"].get(name, "") for name in ("number", "message", "column")}
    return bad_row(fault, found["values"])
