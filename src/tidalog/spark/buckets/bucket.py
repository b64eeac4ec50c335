"""A bucket: one engine for many keys.

Invariant.  After every batch the facts of a key are those that an engine of its own would have, after the
same updates.  `keys` has every key that is known, and each of them has its fact of the predicate of keys.

An update of a key that violates a constraint is taken back by its inverse.  That touches no other key, for
what holds for a key depends on its own explicit facts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.builtins import PythonFunction
from tidalog.engine.bits import EXPLICIT
from tidalog.engine.embedded import EmbeddedEngine
from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import Place
from tidalog.io.update_tables import UpdateTable, update_table_of
from tidalog.maintain.maintainer import Maintainer, UpdateIds
from tidalog.maintain.materialise import materialise
from tidalog.maintain.transaction import Batch, PredicateDelta
from tidalog.session.naming import checked_name
from tidalog.session.prepared import net_update
from tidalog.session.relations import Rows, is_hidden, routed
from tidalog.spark.buckets.changes import KeyedChanges, plain_texts
from tidalog.spark.buckets.key_table import KeyTable, labels_of, labels_packed
from tidalog.spark.buckets.rounds import Ids, Numbers, Rounds, codes_of, ranked
from tidalog.spark.buckets.setting import Setting
from tidalog.storage.records import Change, Facts, changes_of, changes_packed, unpacked

_EXPLICIT: Final = int(EXPLICIT)
_KEYS: Final = "keys"
"""The name under which a record has keys, which is no name of a predicate there."""


@dataclass
class Applied:
    """What a batch did to a bucket."""

    changes: pa.Table
    """With the key: what became true and what stopped being so."""
    refused: pa.Table
    """Updates that violate a constraint: key, update, and the name of the constraint."""
    record: bytes
    """What makes the same of a bucket as it was before."""
    rows: int = 0
    skipped: int = 0
    refused_rows: int = 0
    expired: int = 0
    """Keys that were forgotten."""
    told: dict[str, list[int]] = field(default_factory=dict)
    """Of each predicate how many facts became true, and how many stopped being so."""


@dataclass
class _Work:
    """What is gathered while a batch is applied."""

    changes: KeyedChanges
    asked: list[Change] = field(default_factory=list)
    """What was carried out, for the record."""
    refused: list[tuple[Numbers, list[str]]] = field(default_factory=list)
    """Numbers of updates, and the constraint that each violates."""


class Bucket:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.engine = EmbeddedEngine()
        self.keys = KeyTable.empty(setting.text_labels)
        self._analysis = setting.analysis()
        self._shared = setting.shared_facts(self.engine.dictionary)
        self._maintainer: Maintainer | None = None
        self._relations: dict[str, str] = {}

    # --- a batch ------------------------------------------------------------------------------------

    def apply(self, table: pa.Table, now: int) -> Applied:
        """Applies the right rows of a batch: `key`, `op`, `predicate`, `arg1` …, and `update` if there are
        labels.  `now` is the time of the batch."""
        dictionary = self.engine.dictionary
        keys = dictionary.encode(table.column("key"), "string")
        labels = self._labels(table, keys)
        new = self.keys.later(keys, labels) if table.num_rows else np.empty(0, np.bool_)
        order = ranked(keys, codes_of(labels), new)
        of_updates = labels.take(pa.array(order.rows[order.firsts]))
        work = _Work(KeyedChanges(self.setting, dictionary, order, of_updates))
        self._make_known(np.unique(order.keys), work)
        rounds = self._rounds(table, keys, order)
        for number, update in enumerate(rounds):
            self._apply_round(number, update, order, work)
        noted, last = _last_updates(order)
        self.keys.note(noted, of_updates.take(pa.array(last)), np.full(len(noted), now, np.int64))
        gone = self._expire(now, work)
        refused = [number for numbers, _ in work.refused for number in numbers.tolist()]
        return Applied(
            work.changes.table(),
            self._refused(order, of_updates, work),
            self._record(noted, gone, work.asked),
            table.num_rows,
            order.skipped,
            int(np.isin(order.update_of(keys[order.rows], order.round), refused).sum()) if refused else 0,
            len(gone),
            work.changes.told,
        )

    def _labels(self, table: pa.Table, keys: Ids) -> pa.Array:
        if self.setting.labels is None:
            return pc.add(pc.fill_null(self.keys.last_labels(keys), 0), 1)
        labels = table.column("update").combine_chunks()
        return labels.cast(pa.string() if self.setting.text_labels else pa.int64())

    def _make_known(self, keys: Ids, work: _Work) -> None:
        """Keys that are new get the facts of the program, before their first update."""
        new = keys[self.keys.places(keys) < 0]
        if not len(new):
            return
        batches = [Batch(self.setting.key, [new], len(new))]
        for facts in self._shared:
            columns = [np.tile(column, len(new)) for column in facts.columns]
            batches.append(
                Batch(facts.predicate, [np.repeat(new, facts.rows), *columns], len(new) * facts.rows)
            )
        work.changes.add_first(self._maintained(UpdateIds((), tuple(batches)), work))

    def _rounds(self, table: pa.Table, keys: Ids, order: Rounds) -> list[UpdateIds]:
        """The updates of each round as one."""
        rounds: list[tuple[list[Batch], list[Batch]]] = [([], []) for _ in range(order.count)]
        if not rounds:
            return []
        facts = _facts(table)
        encode = self.engine.dictionary.encode
        columns = [encode(column.array, column.reading) for column in facts.arguments]
        codes, arity, op = (a[order.rows] for a in (facts.predicate.codes, facts.arity, facts.op))
        by_group = np.lexsort((arity, codes, op, order.round))
        parts = [part[by_group] for part in (order.round, op, codes, arity)]
        changed = np.concatenate([[True], np.zeros(len(by_group) - 1, np.bool_)])
        for part in parts:
            changed[1:] |= part[1:] != part[:-1]
        starts = np.flatnonzero(changed)
        rows = order.rows[by_group]
        own, sorted_columns = keys[rows], [column[rows] for column in columns]
        groups = [part[starts].tolist() for part in parts]
        ends = [*starts[1:].tolist(), len(rows)]
        for at, sign, code, width, start, end in zip(*groups, starts.tolist(), ends, strict=True):
            arguments = [column[start:end] for column in sorted_columns[:width]]
            routed_to = self._routed(facts.predicate.names[code], own[start:end], arguments)
            rounds[at][1 if sign > 0 else 0].extend(routed_to)
        return [UpdateIds(tuple(deleted), tuple(inserted)) for deleted, inserted in rounds]

    def _routed(self, predicate: str, keys: Ids, arguments: list[Ids]) -> Iterator[Batch]:
        """The relations that hold facts.  Where they are triples, the number of its row stands for the
        subject on the way, so that the key of each is found again."""
        setting = self.setting
        name = self._relations.get(predicate)
        if name is None:
            name = self._relations[predicate] = checked_name(predicate, setting.prefixes)
        if not setting.active or not arguments:
            yield Batch(setting.names.get(name, name), [keys, *arguments], len(keys))
            return
        numbered = Rows(name, [np.arange(len(keys), dtype=np.int32), *arguments[1:]], len(keys))
        for part in routed(numbered, setting.layout, self.engine.dictionary):
            rows = part.columns[0]
            columns = [keys[rows], arguments[0][rows], *part.columns[1:]]
            yield Batch(setting.names.get(part.predicate, part.predicate), columns, part.rows)

    def _apply_round(self, number: int, update: UpdateIds, order: Rounds, work: _Work) -> None:
        delta = self._maintained(update, work)
        violated = delta.get(self.setting.violated)
        if violated is not None and violated.inserted_rows:
            keys, names = violated.inserted
            bad = np.unique(keys)
            work.asked[-1] = _without(work.asked[-1], bad)
            self._maintain(_inverse(delta, bad))
            updates = order.update_of(keys, np.full(len(keys), number))
            texts = plain_texts(self.engine.dictionary, names).to_pylist()
            work.refused.append((updates, texts))
            delta = {name: _left(change, bad) for name, change in delta.items()}
        work.changes.add(number, delta)

    def _refused(self, order: Rounds, labels: pa.Array, work: _Work) -> pa.Table:
        updates = np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in work.refused)])
        names = [name for _, part in work.refused for name in part]
        return pa.table(
            {
                "key": plain_texts(self.engine.dictionary, order.keys[updates]),
                "update": labels.take(pa.array(updates)),
                "constraint": pa.array(names, pa.string()),
            }
        )

    # --- keys that are forgotten --------------------------------------------------------------------

    def _expire(self, now: int, work: _Work) -> Ids:
        if self.setting.ttl is None:
            return np.empty(0, np.int32)
        gone = self.keys.expired(now - self.setting.ttl)
        if len(gone):
            labels = self.keys.last_labels(gone)
            delta = self._maintained(UpdateIds(tuple(self._facts_of(gone)), ()), work)
            work.changes.add_last(delta, gone, labels)
            self.keys.forget(gone)
        return gone

    def _facts_of(self, keys: Ids) -> Iterator[Batch]:
        """All explicit facts of some keys."""
        for batch in self._explicit():
            mine = np.isin(batch.columns[0], keys)
            if mine.any():
                yield Batch(batch.predicate, [column[mine] for column in batch.columns], int(mine.sum()))

    def _explicit(self) -> Iterator[Batch]:
        for name in list(self.engine.names):
            if not is_hidden(name):
                columns = self.engine.columns(name, _EXPLICIT, _EXPLICIT)
                if columns and len(columns[0]):
                    yield Batch(name, columns, len(columns[0]))

    # --- the engine ---------------------------------------------------------------------------------

    def _maintained(self, update: UpdateIds, work: _Work) -> dict[str, PredicateDelta]:
        deletions = [Facts(b.predicate, b.columns, b.rows) for b in update.deletions]
        insertions = [Facts(b.predicate, b.columns, b.rows) for b in update.insertions]
        work.asked.append(Change(None, deletions, insertions))
        return self._maintain(update)

    def _maintain(self, update: UpdateIds) -> dict[str, PredicateDelta]:
        if self._maintainer is None:
            materialise(self.engine, self._analysis, functions=self._functions)
            self._maintainer = Maintainer(self.engine, self._analysis, functions=self._functions)
        return self._maintainer.apply(update).delta

    @property
    def _functions(self) -> dict[str, PythonFunction]:
        return {name.upper(): function for name, function in self.setting.functions.items()}

    # --- what survives ------------------------------------------------------------------------------

    def _record(self, keys: Ids, gone: Ids, asked: list[Change]) -> bytes:
        """`keys` had updates, or are all that there are."""
        places = self.keys.places(keys)
        there = places >= 0
        keys, places = keys[there], places[there]
        about = Change(None, [Facts(_KEYS, [gone], len(gone))], [Facts(_KEYS, [keys], len(keys))])
        arrays = {"seen": self.keys.seen[places], **labels_packed(self.keys.labels.take(pa.array(places)))}
        header = {"kind": "bucket"}
        return b"".join(changes_packed(header, [about, *asked], self.engine.dictionary, arrays))

    def snapshot(self, keys: Ids | None = None) -> bytes:
        """A record that makes this bucket of an empty one, or a bucket of some of its keys."""
        batches = self._explicit() if keys is None else self._facts_of(keys)
        facts = [Facts(batch.predicate, batch.columns, batch.rows) for batch in batches]
        own = self.keys.ids if keys is None else keys
        return self._record(own, np.empty(0, np.int32), [Change(None, [], facts)])

    def replay(self, record: bytes) -> None:
        """Does what a batch did, or takes a snapshot in."""
        read = unpacked(memoryview(record))
        about, *asked = changes_of(read, self.engine.dictionary)
        updates = [
            UpdateIds(tuple(map(_batch, change.deletions)), tuple(map(_batch, change.insertions)))
            for change in asked
        ]
        if self._maintainer is None and not any(update.deletions for update in updates):
            for update in updates:
                for batch in update.insertions:
                    self.engine.insert(batch.predicate, batch.columns, batch.rows)
        elif updates:
            self._maintain(net_update(updates))
        (forgotten,), (noted,) = about.deletions, about.insertions
        keys, labels = noted.columns[0], labels_of(read.arrays)
        order = np.argsort(keys)
        self.keys.forget(forgotten.columns[0])
        seen = read.arrays["seen"].astype(np.int64)
        self.keys.note(keys[order], labels.take(pa.array(order)), seen[order])

    @property
    def garbage(self) -> float:
        """The share of terms that no explicit fact has."""
        used = np.zeros(len(self.engine.dictionary), np.bool_)
        for batch in self._explicit():
            for column in batch.columns:
                used[column] = True
        return 1.0 - float(used.mean()) if len(used) else 0.0


def _batch(facts: Facts) -> Batch:
    return Batch(facts.predicate, facts.columns, facts.rows)


def _facts(table: pa.Table) -> UpdateTable:
    """Operations, predicates and arguments of rows, in their order."""
    names = [name for name in table.column_names if name not in ("key", "update")]
    columns = [table.column(name) for name in names]

    def place(row: int, field: int) -> tuple[Place, str]:
        return Place("the batch", row + 1, unit="row"), ""

    return update_table_of(RawTable("the batch", columns, table.num_rows, place, tuple(names)))


def _last_updates(order: Rounds) -> tuple[Ids, Numbers]:
    """The keys of a batch, ascending, and the last update of each."""
    if not len(order.keys):
        return order.keys, np.empty(0, np.int64)
    last = np.flatnonzero(np.concatenate([order.keys[1:] != order.keys[:-1], [True]]))
    return order.keys[last], last


# --- taking back --------------------------------------------------------------------------------------------


def _inverse(delta: dict[str, PredicateDelta], keys: Ids) -> UpdateIds:
    """What makes facts of some keys explicit that are no longer, and the other way round."""
    deletions: list[Batch] = []
    insertions: list[Batch] = []
    for name, change in delta.items():
        for target, columns, flags in (
            (deletions, change.inserted, change.inserted_explicit),
            (deletions, change.became_explicit, None),
            (insertions, change.deleted, change.deleted_explicit),
            (insertions, change.became_implicit, None),
        ):
            if not columns:
                continue
            mine = np.isin(columns[0], keys)
            mine = mine if flags is None else mine & flags
            if mine.any():
                target.append(Batch(name, [column[mine] for column in columns], int(mine.sum())))
    return UpdateIds(tuple(deletions), tuple(insertions))


def _left(change: PredicateDelta, keys: Ids) -> PredicateDelta:
    """A change without some keys; what became explicit or implicit is told to nobody."""
    inserted = ~np.isin(change.inserted[0], keys)
    deleted = ~np.isin(change.deleted[0], keys)
    return PredicateDelta(
        [column[inserted] for column in change.inserted],
        int(inserted.sum()),
        change.inserted_explicit[inserted],
        [column[deleted] for column in change.deleted],
        int(deleted.sum()),
        change.deleted_explicit[deleted],
    )


def _without(change: Change, keys: Ids) -> Change:
    return Change(None, list(_other(change.deletions, keys)), list(_other(change.insertions, keys)))


def _other(facts: Iterable[Facts], keys: Ids) -> Iterator[Facts]:
    for part in facts:
        kept: npt.NDArray[np.bool_] = ~np.isin(part.columns[0], keys)
        if kept.any():
            yield Facts(part.predicate, [column[kept] for column in part.columns], int(kept.sum()))
