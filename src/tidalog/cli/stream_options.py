"""The options of `tidalog stream`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tidalog.cli.options import DialectName, Maintenance, Parameters, bad_option, flag, value
from tidalog.maintain.registry import AUTO


@dataclass(frozen=True, kw_only=True)
class Streaming(Maintenance):
    """The source, the outputs and the settings of a stream."""

    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="A file of rules.")]
    updates: Annotated[
        str | None,
        typer.Argument(metavar="UPDATES", help="A folder of update tables, a table, a topic or HOST:PORT."),
    ] = None
    source: Annotated[
        str | None,
        value("NAME", "csv, json, parquet, delta, kafka, rate, socket, table …  Default: by the files."),
    ] = None
    option: Annotated[list[str] | None, value("NAME=VALUE", "An option of the Spark source.")] = None
    schema: Annotated[
        str | None, value("COLUMNS", "The columns of the source: 'update long, op string …'.")
    ] = None
    sql: Annotated[
        str | None, value("QUERY", "Converts rows of the source, the table `source`, to updates.")
    ] = None
    store: Annotated[Path | None, value("FOLDER", "The store to maintain; created if missing.")] = None
    changes: Annotated[Path | None, value("FOLDER", "Write what changes, as Parquet files.")] = None
    materialised: Annotated[
        Path | None, value("FOLDER", "Write all facts, as Parquet files in current/.")
    ] = None
    queries: Annotated[
        Path | None, value("FILE", "Register the continuous queries of this file, and write what they emit.")
    ] = None
    answers: Annotated[
        Path | None, value("FOLDER", "A change feed for each query, in FOLDER/NAME.  Default: in the store.")
    ] = None
    checkpoint: Annotated[Path | None, value("FOLDER", "Spark's checkpoint.  Default: in the store.")] = None
    quarantine: Annotated[Path | None, value("FOLDER", "Where bad rows go.  Default: in the store.")] = None
    strict: Annotated[bool, flag("Bad rows stop the stream.", "--strict")] = False
    other_updates: Annotated[
        bool, flag("Updates without labels are new, not a repetition of those applied.", "--other-updates")
    ] = False
    master: Annotated[str | None, value("URL", "local[*], spark://HOST:PORT, yarn, k8s://…")] = None
    packages: Annotated[
        str | None, value("COORDINATES", "Connectors for Spark to fetch: GROUP:NAME:VERSION.")
    ] = None
    config: Annotated[
        list[str] | None, value("NAME=VALUE", "A setting of Spark: spark.driver.memory=4g.")
    ] = None
    trigger: Annotated[
        str | None,
        value("WHEN", "1s, available-now (stop at the end of the input), or continuous, the default."),
    ] = None
    look_ahead_wait: Annotated[
        float, value("SECONDS", "Hold the last updates until later ones arrive.", min=0)
    ] = 0.0
    update_wait: Annotated[
        float | None,
        value(
            "SECONDS",
            "Hold the last update: the next batch may continue it.  Default: the trigger's interval and 1.",
            min=0,
        ),
    ] = None
    text_labels: Annotated[
        bool, flag("Compare labels of updates as text, not as integers.", "--text-labels")
    ] = False
    late: Annotated[
        str, value("DURATION", "How much older than the time of windows an update may be: 5s.")
    ] = "0s"
    idle_advance: Annotated[
        str | None,
        value("DURATION", "Move the time of windows with the clock after this long without updates."),
    ] = None
    key: Annotated[
        str | None, value("COLUMN", "Each value of this column is a knowledge base of its own.")
    ] = None
    buckets: Annotated[int | None, value("N", "With --key: engines that keys share.", min=1)] = None
    ttl: Annotated[
        float | None, value("SECONDS", "With --key: remove a key that has had no update for this time.")
    ] = None
    arguments: Annotated[
        int | None, value("N", "The most arguments that facts of rules added later may have.", min=1)
    ] = None
    parameter: Parameters = None
    dialect: DialectName = None

    def check(self) -> None:
        from tidalog.api.times import checked_duration
        from tidalog.spark.stream import checked_interval
        from tidalog.spark.triggers import read_trigger

        super().check()
        read_trigger(self.trigger)
        checked_duration("late", self.late)
        if self.idle_advance is not None:
            checked_interval(self.idle_advance)
        self._check_queries()
        self._check_key()
        if self.strict and self.quarantine is not None:
            raise bad_option(
                "--strict with --quarantine", "bad rows stop the stream", "leave one of them out"
            )

    @property
    def answers_folder(self) -> Path | None:
        from tidalog.spark.data_source import OWN_ANSWERS

        return self.answers or (self.store.joinpath(*OWN_ANSWERS) if self.store is not None else None)

    def _check_queries(self) -> None:
        if self.queries is None:
            if self.answers is not None:
                raise bad_option("--answers", "it has what queries emit, and there are none", "add --queries")
        elif self.key is not None:
            why = "a continuous query is over one knowledge base, and each key has its own"
            raise bad_option("--queries with --key", why, "leave one of them out")
        elif self.store is None and self.answers is None:
            why = "what they emit goes nowhere"
            raise bad_option("--queries", why, "add --answers FOLDER or --store FOLDER")

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
            ("--strategy", self.strategy != AUTO),
            ("--marking", self.marking != AUTO),
            ("--order", self.order != "ours"),
        ):
            if given:
                why = "keys are kept in Spark's state, each by itself"
                raise bad_option(f"{option} with --key", why, "leave it out; --checkpoint keeps the keys")
