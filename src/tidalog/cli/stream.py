"""`tidalog stream`: updates through Spark Structured Streaming, to a store, a change feed and files.

JSON: `totals` (as the last line of `--stats` has them) and the folders that were written to.
"""

from __future__ import annotations

import json as json_text
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from tidalog.cli.options import (
    AsJson,
    DialectName,
    LookAhead,
    Marking,
    Order,
    Parameters,
    Strategy,
    bad_option,
    check_choice,
    read_pairs,
)
from tidalog.cli.report import Report, reporting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidalog.cli.stream_report import LiveLine
    from tidalog.spark.progress import BatchReport, Listener, Totals
    from tidalog.spark.query import MaintenanceQuery


@dataclass(frozen=True)
class Streaming:
    """What to stream, where to, and how."""

    program: Path
    updates: str | None
    source: str | None
    options: dict[str, str]
    schema: str | None
    sql: str | None
    store: Path | None
    changes: Path | None
    materialised: Path | None
    checkpoint: Path | None
    quarantine: Path | None
    strict: bool
    other_updates: bool
    master: str | None
    packages: str | None
    config: dict[str, str]
    trigger: str | None
    dialect: str | None
    parameters: dict[str, str]
    look_ahead: int
    look_ahead_wait: float
    update_wait: float | None
    text_labels: bool
    latest_only: bool
    strategy: str
    marking: str
    order: str
    key: str | None
    buckets: int | None
    ttl: float | None
    arguments: int | None

    def check(self) -> None:
        from tidalog.maintain.choose import MARKINGS, ORDERS, STRATEGIES
        from tidalog.spark.stream import read_trigger

        check_choice("--strategy", self.strategy, STRATEGIES)
        check_choice("--marking", self.marking, MARKINGS)
        check_choice("--order", self.order, ORDERS)
        read_trigger(self.trigger)
        self._check_key()
        if self.strict and self.quarantine is not None:
            raise bad_option(
                "--strict with --quarantine", "bad rows stop the stream", "leave one of them out"
            )

    def _check_key(self) -> None:
        if self.key is None:
            for option, value in (("--buckets", self.buckets), ("--ttl", self.ttl)):
                if value is not None:
                    why = "it is about keys, and no --key is given"
                    raise bad_option(f"{option} {value}", why, "add --key COLUMN, or leave it out")
            return
        for option, given in (
            ("--store", self.store is not None),
            ("--materialised", self.materialised is not None),
            ("--other-updates", self.other_updates),
            ("--latest-only", self.latest_only),
            ("--look-ahead-wait", self.look_ahead_wait > 0),
            ("--update-wait", self.update_wait is not None),
            ("--strategy", self.strategy != "auto"),
            ("--marking", self.marking != "auto"),
            ("--order", self.order != "ours"),
        ):
            if given:
                why = "keys live in Spark's state, each by itself"
                raise bad_option(f"{option} with --key", why, "leave it out; --checkpoint keeps the keys")


def stream_command(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="A file of rules.")],
    updates: Annotated[
        str | None,
        typer.Argument(metavar="UPDATES", help="A folder of update tables; a table, a topic, HOST:PORT."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="csv, json, parquet, delta, kafka, rate, socket, table …  Default: by the files.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the source, as Spark has it.")
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="The columns of the source: 'update long, op string …'."),
    ] = None,
    sql: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Makes updates of the rows of the table source.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The store to maintain; created if missing.")
    ] = None,
    changes: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write what changes, as Parquet files.")
    ] = None,
    materialised: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write all facts, as Parquet files in current/.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Spark's checkpoint.  Default: in the store.")
    ] = None,
    quarantine: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where bad rows go.  Default: in the store.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Bad rows stop the stream.")] = False,
    other_updates: Annotated[
        bool,
        typer.Option("--other-updates", help="Updates without labels are others than the store has had."),
    ] = False,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="local[*], spark://HOST:PORT, yarn, k8s://…")
    ] = None,
    packages: Annotated[
        str | None,
        typer.Option(metavar="COORDINATES", help="Connectors for Spark to fetch: GROUP:NAME:VERSION."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of Spark: spark.driver.memory=4g."),
    ] = None,
    trigger: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="1s, available-now (then end), or continuous, the usual one."),
    ] = None,
    look_ahead: LookAhead = 1,
    look_ahead_wait: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Hold the last updates back until later ones arrive."),
    ] = 0.0,
    update_wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Hold the last update back: it may go on in the next batch.  Default: the trigger's and 1.",
        ),
    ] = None,
    text_labels: Annotated[
        bool, typer.Option("--text-labels", help="Compare labels of updates as text, not as integers.")
    ] = False,
    latest_only: Annotated[
        bool, typer.Option("--latest-only", help="Apply all updates that are waiting as one.")
    ] = False,
    strategy: Strategy = "auto",
    marking: Marking = "auto",
    order: Order = "ours",
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Each value of this column is a knowledge base of its own."),
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --key: engines that keys share.")
    ] = None,
    ttl: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="With --key: forget a key that has had no update for so long."),
    ] = None,
    arguments: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The most arguments that facts of coming rules may have."),
    ] = None,
    parameter: Parameters = None,
    dialect: DialectName = None,
    stats: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A line of JSON for every batch, and the totals.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    json: AsJson = False,
) -> None:
    """Maintain a store while updates arrive through Spark.  Ctrl-C stops it after the current batch."""
    with reporting(json) as report:
        how = Streaming(
            program,
            updates,
            source,
            dict(read_pairs(option, "--option", "--option maxFilesPerTrigger=1")),
            schema,
            sql,
            store,
            changes,
            materialised,
            checkpoint,
            quarantine,
            strict,
            other_updates,
            master,
            packages,
            dict(read_pairs(config, "--config", "--config spark.driver.memory=4g")),
            trigger,
            dialect,
            dict(read_pairs(parameter, "--parameter", "--parameter limit=10")),
            look_ahead,
            look_ahead_wait,
            update_wait,
            text_labels,
            latest_only,
            strategy,
            marking,
            order,
            key,
            buckets,
            ttl,
            arguments,
        )
        how.check()
        stream(report, how, stats, quiet)


def stream(report: Report, how: Streaming, stats: Path | None, quiet: bool) -> None:
    from tidalog.cli.stream_report import LiveLine, print_summary
    from tidalog.spark.session import spark_session

    arguments = _widest(how)
    spark = spark_session(how.master, how.config, how.packages)
    try:
        frame = _updates(spark, how, arguments)
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
    """The most arguments that a fact of the program has, or is to have; it is read before Spark starts, for
    its errors."""
    from tidalog.analysis import analyse
    from tidalog.api.naming import parameter_terms
    from tidalog.api.sources import read_program

    program = read_program(how.program, how.dialect, None).program
    known = analyse(program, parameter_terms(how.parameters)).predicates
    return max([how.arguments or 0, *(info.arity for info in known.values())])


def _updates(spark: SparkSession, how: Streaming, arguments: int) -> DataFrame:
    from tidalog.spark.sources import read_stream

    return read_stream(
        spark, how.updates, how.source, how.options, schema=how.schema, sql=how.sql, arguments=arguments
    )


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
        parameters=how.parameters,
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
        parameters=how.parameters,
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
