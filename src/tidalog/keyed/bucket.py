"""A bucket: one engine for many keys.

Invariant.  After every batch the facts of a key are those that an engine of its own would have, after the
same updates.  `keys` has every key that is known, and each of them has its fact of the predicate of keys.

An update of a key that violates a constraint is taken back by its inverse.  That touches no other key, for
what holds for a key depends on its own explicit facts alone, and on the rules.

Rules change for all keys at once, in a round of their own (rules.py).  A change that is refused takes the
updates with it that it is one with; one that makes a key violate a constraint ends the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.api.encoded_update import net_update
from tidalog.api.naming import checked_name
from tidalog.api.relations import is_hidden, routed
from tidalog.engine.bits import EXPLICIT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import Place
from tidalog.io.update_tables import UpdateTable, update_table_of
from tidalog.keyed.batches import Numbers, Rounds, codes_of, ranked
from tidalog.keyed.changes import KeyedChanges, plain_texts
from tidalog.keyed.config import BucketConfig
from tidalog.keyed.diagnostics import RuleViolated
from tidalog.keyed.keys import KeyTable, labels_of, labels_packed
from tidalog.keyed.rollback import composed, inverse, left, without
from tidalog.keyed.rule_edits import Refusal, RuleChange, planned, with_known
from tidalog.keyed.rules import Coming, Rules, coming, rules_of
from tidalog.maintain.maintainer import Maintainer
from tidalog.maintain.materialise import materialise
from tidalog.maintain.transaction import PredicateDelta
from tidalog.model.errors import RunError
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate
from tidalog.storage.records import changes_of, changes_packed, unpacked

if TYPE_CHECKING:
    pass

Mask = npt.NDArray[np.bool_]
_EXPLICIT: Final = int(EXPLICIT)
_EXAMPLES: Final = 3
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
    updates: int = 0
    """Of keys, that were applied."""
    skipped: int = 0
    refused_rows: int = 0
    expired: int = 0
    """Keys that were forgotten."""
    bad: list[str] = field(default_factory=list)
    """What is wrong with doubtful rows that are none."""
    changes_rules: bool = False
    rule_rows: Sequence[int] = (0, 0, 0)
    """Rows about rules: all, those of changes that were made before, and those of refused changes."""
    refused_rules: list[Refusal] = field(default_factory=list)
    told: dict[str, list[int]] = field(default_factory=dict)
    """Of each predicate how many facts became true, and how many stopped being so."""


@dataclass
class _Work:
    """What is gathered while a batch is applied."""

    changes: KeyedChanges
    labels: pa.Array
    """Of the updates."""
    asked: list[EncodedUpdate] = field(default_factory=list)
    """What was carried out, for the record."""
    refused: list[tuple[Numbers, list[str]]] = field(default_factory=list)
    """Numbers of updates, and the constraint that each violates."""
    refused_rules: list[Refusal] = field(default_factory=list)


class Bucket:
    def __init__(self, config: BucketConfig) -> None:
        self.config = config
        self.engine = EmbeddedEngine()
        self.keys = KeyTable.empty(config.text_labels)
        self.rules = rules_of(config)
        self._shared = config.shared_facts(self.engine.dictionary)
        self._maintainer: Maintainer | None = None
        self._relations: dict[str, str] = {}

    # --- a batch ------------------------------------------------------------------------------------

    def apply(
        self, table: pa.Table, now: int, rules: pa.Table | None = None, doubtful: pa.Table | None = None
    ) -> Applied:
        """Applies the right rows of a batch: `key`, `op`, `predicate`, `arg1` …, and `update` if there are
        labels.  `now` is the time of the batch.  `rules` are rows about rules, which have no key.  `doubtful`
        rows, with what is wrong with them under BAD, are right if rules speak of their predicates."""
        asked = coming(rules, self.rules.label) if rules is not None else Coming()
        changes = planned(self.rules, asked)
        table, bad = with_known(table, doubtful, changes[-1].rules if changes else self.rules)
        dictionary = self.engine.dictionary
        keys = dictionary.encode(table.column("key"), "string")
        labels = self._labels(table, keys)
        new = self.keys.later(keys, labels) if table.num_rows else np.empty(0, np.bool_)
        order = self._order(keys, labels, new, changes)
        of_updates = labels.take(pa.array(order.rows[order.firsts]))
        work = _Work(KeyedChanges(self.config, dictionary, order, of_updates), of_updates)
        self._make_known(np.unique(order.keys), work)
        changing = dict(zip(order.changes.tolist(), changes, strict=True))
        for number, update in enumerate(self._rounds(table, keys, order)):
            if number in changing:
                self._apply_change(changing[number], number, update, order, work)
            else:
                self._apply_round(number, update, order, work)
        noted, last = _last_updates(order)
        self.keys.note(noted, of_updates.take(pa.array(last)), np.full(len(noted), now, np.int64))
        gone = self._expire(now, work)
        refused = [number for numbers, _ in work.refused for number in numbers.tolist()]
        with_rules = [number for number, change in changing.items() if change.why is not None]
        refused_rows = np.isin(order.round, with_rules)
        if refused:
            refused_rows |= np.isin(order.update_of(keys[order.rows], order.round), refused)
        done = len(order.keys) - len(set(refused)) - int(np.isin(order.rounds, with_rules).sum())
        return Applied(
            work.changes.table(),
            self._refused(order, of_updates, work),
            self._record(noted, gone, work.asked),
            table.num_rows,
            done,
            order.skipped,
            int(refused_rows.sum()),
            len(gone),
            bad,
            bool(changes),
            (asked.rows, asked.skipped, sum(change.rows for change in changes if change.why is not None)),
            work.refused_rules,
            work.changes.told,
        )

    def _order(self, keys: Ids, labels: pa.Array, new: Mask, changes: Sequence[RuleChange]) -> Rounds:
        if not changes:
            return ranked(keys, codes_of(labels), new)
        if self.config.labels is None:  # then the batch is one update of each key, and the change is in it
            return ranked(keys, np.zeros(len(keys), np.int64), new, np.zeros(1, np.int64))
        own = pa.array([change.label for change in changes], labels.type)
        codes = codes_of(pa.concat_arrays([labels, own]))
        return ranked(keys, codes[: len(keys)], new, codes[len(keys) :])

    def _labels(self, table: pa.Table, keys: Ids) -> pa.Array:
        if self.config.labels is None:
            return pc.add(pc.fill_null(self.keys.last_labels(keys), 0), 1)
        labels = table.column("update").combine_chunks()
        return labels.cast(pa.string() if self.config.text_labels else pa.int64())

    def _make_known(self, keys: Ids, work: _Work) -> None:
        """Keys that are new get the facts of the program, before their first update."""
        new = keys[self.keys.places(keys) < 0]
        if not len(new):
            return
        batches = [Facts(self.config.key, [new], len(new))]
        for facts in self._shared:
            columns = [np.tile(column, len(new)) for column in facts.columns]
            batches.append(
                Facts(facts.predicate, [np.repeat(new, facts.count), *columns], len(new) * facts.count)
            )
        work.changes.add_first(self._maintained(EncodedUpdate((), tuple(batches)), work))

    def _rounds(self, table: pa.Table, keys: Ids, order: Rounds) -> list[EncodedUpdate]:
        """The updates of each round as one."""
        rounds: list[tuple[list[Facts], list[Facts]]] = [([], []) for _ in range(order.count)]
        if not len(order.rows):
            return [EncodedUpdate((), ()) for _ in rounds]
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
        return [EncodedUpdate(tuple(deleted), tuple(inserted)) for deleted, inserted in rounds]

    def _routed(self, predicate: str, keys: Ids, arguments: list[Ids]) -> Iterator[Facts]:
        """The relations that hold facts.  Where they are triples, the number of its row stands for the
        subject on the way, so that the key of each is found again."""
        config = self.config
        name = self._relations.get(predicate)
        if name is None:
            name = self._relations[predicate] = checked_name(predicate, config.prefixes)
        if not config.active or not arguments:
            yield Facts(config.names.get(name, name), [keys, *arguments], len(keys))
            return
        numbered = Facts(name, [np.arange(len(keys), dtype=np.int32), *arguments[1:]], len(keys))
        for part in routed(numbered, config.layout, self.engine.dictionary):
            rows = part.columns[0]
            columns = [keys[rows], arguments[0][rows], *part.columns[1:]]
            yield Facts(config.names.get(part.predicate, part.predicate), columns, part.count)

    def _apply_round(self, number: int, update: EncodedUpdate, order: Rounds, work: _Work) -> None:
        delta = self._maintained(update, work)
        violated = delta.get(self.config.violated)
        if violated is not None and violated.inserted_rows:
            keys, names = violated.inserted
            bad = np.unique(keys)
            work.asked[-1] = without(work.asked[-1], bad)
            self._maintain(inverse(delta, bad))
            updates = order.update_of(keys, np.full(len(keys), number))
            texts = plain_texts(self.engine.dictionary, names).to_pylist()
            work.refused.append((updates, texts))
            delta = {name: left(change, bad) for name, change in delta.items()}
        work.changes.add(number, delta)

    # --- rules --------------------------------------------------------------------------------------

    def _apply_change(
        self, change: RuleChange, number: int, update: EncodedUpdate, order: Rounds, work: _Work
    ) -> None:
        """A round in which rules change."""
        self.rules, before = change.rules, self.rules
        updated = order.keys[order.rounds == number]
        if change.why is not None:
            work.refused_rules.append(Refusal(None, change.label, change.why))
            keys = plain_texts(self.engine.dictionary, updated).to_pylist()
            labels = work.labels.take(pa.array(np.flatnonzero(order.rounds == number))).to_pylist()
            work.refused_rules += [
                Refusal(key, label, change.why) for key, label in zip(keys, labels, strict=True)
            ]
            return
        self._begin(before)
        delta = self._maintained(update, work, change.rules)
        violated = delta.get(self.config.violated)
        if violated is not None and violated.inserted_rows:
            keys, names = violated.inserted
            own = np.unique(keys[np.isin(keys, updated)])
            work.asked[-1] = without(work.asked[-1], own)
            delta = composed(delta, self._maintain(inverse(delta, own)))
            self._check_nobody_violates(change)
            mine = np.isin(keys, own)
            updates = order.update_of(keys[mine], np.full(int(mine.sum()), number))
            work.refused.append((updates, plain_texts(self.engine.dictionary, names[mine]).to_pylist()))
        work.changes.add_change(number, delta, change.label, self.keys)

    def _check_nobody_violates(self, change: RuleChange) -> None:
        keys, names = self.engine.columns(self.config.violated)
        if not len(keys):
            return
        texts = sorted(plain_texts(self.engine.dictionary, np.unique(keys)).to_pylist())
        count = "a key" if len(texts) == 1 else f"{len(texts):,} keys"
        constraint = plain_texts(self.engine.dictionary, names[:1])[0].as_py()
        update = "the batch" if change.label is None else f"update {change.label}"
        examples = ", ".join(texts[:_EXAMPLES]) + (" …" if len(texts) > _EXAMPLES else "")
        raise RunError(RuleViolated(update=update, keys=count, constraint=constraint, examples=examples))

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
        if self.config.ttl is None:
            return np.empty(0, np.int32)
        gone = self.keys.expired(now - self.config.ttl)
        if len(gone):
            labels = self._at_least(self.keys.last_labels(gone))
            delta = self._maintained(EncodedUpdate(tuple(self._facts_of(gone)), ()), work)
            work.changes.add_last(delta, gone, labels)
            self.keys.forget(gone)
        return gone

    def _at_least(self, labels: pa.Array) -> pa.Array:
        """The labels of keys, or that of the last change of rules, which was one of theirs."""
        last = self.rules.label
        if last is None:
            return labels
        return pc.if_else(
            pc.greater(labels, pa.scalar(last, labels.type)), labels, pa.scalar(last, labels.type)
        )

    def _facts_of(self, keys: Ids) -> Iterator[Facts]:
        """All explicit facts of some keys."""
        for batch in self._explicit():
            mine = np.isin(batch.columns[0], keys)
            if mine.any():
                yield Facts(batch.predicate, [column[mine] for column in batch.columns], int(mine.sum()))

    def _explicit(self) -> Iterator[Facts]:
        for name in list(self.engine.names):
            if not is_hidden(name):
                columns = self.engine.columns(name, _EXPLICIT, _EXPLICIT)
                if columns and len(columns[0]):
                    yield Facts(name, columns, len(columns[0]))

    # --- the engine ---------------------------------------------------------------------------------

    def _maintained(
        self, update: EncodedUpdate, work: _Work, rules: Rules | None = None
    ) -> dict[str, PredicateDelta]:
        work.asked.append(update)
        return self._maintain(update, rules)

    def _maintain(self, update: EncodedUpdate, rules: Rules | None = None) -> dict[str, PredicateDelta]:
        """With `rules`, these hold from here on."""
        maintainer = self._begin(self.rules)
        return maintainer.apply(update, analysis=None if rules is None else rules.analysis).delta

    def _begin(self, rules: Rules) -> Maintainer:
        if self._maintainer is None:
            functions = self.config.known_functions
            materialise(self.engine, rules.analysis, functions=functions)
            self._maintainer = Maintainer(self.engine, rules.analysis, functions=functions)
        return self._maintainer

    # --- what survives ------------------------------------------------------------------------------

    def _record(self, keys: Ids, gone: Ids, asked: list[EncodedUpdate]) -> bytes:
        """`keys` had updates, or are all that there are."""
        places = self.keys.places(keys)
        there = places >= 0
        keys, places = keys[there], places[there]
        about = EncodedUpdate([Facts(_KEYS, [gone], len(gone))], [Facts(_KEYS, [keys], len(keys))])
        arrays = {"seen": self.keys.seen[places], **labels_packed(self.keys.labels.take(pa.array(places)))}
        header = {"kind": "bucket", **self.rules.header()}
        return b"".join(changes_packed(header, [about, *asked], self.engine.dictionary, arrays))

    def snapshot(self, keys: Ids | None = None) -> bytes:
        """A record that makes this bucket of an empty one, or a bucket of some of its keys."""
        batches = self._explicit() if keys is None else self._facts_of(keys)
        own = self.keys.ids if keys is None else keys
        return self._record(own, np.empty(0, np.int32), [EncodedUpdate(insertions=list(batches))])

    def replay(self, record: bytes) -> None:
        """Does what a batch did, or takes a snapshot in."""
        read = unpacked(memoryview(record))
        about, *updates = changes_of(read, self.engine.dictionary)
        rules = rules_of(self.config, read.header)
        changed = rules if rules.text != self.rules.text else None
        if self._maintainer is None and not any(update.deletions for update in updates):
            for update in updates:
                for batch in update.insertions:
                    self.engine.insert(batch.predicate, batch.columns, batch.count)
        elif updates:
            self._maintain(net_update(updates), changed)
        elif changed is not None and self._maintainer is not None:
            self._maintain(EncodedUpdate((), ()), changed)
        if rules.moved:
            self.rules = rules
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
