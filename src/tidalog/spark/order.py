"""The order of updates: rows by the label of their update, and which of them are new.

Labels rise.  A label that is not above the last one is of an update that was applied already: its rows are
passed over and counted.  Labels that are text are integers if all of the first batch are, and then those of
later batches must be; behind other texts, integers are texts too; so that the order of two labels never
depends on a third.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import Place
from tidalog.io.update_tables import Label, UpdateTable, update_table_of
from tidalog.spark.validate import INTEGER


@dataclass(frozen=True)
class Ordered:
    """New updates in order, and the number of rows that were not new."""

    updates: UpdateTable
    skipped: int


def ordered(table: pa.Table, last: Label | None, batch: int) -> Ordered:
    """The updates of right rows behind the update `last`.  Rows without labels are one update, which comes
    behind the last."""
    if "update" not in table.column_names:
        own: Label = (last if isinstance(last, int) else 0) + 1
        labels = pa.chunked_array([pa.repeat(pa.scalar(own, pa.int64()), table.num_rows)], pa.int64())
        table, skipped = table.add_column(0, "update", labels), 0
    else:
        labels = _labels(table.column("update"), last)
        table = table.set_column(0, "update", labels)
        rows = table.num_rows
        if last is not None:
            table = table.filter(pc.greater(labels, pa.scalar(last, labels.type)))
        skipped = rows - table.num_rows
    return Ordered(_updates(table, f"batch {batch}"), skipped)


def _labels(column: pa.ChunkedArray, last: Label | None) -> pa.ChunkedArray:
    """Labels as int64 or text."""
    if pa.types.is_integer(column.type) and not isinstance(last, str):
        return column.cast(pa.int64())
    text = column.cast(pa.string())
    if isinstance(last, str):
        return text
    if last is None and not pc.all(pc.match_substring_regex(text, INTEGER), min_count=0).as_py():
        return text
    return text.cast(pa.int64())


def _updates(table: pa.Table, name: str) -> UpdateTable:
    def place(row: int, field: int) -> tuple[Place, str]:
        return Place(name, row + 1, unit="row"), ""

    columns = [table.column(number) for number in range(table.num_columns)]
    return update_table_of(RawTable(name, columns, table.num_rows, place, tuple(table.column_names)))
