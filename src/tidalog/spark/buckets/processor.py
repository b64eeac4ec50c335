"""What Spark calls for each bucket: rows in, changes out, state in between.

A row that comes out says what it is in its first column: a change, an update that was refused, a row that is
no update, or counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tidalog.spark.buckets.bucket import Applied
from tidalog.spark.buckets.packing import BAD, NOW, texts, unpacked_rows
from tidalog.spark.buckets.setting import Setting
from tidalog.spark.buckets.state import BucketState

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

CHANGE, REFUSED, BAD_ROW, COUNTS = "change", "refused", "bad", "counts"
COUNTED: Final = ("rows", "quarantined", "skipped", "refused", "expired")


def columns_out(arguments: int) -> list[str]:
    named = [f"arg{number}" for number in range(1, arguments + 1)]
    return ["row", "key", "update", "op", "predicate", *named, "kind", "note"]


class KeyedProcessor(StatefulProcessor):
    """`query` is any name that no other query has."""

    def __init__(self, setting: Setting, query: str) -> None:
        self._setting = setting
        self._query = query

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = BucketState(handle, self._setting)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        """`rows` are packed."""
        table = unpacked_rows([bytes(row["payload"]) for row in rows])
        for text in self.process(int(key[0]), table):
            yield Row(payload=text)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: TimerValues) -> None:
        """A part of what another run has left; there may be several for a bucket."""
        number = int(key[0])
        kept = self._state.open(self._query, number)
        kept.bucket.replay(bytes(initialState["record"]))
        self._state.write(self._query, number, kept, bytes(initialState["record"]))

    def process(self, number: int, table: pa.Table) -> Iterator[str]:
        """Does all the work on the rows of one bucket, as texts."""
        now = pc.max(table.column(NOW)).as_py() if NOW in table.column_names else 0
        bad = table.filter(pc.is_valid(table.column(BAD)))
        right = pc.and_(pc.is_null(table.column(BAD)), pc.is_valid(table.column("key")))
        names = [name for name in table.column_names if name not in (NOW, BAD)]
        good = table.filter(right).select(names)
        kept = self._state.open(self._query, number)
        applied = kept.bucket.apply(good, now)
        if applied.rows > applied.skipped or applied.expired:
            self._state.write(self._query, number, kept, applied.record)
        else:
            self._state.keep(self._query, number, kept)
        yield from self._told(applied, bad)

    def close(self) -> None:
        pass

    # --- rows out -----------------------------------------------------------------------------------

    def _told(self, applied: Applied, bad: pa.Table) -> Iterator[str]:
        counts = {
            "rows": applied.rows + bad.num_rows,
            "quarantined": bad.num_rows,
            "skipped": applied.skipped,
            "refused": applied.refused_rows,
            "expired": applied.expired,
        }
        if any(counts.values()):
            yield from texts(self._table({"row": [COUNTS], "note": [json.dumps(counts)]}))
        yield from texts(self._changes(applied.changes))
        refused = applied.refused
        if refused.num_rows:
            told = {"row": [REFUSED] * refused.num_rows, "note": refused.column("constraint").to_pylist()}
            whole = self._table(told)
            for name in ("key", "update"):
                whole = whole.set_column(
                    whole.column_names.index(name), name, refused.column(name).cast(pa.string())
                )
            yield from texts(whole)
        if bad.num_rows:
            yield from texts(self._table({"row": [BAD_ROW] * bad.num_rows, "note": bad.column(BAD)}))

    def _changes(self, changes: pa.Table) -> pa.Table:
        rows = changes.num_rows
        return changes.add_column(0, "row", pa.repeat(CHANGE, rows)).append_column(
            "note", pa.nulls(rows, pa.string())
        )

    def _table(self, given: dict[str, Iterable[str] | pa.ChunkedArray]) -> pa.Table:
        """Columns that are given, and nothing in the others."""
        columns = {
            name: column if isinstance(column, pa.ChunkedArray) else pa.array(column, pa.string())
            for name, column in given.items()
        }
        rows = len(next(iter(columns.values())))
        names = columns_out(self._setting.arguments)
        return pa.table([columns.get(name, pa.nulls(rows, pa.string())) for name in names], names=names)
