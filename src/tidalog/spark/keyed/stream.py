"""`tidalog.spark.keyed`: a stream of updates of many keys, each a knowledge base of its own."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

import tidalog
from tidalog.analysis.keyed import keyed_program
from tidalog.api.diagnostics import BadArgument
from tidalog.api.naming import parameter_terms
from tidalog.api.sources import ProgramSource, read_program
from tidalog.api.times import checked_duration
from tidalog.builtins import PythonFunction
from tidalog.keyed.config import BucketConfig, config_of
from tidalog.keyed.diagnostics import BadKey
from tidalog.keyed.engines import COUNTED
from tidalog.keyed.packing import (
    BAD,
    BUCKET,
    CHANGE,
    NOW,
    PACKED,
    REPORT,
    changes_apart,
    packer,
    row_schema,
    rows_apart,
)
from tidalog.keyed.row_notes import ORIGINS, numbered, with_names
from tidalog.keyed.row_times import RowTimes
from tidalog.keyed.shard_map import entry_of_bucket
from tidalog.model.errors import UsageError
from tidalog.spark.catalog import KnownPredicates, known_predicates, time_arguments
from tidalog.spark.columns import UpdateColumns, quoted, stream_columns, with_time
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.ingest import with_origins
from tidalog.spark.internals import map_in_arrow, transform_with_state
from tidalog.spark.keyed.advances import advances_of
from tidalog.spark.keyed.checkpoint import Note, checked_note, read_note, resharded_keys
from tidalog.spark.keyed.clock import KeyedClock
from tidalog.spark.keyed.pipeline import KeyedPipeline
from tidalog.spark.named_columns import KEY, TIME, label_of, named
from tidalog.spark.progress import Listener
from tidalog.spark.quarantine import Quarantine
from tidalog.spark.query import MaintenanceQuery, has_more, start_query
from tidalog.spark.stream import PathLike, absolute, checked_interval, spark_path
from tidalog.spark.triggers import read_trigger
from tidalog.spark.validate import Validation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from tidalog.api.knowledge_base import KnowledgeBase

_KEY_TYPES: Final = frozenset(
    {"string", "tinyint", "smallint", "int", "bigint", "boolean", "date", "timestamp", "timestamp_ntz"}
)
_BUCKETS_PER_PARTITION: Final = 2


def keyed(
    updates: DataFrame,
    key: str,
    program: ProgramSource,
    *,
    dialect: str | None = None,
    parameters: Mapping[str, object] | None = None,
    functions: Mapping[str, PythonFunction] | None = None,
    buckets: int | None = None,
    ttl: float | None = None,
    text_labels: bool = False,
    arguments: int | None = None,
    initial: PathLike | None = None,
    late: object = 0,
) -> Keyed:
    """Maintains a materialisation of a program for each key, while updates arrive.

    `updates` is a streaming DataFrame with the columns of an update table and a column `key`.  Updates are
    ordered by `update` within each key; without that column the rows of a key in a micro-batch are one
    update.  Labels are integers; with `text_labels`, labels that are text are compared as text.

    Keys share engines on the executors: `buckets` of them, by default as many as the checkpoint has, or two
    for each shuffle partition.  If `buckets` differs from the checkpoint, keys are resharded when the stream
    is started, and the source is read from its start.
    Rows with `op` `+rule` and `-rule` change the rules of every key; they have no key.  Changes have as many
    arguments as the facts of the program, or `arguments` if later rules have wider facts.
    For windows, an update has the latest time in the column `time` of its rows, or in the argument with the
    times of a stream; if there is neither, that of its batch.  Every key has windows of its own, which move
    with its updates, and after every batch to the latest time of the stream.  `late` is how much older than
    the time of its key an update may be ("5s", a timedelta, or seconds); later ones are bad rows.
    `ttl` is the number of seconds without an update after which the next batch removes a key.  `initial` is
    the result of `tidalog.spark.reshard` on an earlier run.  The state store of Spark must be RocksDB, as in
    sessions of `tidalog.spark.spark_session`.
    """
    columns = stream_columns(updates)
    check_key(updates, key, columns)
    partitions = int(updates.sparkSession.conf.get("spark.sql.shuffle.partitions") or 2)
    count = buckets if buckets is not None else _BUCKETS_PER_PARTITION * partitions
    _check_positive("buckets", count)
    for what, number in (("ttl", ttl), ("arguments", arguments)):
        if number is not None:
            _check_positive(what, number)
    as_text = columns.dated_labels or (text_labels and columns.text_labels)
    labels = None if columns.update is None else "text" if as_text else "integer"
    given = parameter_terms(parameters or {})
    read = read_program(program, dialect, None)
    with tidalog.open(functions=functions or {}) as kb:
        kb.load(read.program, parameters=parameters, base_dir=read.folder)
        kb.materialise(progress=False)
        known = known_predicates(kb)
        config = config_of(
            keyed_program(read.program, given, list(functions or {})),
            kb,
            arguments=max(known.widest, arguments or 0),
            labels=labels,
            ttl=None if ttl is None else round(ttl * 1000),
            functions=functions or {},
            buckets=count,
            parameters=given,
            late=checked_duration("late", late),
        )
        if config.windows:
            columns = with_time(columns, updates.schema)
            if columns.time is not None:
                config = replace(config, time_arguments={})
        timing = _timing(kb, known, columns)
    begin_with = Path(initial) if initial is not None else None
    return Keyed(updates, key, columns, known, config, begin_with, buckets is not None, timing)


def _timing(kb: KnowledgeBase, known: KnownPredicates, columns: UpdateColumns) -> RowTimes | None:
    """Where rows have their times; None if there are no windows."""
    if not kb.program.windows:
        return None
    arguments = time_arguments(kb, known)
    return RowTimes(columns.time is None and not kb.program.time_arguments, arguments)


def check_key(updates: DataFrame, key: str, columns: UpdateColumns) -> None:
    """Raises `SparkError` (T122)."""
    others = ", ".join(name for name in updates.columns if name != key)
    if key not in updates.columns:
        why, hint = "the stream has no such column", f"it has {others}"
        raise SparkError(BadKey(column=key, why=why, hint=hint))
    if key in (columns.update, columns.op, columns.predicate, *columns.arguments):
        why = "it is a column of the updates themselves"
        raise SparkError(BadKey(column=key, why=why, hint="add a column of its own for the key"))
    kind = updates.schema[key].dataType.simpleString()
    if kind not in _KEY_TYPES:
        why, hint = f"it is of type {kind}", "a key is text, a whole number, a boolean, a date or a time"
        raise SparkError(BadKey(column=key, why=why, hint=hint))


def _check_positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not 0 < value < inf:
        raise UsageError(BadArgument(problem=f"{name}={value}", why="it is more than 0", hint="leave it out"))


@dataclass(eq=False, repr=False)
class Keyed:
    """A keyed stream; nothing happens before a query is started on `changes` or `rows`, or by `start`."""

    _updates: DataFrame
    _key: str
    _columns: UpdateColumns
    _known: KnownPredicates
    config: BucketConfig
    _initial: Path | None
    _buckets_given: bool
    _timing: RowTimes | None

    @property
    def rows(self) -> DataFrame:
        """All results as a stream.  `row` is `change`, `refused` (an update, by the constraint in `note`),
        `bad` (a row, with its error in `note`) or `counts` (in `note`)."""
        return self._rows_of(self._reports(self._initial))

    @property
    def changes(self) -> DataFrame:
        """The change feed as a stream: the key, `update`, `op`, `predicate`, `arg1` …, `kind`.

        The counts of a batch are metrics of its progress: `observedMetrics["tidalog"]`.  Bad rows and
        refused updates are counted there and listed in `rows`.
        """
        from pyspark.sql import functions as F

        counts = [
            F.coalesce(F.sum(F.get_json_object("counts", f"$.{name}").cast("bigint")), F.lit(0)).alias(name)
            for name in COUNTED
        ]
        return self._changes_of(self._reports(self._initial).observe("tidalog", *counts))

    def _note(self, checkpoint: Path) -> Note:
        """The note of the checkpoint, which keeps its number of buckets unless another one is given."""
        found = read_note(checkpoint)
        if found is not None and not self._buckets_given:
            self.config = replace(self.config, buckets=found.buckets)
        return checked_note(self._updates.sparkSession, checkpoint, self.config, self._key)

    def _reports(self, begin_with: Path | None, clock: Path | None = None) -> DataFrame:
        """The reports of buckets, packed.  `clock` is the folder of the stream's clock."""
        from tidalog.spark.keyed.processor import KeyedProcessor

        config = self.config
        processor = KeyedProcessor(config, uuid.uuid4().hex)
        initial = None
        if begin_with is not None:
            dealt = self._updates.sparkSession.read.parquet(str(begin_with))
            initial = dealt.select(BUCKET, "record").groupBy(BUCKET)
        timing = self._timing
        every = config.ttl is not None or timing is not None

        def prepare(table: pa.Table) -> pa.Table:
            table = numbered(table)
            return table if timing is None else timing.of(table)

        pack = packer(entry_of_bucket(config.buckets), every, prepare)
        rows = self._checked()
        if clock is not None and timing is not None:
            advances = advances_of(rows.sparkSession, clock, with_now=config.ttl is not None)
            rows = rows.unionByName(advances, allowMissingColumns=True)
        packed = map_in_arrow(rows, pack, PACKED)
        return transform_with_state(packed.groupBy(BUCKET), processor, REPORT, initial)

    def _changes_of(self, reports: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        packed = reports.filter(F.col("row") == CHANGE).select("payload")
        names = self._columns_out[1:-1]
        return self._with_key(map_in_arrow(packed, changes_apart, ", ".join(names)))

    def _rows_of(self, reports: DataFrame) -> DataFrame:
        schema = row_schema(self.config.arguments, self.config.text_labels)
        readable = partial(with_names, key=self._key, time=self._columns.time)
        return self._with_key(
            map_in_arrow(reports, rows_apart(schema, readable), ", ".join(self._columns_out))
        )

    @property
    def _columns_out(self) -> list[str]:
        label = "string" if self.config.text_labels else "bigint"
        arguments = [f"arg{number} string" for number in range(1, self.config.arguments + 1)]
        first = ["row string", "key string", f"update {label}", "op string", "predicate string"]
        return [*first, *arguments, "kind string", "note string"]

    def _with_key(self, frame: DataFrame) -> DataFrame:
        """The frame with the original name and type of the key."""
        from pyspark.sql import functions as F

        key = F.col("key").cast(self._updates.schema[self._key].dataType)
        return frame.withColumn("key", key).withColumnRenamed("key", self._key)

    def start(
        self,
        changes: PathLike | None = None,
        *,
        checkpoint: PathLike | None = None,
        quarantine: PathLike | None = None,
        strict: bool = False,
        trigger: str | None = None,
        name: str | None = None,
        listener: Listener | None = None,
        idle_advance: object = None,
    ) -> MaintenanceQuery:
        """Starts, or continues from the checkpoint.

        `changes` is a folder of Parquet files; each batch has a folder `batch=…` in it, which is replaced
        if the batch is repeated.  Bad rows and refused updates go to the folder `quarantine`; with
        `strict`, or without that folder, bad rows end the stream.  Without a `checkpoint`, nothing is kept
        after the end.  While no row comes for `idle_advance` ("10s", a timedelta, or seconds), the time of
        all keys moves with the clock.
        """
        how = read_trigger(trigger)
        interval = None if idle_advance is None else checked_interval(idle_advance)
        temporary = tempfile.mkdtemp(prefix="tidalog-") if checkpoint is None else None
        folder = absolute(checkpoint) or Path(str(temporary))
        note = self._note(folder)
        initial = self._initial or resharded_keys(folder, note)
        generation = folder / note.generation
        timing = self._timing
        clock = None if timing is None else KeyedClock(generation, interval, by_arrival=timing.by_arrival)
        pipeline = KeyedPipeline(
            absolute(changes),
            Quarantine(None if strict else absolute(quarantine)),
            self._key,
            generation,
            listener,
            first=note.first,
            changes_of=self._changes_of,
            rows_of=self._rows_of,
            clock=clock,
        )
        reports = self._reports(initial, generation)
        writer = reports.writeStream.foreachBatch(pipeline.process).outputMode("update")
        writer = writer.option("checkpointLocation", spark_path(generation)).trigger(**how)

        def finish() -> None:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

        query = start_query(writer, pipeline, finish, name)
        pipeline.watch(lambda: has_more(query.query))
        return query

    def _checked(self) -> DataFrame:
        """Valid rows with their bucket, and bad ones with their errors."""
        from pyspark.sql import functions as F

        rows = with_origins(self._updates)
        text = rows[quoted(self._key)].cast("string")
        checked = named(rows.withColumn(KEY, text), self._columns)
        validation = Validation(self._columns, self._known, self.config.text_labels, self._key)
        values = F.struct(*(F.col(quoted(name)) for name in checked.columns if name not in (KEY, TIME)))

        def described(found: Column) -> Column:
            return F.to_json(F.struct(found.alias("fault"), values.alias("values")))

        # As a function's argument the expression occurs once; if it occurred twice, the JVM would not compile
        # it.
        faults = F.filter(F.array(validation.fault_of()), lambda found: found.isNotNull())
        bad = F.when(~validation.is_sure(), F.get(F.transform(faults, described), 0))
        bucket = F.pmod(F.xxhash64(KEY), F.lit(self.config.buckets)).cast("int")
        arguments = [F.col(f"arg{n + 1}") for n in range(len(self._columns.arguments))]
        label = [] if self._columns.update is None else [label_of(self.config.text_labels).alias("update")]
        now = [] if self.config.ttl is None else [F.unix_millis(F.current_timestamp()).alias(NOW)]
        if self._timing is not None and self._timing.by_arrival:
            now.append(F.unix_micros(F.current_timestamp()).alias(TIME))
        elif self._columns.time is not None:
            now.append(F.col(TIME))
        is_late_or_unfit = self._timing is not None or self.config.declarations.declared
        origins = [name for name in ORIGINS if name in checked.columns and is_late_or_unfit]
        return checked.select(
            bucket.alias(BUCKET),
            bad.alias(BAD),
            F.col(KEY).alias("key"),
            *label,
            "op",
            "predicate",
            *arguments,
            *now,
            *origins,
        )
