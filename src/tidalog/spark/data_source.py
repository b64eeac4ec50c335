"""The data source `tidalog`, for `spark.read` and `spark.readStream`.

    spark.read.format("tidalog").option("predicate", "path").load("city.tidalog")      facts of a store
                                .option("terms", True)                                 as text in `any` form
    spark.readStream.format("tidalog").option("predicate", "path").load("changes")     its change feed
    spark.readStream.format("tidalog").option("query", "cities").load("city.tidalog")  what a query emits

Reading a store gives its facts at the moment when Spark reads it, even while a pipeline writes to it.  A
change feed is a folder that a pipeline writes (feed.py), or the one in the store with the option `changes`.
With the option `query` it is that of a continuous query, in a store or in the folder of all answers.
The offset of its stream is the number of the last update that was read, which Spark keeps in its checkpoint;
files never change, so repeated reads give the same rows.

Methods run in processes that Spark starts, perhaps on other machines: all must have access to the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from tidalog.lang.names import full_name, written_name
from tidalog.spark.diagnostics import NoFeed, NotAStream, SourceMissing, SparkError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.spark.feed import FeedFile, FeedShape

OWN_FEED: Final = ("spark", "changes")
"""The default folder of the change feed within a store."""
OWN_ANSWERS: Final = ("spark", "answers")
"""That of the feeds of queries."""
_OPTIONS: Final = ("predicate", "terms", "query", "changes", "path")
_NUMBER: Final = "number"
_FACTS: Final = 0
_FEED_COLUMNS: Final = ("update", "op", "kind")
"""Besides those of the facts."""


class TidalogDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "tidalog"

    def schema(self) -> StructType:
        return spark_schema(self._arrow_schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        folder = self._folder()
        if folder.feed is not None:
            return _FeedReader(folder.feed, self._predicate(), self._arrow_schema())
        return _FactReader(folder.store, self._predicate(), self._arrow_schema(), self._terms())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        folder = self._folder()
        if folder.feed is None:
            problem = f"{folder.store} is a store, which does not stream"
            hint = "load the folder of its change feed, or the one in the store: .option('changes', True)"
            raise SparkError(NotAStream(problem=problem, why="its changes do", hint=hint))
        return _FeedStream(folder.feed, self._predicate(), self._arrow_schema())

    def _predicate(self) -> str | None:
        return self.options.get("predicate")

    def _terms(self) -> bool:
        return self._is_set("terms")

    def _is_set(self, option: str) -> bool:
        return bool(self.options.get(option, "false").lower() == "true")

    def _folder(self) -> _Folder:
        for name in self.options:
            if name.lower() not in _OPTIONS:
                near = get_close_matches(name.lower(), _OPTIONS, 1)
                hint = f"did you mean {near[0]}?  " if near else ""
                hint += f"its options are {', '.join(_OPTIONS)}"
                raise SparkError(SourceMissing(source="tidalog", why=f"it has no option {name}", hint=hint))
        path = self.options.get("path")
        if not path:
            hint = 'name a store or a feed: .load("city.tidalog")'
            raise SparkError(NoFeed(path="nothing", what="store", why="there is no path", hint=hint))
        return _Folder(_local(path), self._is_set("changes"), self.options.get("query"))

    def _arrow_schema(self) -> pa.Schema:
        from tidalog.spark.feed import known_shape

        folder, predicate = self._folder(), self._predicate()
        if folder.feed is None:
            with _opened(folder.store) as kb:
                return _fact_schema(kb, predicate, self._terms())
        return _feed_columns(known_shape(folder.feed), folder.feed, predicate)


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns of a table that Spark can hold (`io.spark_fields`)."""
    from pyspark.sql.types import StructType

    from tidalog.io.spark_fields import spark_fields

    fields = spark_fields(schema)
    assert fields is not None
    return StructType.fromJson(fields)


def _local(path: str) -> Path:
    return Path(unquote(urlsplit(path).path) if path.startswith("file:") else path).expanduser()


class _Folder:
    """A folder: a change feed, or a store."""

    def __init__(self, folder: Path, changes: bool, query: str | None) -> None:
        from tidalog.spark.feed import ABOUT, feed_shape
        from tidalog.spark.query_feeds import known_folder
        from tidalog.storage.manifest import NAME

        self.store = folder
        self.feed: Path | None = None
        shape = feed_shape(folder)
        if query is not None and (shape is None or shape.query != query):
            is_store = (folder / NAME).exists()
            self.feed = known_folder(folder.joinpath(*OWN_ANSWERS) if is_store else folder, query)
        elif (folder / ABOUT).exists():
            self.feed = folder
        elif changes:
            self.feed = folder.joinpath(*OWN_FEED)
        elif not (folder / NAME).exists():
            why = "it is neither a store nor a change feed" if folder.exists() else "there is no such folder"
            hint = "name the folder of a store, or of a change feed"
            raise SparkError(NoFeed(path=folder, what="store", why=why, hint=hint))


# --- facts ------------------------------------------------------------------------------------------


def _opened(store: Path) -> StoredKnowledgeBase:
    import tidalog

    return tidalog.open(store, read_only=True)


def _fact_schema(kb: StoredKnowledgeBase, predicate: str | None, terms: bool) -> pa.Schema:
    """The columns of a predicate; or of the facts of all predicates, which are terms as text."""
    import pyarrow as pa

    from tidalog.io.term_fields import term_field

    if predicate is not None:
        return _facts(kb, predicate, terms).schema
    widest = max((info.arity for info in kb.predicates.values()), default=0)
    arguments = (f"arg{number}" for number in range(1, widest + 1))
    fields = [term_field(name, pa.string(), "any") for name in arguments]
    return pa.schema([pa.field("predicate", pa.string()), *fields])


def _facts(kb: StoredKnowledgeBase, predicate: str, terms: bool) -> pa.Table:
    from tidalog.io.spark_fields import for_spark

    return for_spark(kb.facts(predicate).table, terms=terms)


def _all_facts(kb: StoredKnowledgeBase, schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    for name in kb.predicates:
        rows, columns = kb.count(name), _facts(kb, name, terms=True).columns
        empty = [pa.nulls(rows, pa.string())] * (len(schema) - 1 - len(columns))
        yield pa.table([pa.repeat(name, rows), *columns, *empty], schema=schema)


def _as_before(table: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """The table in the types that it had; None if they do not hold it any more.  Decimals may have got
    fewer digits after the point."""
    import pyarrow as pa

    def fits(new: pa.DataType, old: pa.DataType) -> bool:
        both = pa.types.is_decimal(new) and pa.types.is_decimal(old)
        return bool(both and (new.scale > 0) == (old.scale > 0))  # with no such digits, they are integers

    fields = zip(table.schema, schema, strict=True)
    wanted = [new.with_type(old.type) if fits(new.type, old.type) else new for new, old in fields]
    if not pa.schema(wanted).equals(schema, check_metadata=True):
        return None
    try:
        return table.cast(schema)
    except pa.ArrowInvalid:
        return None


class _FactReader(DataSourceReader):
    def __init__(self, store: Path, predicate: str | None, schema: pa.Schema, terms: bool) -> None:
        self._store = store
        self._predicate = predicate
        self._schema = schema
        self._terms = terms

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(_FACTS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with _opened(self._store) as kb:
            if self._predicate is None:
                tables = list(_all_facts(kb, self._schema))
            else:
                tables = [_facts(kb, self._predicate, self._terms)]
        for found in tables:
            table = _as_before(found, self._schema)
            if table is None:
                why = f"its columns were {_types(self._schema)} when the query was created"
                what = f"facts of {self._predicate} of these types any more"
                raise SparkError(NoFeed(path=self._store, what=what, why=why, hint="create the query again"))
            yield from table.to_batches()


def _types(schema: pa.Schema) -> str:
    from tidalog.io.term_fields import reading_of

    kinds = {field.name: "terms" if reading_of(field) == "any" else field.type for field in schema}
    return ", ".join(f"{name} {kind}" for name, kind in kinds.items())


# --- changes ----------------------------------------------------------------------------------------


def _feed_columns(shape: FeedShape, folder: Path, predicate: str | None) -> pa.Schema:
    """All columns of the feed; of one predicate, without its name and with its own arguments; of a query,
    without the kind too."""
    import pyarrow as pa

    schema = shape.schema()
    if shape.query is not None:
        own = [pa.field(name, pa.string()) for name in shape.names(shape.query)]
        return pa.schema([schema.field("update"), schema.field("op"), *own])
    if predicate is None:
        return schema
    name = full_name(predicate, shape.prefixes)
    if name not in shape.arities:
        known = ", ".join(list(shape.arities)[:12])
        what = f"changes of {predicate}"
        raise SparkError(NoFeed(path=folder, what=what, why="it has none", hint=f"predicates are {known}"))
    own = [schema.field(f"arg{n}").with_name(new) for n, new in enumerate(shape.names(name), 1)]
    return pa.schema([schema.field("update"), schema.field("op"), *own, schema.field("kind")])


def _changes(path: Path, predicate: str | None, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tidalog.spark.feed import known_shape

    filters, shape = None, known_shape(path.parent)
    if predicate is not None and shape.query is None:
        name = full_name(predicate, shape.prefixes)
        filters = [("predicate", "=", written_name(name))]
    table = pq.read_table(path, filters=filters)
    if shape.query is not None:
        table = table.drop_columns(["predicate", "kind"])
    if predicate is not None or shape.query is not None:
        arguments = [name for name in schema.names if name not in _FEED_COLUMNS]
        own_names = {f"arg{number}": declared for number, declared in enumerate(arguments, 1)}
        table = table.rename_columns([own_names.get(column, column) for column in table.column_names])
    own = set(schema.names) | {"predicate"}
    if any(column.null_count < table.num_rows for n, column in _columns(table) if n not in own):
        why = "rules have come since the query was created, and facts have more arguments"
        what = f"changes of {predicate}" if predicate is not None else "changes with so few columns"
        raise SparkError(NoFeed(path=path.parent, what=what, why=why, hint="create the query again"))
    there = dict(_columns(table))
    empty = pa.nulls(table.num_rows, pa.string())
    columns = [there.get(field.name, empty).cast(field.type) for field in schema]
    yield from pa.table(columns, schema=schema).to_batches()


def _columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    return zip(table.column_names, table.columns, strict=True)


class _Feed:
    """The common base of reading changes once and as a stream."""

    def __init__(self, folder: Path, predicate: str | None, schema: pa.Schema) -> None:
        self._folder = folder
        self._predicate = predicate
        self._schema = schema

    def _files(self) -> list[FeedFile]:
        from tidalog.spark.feed import feed_files

        return feed_files(self._folder)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _changes(Path(partition.value), self._predicate, self._schema)


class _FeedReader(_Feed, DataSourceReader):
    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(str(file.path)) for file in self._files()]


class _FeedStream(_Feed, DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, folder: Path, predicate: str | None, schema: pa.Schema) -> None:
        super().__init__(folder, predicate, schema)
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {_NUMBER: -1}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, int]:
        latest = self._latest() if self._target is None else self._target
        if latest <= start[_NUMBER]:
            self._check_writer()
            return start
        return {_NUMBER: latest}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        wanted = [file for file in self._files() if start[_NUMBER] < file.last <= end[_NUMBER]]
        return [InputPartition(str(file.path)) for file in wanted]

    def _latest(self) -> int:
        files = self._files()
        return files[-1].last if files else -1

    def _check_writer(self) -> None:
        """Raises if the writer has failed, so that readers do not wait forever."""
        from tidalog.spark.feed import failure

        said = failure(self._folder)
        if said is not None:
            raise RuntimeError(said)
