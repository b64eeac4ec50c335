"""Which columns Spark can hold, and what it writes about them to Parquet files.

Spark keeps the fields of a table, their types and metadata, in an entry of the Parquet file, and reads them
from there: so durations are intervals, and text says which terms it holds.  `io` does not import Spark;
`spark` builds its schemas from the same names.
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa

from tidalog.io.term_fields import SPARK_FILE_KEY, as_terms, fields_of_spark

_NAMES: Final = {
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.duration("us"): "interval day to second",
}

_STEPS: Final = ("day", "hour", "minute", "second")
_INTERVALS: Final = {
    f"interval {first}" + (f" to {last}" if first != last else "") for first in _STEPS for last in _STEPS
}
"""What Spark keeps as a number of microseconds."""


def _name(kind: pa.DataType) -> str | None:
    """Spark's name of a type; None if it has no such type: nanoseconds, times of day, more than 38 digits."""
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES.get(kind)


def for_spark(table: pa.Table, *, terms: bool = False) -> pa.Table:
    """The table as Spark can hold it: columns of other types, or all, are text in `any` form."""
    table = as_terms(table, None if terms else lambda kind: _name(kind) is not None)
    large = pa.types.is_large_string
    return table.cast(pa.schema([f.with_type(pa.string()) if large(f.type) else f for f in table.schema]))


def spark_fields(schema: pa.Schema) -> dict[str, object] | None:
    """The fields in the form that Spark reads; None if one has a type that it does not know."""
    names = [_name(field.type) for field in schema]
    if None in names:
        return None
    fields = [
        {
            "name": field.name,
            "type": name,
            "nullable": True,
            "metadata": {key.decode(): value.decode() for key, value in (field.metadata or {}).items()},
        }
        for field, name in zip(schema, names, strict=True)
    ]
    return {"type": "struct", "fields": fields}


def with_spark_fields(table: pa.Table) -> pa.Table:
    """The table with an entry for Spark, if Spark can hold all of its columns."""
    fields = spark_fields(table.schema)
    if fields is None:
        return table
    return table.replace_schema_metadata(
        {**(table.schema.metadata or {}), SPARK_FILE_KEY: json.dumps(fields)}
    )


def with_types_of_spark(table: pa.Table) -> pa.Table:
    """A table of a file that Spark has written: its intervals are not numbers, and instants have a zone."""
    kinds = {field.get("name"): field.get("type") for field in fields_of_spark(table.schema)}
    for number, field in enumerate(table.schema):
        kind = kinds.get(field.name)
        if pa.types.is_int64(field.type) and kind in _INTERVALS:
            field = field.with_type(pa.duration("us"))
        elif pa.types.is_timestamp(field.type) and field.type.tz is None and kind == "timestamp":
            field = field.with_type(pa.timestamp(field.type.unit, "UTC"))
        else:
            continue
        table = table.set_column(number, field, table.column(number).cast(field.type))
    return table
