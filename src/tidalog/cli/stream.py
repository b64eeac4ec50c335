"""`tidalog stream`: updates through Spark Structured Streaming, to a store, a change feed and files.

JSON: `totals` (as the last line of `--stats` has them) and the folders that were written to.
"""

from __future__ import annotations

import json as json_text
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tidalog.cli.options import read_pairs, read_parameters
from tidalog.cli.report import Report
from tidalog.cli.stream_options import Streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidalog.cli.stream_report import LiveLine
    from tidalog.spark.progress import BatchReport, Listener, Totals
    from tidalog.spark.query import MaintenanceQuery


def stream(report: Report, how: Streaming, stats: Path | None, quiet: bool) -> None:
    from tidalog.cli.stream_report import LiveLine, print_summary
    from tidalog.spark.session import spark_session
    from tidalog.spark.sources import read_stream

    how.check()
    options = dict(read_pairs(how.option, "--option", "--option maxFilesPerTrigger=1"))
    config = dict(read_pairs(how.config, "--config", "--config spark.driver.memory=4g"))
    arguments = _widest(how)
    spark = spark_session(how.master, config, how.packages)
    try:
        frame = read_stream(
            spark, how.updates, how.source, options, schema=how.schema, sql=how.sql, arguments=arguments
        )
        with LiveLine(report.as_json or quiet) as line, _Stats(stats) as written:
            line.begin(spark.version, spark.sparkContext.master or "", how.store)
            totals = _run(spark, frame, how, line, written)
    finally:
        spark.stop()
    folders = {"store": how.store, "changes": how.changes, "materialised": how.materialised}
    shown = {name: str(path) for name, path in folders.items() if path is not None}
    report.finish({"totals": totals.to_json(), **shown})
    if not report.as_json and not quiet:
        print_summary(totals, shown)


def _widest(how: Streaming) -> int:
    """The most arguments that a fact has, or may have later.  Reads the program before Spark starts, so that
    its errors show at once."""
    from tidalog.analysis import analyse
    from tidalog.api.naming import parameter_terms
    from tidalog.api.sources import read_program

    program = read_program(how.program, how.dialect, None).program
    known = analyse(program, parameter_terms(read_parameters(how.parameter))).predicates
    return max([how.arguments or 0, *(info.arity for info in known.values())])


def _run(spark: SparkSession, frame: DataFrame, how: Streaming, line: LiveLine, stats: _Stats) -> Totals:
    from tidalog.spark.progress import progress_events

    def tell(report: BatchReport, totals: Totals) -> None:
        stats.add(report)
        line.show(report, totals)

    lag = progress_events(spark, line.lag) if line.active else nullcontext()
    with _stop_on_interrupt(line.stopping) as interrupt, lag:
        query = _started(frame, how, tell) if how.key is None else _started_by_key(frame, how, how.key, tell)
        interrupt.stops(query)
        try:
            query.awaitTermination()
        finally:
            stats.end(query.totals)
    return query.totals


class _Interrupt:
    """Ctrl-C stops a query after its current batch; a second Ctrl-C interrupts.

    PySpark's own handler would cancel the batch, by a call to Spark in the middle of another call.  So a
    thread stops the query, and the main thread goes on waiting for its end.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._query: MaintenanceQuery | None = None
        self._requested = False

    def stops(self, query: MaintenanceQuery) -> None:
        """From now on it is this query; at once if Ctrl-C came while it started."""
        self._query = query
        if self._requested:
            self._stop(query)

    def handle(self, number: int, frame: object) -> None:
        if self._requested:
            raise KeyboardInterrupt
        self._requested = True
        if self._query is not None:
            self._stop(self._query)

    def _stop(self, query: MaintenanceQuery) -> None:
        def stop() -> None:
            self._tell()
            query.stop()

        threading.Thread(target=stop, name="tidalog-stop", daemon=True).start()


@contextmanager
def _stop_on_interrupt(tell: Callable[[], None]) -> Iterator[_Interrupt]:
    """Handles Ctrl-C until the end of the block; only the main thread can."""
    interrupt = _Interrupt(tell)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt.handle)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def _started_by_key(frame: DataFrame, how: Streaming, key: str, tell: Listener) -> MaintenanceQuery:
    from tidalog.spark.keyed.stream import keyed

    keys = keyed(
        frame,
        key,
        how.program,
        dialect=how.dialect,
        parameters=read_parameters(how.parameter),
        text_labels=how.text_labels,
        buckets=how.buckets,
        ttl=how.ttl,
        arguments=how.arguments,
    )
    return keys.start(
        how.changes,
        checkpoint=how.checkpoint,
        quarantine=how.quarantine,
        strict=how.strict,
        trigger=how.trigger,
        listener=tell,
    )


def _started(frame: DataFrame, how: Streaming, tell: Listener) -> MaintenanceQuery:
    from tidalog.spark.stream import maintain

    maintained = maintain(
        frame,
        how.program,
        how.store,
        dialect=how.dialect,
        parameters=read_parameters(how.parameter),
        look_ahead=how.look_ahead,
        look_ahead_wait=how.look_ahead_wait,
        update_wait=how.update_wait,
        text_labels=how.text_labels,
        latest_only=how.latest_only,
        strategy=how.strategy,
        marking=how.marking,
        order=how.order,
        checkpoint=how.checkpoint,
        quarantine=how.quarantine,
        strict=how.strict,
        other_updates=how.other_updates,
    )

    return maintained.start(how.changes, how.materialised, trigger=how.trigger, listener=tell)


class _Stats:
    """A file that grows by a line with every batch."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> _Stats:
        from tidalog.api.diagnostics import OutputNotWritable
        from tidalog.model.errors import UsageError

        if self._path is not None:
            try:
                self._file = self._path.open("w", encoding="utf-8")
            except OSError as error:
                why = error.strerror or str(error)
                raise UsageError(OutputNotWritable(path=self._path, why=why)) from error
        return self

    def add(self, report: BatchReport) -> None:
        self._write(report.to_json())

    def end(self, totals: Totals) -> None:
        self._write({"totals": totals.to_json()})

    def _write(self, content: dict[str, object]) -> None:
        if self._file is not None:
            self._file.write(json_text.dumps(content) + "\n")
            self._file.flush()

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
