"""`tidalog stream`: applies updates from Spark Structured Streaming to a store, a change feed and files.

JSON: `totals` (as in the last line of `--stats`) and the output folders.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.cli.interrupt import stop_on_interrupt
from tidalog.cli.options import read_pairs, read_parameters
from tidalog.cli.report import Report
from tidalog.cli.stream_options import Streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidalog.cli.stream_report import LiveLine, StatsFile
    from tidalog.spark.progress import BatchReport, Listener, Totals
    from tidalog.spark.query import MaintenanceQuery

_LOOK_FOR_CTRL_C: Final = 0.5
"""Seconds."""


def stream(report: Report, how: Streaming, stats: Path | None, quiet: bool) -> None:
    from tidalog.cli.stream_report import LiveLine, StatsFile, print_summary
    from tidalog.spark.internals import no_tracebacks_of_py4j
    from tidalog.spark.session import spark_session
    from tidalog.spark.sources import read_stream

    how.check()
    options = dict(read_pairs(how.option, "--option", "--option maxFilesPerTrigger=1"))
    config = dict(read_pairs(how.config, "--config", "--config spark.driver.memory=4g"))
    arguments = _widest(how)
    with no_tracebacks_of_py4j():
        spark = spark_session(how.master, config, how.packages)
        try:
            frame = read_stream(
                spark, how.updates, how.source, options, schema=how.schema, sql=how.sql, arguments=arguments
            )
            with LiveLine(report.as_json or quiet) as line, StatsFile(stats) as written:
                line.begin(spark.version, spark.sparkContext.master or "", how.store)
                totals = _run(spark, frame, how, line, written)
        finally:
            spark.stop()
    folders = {"store": how.store, "changes": how.changes, "materialised": how.materialised}
    if how.queries is not None:
        folders["answers"] = how.answers_folder
    shown = {name: str(path) for name, path in folders.items() if path is not None}
    report.finish({"totals": totals.to_json(), **shown})
    if not report.as_json and not quiet:
        print_summary(totals, shown)


def _widest(how: Streaming) -> int:
    """The largest arity of a fact, now or later.  Reads the program and the queries before Spark starts, so
    that their errors are reported at once."""
    from tidalog.analysis import analyse
    from tidalog.api.naming import parameter_terms
    from tidalog.api.query_source import read_source
    from tidalog.api.sources import read_program

    program = read_program(how.program, how.dialect, None).program
    known = analyse(program, parameter_terms(read_parameters(how.parameter))).predicates
    of_queries = 3 if how.queries is not None and read_source(how.queries, program.prefixes) else 0
    return max([how.arguments or 0, of_queries, *(info.arity for info in known.values())])


def _run(spark: SparkSession, frame: DataFrame, how: Streaming, line: LiveLine, stats: StatsFile) -> Totals:
    from tidalog.spark.progress import progress_events

    def listen(report: BatchReport, totals: Totals) -> None:
        stats.add(report)
        line.show(report, totals)

    lag = progress_events(spark, line.lag) if line.active else nullcontext()
    with stop_on_interrupt(line.stopping) as interrupt, lag:
        query = _start(frame, how, listen) if how.key is None else _start_keyed(frame, how, how.key, listen)
        interrupt.watch(query)
        try:
            # A signal that comes just before a wait without end would be handled after it.
            while not query.awaitTermination(_LOOK_FOR_CTRL_C):
                pass
        finally:
            stats.end(query.totals)
    return query.totals


def _start_keyed(frame: DataFrame, how: Streaming, key: str, listener: Listener) -> MaintenanceQuery:
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
        late=how.late,
    )
    return keys.start(
        how.changes,
        checkpoint=how.checkpoint,
        quarantine=how.quarantine,
        strict=how.strict,
        trigger=how.trigger,
        listener=listener,
        idle_advance=how.idle_advance,
    )


def _start(frame: DataFrame, how: Streaming, listener: Listener) -> MaintenanceQuery:
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
        late=how.late,
        idle_advance=how.idle_advance,
        queries=how.queries,
        answers=how.answers,
    )
    return maintained.start(how.changes, how.materialised, trigger=how.trigger, listener=listener)
