"""Streams of updates by name: files of a folder, or any source that Spark has or can fetch.

The result has the columns of an update table.  CSV and JSON files and the messages of a queue are text: their
values are terms as written in tables.  An empty field of CSV is missing after the last argument, and the
empty text before it.  A line that cannot be read is passed on unchanged, to be quarantined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.keyed.row_notes import OFFSETS
from tidalog.spark.columns import CORRUPT
from tidalog.spark.diagnostics import NotAStream, SourceMissing, SparkError
from tidalog.spark.internals import no_query_log, scala_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES: Final = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".ndjson": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".orc": "orc",
}
MESSAGES: Final = ("kafka", "socket")
"""Sources whose rows have one value, a JSON object with the columns of an update."""
CONNECTORS: Final = {
    "delta": "io.delta:delta-spark_{minor}_{scala}:VERSION",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{minor}_{scala}:VERSION",
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",
    "avro": "org.apache.spark:spark-avro_{scala}:{spark}",
}
"""Connectors that Spark does not include, with their coordinates; those of other projects have their own
versions."""
_PATTERN: Final = re.compile(r"[*?\[{]")
VIEW: Final = "source"
"""The name of the source's rows in the query that converts them to updates."""


def read_stream(
    spark: SparkSession,
    updates: str | None,
    source: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    schema: str | None = None,
    sql: str | None = None,
    arguments: int = 0,
) -> DataFrame:
    """A stream of updates.

    `updates` is a folder, a pattern or a file; the name of a table, the topic of `kafka`, the HOST:PORT of
    `socket`.  `source` is a source of Spark, by default that of the files' ending, and `options` are its
    options.  `schema` has the columns of the source, if Spark cannot infer them; `sql` is a query that
    converts its rows, the table `source`, to updates.  `arguments` is the largest arity of a fact.
    """
    given = dict(options or {})
    name = source if source is not None else _by_ending(updates)
    if name in FILES.values():
        frame = _files(spark, _named(updates, name), name, given, schema, arguments)
    else:
        frame = _other(spark, updates, name, given, schema)
        if sql is None and name in MESSAGES:
            frame = _objects(frame, schema, arguments)
        elif sql is None and name == "rate":
            hint = (
                f"--sql \"select value as update, '+' as op, 'tick' as predicate, value as arg1 from {VIEW}\""
            )
            raise _no_stream("the source rate has no updates", "its columns are timestamp and value", hint)
    if sql is None:
        return frame
    frame.createOrReplaceTempView(VIEW)
    with _connected(name, spark):
        return spark.sql(sql)


def _named(updates: str | None, source: str) -> str:
    if updates is None:
        raise _no_stream("there are no updates", f"the source {source} reads files", "name their folder")
    return updates


def _no_stream(problem: str, why: str, hint: str) -> SparkError:
    return SparkError(NotAStream(problem=problem, why=why, hint=hint))


def _by_ending(updates: str | None) -> str:
    """The source for files, by their endings."""
    if updates is None:
        raise _no_stream("there are no updates", "neither files nor a source are named", "name a folder")
    path = Path(updates).expanduser()
    if "://" not in updates:
        _check_there(updates)
    names = sorted(child.name for child in path.iterdir()) if path.is_dir() else [path.name]
    kinds = {FILES[ending] for name in names if (ending := _ending(name)) in FILES and name[0] not in "._"}
    if len(kinds) == 1:
        return kinds.pop()
    why = f"it has files of {' and '.join(sorted(kinds))}" if kinds else "no file in it shows what they are"
    known = ", ".join(dict.fromkeys(FILES.values()))
    raise _no_stream(f"{updates} can be read in several ways", why, f"choose one with --source: {known}")


def _check_there(updates: str) -> None:
    """Files may arrive later, but their folder must exist; patterns are left to Spark."""
    path = Path(updates).expanduser()
    if not path.exists() and not _PATTERN.search(updates):
        hint = "make the folder, if files are to come into it later"
        raise _no_stream(f"there is no {updates}", "no folder and no file has this name", hint)


def _ending(name: str) -> str:
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in (".gz", ".bz2", ".zst") else path.suffix


# --- files ----------------------------------------------------------------------------------------------


def _files(
    spark: SparkSession,
    updates: str,
    source: str,
    options: dict[str, str],
    schema: str | None,
    arguments: int,
) -> DataFrame:
    if "://" in updates:
        return _folder(spark, updates, None, source, options, schema, arguments)
    _check_there(updates)
    path = Path(updates).expanduser().absolute()
    if path.is_file():  # Spark streams folders
        options = {"pathGlobFilter": path.name, **options}
        path = path.parent
    return _folder(spark, str(path), path, source, options, schema, arguments)


def _folder(
    spark: SparkSession,
    name: str,
    path: Path | None,
    source: str,
    options: dict[str, str],
    schema: str | None,
    arguments: int,
) -> DataFrame:
    """Files of a folder with Spark's name for it; `path` is the local one."""
    own: dict[str, str] = {}
    if source == "csv":
        separator = (
            "\t"
            if _ending(options.get("pathGlobFilter", "")) == ".tsv" or (path is not None and _is_tsv(path))
            else ","
        )
        own = {"header": "true", "sep": separator, "escape": '"', "enforceSchema": "false"}
    if source in ("csv", "json"):
        own = {**own, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    settings = {**own, **options}
    if schema is None:
        schema = _columns_seen(spark, name, source, settings) or _usual_columns(source, arguments)
    if source in ("csv", "json") and CORRUPT not in schema:
        schema = f"{schema}, `{CORRUPT}` string"
    with _connected(source, spark):
        frame = spark.readStream.format(source).schema(schema).options(**settings).load(name)
    return _with_empty_texts(frame) if source == "csv" else frame


def _is_tsv(path: Path) -> bool:
    return path.is_dir() and any(_ending(child.name) == ".tsv" for child in path.iterdir())


def _columns_seen(spark: SparkSession, name: str, source: str, settings: Mapping[str, str]) -> str | None:
    """The columns of the existing files; for JSON they do not matter."""
    from pyspark.errors import AnalysisException

    if source == "json":
        return None
    with no_query_log():
        try:
            found = spark.read.format(source).options(**settings).load(name).schema
        except AnalysisException:
            return None
    columns = [f"`{field.name}` {field.dataType.simpleString()}" for field in found if field.name != CORRUPT]
    return ", ".join(columns) or None


def _usual_columns(source: str, arguments: int) -> str:
    """The columns of files that do not exist yet.  For JSON objects they include one argument more than any
    fact has, so that a surplus argument is an error and not ignored."""
    label = "bigint" if source in ("parquet", "orc") else "string"
    arguments += source == "json"
    names = ["op", "predicate", *(f"arg{number}" for number in range(1, arguments + 1))]
    return ", ".join([f"update {label}", *(f"{name} string" for name in names)])


def _with_empty_texts(frame: DataFrame) -> DataFrame:
    """Empty fields are missing, except that one before the last argument is the empty text."""
    from pyspark.sql import functions as F

    filled = {name: F.nullif(frame[f"`{name}`"], F.lit("")) for name in frame.columns if name != CORRUPT}
    columns = dict(filled)
    arguments = sorted((n for n in filled if n.lower().startswith("arg")), key=lambda n: (len(n), n.lower()))
    for number, name in enumerate(arguments[:-1], 1):
        later = F.coalesce(*(filled[other] for other in arguments[number:]))
        columns[name] = F.coalesce(filled[name], F.when(later.isNotNull(), ""))
    record = [frame[CORRUPT]] if CORRUPT in frame.columns else []
    return frame.select(*(column.alias(name) for name, column in columns.items()), *record)


# --- other sources --------------------------------------------------------------------------------------


def _other(
    spark: SparkSession, updates: str | None, source: str, options: dict[str, str], schema: str | None
) -> DataFrame:
    with _connected(source, spark):
        if source == "table":
            return spark.readStream.options(**options).table(updates or "")
        if source == "kafka" and updates is not None:
            options.setdefault("subscribe", updates)
        if source == "socket" and updates is not None:
            host, _, port = updates.rpartition(":")
            options = {"host": host or "localhost", "port": port, **options}
        reader = spark.readStream.format(source).options(**options)
        if schema is not None and source not in MESSAGES:
            reader = reader.schema(schema)
        return reader.load(updates) if updates and source not in (*MESSAGES, "rate") else reader.load()


def _objects(frame: DataFrame, schema: str | None, arguments: int) -> DataFrame:
    """The columns of messages that are JSON objects, with their origins."""
    from pyspark.sql import functions as F

    columns = f"{schema or _usual_columns('json', arguments)}, `{CORRUPT}` string"
    text = frame["value"].cast("string")
    read = F.from_json(text, columns, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT})
    origins = [name for name in OFFSETS if name in frame.columns]
    return frame.select(read.alias("update_row"), *origins).select("update_row.*", *origins)


@contextmanager
def _connected(source: str, spark: SparkSession) -> Iterator[None]:
    """Converts Spark's error about a source to one that says what is missing."""
    try:
        with no_query_log():
            yield
    except SparkError:
        raise
    except Exception as error:
        text = str(error).strip().splitlines()[0]
        missing = any(
            sign in str(error) for sign in ("DATA_SOURCE_NOT_FOUND", "ClassNotFound", "Failed to find")
        )
        if missing and source in CONNECTORS:
            hint = f"fetch its connector: --packages {coordinates_of(source, spark)}"
        elif missing:
            hint = "name a source of Spark, or fetch a connector: --packages GROUP:NAME:VERSION"
        else:
            hint = "options of a source are given as --option NAME=VALUE"
        raise SparkError(SourceMissing(source=source, why=text[:300], hint=hint)) from error


def coordinates_of(source: str, spark: SparkSession) -> str:
    """The Maven coordinates of a connector for this version of Spark and Scala."""
    minor = ".".join(spark.version.split(".")[:2])
    found = CONNECTORS[source].format(spark=spark.version, minor=minor, scala=scala_version(spark))
    return f"{found} (its newest version for Spark {minor})" if "VERSION" in found else found
