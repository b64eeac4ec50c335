"""How a column of a table says which terms it holds.

Numbers, booleans, decimals, dates, times and durations have types of their own.  A text column holds strings,
unless its field's metadata `tidalog.terms` says otherwise: `any` for terms in the text form of tables, `iri`
for IRIs without brackets.  Integers beyond 64 bits are decimals without a fraction that are marked `int`.
Arrow and Parquet keep this metadata, so what they are given comes back as the same terms.  pandas keeps it as
an attribute of the frame, and Spark as JSON; both may write it to files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from tidalog.io.result import Reading
from tidalog.io.text_form import any_text, is_dated

KEY: Final = "tidalog.terms"
_MARKED: Final[dict[str, Reading]] = {"any": "any", "iri": "iri"}
_INT: Final = "int"
_OF_SPARK_FIELD: Final = b"SPARK::metadata::json"
SPARK_FILE_KEY: Final = b"org.apache.spark.sql.parquet.row.metadata"
_OF_PANDAS: Final = b"PANDAS_ATTRS"


def has_values(kind: pa.DataType) -> bool:
    """Whether a type is one of values; the field of any other must say which terms it holds."""
    types = pa.types
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(numbers or types.is_boolean(kind) or is_dated(kind))


def term_field(name: str, kind: pa.DataType, reading: str) -> pa.Field:
    """The field of a column of a type that is read as `reading` (see `TermColumn`)."""
    is_marked = reading in _MARKED or (reading == _INT and pa.types.is_decimal(kind))
    return pa.field(name, kind, metadata={KEY: reading} if is_marked else None)


def reading_of(field: pa.Field) -> Reading:
    """How the column of a field is read: values as such, text as its metadata says."""
    return _reading(field.type, _own_mark(field.metadata or {}))


def _reading(kind: pa.DataType, mark: object) -> Reading:
    if mark == _INT and pa.types.is_decimal(kind) and kind.scale <= 0:
        return "int"
    return "native" if has_values(kind) else text_reading(mark)


def text_reading(mark: object) -> Reading:
    """The reading that a mark stands for; text without one holds strings."""
    return _MARKED.get(mark, "string") if isinstance(mark, str) else "string"


def _own_mark(metadata: Mapping[bytes, bytes]) -> object:
    own = metadata.get(KEY.encode())
    return own.decode() if own is not None else _json(metadata.get(_OF_SPARK_FIELD)).get(KEY)


def readings_of(schema: pa.Schema) -> list[Reading]:
    """How each column is read; what pandas and Spark write to a file about all columns counts too."""
    of_file: dict[object, object] = {}
    for about in fields_of_spark(schema):
        metadata = about.get("metadata")
        if isinstance(metadata, dict):
            of_file[about.get("name")] = metadata.get(KEY)
    of_frame = _json((schema.metadata or {}).get(_OF_PANDAS)).get(KEY)
    of_file |= of_frame if isinstance(of_frame, dict) else {}
    found = []
    for field in schema:
        reading = reading_of(field)
        unmarked = reading in ("string", "native")
        found.append(_reading(field.type, of_file.get(field.name)) if unmarked else reading)
    return found


def _json(text: bytes | None) -> dict[str, object]:
    """An object of metadata; none if another program has written something else there."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def fields_of_spark(schema: pa.Schema) -> list[dict[str, object]]:
    """What Spark has written to a Parquet file about its columns."""
    fields = _json((schema.metadata or {}).get(SPARK_FILE_KEY)).get("fields")
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def marks(schema: pa.Schema) -> dict[str, str]:
    """The marks of the columns of text that have one, by name."""
    readings = ((field.name, reading_of(field)) for field in schema)
    return {name: reading for name, reading in readings if reading in _MARKED}


def as_terms(table: pa.Table, keep: Callable[[pa.DataType], bool] | None = None) -> pa.Table:
    """The table with columns of terms in `any` form; with `keep`, those of other types only."""
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        if keep is None or not keep(field.type):
            column = any_text(column, reading_of(field))
            field = term_field(field.name, column.type, "any")
        fields.append(field)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)) if columns else table


def term_table(names: Sequence[str], columns: Sequence[pa.Array], readings: Sequence[str]) -> pa.Table:
    """A table of columns, each with its reading."""
    fields = [
        term_field(name, column.type, reading)
        for name, column, reading in zip(names, columns, readings, strict=True)
    ]
    return pa.Table.from_arrays(list(columns), schema=pa.schema(fields))
