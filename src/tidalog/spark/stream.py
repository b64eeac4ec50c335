"""`tidalog.spark.maintain`: applies a stream of updates to a store, with an interface like Spark's own
streams."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import tidalog
from tidalog.api.arguments import check_seconds
from tidalog.api.continuous import StreamedChange
from tidalog.api.diagnostics import BadArgument, NoQuery
from tidalog.api.query_source import QuerySource, read_source
from tidalog.api.sources import ProgramSource
from tidalog.api.times import checked_duration
from tidalog.model.errors import UsageError
from tidalog.model.window_times import SECOND
from tidalog.spark.applying import Applying
from tidalog.spark.catalog import known_predicates, time_arguments
from tidalog.spark.checkpoints import Lineage, lineage_of, read_checkpoint
from tidalog.spark.columns import UpdateColumns, stream_columns, with_time
from tidalog.spark.data_source import OWN_ANSWERS
from tidalog.spark.diagnostics import LabelsDiffer, SparkError
from tidalog.spark.feed import Feed
from tidalog.spark.ingest import Ingest
from tidalog.spark.materialised import Materialised
from tidalog.spark.pipeline import ChangeOutput, Pipeline
from tidalog.spark.progress import Listener
from tidalog.spark.quarantine import Quarantine
from tidalog.spark.query import MaintenanceQuery, has_more, start_query
from tidalog.spark.query_feeds import QueryFeeds, folders_of
from tidalog.spark.sequencer import LabelKind
from tidalog.spark.triggers import interval_of, read_trigger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidalog.api.stored import StoredKnowledgeBase

PathLike = str | os.PathLike[str]
Fsync = Literal["always", "batch", "off"]
_UPDATE_WAIT: Final = 1.0
"""Seconds beyond the interval of the trigger after which an update is complete."""
OWN_FOLDER: Final = "spark"
"""The pipeline's folder within a store: checkpoint, change feed, quarantine."""
OWN_FEED: Final = (OWN_FOLDER, "changes")


def maintain(
    updates: DataFrame,
    program: ProgramSource | None = None,
    store: PathLike | None = None,
    *,
    dialect: str | None = None,
    parameters: Mapping[str, object] | None = None,
    look_ahead: int = 1,
    look_ahead_wait: float = 0.0,
    latest_only: bool = False,
    strategy: str | None = None,
    marking: str | None = None,
    order: str | None = None,
    update_wait: float | None = None,
    text_labels: bool = False,
    checkpoint: PathLike | None = None,
    quarantine: PathLike | None = None,
    strict: bool = False,
    other_updates: bool = False,
    fsync: Fsync = "batch",
    late: object = 0,
    idle_advance: object = None,
    queries: QuerySource | None = None,
    answers: PathLike | None = None,
) -> Maintained:
    """Maintains the materialisation of a program while updates arrive.

    `updates` is a streaming DataFrame with the columns of an update table: `op`, `predicate`, `arg1` …, and
    `update`, which orders updates; without it a micro-batch is one update.  `program` is a path, a text or a
    `Program`, and may be left out if the store has one.  Without a `store`, nothing is kept after the end.

    `look_ahead`, `latest_only`, `strategy`, `marking` and `order` are those of `KnowledgeBase.stream`; the
    last updates of a batch wait at most `look_ahead_wait` seconds for those of the next one.

    Labels of updates are integers; with `text_labels` they are compared as text.  The last update of a batch
    may continue in the next one: it waits for an update with a higher label, at most `update_wait` seconds.
    The default is `look_ahead_wait`, or one second more than the interval of the trigger; use 0 if batches
    contain only whole updates.

    Bad rows go to the folder `quarantine`, by default in the store; with `strict` they end the stream.
    For windows, an update has the latest time in the column `time` of its rows, or in the argument that has
    the times of a stream; if there is neither, that of its arrival.  `late` is how much older than the latest
    time an update may be ("5s", a timedelta, or seconds); later ones are bad rows.  While no row comes for
    `idle_advance`, time moves with the clock.

    `queries` are continuous queries: a file or a text of `REGISTER` statements, or a mapping of names to
    texts, each a string or a mapping with `text`, `emit` and `every`.  What they emit is written to
    `answers/NAME`, a change feed for each, by default in the store.  Those that an earlier run has
    registered go on; a query that is not among them any more ends, and another one of its name replaces it.
    Without `queries` those of the store go on.

    `checkpoint` is Spark's, by default in the store.  `other_updates` asserts that updates without labels are
    new to the store, although its checkpoint is gone.
    """
    columns = stream_columns(updates, "read it with spark.readStream, or use tidalog.spark.materialise")
    for name, seconds in (("look_ahead_wait", look_ahead_wait), ("update_wait", update_wait)):
        if seconds is not None:
            check_seconds(name, seconds)
    applying = Applying(look_ahead, look_ahead_wait, latest_only, strategy, marking, order)
    folders = _Folders(
        absolute(store),
        absolute(checkpoint),
        None if strict else absolute(quarantine),
        absolute(answers),
        strict=strict,
    )
    folders.check_answers(queries)
    settings = _Settings(
        program,
        dialect,
        dict(parameters or {}),
        applying,
        update_wait,
        text_labels,
        other_updates,
        fsync,
        checked_duration("late", late),
        None if idle_advance is None else checked_interval(idle_advance),
        queries,
    )
    return Maintained(updates, columns, folders, settings)


def checked_interval(value: object) -> float:
    """The seconds of `idle_advance`, which are more than 0."""
    seconds = checked_duration("idle_advance", value) / SECOND
    if not seconds:
        problem, why = f"idle_advance={value}", "it is more than 0"
        raise UsageError(BadArgument(problem=problem, why=why, hint="leave it out"))
    return seconds


def absolute(path: PathLike | None) -> Path | None:
    return Path(path).expanduser().absolute() if path is not None else None


@dataclass(frozen=True)
class _Settings:
    program: ProgramSource | None
    dialect: str | None
    parameters: dict[str, object]
    applying: Applying
    update_wait: float | None
    text_labels: bool
    other_updates: bool
    fsync: Fsync
    late: int
    """Microseconds."""
    idle_advance: float | None
    """Seconds."""
    queries: QuerySource | None


@dataclass
class _Folders:
    """The folders of a stream; without a named store, a temporary one."""

    store: Path | None
    checkpoint: Path | None
    quarantine: Path | None
    answers: Path | None
    strict: bool
    temporary: Path | None = field(default=None, init=False)

    def prepare(self) -> Path:
        """The folder of the store."""
        if self.store is not None:
            return self.store
        self.temporary = Path(tempfile.mkdtemp(prefix="tidalog-"))
        return self.temporary / "store"

    def checkpoint_in(self, store: Path) -> Path:
        return self.checkpoint if self.checkpoint is not None else store / OWN_FOLDER / "checkpoint"

    def quarantine_in(self, store: Path) -> Path | None:
        """None if bad rows stop the stream: with `strict`, or if the store is temporary."""
        if self.strict or self.quarantine is not None:
            return self.quarantine
        return None if self.store is None else store / OWN_FOLDER / "quarantine"

    def check_answers(self, queries: QuerySource | None) -> None:
        """Raises `UsageError` if queries have nowhere to write, or there is nothing to write."""
        if queries is not None and self.store is None and self.answers is None:
            problem, why = "the answers of queries go nowhere", "there is no store that keeps them"
            raise UsageError(BadArgument(problem=problem, why=why, hint="add answers=FOLDER or store=FOLDER"))
        if queries is None and self.answers is not None:
            problem, why = f"nothing is written to answers={self.answers}", "there are no queries"
            raise UsageError(BadArgument(problem=problem, why=why, hint="add queries=FILE"))

    def answers_in(self, store: Path) -> Path:
        return self.answers if self.answers is not None else store.joinpath(*OWN_ANSWERS)

    def remove_temporary(self) -> None:
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary = None


class Maintained:
    """A stream of updates to a store; nothing happens before `start` or `changes`."""

    def __init__(
        self, updates: DataFrame, columns: UpdateColumns, folders: _Folders, settings: _Settings
    ) -> None:
        self._updates = updates
        self._columns = columns
        self._folders = folders
        self._settings = settings
        self._feed: Path | None = None
        self._answers: dict[str, Path] = {}
        """The feeds of queries."""
        self.query: MaintenanceQuery | None = None
        """The last result of `start`."""

    def start(
        self,
        changes: PathLike | None = None,
        materialised: PathLike | None = None,
        *,
        trigger: str | None = None,
        name: str | None = None,
        listener: Listener | None = None,
    ) -> MaintenanceQuery:
        """Starts, or continues from the store and its checkpoint.

        `changes` is the folder of the change feed, `materialised` that of all facts as Parquet files.
        `trigger` is an interval such as `1s`, `available-now`, which ends once everything available is
        applied, or `continuous`, which starts each batch at once.  `listener` is called after every batch.
        """
        how = read_trigger(trigger)
        folder = self._folders.prepare()
        try:
            kb = self._opened(folder)
        except BaseException:
            self._folders.remove_temporary()
            raise
        try:
            applying = self._applying(interval_of(how))
            outputs = _Outputs(absolute(changes), absolute(materialised), listener)
            change = self._change_of_queries(kb)
            if change is not None and kb.pending:
                # What an earlier run has logged is applied with the queries that it had.
                self._pipeline(kb, applying, outputs)[0].close()
                kb = self._opened(folder)
                change = self._change_of_queries(kb)
            if change is not None:
                kb.queries.perform_streamed(change)
            return self._started(kb, applying, outputs, how, name)
        except BaseException:
            kb.close()
            self._folders.remove_temporary()
            raise

    @property
    def changes(self) -> DataFrame:
        """The change feed as a stream: `update`, `op`, `predicate`, `arg1` …, `kind`.

        Starts the stream of updates if necessary, with a feed in the store, which the DataFrame reads.  A
        query on it has its own checkpoint; its end does not end `query`, which feeds the store.
        """
        if self.query is None or not self.query.isActive or self._feed is None:
            self.start(self._own_feed())
        spark = self._updates.sparkSession
        return spark.readStream.format("tidalog").load(str(self._feed))

    def answers(self, query: str) -> DataFrame:
        """What a query emits, as a stream: `update`, the time of the evaluation, `op`, and the columns of the
        query.  Starts the stream of updates if necessary, like `changes`."""
        if self.query is None or not self.query.isActive:
            self.start(self._feed)
        folder = self._answers.get(query)
        if folder is None:
            known = ", ".join(self._answers) or "none"
            raise UsageError(NoQuery(name=query, known=known))
        return self._updates.sparkSession.readStream.format("tidalog").load(str(folder))

    def _change_of_queries(self, kb: StoredKnowledgeBase) -> StreamedChange | None:
        """What changes if the queries of the stream are those that are given."""
        if self._settings.queries is None:
            return None
        found = read_source(self._settings.queries, dict(kb.program.prefixes))
        folders = folders_of(self._folders.answers_in(kb.path), [read.name or "" for read, _ in found])
        # Relative in the store, which may be moved.
        inside = {n: f.relative_to(kb.path) if f.is_relative_to(kb.path) else f for n, f in folders.items()}
        options = [(read, replace(how, feed=str(inside[read.name or ""]))) for read, how in found]
        return kb.queries.changes_of_streamed(options)

    def _applying(self, interval: float) -> Applying:
        """How updates are applied with a batch every `interval` seconds."""
        how, wait = self._settings.applying, self._settings.update_wait
        if self._columns.update is None:
            wait = 0.0
        elif wait is None:
            wait = how.look_ahead_wait or interval + _UPDATE_WAIT
        return replace(how, update_wait=wait)

    def _own_feed(self) -> Path:
        store = self._folders.store
        if store is None:
            problem = "changes cannot be read as a stream"
            why = "there is no store that keeps them"
            raise UsageError(BadArgument(problem=problem, why=why, hint="add store=FOLDER"))
        return store.joinpath(*OWN_FEED)

    def _opened(self, folder: Path) -> StoredKnowledgeBase:
        settings = self._settings
        fsync: Fsync = "off" if self._folders.store is None else settings.fsync
        kb = tidalog.open(folder, fsync=fsync, late=timedelta(microseconds=settings.late))
        try:
            if settings.program is not None:
                kb.load(settings.program, dialect=settings.dialect, parameters=settings.parameters)
            kb.materialise()
        except BaseException:
            kb.close()
            raise
        return kb

    def _started(
        self,
        kb: StoredKnowledgeBase,
        applying: Applying,
        outputs: _Outputs,
        trigger: Mapping[str, Any],
        name: str | None,
    ) -> MaintenanceQuery:
        pipeline, ingest = self._pipeline(kb, applying, outputs)
        writer = ingest.updates.writeStream.foreachBatch(pipeline.process)
        checkpoint = self._folders.checkpoint_in(kb.path)
        writer = writer.option("checkpointLocation", spark_path(checkpoint)).trigger(**trigger)
        query = self.query = start_query(writer, pipeline, self._folders.remove_temporary, name)
        pipeline.has_more = lambda: has_more(query.query)
        return query

    def _pipeline(
        self, kb: StoredKnowledgeBase, applying: Applying, outputs: _Outputs
    ) -> tuple[Pipeline, Ingest]:
        settings, folders = self._settings, self._folders
        checkpoint = folders.checkpoint_in(kb.path)
        lineage = lineage_of(
            kb,
            checkpoint,
            has_labels=self._columns.update is not None,
            other_updates=settings.other_updates,
        )
        known = known_predicates(kb)
        if kb.has_time:
            self._columns = with_time(self._columns, self._updates.schema)
        kind = label_kind(self._columns, settings.text_labels, kb)
        is_text = kind == "text"
        synced = settings.fsync != "off" and folders.store is not None
        feeds: list[ChangeOutput] = []
        self._feed = outputs.changes
        if self._feed is not None:
            feeds.append(Feed(self._feed, kb, known.widest, text_labels=is_text, synced=synced))
        feeds.append(answers := QueryFeeds(kb, synced=synced))
        self._answers = answers.folders
        ingest = Ingest(self._updates, self._columns, known, time_arguments(kb, known), text_labels=is_text)
        materialised = outputs.materialised
        pipeline = Pipeline(
            kb,
            ingest,
            _SourceName(checkpoint, lineage),
            applying,
            quarantine=Quarantine(folders.quarantine_in(kb.path)),
            labels=kind,
            feeds=feeds,
            materialised=Materialised(materialised, kb) if materialised is not None else None,
            listener=outputs.listener,
            idle_advance=settings.idle_advance if kb.has_time else None,
        )
        return pipeline, ingest


@dataclass(frozen=True)
class _Outputs:
    """Where a run writes."""

    changes: Path | None
    materialised: Path | None
    listener: Listener | None


def spark_path(folder: Path) -> str:
    """The URI of a local folder for Spark, which accepts every character unescaped."""
    return f"file://{folder}"


class _SourceName:
    """The name of the query's batches in the store.  Spark writes the id of the query to the checkpoint
    before the first batch."""

    def __init__(self, checkpoint: Path, lineage: Lineage) -> None:
        self._checkpoint = checkpoint
        self._lineage = lineage
        self._name: str | None = None

    def __call__(self) -> str:
        if self._name is None:
            query = read_checkpoint(self._checkpoint).query
            assert query is not None
            self._name = self._lineage.source(query)
        return self._name


def label_kind(columns: UpdateColumns, text_labels: bool, kb: StoredKnowledgeBase) -> LabelKind | None:
    """The kind of a stream's labels; None if it has none.  Raises `SparkError` (T127) if the store has labels
    of another kind."""
    if columns.update is None:
        return None
    own: LabelKind = "text" if text_labels or columns.dated_labels else "integer"
    last = kb.last_label()
    other = "text" if isinstance(last, str) else "integer"
    if last is not None and other != own:
        hint = "set text_labels to compare labels as text" if own == "integer" else "use integers"
        raise SparkError(LabelsDiffer(own=own, other=other, hint=hint))
    return own
