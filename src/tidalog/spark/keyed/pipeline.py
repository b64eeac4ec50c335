"""The driver's side of a keyed stream: writes changes to files, bad rows and refusals to the quarantine.

A batch that comes again replaces what it has written, so that everything is there once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidalog.keyed.packing import BAD_ROW, OTHER, REFUSED, WITH_RULES
from tidalog.maintain.materialise import Violated
from tidalog.spark.checkpoints import read_checkpoint
from tidalog.spark.diagnostics import BadRowsInStream, SparkError, UpdateRefused
from tidalog.spark.ingest import OFFSETS, BadRow
from tidalog.spark.pipeline import StreamClosed
from tidalog.spark.progress import BatchReport, Listener, Totals
from tidalog.spark.quarantine import position_of, write_bad_rows
from tidalog.spark.validate import fault_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

_OWN: Final = "__tidalog_"


class KeyedPipeline:
    """Processes the batches of one keyed stream."""

    def __init__(
        self,
        changes: Path | None,
        quarantine: Path | None,
        key: str,
        checkpoint: Path,
        listener: Listener | None,
        *,
        first: int,
        changes_of: Callable[[DataFrame], DataFrame],
        rows_of: Callable[[DataFrame], DataFrame],
    ) -> None:
        self.totals = Totals()
        self.error: BaseException | None = None
        self.stopped = False
        self.on_failure: Callable[[], None] = lambda: None
        """Not called: everything happens within `foreachBatch`."""
        self._changes = changes
        self._quarantine = quarantine
        self._key = key
        self._checkpoint = checkpoint
        self._listener = listener
        self._first = first
        self._changes_of = changes_of
        self._rows_of = rows_of
        self._lock = threading.RLock()

    def process(self, frame: DataFrame, batch: int) -> None:
        """Spark calls it with the reports of each micro-batch."""
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

        report = BatchReport(batch)
        start = time.perf_counter()
        kept = frame.persist()  # buckets must not apply it twice
        try:
            told = kept.filter(F.col("row") == OTHER)
            notes = told.select("counts", F.col("payload").isNotNull().alias("more")).collect()
            report.read_seconds = time.perf_counter() - start
            others = self._rows_of(told).collect() if any(note["more"] for note in notes) else []
            bad = [_bad_row(row["note"]) for row in others if row["row"] == BAD_ROW]
            refused = [self._refusal(row) for row in others if row["row"] in (REFUSED, WITH_RULES)]
            self._write_bad_rows(bad, refused, batch)
            self._count([json.loads(note["counts"]) for note in notes], report)
            began = time.perf_counter()
            if self._changes is not None:
                changes = self._changes_of(kept).write.mode("overwrite")
                changes.parquet(str(self._changes / f"batch={self._first + batch:09d}"))
            report.write_seconds = time.perf_counter() - began
        finally:
            kept.unpersist()
        report.seconds = time.perf_counter() - start
        self.totals.seconds += report.seconds
        self.totals.add(report)
        if self._listener is not None:
            self._listener(report, self.totals)

    def _write_bad_rows(self, bad: list[BadRow], refused: list[BadRow], batch: int) -> None:
        if bad and self._quarantine is None:
            first = fault_line(bad[0], position_of(bad[0]))
            rows = "1 row" if len(bad) == 1 else f"{len(bad):,} rows"
            raise SparkError(BadRowsInStream(rows=rows, batch=batch, first=first))
        if self._quarantine is not None and (bad or refused):
            query = read_checkpoint(self._checkpoint).query or ""
            write_bad_rows(self._quarantine, query, batch, [*bad, *refused])

    def _refusal(self, row: Row) -> BadRow:
        """A refused update or rule edit, in the form of the quarantine."""
        update = {self._key: row[self._key], "update": row["update"]}
        if row["row"] == WITH_RULES:
            message = f"this change of rules was refused: {row['note']}"
            return {"number": UpdateRefused.number, "message": message, "column": "", "values": update}
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
            for predicate, (inserted, deleted) in part["predicates"].items():
                report.inserted += inserted
                report.deleted += deleted
                so_far = self.totals.by_predicate.setdefault(predicate, [0, 0])
                so_far[0], so_far[1] = so_far[0] + inserted, so_far[1] + deleted
        report.applied = report.rows - report.quarantined - report.skipped - report.refused

    def settle(self) -> None:
        """Nothing waits: a batch is applied when Spark has processed it."""

    def stop(self) -> None:
        """Refuses later batches; waits for the current one."""
        with self._lock:
            self.stopped = True

    def close(self) -> None:
        """There is nothing to close."""


def _bad_row(note: str) -> BadRow:
    """A bad row, in the form of the quarantine."""
    said = json.loads(note)
    values: dict[str, object] = said["values"]
    place: BadRow = {name: values.pop(name) for name in OFFSETS if name in values}
    if f"{_OWN}file" in values:
        place["file"], place["block"] = values.pop(f"{_OWN}file"), values.pop(f"{_OWN}block")
        row = values.pop(f"{_OWN}row", None)
        if isinstance(row, int):
            place["row"] = row + 1
    fault = {name: said["fault"].get(name, "") for name in ("number", "message", "column")}
    return {**fault, **place, "values": values}
