"""Rows to a bucket and from it, many packed into one, so that Spark's state handles few.

In: a task packs its rows by bucket into Arrow streams.  Out: a bucket packs its report likewise, and other
workers unpack it: to create rows one by one in Python would cost more than everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.io.change_columns import change_schema
from tidalog.io.update_checks import ADD_RULE, REMOVE_RULE
from tidalog.keyed.shard_map import Numbers

BUCKET: Final = "__tidalog_bucket"
NOW: Final = "__tidalog_now"
TIME: Final = "__tidalog_time"
"""The time of a row, in microseconds since 1970; null if it has none."""
UNTIL: Final = "__tidalog_until"
"""The latest time of the rows of a task, which goes to every bucket."""
BAD: Final = "__tidalog_bad"
PACKED: Final = f"{BUCKET} int, payload binary"
REPORT: Final = "row string, counts string, payload binary"
"""The report of a bucket: changes, or counts and all other rows."""
EVERY: Final = -1
"""The bucket of rows that go to all of them."""
WITH_RULES: Final = "refused rules"
"""A rule edit that is refused, or an update that is refused with it."""
_ABOUT_RULES: Final = pa.array([ADD_RULE, REMOVE_RULE])
OVERDUE: Final = "overdue"
"""A constraint that time has violated."""
CHANGE, OTHER, REFUSED, BAD_ROW, COUNTS = "change", "other", "refused", "bad", "counts"
_MOST_ROWS: Final = 5_000
"""Changes in one payload; the JVM collects larger objects separately."""


# --- in -----------------------------------------------------------------------------------------------------


def packer(
    entries: Numbers, every: bool, timed: Callable[[pa.Table], pa.Table] | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Packs the rows of a task, which have the buckets of their keys; `entries` are those of the buckets.
    With `every`, every bucket gets a payload, if only with the time.  `timed` reads the times of rows."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [batch for batch in batches if batch.num_rows]
        if rows:
            table = pa.Table.from_batches(rows)
            yield packed(_to_every_bucket(table if timed is None else timed(table)), entries, every)

    return pack


def _to_every_bucket(table: pa.Table) -> pa.Table:
    """Valid rows about rules get the bucket EVERY."""
    about_rules = pc.is_in(table.column("op"), value_set=_ABOUT_RULES)
    if not pc.any(about_rules).as_py():
        return table
    right = pc.and_(about_rules, pc.is_null(table.column(BAD)))
    buckets = pc.if_else(right, pa.scalar(EVERY, pa.int32()), table.column(BUCKET))
    return table.set_column(table.column_names.index(BUCKET), BUCKET, buckets)


def packed(table: pa.Table, entries: Numbers, every: bool) -> pa.RecordBatch:
    of_rows = table.column(BUCKET).to_numpy()
    order = np.argsort(of_rows, kind="stable")
    table = table.drop_columns([BUCKET]).take(pa.array(order)).combine_chunks()
    shared = table.slice(0, int(np.searchsorted(of_rows[order], 0)))
    numbers = np.arange(len(entries)) if every or shared.num_rows else np.unique(of_rows)
    starts = np.searchsorted(of_rows[order], numbers)
    ends = np.searchsorted(of_rows[order], numbers, side="right")
    payloads: list[bytes] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        rows = table.slice(start, end - start)
        if shared.num_rows:
            rows = pa.concat_tables([shared, rows])
        # A bucket without rows gets one with nothing but the time.
        payloads.append(arrow_stream(rows if rows.num_rows else _time_alone(table)))
    arrays = [pa.array(entries[numbers]), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, [BUCKET, "payload"])


def _time_alone(table: pa.Table) -> pa.Table:
    first = table.slice(0, 1)
    only_time = [
        first.column(name) if name in (NOW, UNTIL) else pa.nulls(1, first.schema.field(name).type)
        for name in table.column_names
    ]
    return pa.table(only_time, names=table.column_names)


def arrow_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked_rows(payloads: Sequence[bytes]) -> pa.Table:
    tables = [pa.ipc.open_stream(payload).read_all() for payload in payloads]
    return pa.concat_tables(tables).unify_dictionaries()


# --- out ----------------------------------------------------------------------------------------------------


def row_schema(arguments: int, text_labels: bool) -> pa.Schema:
    """Any row of a report."""
    changes = change_schema(arguments, text_labels=text_labels, keyed=True)
    return pa.schema([pa.field("row", pa.string()), *changes, pa.field("note", pa.string())])


def packed_changes(table: pa.Table) -> Iterator[bytes]:
    for start in range(0, table.num_rows, _MOST_ROWS):
        yield arrow_stream(table.slice(start, _MOST_ROWS))


def changes_apart(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in payloads of changes."""
    for batch in batches:
        for payload in batch.column("payload"):
            yield from pa.ipc.open_stream(payload.as_buffer())


def rows_apart(
    schema: pa.Schema, readable: Callable[[str], str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The reports of buckets as rows of one schema; the notes of bad rows become `readable`."""

    def apart(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for report in batch.to_pylist():
                if report["counts"] is not None:
                    yield from filled({"row": [COUNTS], "note": [report["counts"]]}, schema).to_batches()
                if report["payload"] is not None:
                    rows = pa.ipc.open_stream(report["payload"]).read_all()
                    given = {name: rows.column(name) for name in rows.column_names}
                    given.setdefault("row", pa.repeat(report["row"], rows.num_rows))
                    if "note" in given:
                        pairs = zip(given["row"].to_pylist(), given["note"].to_pylist(), strict=True)
                        notes = [readable(note) if row == BAD_ROW else note for row, note in pairs]
                        given["note"] = pa.array(notes, pa.string())
                    yield from filled(given, schema).to_batches()

    return apart


def filled(given: dict[str, object], schema: pa.Schema) -> pa.Table:
    """A table with the given columns, and nulls in the others."""
    rows = len(next(iter(given.values())))  # type: ignore[arg-type]
    columns = [given.get(field.name, pa.nulls(rows, field.type)) for field in schema]
    return pa.table(columns, schema=schema)
