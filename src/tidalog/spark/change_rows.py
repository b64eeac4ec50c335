"""The changes of many updates as one table: collected as term ids, decoded in bulk.

A batch may have thousands of updates; decoding them one by one, by predicate, would cost more than
maintenance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.api.delta import Delta
from tidalog.io.change_columns import EXPIRED, KINDS, OPERATIONS, change_schema
from tidalog.io.change_feed import ChangeBatch
from tidalog.io.text_form import column_text
from tidalog.model.facts import Ids
from tidalog.model.update import Label

if TYPE_CHECKING:
    from tidalog.engine.dictionary import Dictionary
    from tidalog.model.facts import Facts

Int8s = npt.NDArray[np.int8]


def _text(column: pa.Array) -> pa.ChunkedArray:
    """Terms in `any` form; Arrow converts a column of numbers, which is much faster."""
    chunked = pa.chunked_array([column])
    return chunked.cast(pa.string()) if pa.types.is_large_string(column.type) else column_text(chunked)


class _Rows:
    """Facts of one predicate: columns of ids, and for each fact the index of its update, its operation and
    its kind."""

    def __init__(self) -> None:
        self.columns: list[list[Ids]] = []
        self.positions: list[Ids] = []
        self.operations: list[Int8s] = []
        self.kinds: list[Int8s] = []

    def add(
        self, position: int, operation: int, columns: Sequence[Ids], kinds: npt.NDArray[np.generic]
    ) -> None:
        rows = len(kinds)
        self.columns.append(list(columns))
        self.positions.append(np.full(rows, position, np.int32))
        self.operations.append(np.full(rows, operation, np.int8))
        self.kinds.append(kinds.astype(np.int8))


class ChangeRows:
    """Collects the deltas of updates, in order."""

    def __init__(self, dictionary: Dictionary, arguments: int, text_labels: bool) -> None:
        self.schema: Final = change_schema(arguments, text_labels=text_labels)
        self._dictionary = dictionary
        self._arguments = arguments
        self._text_labels = text_labels
        self._labels: list[Label] = []
        self._by_predicate: dict[str, _Rows] = {}
        self.rows = 0

    def add(self, delta: Delta, label: Label | None = None) -> None:
        """Adds the changes of the next update; `label` is for one without a label."""
        position = len(self._labels)
        self._labels.append(self.label_of(delta.label if delta.label is not None else label))
        for name, change in delta.items():
            ids = change.ids
            rows = self._by_predicate.setdefault(name, _Rows())
            if ids.deleted_rows:
                kinds = np.where(change.is_expired, EXPIRED, ids.deleted_explicit)
                rows.add(position, 0, ids.deleted, kinds)
            if ids.inserted_rows:
                rows.add(position, 1, ids.inserted, ids.inserted_explicit)
            self.rows += ids.deleted_rows + ids.inserted_rows

    def add_facts(
        self, label: Label | None, facts: Facts, explicit: npt.NDArray[np.bool_], operation: int = 1
    ) -> None:
        """Adds facts of one predicate as if an update had inserted them, or with another of `OPERATIONS`, by
        its index."""
        position = len(self._labels)
        self._labels.append(self.label_of(label))
        self._by_predicate.setdefault(facts.predicate, _Rows()).add(
            position, operation, facts.columns, explicit
        )
        self.rows += facts.count

    def label_of(self, label: Label | None) -> Label:
        """The value of the column `update`."""
        own = 0 if label is None else label
        return str(own) if self._text_labels else own

    def table(self) -> pa.Table:
        """All rows, ordered by update."""
        parts = [self._part(name, rows) for name, rows in self._by_predicate.items() if rows.positions]
        if not parts:
            return self.schema.empty_table()
        table = pa.concat_tables([table for table, _ in parts])
        positions = np.concatenate([of_rows for _, of_rows in parts])
        if len(parts) > 1 and len(self._labels) > 1:
            table = table.take(pa.array(np.argsort(positions, kind="stable")))
        return table

    def _part(self, name: str, rows: _Rows) -> tuple[pa.Table, Ids]:
        positions = np.concatenate(rows.positions)
        count = len(positions)
        columns = [np.concatenate(parts) for parts in zip(*rows.columns, strict=True)]
        texts = [_text(self._dictionary.decode(column)) for column in columns]
        empty = [pa.nulls(count, pa.string())] * (self._arguments - len(texts))
        labels = pa.array(self._labels, self.schema.field("update").type).take(pa.array(positions))
        written = ChangeBatch(0, 1, name, "explicit", (), 0).written_predicate
        arrays = [
            labels,
            pa.array(OPERATIONS).take(pa.array(np.concatenate(rows.operations))),
            pa.repeat(written, count),
            *texts,
            *empty,
            pa.array(KINDS).take(pa.array(np.concatenate(rows.kinds))),
        ]
        return pa.table(arrays, schema=self.schema), positions
