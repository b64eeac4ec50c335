"""Keyed streams for tests, and what an engine of its own makes of each key."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tidalog
from tidalog.analysis.keyed import keyed_program
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import Position
from tidalog.io.update_tables import update_table_of
from tidalog.keyed.config import BucketConfig, config_of
from tidalog.model.errors import ProgramError, RunError
from tidalog.model.program import Fact, Program
from tidalog.model.rule_edit import NO_EDIT, NamedRemoval, RuleEdit, RuleText
from tidalog.model.term_text import format_any
from tidalog.model.update import EncodedUpdate
from tidalog.spark.catalog import known_predicates

Label = int | str
ChangeRow = tuple[str, Label, str, str, tuple[str, ...], str]
"""Key, update, operation, predicate, arguments, kind."""
Row = tuple[str, Label, str, str, tuple[str, ...]]
"""Key, update, operation, predicate, arguments."""
RuleRow = tuple[Label, str, str | None, str | None]
"""Update, operation, name and text of a rule."""


def config_for(
    program: Program, *, labels: str | None = "integer", ttl: int | None = None, arguments: int = 0
) -> BucketConfig:
    with tidalog.open() as kb:
        kb.load(program)
        kb.materialise(progress=False)
        widest = max(known_predicates(kb).widest, arguments)
        keyed = keyed_program(program)
        return config_of(keyed, kb, arguments=widest, labels=labels, ttl=ttl, functions={})


def edit_of(added: Sequence[RuleText], removed: Sequence[str]) -> RuleEdit:
    return RuleEdit(tuple(added), tuple(map(NamedRemoval, removed)))


def row(key: str, label: Label, op: str, fact: Fact) -> Row:
    return key, label, op, fact.predicate, tuple(format_any(term) for term in fact.arguments)


def table_of(rows: Sequence[Row], arguments: int, *, text_labels: bool = False) -> pa.Table:
    label = pa.string() if text_labels else pa.int64()
    cells = [(*arguments_, *[None] * (arguments - len(arguments_))) for *_, arguments_ in rows]
    columns: dict[str, pa.Array] = {
        "key": pa.array([r[0] for r in rows], pa.string()),
        "update": pa.array([r[1] for r in rows], label),
        "op": pa.array([r[2] for r in rows], pa.string()),
        "predicate": pa.array([r[3] for r in rows], pa.string()),
    }
    for number in range(arguments):
        columns[f"arg{number + 1}"] = pa.array([c[number] for c in cells], pa.string())
    return pa.table(columns)


def rule_table(rows: Sequence[RuleRow]) -> pa.Table:
    """Rows about rules, as a bucket gets them."""
    names = ("update", "op", "predicate", "arg1")
    columns = [[row[number] for row in rows] for number in range(4)]
    kinds = [pa.int64(), *[pa.string()] * 3]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list(names))


def random_rows(pool: Sequence[Fact], seed: int, keys: Sequence[str], updates: int) -> list[Row]:
    """Updates of random keys: labels rise for each key, and mostly with gaps."""
    chance = random.Random(seed)
    rows: list[Row] = []
    label = dict.fromkeys(keys, 0)
    for _ in range(updates):
        key = chance.choice(keys)
        label[key] += chance.randint(1, 3)
        rows += [
            row(key, label[key], chance.choice("++-"), chance.choice(pool))
            for _ in range(chance.randint(1, 5))
        ]
    return rows


@dataclass
class Alone:
    """One engine for each key, and all that these tell."""

    program: Program
    arguments: int
    engines: dict[str, KnowledgeBase] = field(default_factory=dict)
    last: dict[str, Label] = field(default_factory=dict)
    emitted: list[ChangeRow] = field(default_factory=list)
    refused: set[tuple[str, Label]] = field(default_factory=set)
    rules_refused: set[Label] = field(default_factory=set)
    rules_since: list[tuple[list[str], list[RuleText]]] = field(default_factory=list)
    """Changes of rules, for keys that come later."""

    def apply(self, rows: Iterable[Row], rules: Iterable[RuleRow] = ()) -> None:
        """Rows of a batch, in any order."""
        updates: dict[tuple[str, Label], list[Row]] = {}
        for one in rows:
            updates.setdefault((one[0], one[1]), []).append(one)
        changes: dict[Label, list[RuleRow]] = {}
        for change in rules:
            changes.setdefault(change[0], []).append(change)
        for key in sorted({key for key, _ in updates}):
            self._add_keys(key)
        for (key, label), own in sorted(updates.items(), key=lambda item: (item[0][1], item[0][0])):
            for earlier in [other for other in sorted(changes) if other < label]:  # type: ignore[operator]
                self._change(earlier, changes.pop(earlier), updates)
            last = self.last.get(key)
            if label not in changes and (last is None or label > last):  # type: ignore[operator]
                self.last[key] = label
                self._apply(key, label, own)
        for label in sorted(changes):
            self._change(label, changes[label], updates)

    def _change(
        self, label: Label, rows: list[RuleRow], updates: Mapping[tuple[str, Label], list[Row]]
    ) -> None:
        """Rules change for all keys, in one update with what they have under this label."""
        removed = [str(name) for _, op, name, _ in rows if op == "-rule"]
        added = [RuleText(str(text), name) for _, op, name, text in rows if op == "+rule"]
        with tidalog.open() as trial:
            self._load(trial)
            try:
                trial._edit_rules(edit_of(added, removed))
            except ProgramError:
                self.rules_refused.add(label)
        for key in self.engines:
            own = updates.get((key, label), [])
            last = self.last.get(key)
            if own and last is not None and label <= last:  # type: ignore[operator]
                own = []
            if own:
                self.last[key] = label
            if label not in self.rules_refused:
                self._apply(key, label, own, edit_of(added, removed))
        if label not in self.rules_refused:
            self.rules_since.append((removed, added))

    def _load(self, kb: KnowledgeBase) -> None:
        kb.load(self.program)
        for removed, added in self.rules_since:
            kb._edit_rules(edit_of(added, removed))

    def _add_keys(self, key: str) -> None:
        if key not in self.engines:
            kb = self.engines[key] = tidalog.open()
            self._load(kb)
            kb.materialise(progress=False)
            self.emitted += [(key, 0, "+", p, a, kind) for p, a, kind in facts_of(kb)]

    def _apply(self, key: str, label: Label, rows: list[Row], rules: RuleEdit = NO_EDIT) -> None:
        kb = self.engines[key]
        table = table_of(rows, self.arguments).drop_columns(["key", "update"])
        raw = RawTable(
            "x",
            table.columns,
            table.num_rows,
            lambda row, _: (Position("x", row), ""),
            tuple(table.column_names),
        )
        prepared = kb.prepare_updates(update_table_of(raw))
        update = prepared[0] if prepared else EncodedUpdate(dictionary=kb.dictionary)
        update.rules = rules
        try:
            (delta,) = kb.stream([update])
        except RunError:
            self.refused.add((key, label))
            if rules:
                self._apply(key, label, [], rules)
            return
        for name, change in delta.items():
            ids = change.ids
            for op, columns, explicit in (
                ("-", ids.deleted, ids.deleted_explicit),
                ("+", ids.inserted, ids.inserted_explicit),
            ):
                emitted = facts_in(kb, name, columns, len(explicit))
                kinds = ["explicit" if one else "implicit" for one in explicit]
                self.emitted += [
                    (key, label, op, *fact, kind) for fact, kind in zip(emitted, kinds, strict=True)
                ]

    def facts(self) -> dict[str, set[tuple[str, tuple[str, ...], str]]]:
        return {key: set(facts_of(kb)) for key, kb in self.engines.items()}

    def forget(self, key: str) -> None:
        """What an expired key loses."""
        kb, last = self.engines.pop(key), self.last.pop(key)
        self.emitted += [(key, last, "-", p, a, kind) for p, a, kind in facts_of(kb)]


def _fact(change: Mapping[str, str], arguments: int) -> tuple[str, tuple[str, ...]]:
    cells = [change[f"arg{number + 1}"] for number in range(arguments)]
    return change["predicate"], tuple(cell for cell in cells if cell is not None)


def facts_of(kb: KnowledgeBase) -> list[tuple[str, tuple[str, ...], str]]:
    """All facts as predicate, arguments and kind."""
    found: list[tuple[str, tuple[str, ...], str]] = []
    for name in kb.predicates:
        for explicit in (True, False):
            rows = kb.id_rows(name, explicit)
            kind = "explicit" if explicit else "implicit"
            found += [(*fact, kind) for fact in facts_in(kb, name, rows.columns, rows.count)]
    return found


def facts_in(
    kb: KnowledgeBase, name: str, columns: Sequence[npt.NDArray[np.int32]], rows: int
) -> list[tuple[str, tuple[str, ...]]]:
    written = f"<{name}>" if ":" in name else name
    texts = [kb._open().engine.dictionary.decode_text(column).to_pylist() for column in columns]
    cells = list(zip(*texts, strict=True)) if texts else [()] * rows
    return [(written, tuple(row)) for row in cells]


def changes_in(table: pa.Table, arguments: int) -> list[ChangeRow]:
    """The rows of a keyed change feed."""
    return [(r["key"], r["update"], r["op"], *_fact(r, arguments), r["kind"]) for r in table.to_pylist()]


def in_batches(rows: Sequence[Row], seed: int, count: int) -> list[list[Row]]:
    """Rows cut into batches; no update is cut, and rows within a batch come in any order."""
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(rows) + 1) for _ in range(count - 1))
    batches: list[list[Row]] = []
    start = 0
    for cut in [*cuts, len(rows)]:
        while 0 < cut < len(rows) and rows[cut][:2] == rows[cut - 1][:2]:
            cut += 1
        part = list(rows[start : max(cut, start)])
        start = max(cut, start)
        chance.shuffle(part)
        batches.append(part)
    return batches
