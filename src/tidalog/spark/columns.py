"""The columns of a stream of updates, found by their names as in update tables (io/update_files.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tidalog.io.update_diagnostics import WrongColumnType
from tidalog.io.update_files import shape_of
from tidalog.model.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

CORRUPT: Final = "_corrupt_record"
"""The column in which Spark keeps a line that it cannot read."""
_WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_NUMBERS: Final = frozenset({"float", "double", "boolean"})


@dataclass(frozen=True)
class UpdateColumns:
    """The names of the columns; None for those that are missing.  With `text_labels`, labels are text,
    which may still be integers, or times, which become text."""

    update: str | None
    op: str
    predicate: str
    arguments: tuple[str, ...]
    corrupt: str | None
    text_labels: bool
    dated_labels: bool
    """Whether labels are dates or times, which become text."""
    dated: tuple[str, ...]
    """Arguments that are dates or times: those outside the years 1 to 9999 are no terms."""


def quoted(name: str) -> str:
    """The name of a column, whatever is in it, where Spark expects an expression."""
    return "`" + name.replace("`", "``") + "`"


def update_columns(schema: StructType, name: str = "the stream") -> UpdateColumns:
    """Raises `DataError` if a column is missing (T034) or of a type that it cannot have (T045)."""
    names = tuple(field.name for field in schema.fields if field.name != CORRUPT)
    fields = [field for field in schema.fields if field.name != CORRUPT]
    shape = shape_of(name, names)
    types = {field.name: field.dataType for field in fields}

    def kind(place: int) -> str:
        return _kind(fields[place].dataType)

    def refuse(place: int, why: str) -> DataError:
        shown = f"{place + 1} ({names[place]})"
        return DataError(WrongColumnType(path=name, field=shown, type=kind(place), why=why))

    for place, why in (
        (shape.op, "an operation is + or -"),
        (shape.predicate, "a predicate is named by text"),
    ):
        if kind(place) != "string":
            raise refuse(place, why)
    for place in shape.arguments:
        if kind(place) not in {"string", "decimal"} | _WHOLE | _TIMES | _NUMBERS:
            raise refuse(place, "terms are text, integers, doubles, booleans, dates and times")
    if shape.update is not None and kind(shape.update) not in {"string"} | _WHOLE | _TIMES:
        raise refuse(shape.update, "the label of an update is an integer, a text or a time")
    arguments = tuple(names[place] for place in shape.arguments)
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
