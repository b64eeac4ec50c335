"""The columns of a stream of updates, found by their names as in update tables (io/update_files.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tidalog.io.update_diagnostics import WrongColumnType
from tidalog.io.update_files import shape_of
from tidalog.model.errors import DataError
from tidalog.spark.diagnostics import NotAStream, SparkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

CORRUPT: Final = "_corrupt_record"
"""The column in which Spark stores a line that it cannot read."""
_WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_NUMBERS: Final = frozenset({"float", "double", "boolean"})


@dataclass(frozen=True)
class UpdateColumns:
    """The names of the columns; None for missing ones.  With `text_labels`, labels are text, perhaps of
    integers, or times, which become text."""

    update: str | None
    op: str
    predicate: str
    arguments: tuple[str, ...]
    corrupt: str | None
    text_labels: bool
    dated_labels: bool
    """Whether labels are dates or times, which become text."""
    dated: tuple[str, ...]
    """Arguments that are dates or times: those outside the years 1 to 9999 are not terms."""
    time: str | None = None
    """The column with the times of updates, if windows need one."""


def with_time(columns: UpdateColumns, schema: StructType, name: str = "the stream") -> UpdateColumns:
    """The columns of a stream for a program with windows.  Raises `DataError` (T045) if `time` is of a type
    that has no times."""
    fields = [field for field in schema.fields if field.name != CORRUPT]
    number = shape_of(name, tuple(field.name for field in fields)).time
    if number is None:
        return columns
    field, kind = fields[number], _kind(fields[number].dataType)
    if kind not in {"string", "decimal", "float", "double"} | _WHOLE | _TIMES:
        why = "a time is a timestamp, a date, a number of seconds or a text"
        raise DataError(WrongColumnType(path=name, field=f"{number + 1} ({field.name})", type=kind, why=why))
    return replace(columns, time=field.name)


def quoted(name: str) -> str:
    """A column's name as an expression of Spark, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def stream_columns(updates: DataFrame, hint: str = "read it with spark.readStream") -> UpdateColumns:
    """The columns of a streaming DataFrame.  Raises `SparkError` (T114) if it is a table."""
    if not updates.isStreaming:
        problem, why = "this DataFrame is not a stream of updates", "it is a table, which does not change"
        raise SparkError(NotAStream(problem=problem, why=why, hint=hint))
    return update_columns(updates.schema)


def update_columns(schema: StructType, name: str = "the stream") -> UpdateColumns:
    """Raises `DataError` if a column is missing (T034) or of a type that it cannot have (T045)."""
    names = tuple(field.name for field in schema.fields if field.name != CORRUPT)
    fields = [field for field in schema.fields if field.name != CORRUPT]
    shape = shape_of(name, names)
    types = {field.name: field.dataType for field in fields}

    def kind(field: int) -> str:
        return _kind(fields[field].dataType)

    def refuse(field: int, why: str) -> DataError:
        shown = f"{field + 1} ({names[field]})"
        return DataError(WrongColumnType(path=name, field=shown, type=kind(field), why=why))

    for field, why in (
        (shape.op, "an operation is + or -"),
        (shape.predicate, "a predicate is named by text"),
    ):
        if kind(field) != "string":
            raise refuse(field, why)
    for field in shape.arguments:
        if kind(field) not in {"string", "decimal"} | _WHOLE | _TIMES | _NUMBERS:
            raise refuse(field, "terms are text, integers, doubles, booleans, dates and times")
    if shape.update is not None and kind(shape.update) not in {"string"} | _WHOLE | _TIMES:
        raise refuse(shape.update, "the label of an update is an integer, a text or a time")
    arguments = tuple(names[field] for field in shape.arguments)
    return UpdateColumns(
        None if shape.update is None else names[shape.update],
        names[shape.op],
        names[shape.predicate],
        arguments,
        CORRUPT if CORRUPT in schema.names else None,
        shape.update is not None and kind(shape.update) in {"string"} | _TIMES,
        shape.update is not None and kind(shape.update) in _TIMES,
        tuple(name for name in arguments if _kind(types[name]) in _TIMES),
    )


def _kind(type_: DataType) -> str:
    """`bigint` of bigint, `decimal` of decimal(10,2), `array` of array<int>, `string` of any string."""
    return type_.simpleString().partition("(")[0].partition("<")[0].partition(" ")[0]
