"""Keyed streams with windows: what a knowledge base for each key makes of its updates, and of the time of the
stream after each batch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import pyarrow as pa
from keyed_oracle import ChangeRow, facts_in

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.keyed.packing import TIME
from tidalog.lang import parse
from tidalog.model.errors import RunError, UsageError
from tidalog.model.program import Fact
from tidalog.model.terms import String, Term
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import WindowOracle

SECOND = 1_000_000
Given = tuple[str, tuple[Term, ...]]
RULES = """
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
    known(?x) :- node(?x) .
    loop: :- path(?x, ?x) .
    edge(n0, n1) .
"""
PROGRAMS = {
    "range": "@window edge :- range 10s step 2s ." + RULES,
    "count": "@window edge :- count 4 . lonely(?x) :- node(?x), ~path(?x, _) ." + RULES,
    "two": "@window edge :- tumbling 7s . @window long :- edge, range 20s . @window few :- edge, count 3 ."
    "both(?x, ?y) :- long(?x, ?y), few(?x, ?y) ." + RULES,
    "named": "@window short :- edge, range 5s . @window few :- edge, count 5 ."
    "both(?x, ?y) :- short(?x, ?y), few(?x, ?y) ." + RULES,
    "must stay": "@window node :- range 6s . :- edge(?x, n4), ~node(?x) ." + RULES,
}
LATE = 3


@dataclass(frozen=True)
class TimedRow:
    key: str
    label: int
    op: str
    predicate: str
    arguments: tuple[str, ...]
    time: int | None
    """Seconds."""


def random_batches(seed: int, keys: Sequence[str], batches: int, updates: int) -> list[list[TimedRow]]:
    """Batches of updates of some keys; time mostly moves on, for each key by itself."""
    chance = random.Random(seed)
    labels, now = dict.fromkeys(keys, 0), 100
    found: list[list[TimedRow]] = []
    for _ in range(batches):
        rows: list[TimedRow] = []
        now += chance.choice([0, 1, 4, 9])
        for _ in range(updates):
            key = chance.choice(keys)
            labels[key] += 1
            time = now + chance.choice([-8, -3, -1, 0, 0, 1, 2, 5])
            for _ in range(chance.randrange(1, 4)):
                predicate = chance.choice(["edge", "edge", "node"])
                names = tuple(f"n{chance.randrange(5)}" for _ in range(1 + (predicate == "edge")))
                timed = time if chance.random() < 0.9 else None
                rows.append(TimedRow(key, labels[key], chance.choice("+++-"), predicate, names, timed))
        chance.shuffle(rows)
        found.append(rows)
    return found


def table_of(rows: Sequence[TimedRow]) -> pa.Table:
    arguments = [(*row.arguments, None)[:2] for row in rows]
    return pa.table(
        {
            "key": pa.array([row.key for row in rows], pa.string()),
            "update": pa.array([row.label for row in rows], pa.int64()),
            "op": pa.array([row.op for row in rows], pa.string()),
            "predicate": pa.array([row.predicate for row in rows], pa.string()),
            "arg1": pa.array([a for a, _ in arguments], pa.string()),
            "arg2": pa.array([b for _, b in arguments], pa.string()),
            TIME: pa.array([None if row.time is None else row.time * SECOND for row in rows], pa.int64()),
        }
    )


def until_of(rows: Sequence[TimedRow]) -> int | None:
    """The time of the stream after a batch."""
    times = [row.time * SECOND for row in rows if row.time is not None]
    return max(times, default=None)


@dataclass
class AloneWithWindows:
    """A knowledge base for each key, and all that these tell."""

    program: str
    engines: dict[str, KnowledgeBase] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    emitted: list[ChangeRow] = field(default_factory=list)
    refused: list[tuple[str, int]] = field(default_factory=list)
    late: set[tuple[str, int]] = field(default_factory=set)
    now: int | None = None

    @property
    def violated(self) -> set[tuple[str, str]]:
        return {(key, name) for key, kb in self.engines.items() for name in kb._open().violated}

    def apply(self, rows: Sequence[TimedRow]) -> None:
        for key in sorted({row.key for row in rows} - set(self.engines)):
            self._add(key)

        def update_of(row: TimedRow) -> tuple[int, str]:
            return row.label, row.key

        for (label, key), own in groupby(sorted(rows, key=update_of), key=update_of):
            if label > self.last.get(key, 0):
                self.last[key] = label
                self._apply(key, label, list(own))
        times = [row.time for row in rows if row.time is not None]
        self.advance(max([*times, *([] if self.now is None else [self.now])], default=None))

    def advance(self, now: int | None) -> None:
        """The time of the stream moves, and all keys with it."""
        self.now = now
        for key, kb in self.engines.items():
            if now is not None:
                own = _seconds(kb)
                time = now if own is None else max(now, own)
                self._change(key, self.last[key], tidalog.Update(time=time))

    def _add(self, key: str) -> None:
        kb = self.engines[key] = tidalog.open(late=LATE)
        kb.load(self.program)
        kb.materialise(progress=False)
        kb._open().windows.by_arrival = False  # times come with the rows
        if self.now is not None:
            kb.advance(self.now)
        for name in kb.predicates:
            for explicit in (True, False):
                rows = kb.id_rows(name, explicit)
                found = facts_in(kb, name, rows.columns, rows.count)
                self.emitted += [
                    (key, 0, "+", *fact, "explicit" if explicit else "implicit") for fact in found
                ]

    def _apply(self, key: str, label: int, rows: Sequence[TimedRow]) -> None:
        times = [row.time for row in rows if row.time is not None]
        now = _seconds(self.engines[key])
        update = tidalog.Update(time=max(times) if times else now)
        for row in rows:
            (update.insert if row.op == "+" else update.delete)(row.predicate, [row.arguments])
        self._change(key, label, update)

    def _change(self, key: str, label: int, update: tidalog.Update) -> None:
        kb = self.engines[key]
        try:
            delta = kb.apply(update)
        except UsageError as error:
            assert error.diagnostics[0].number == "T175", error
            self.late.add((key, label))
            return
        except RunError:
            self.refused.append((key, label))
            return
        for name, change in delta.items():
            ids = change.ids
            kinds = ["explicit" if one else "implicit" for one in ids.deleted_explicit]
            kinds = ["expired" if old else kind for old, kind in zip(change.is_expired, kinds, strict=True)]
            gone = facts_in(kb, name, ids.deleted, ids.deleted_rows)
            self.emitted += [(key, label, "-", *fact, kind) for fact, kind in zip(gone, kinds, strict=True)]
            kinds = ["explicit" if one else "implicit" for one in ids.inserted_explicit]
            come = facts_in(kb, name, ids.inserted, ids.inserted_rows)
            self.emitted += [(key, label, "+", *fact, kind) for fact, kind in zip(come, kinds, strict=True)]


def _seconds(kb: KnowledgeBase) -> int | None:
    """The time of a knowledge base; None before the first."""
    return None if kb.now is None else int(kb.now.timestamp())


@dataclass
class FromScratch:
    """What each key holds, by the oracles of windows and of rules, from everything that has come; the program
    has no constraints, and every update a time."""

    program: str
    now: int | None = None
    late: set[tuple[str, int]] = field(default_factory=set)
    _oracles: dict[str, WindowOracle] = field(default_factory=dict)
    _plain: dict[str, set[Given]] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)

    def apply(self, rows: Sequence[TimedRow]) -> None:
        windows = parse(self.program).windows
        sources = {window.source for window in windows}

        def update_of(row: TimedRow) -> tuple[int, str]:
            return row.label, row.key

        for (label, key), own in groupby(sorted(rows, key=update_of), key=update_of):
            if key not in self._oracles:
                now = None if self.now is None else self.now * SECOND
                self._oracles[key] = WindowOracle(windows, LATE * SECOND, now)
                self._plain[key] = set()
            if label > self._last.get(key, 0):
                self._last[key] = label
                self._apply(key, label, list(own), sources)
        self.advance(max([*(row.time for row in rows if row.time is not None), self.now or 0]))

    def _apply(self, key: str, label: int, rows: Sequence[TimedRow], sources: set[str]) -> None:
        time = max(row.time for row in rows if row.time is not None) * SECOND
        facts: dict[str, list[Given]] = {"-": [], "+": []}
        for row in rows:
            facts[row.op].append((row.predicate, tuple(map(String, row.arguments))))
        streamed = {op: [fact for fact in part if fact[0] in sources] for op, part in facts.items()}
        if not self._oracles[key].update(time, streamed["-"], streamed["+"]):
            self.late.add((key, label))
            return
        self._plain[key] -= {fact for fact in facts["-"] if fact[0] not in sources}
        self._plain[key] |= {fact for fact in facts["+"] if fact[0] not in sources}

    def advance(self, now: int) -> None:
        self.now = now
        for oracle in self._oracles.values():
            oracle.update(max(now * SECOND, oracle.now or 0), [], [])

    def facts(self) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
        """The predicates and arguments of each key."""
        program = parse(self.program)
        found: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
        for key, oracle in self._oracles.items():
            streamed = ((name, row) for name, rows in oracle.explicit().items() for row in rows)
            given = tuple(Fact(name, row) for name, row in [*streamed, *self._plain[key]])
            model = evaluate(replace(program, facts=given, windows=()))
            found[key] = {
                (name, tuple(str(term.value) for term in row))  # type: ignore[union-attr]
                for name, rows in model.items()
                for row in rows
            }
        return {key: facts for key, facts in found.items() if facts}


def folded(changes: Sequence[ChangeRow]) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
    """What each key holds after a feed, which deletes nothing that is not there."""
    found: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for key, _, op, predicate, arguments, _ in changes:
        own = found.setdefault(key, set())
        if op == "+":
            own.add((predicate, arguments))
        else:
            own.remove((predicate, arguments))
    return {key: facts for key, facts in found.items() if facts}
