"""What many updates changed, as one table: gathered as term ids, put into text in bulk.

Update by update and predicate by predicate this costs more than maintaining them; a batch may have thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.api.update import Delta
from tidalog.io.change_columns import KINDS, OPERATIONS, change_schema
from tidalog.io.change_feed import ChangeBatch
from tidalog.io.text_form import column_text
from tidalog.model.facts import Ids
from tidalog.model.update import Label

if TYPE_CHECKING:
    from tidalog.engine.dictionary import Dictionary
    from tidalog.model.facts import Facts

Int8s = npt.NDArray[np.int8]


def _text(column: pa.Array) -> pa.ChunkedArray:
    """Terms in `any` form; a column of numbers becomes text by Arrow, which is much faster at it."""
    chunked = pa.chunked_array([column])
    return chunked.cast(pa.string()) if pa.types.is_large_string(column.type) else column_text(chunked)


class _Rows:
    """Facts of one predicate: columns of ids, and of each fact the place of its update, its operation and
    its kind."""

    def __init__(self) -> None:
        self.columns: list[list[Ids]] = []
        self.places: list[Ids] = []
        self.operations: list[Int8s] = []
        self.kinds: list[Int8s] = []

    def add(
        self, place: int, operation: int, columns: Sequence[Ids], explicit: npt.NDArray[np.bool_]
    ) -> None:
        rows = len(explicit)
        self.columns.append(list(columns))
        self.places.append(np.full(rows, place, np.int32))
        self.operations.append(np.full(rows, operation, np.int8))
        self.kinds.append(explicit.astype(np.int8))


class ChangeRows:
    """Gathers the deltas of updates, in order."""

    def __init__(self, dictionary: Dictionary, arguments: int, text_labels: bool) -> None:
        self.schema: Final = change_schema(arguments, text_labels=text_labels)
        self._dictionary = dictionary
        self._arguments = arguments
        self._text_labels = text_labels
        self._labels: list[Label] = []
        self._by_predicate: dict[str, _Rows] = {}
        self.rows = 0

    def add(self, delta: Delta, number: int | None = None) -> None:
        """More changes, of the next update; without a label it is called by a number."""
        place = len(self._labels)
        self._labels.append(self.label_of(delta.label if delta.label is not None else number))
        for name, change in delta.items():
            ids = change.ids
            rows = self._by_predicate.setdefault(name, _Rows())
            if ids.deleted_rows:
                rows.add(place, 0, ids.deleted, ids.deleted_explicit)
            if ids.inserted_rows:
                rows.add(place, 1, ids.inserted, ids.inserted_explicit)
            self.rows += ids.deleted_rows + ids.inserted_rows

    def add_facts(self, label: Label | None, facts: Facts, explicit: npt.NDArray[np.bool_]) -> None:
        """Facts of one predicate that are there, as if an update had inserted them."""
        place = len(self._labels)
        self._labels.append(self.label_of(label))
        self._by_predicate.setdefault(facts.predicate, _Rows()).add(place, 1, facts.columns, explicit)
        self.rows += facts.count

    def label_of(self, label: Label | None) -> Label:
        """What the column `update` says of an update."""
        own = 0 if label is None else label
        return str(own) if self._text_labels else own

    def table(self) -> pa.Table:
        """All rows, by update."""
        parts = [self._part(name, rows) for name, rows in self._by_predicate.items() if rows.places]
        if not parts:
            return self.schema.empty_table()
        table = pa.concat_tables([table for table, _ in parts])
        places = np.concatenate([place for _, place in parts])
        if len(parts) > 1 and len(self._labels) > 1:
            table = table.take(pa.array(np.argsort(places, kind="stable")))
        return table

    def _part(self, name: str, rows: _Rows) -> tuple[pa.Table, Ids]:
        places = np.concatenate(rows.places)
        count = len(places)
        columns = [np.concatenate(parts) for parts in zip(*rows.columns, strict=True)]
        texts = [_text(self._dictionary.decode(column)) for column in columns]
        empty = [pa.nulls(count, pa.string())] * (self._arguments - len(texts))
        labels = pa.array(self._labels, self.schema.field("update").type).take(pa.array(places))
        written = ChangeBatch(0, 1, name, "explicit", (), 0).written_predicate
        arrays = [
            labels,
            pa.array(OPERATIONS).take(pa.array(np.concatenate(rows.operations))),
            pa.repeat(written, count),
            *texts,
            *empty,
            pa.array(KINDS).take(pa.array(np.concatenate(rows.kinds))),
        ]
        return pa.table(arrays, schema=self.schema), places
