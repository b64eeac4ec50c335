"""The changes of a batch as one table with keys: collected as ids, decoded in bulk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidalog.api.expired import ended_among, rows_among
from tidalog.api.naming import is_hidden
from tidalog.io.change_columns import EXPIRED, KINDS, OPERATIONS, change_schema
from tidalog.io.change_feed import ChangeBatch
from tidalog.keyed.batches import Numbers, SubBatches
from tidalog.keyed.config import BucketConfig
from tidalog.keyed.keys import KeyTable
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids, Mask
from tidalog.rdf.columns import TripleRows

if TYPE_CHECKING:
    from tidalog.engine.dictionary import Dictionary
    from tidalog.model.update import Label

_LabelOf = Callable[[Ids], Numbers]
_FIRST: Final = -1
"""The sub-batch in which keys are added."""


@dataclass(frozen=True)
class ExpiredOfKeys:
    """The facts that left windows; keys of which more than that was deleted, and the predicates that may have
    lost facts of these; and those of which something else may have ended facts of any key, None for all."""

    facts: Sequence[Facts] = ()
    others: Ids = field(default_factory=lambda: np.empty(0, np.int32))
    reached: Collection[str] = ()
    uncertain: Collection[str] | None = None

    def among(self, predicate: str, columns: Sequence[Ids], explicit: Mask) -> Mask:
        """Which of the deleted facts of a predicate, with their keys, expired."""
        found = rows_among(predicate, columns, explicit, self.facts)
        if self.facts and self.uncertain is not None and predicate not in self.uncertain:
            found |= ~explicit & ~(np.isin(columns[0], self.others) & (predicate in self.reached))
        return found


NOTHING_EXPIRED = ExpiredOfKeys()


def ended_keys(predicate: str, change: PredicateDelta, expired: Sequence[Facts]) -> Ids:
    """The keys of explicit facts of a predicate that were deleted otherwise."""
    return change.deleted[0][ended_among(predicate, change, expired)]


class _Part:
    """Facts of one relation: columns of ids, and of each fact its label, operation, kind and sub-batch."""

    def __init__(self) -> None:
        self.columns: list[list[Ids]] = []
        self.labels: list[Numbers] = []
        self.flags: list[Numbers] = []
        """Sub-batch, operation and kind in one number, by which rows are sorted."""


class KeyedChanges:
    """Collects the deltas of sub-batches, in order.  `labels` are those of the updates of `order`."""

    def __init__(
        self, config: BucketConfig, dictionary: Dictionary, order: SubBatches, labels: pa.Array
    ) -> None:
        self._config = config
        self._dictionary = dictionary
        self._order = order
        zero = pa.array(["0" if config.text_labels else 0], labels.type)
        self._labels = [labels, zero]
        self._zero = len(labels)
        self._parts: dict[str, _Part] = {}
        self.counts: dict[str, list[int]] = {}
        """By predicate: how many facts were inserted and deleted."""
        self.expired = 0
        """How many of the deleted facts expired."""
        self._relations = {name: relation for relation, name in config.names.items()}
        layout = config.layout
        self._triples = TripleRows(layout, dictionary, leading=1) if layout.active else None

    def add_first(self, delta: Mapping[str, PredicateDelta]) -> None:
        """The facts that new keys get from the program: their update 0."""
        self._add(_FIRST, delta, lambda keys: np.full(len(keys), self._zero))

    def add(
        self, number: int, delta: Mapping[str, PredicateDelta], expired: ExpiredOfKeys = NOTHING_EXPIRED
    ) -> None:
        """The changes of a sub-batch."""
        order = self._order
        self._add(number, delta, lambda keys: order.update_of(keys, np.full(len(keys), number)), expired)

    def add_last(
        self,
        delta: Mapping[str, PredicateDelta],
        keys: Ids,
        labels: pa.Array,
        expired: ExpiredOfKeys = NOTHING_EXPIRED,
    ) -> None:
        """Changes after the updates of a batch, with the label of the last update of each of these keys."""
        start = self._more_labels(labels)
        self._add(self._order.count, delta, lambda own: start + np.searchsorted(keys, own), expired)

    def add_change(
        self,
        number: int,
        delta: Mapping[str, PredicateDelta],
        label: Label | None,
        known: KeyTable,
        expired: ExpiredOfKeys = NOTHING_EXPIRED,
    ) -> None:
        """The changes of a sub-batch in which rules change, of any key: with the label of the edit; without
        labels, with that of the key's update, or of its last one if it has none."""
        if label is not None:
            own = self._more_labels(pa.array([label], self._labels[0].type))
            self._add(number, delta, lambda keys: np.full(len(keys), own), expired)
            return
        order, start = self._order, self._more_labels(known.labels)
        updated = order.keys[order.sub_batches == number]

        def label_of(keys: Ids) -> Numbers:
            updates = order.update_of(keys, np.full(len(keys), number))
            return np.where(np.isin(keys, updated), updates, start + known.positions(keys))

        self._add(number, delta, label_of, expired)

    def _more_labels(self, labels: pa.Array) -> int:
        """Adds labels and returns the number of the first."""
        start = sum(map(len, self._labels))
        self._labels.append(labels)
        return start

    def _add(
        self,
        number: int,
        delta: Mapping[str, PredicateDelta],
        label_of: _LabelOf,
        expired: ExpiredOfKeys = NOTHING_EXPIRED,
    ) -> None:
        for name, change in delta.items():
            relation = self._relations.get(name, name)
            if name in (self._config.key, self._config.violated) or is_hidden(relation):
                continue
            too_old = expired.among(name, change.deleted, change.deleted_explicit)
            deleted = np.where(too_old, EXPIRED, change.deleted_explicit)
            for operation, columns, kinds in (
                (0, change.deleted, deleted),
                (1, change.inserted, change.inserted_explicit),
            ):
                if self._triples is not None:
                    mine = self._triples.own(relation, columns)
                    if mine is not None:
                        columns, kinds = [column[mine] for column in columns], kinds[mine]
                if not len(kinds):
                    continue
                part = self._parts.setdefault(relation, _Part())
                part.columns.append(columns)
                part.labels.append(label_of(columns[0]))
                part.flags.append(((number + 1) * 2 + operation) * 4 + kinds.astype(np.int64))
                self.expired += int(np.count_nonzero(kinds == EXPIRED))

    def table(self) -> pa.Table:
        """All rows, by sub-batch; deletions before insertions."""
        config = self._config
        schema = change_schema(config.arguments, text_labels=config.text_labels, keyed=True)
        if not self._parts:
            return schema.empty_table()
        all_labels = pa.concat_arrays([part.cast(schema.field("update").type) for part in self._labels])
        runs: list[tuple[int, pa.Table]] = []
        for relation, part in self._parts.items():
            own = np.concatenate(part.flags)
            columns = [np.concatenate(column) for column in zip(*part.columns, strict=True)]
            labels = all_labels.take(pa.array(np.concatenate(part.labels)))
            table = pa.table(self._arrays(relation, columns, labels, own), schema=schema)
            starts = np.concatenate([[0], np.flatnonzero(np.diff(own >> 2)) + 1, [len(own)]]).tolist()
            for start, end in itertools.pairwise(starts):
                runs.append((int(own[start]) >> 2, table.slice(start, end - start)))
        runs.sort(key=lambda run: run[0])
        return pa.concat_tables([part for _, part in runs]).combine_chunks()

    def _arrays(self, relation: str, columns: list[Ids], labels: pa.Array, flags: Numbers) -> list[pa.Array]:
        rows = len(flags)
        predicate, arguments = relation, columns[1:]
        if self._triples is not None:
            whole = self._triples.restored(Facts(relation, arguments, rows))
            predicate, arguments = whole.predicate, whole.columns
        texts = [_text(self._dictionary.decode_text(column)) for column in arguments]
        empty = [pa.nulls(rows, pa.string())] * (self._config.arguments - len(texts))
        written = ChangeBatch(0, 1, predicate, "explicit", (), 0).written_predicate
        counted, inserted = self.counts.setdefault(written, [0, 0]), int(np.count_nonzero(flags & 4))
        counted[0], counted[1] = counted[0] + inserted, counted[1] + rows - inserted
        return [
            plain_texts(self._dictionary, columns[0]),
            labels,
            pa.array(OPERATIONS).take(pa.array(flags >> 2 & 1)),
            pa.repeat(written, rows),
            *texts,
            *empty,
            pa.array(KINDS).take(pa.array(flags & 3)),
        ]


def plain_texts(dictionary: Dictionary, ids: Ids) -> pa.Array:
    """The content of strings, such as keys."""
    return _text(dictionary.contents(ids))


def _text(array: pa.Array) -> pa.Array:
    return array.cast(pa.string()) if pa.types.is_large_string(array.type) else array
