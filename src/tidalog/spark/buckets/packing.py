"""Rows on their way to a bucket and back: many rows in one, so that Spark's state sees few of them.

In: a task packs its rows by bucket into Arrow streams.  Out: a bucket writes rows as text, fields between
`FIELD`, rows between `ROW`, which the JVM takes apart; a second Python worker beside each that has engines
would take these away from it, for Spark hands out idle workers in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BUCKET: Final = "__tidalog_bucket"
NOW: Final = "__tidalog_now"
BAD: Final = "__tidalog_bad"
PACKED: Final = f"{BUCKET} int, payload binary"
FIELD, ROW, _ESCAPE = "\x1f", "\x1e", "\x1d"
_NULL: Final = _ESCAPE + "n"
_ESCAPED: Final = ((_ESCAPE, _ESCAPE + "d"), (ROW, _ESCAPE + "e"), (FIELD, _ESCAPE + "f"))
_MOST_ROWS: Final = 20_000
"""Rows in one text."""


# --- in -----------------------------------------------------------------------------------------------------


def packer(buckets: int, every: bool) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with its rows.  With `every` it has word for each bucket, if only of the time."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [batch for batch in batches if batch.num_rows]
        if rows:
            yield packed(pa.Table.from_batches(rows), buckets, every)

    return pack


def packed(table: pa.Table, buckets: int, every: bool) -> pa.RecordBatch:
    of_rows = table.column(BUCKET).to_numpy()
    order = np.argsort(of_rows, kind="stable")
    table = table.drop_columns([BUCKET]).take(pa.array(order)).combine_chunks()
    numbers = np.arange(buckets) if every else np.unique(of_rows)
    starts = np.searchsorted(of_rows[order], numbers)
    ends = np.searchsorted(of_rows[order], numbers, side="right")
    payloads = [
        # A bucket without rows gets one of another that says the time and nothing else.
        _stream(table.slice(start, end - start) if end > start else _time_alone(table))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    arrays = [pa.array(numbers.astype(np.int32)), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, [BUCKET, "payload"])


def _time_alone(table: pa.Table) -> pa.Table:
    first = table.slice(0, 1)
    silent = [
        first.column(name) if name == NOW else pa.nulls(1, first.schema.field(name).type)
        for name in table.column_names
    ]
    return pa.table(silent, names=table.column_names)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked_rows(payloads: list[bytes]) -> pa.Table:
    return pa.concat_tables([pa.ipc.open_stream(payload).read_all() for payload in payloads])


# --- out ----------------------------------------------------------------------------------------------------


def texts(table: pa.Table) -> Iterator[str]:
    """The rows of a table as a few texts."""
    for start in range(0, table.num_rows, _MOST_ROWS):
        part = table.slice(start, _MOST_ROWS).combine_chunks()
        columns = [_escaped(column.combine_chunks().cast(pa.string())) for column in part.columns]
        lines = pc.binary_join_element_wise(*columns, FIELD, null_handling="replace", null_replacement=_NULL)
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        yield pc.binary_join(whole, ROW)[0].as_py()


def _escaped(column: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(column, "[\x1d\x1e\x1f]"), min_count=0).as_py():
        return column
    for plain, escaped in _ESCAPED:
        column = pc.replace_substring(column, plain, escaped)
    return column


def taken_apart(frame: DataFrame, names: list[str]) -> DataFrame:
    """Rows of named columns of text, out of a column `payload`."""
    from pyspark.sql import functions as F

    lines = frame.select(F.explode(F.split("payload", ROW)).alias("line"))
    fields = lines.select(F.split("line", FIELD).alias("fields"))
    return fields.select(*(_plain(F.col("fields")[n]).alias(name) for n, name in enumerate(names)))


def _plain(field: Column) -> Column:
    from pyspark.sql import functions as F

    text = field
    for plain, escaped in reversed(_ESCAPED):
        text = F.replace(text, F.lit(escaped), F.lit(plain))
    return F.when(field == _NULL, None).when(field.contains(_ESCAPE), text).otherwise(field)
