"""A maintained query emits what has changed, whatever changed it, at the cost of the change."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidalog
from tidalog.api import last_answers
from tidalog.api.answers import Answers

RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
MORE = {
    "back": "path(?y, ?x) :- edge(?x, ?y), road(?x, ?y) .",
    "missing": "path(?x, ?x) :- road(?x, ?y), ~edge(?x, ?y) .",
    "shift": "path(?x, ?s) :- road(?x, ?y), ?s = moved(?y) .",
}
Row = tuple[Any, ...]


class Heard:
    """What a query has emitted, as the rows that are there now."""

    def __init__(self, kb: Any, name: str, body: str, **options: Any) -> None:
        self.name, self.body, self.rows, self.wrong = name, body, set[Row](), 0
        self._query = kb.register(name, body, emit="changes", **options)
        self._query.subscribe(self.hear)

    def hear(self, inserted: tidalog.Result, deleted: tidalog.Result) -> None:
        came, went = set(inserted.to_rows()), set(deleted.to_rows())
        self.wrong += bool(came & self.rows) + bool(went - self.rows) + bool(came & went)
        self.rows = self.rows - went | came


class Changes:
    """Random changes of every kind."""

    def __init__(self, kb: Any, random_: random.Random) -> None:
        self.kb, self.random, self.added, self.number = kb, random_, set[str](), 0

    def rows(self, count: int) -> list[Row]:
        return [(self.random.randrange(9), self.random.randrange(9)) for _ in range(count)]

    def update(self) -> None:
        with self.kb.update() as update:
            update.delete(self.random.choice(("edge", "road")), self.rows(3))
            update.insert(self.random.choice(("edge", "road")), self.rows(2))

    def insertion(self) -> None:
        self.kb.insert("edge", self.rows(2))

    def deletion(self) -> None:
        self.kb.delete("edge", self.rows(6))

    def load(self) -> None:
        if getattr(self.kb, "path", None):  # a store keeps the program that it was created with
            self.insertion()
        else:
            self.kb.load(" ".join(f"road({x}, {y}) ." for x, y in self.rows(2)))

    def rule(self) -> None:
        name = self.random.choice(sorted(MORE))
        if name in self.added:
            self.kb.rules.remove(name)
            self.added.discard(name)
        else:
            self.kb.rules.add(f"{name}: {MORE[name]}")
            self.added.add(name)

    def function(self) -> None:
        self.number += 1
        by = self.number % 4
        self.kb.register("moved", lambda y: y + by)
        self.update()

    def block(self) -> None:
        with self.kb.as_one():
            self.insertion()
            self.deletion()

    def failing_block(self) -> None:
        with pytest.raises(ZeroDivisionError), self.kb.as_one():
            self.insertion()
            self.update()
            self.rule_that_goes()
            raise ZeroDivisionError

    def rule_that_goes(self) -> None:
        self.kb.rules.add("path(?x, ?x) :- edge(?x, _), road(?x, _) .")

    def query(self) -> None:
        name = f"other{self.number}"
        self.number += 1
        self.kb.register(name, "?x, ?y :- edge(?x, ?y), road(?y, _)", emit="changes")
        self.kb.queries[name].drop()

    def pause(self) -> None:
        query = self.kb.queries["paths"]
        query.pause()
        self.update()
        query.resume()
        self.update()

    def one(self) -> None:
        kinds: list[Callable[[], None]] = [
            *[self.update] * 6, self.insertion, self.deletion, self.load, self.rule, self.rule,
            self.function, self.block, self.failing_block, self.query, self.pause,
        ]  # fmt: skip
        self.random.choice(kinds)()


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_emitted_adds_up(
    seed: int, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_answers, "_MOST", 3)
    kb: Any = tidalog.open(tmp_path / "store") if stored else tidalog.open()
    kb.register("moved", lambda y: y)
    kb.load(RULES)
    kb.insert("edge", [(1, 2), (2, 3)])
    kb.insert("road", [(1, 2)])
    heard = [
        Heard(kb, "paths", "?x, ?y :- path(?x, ?y), ?x != ?y"),
        Heard(kb, "loops", "?x :- path(?x, ?x)"),
        Heard(kb, "any", "path(3, 3)"),
        Heard(kb, "computed", "?x, ?y :- path(?x, ?y)", materialise=False),
    ]
    changes = Changes(kb, random.Random(seed))
    kb.insert("edge", [(3, 4)])  # the first evaluation of each emits all answers
    for _ in range(60):
        changes.one()
        for query in heard:
            assert query.rows == set(kb.query(query.body).to_rows()), query.name
            assert query.rows == set(kb.queries[query.name].result().to_rows())
            assert not query.wrong
    kb.close()


@pytest.mark.parametrize("every", [None, "2s"])
def test_an_evaluation_reads_what_has_changed(every: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    kb: Any = tidalog.open()
    kb.load("@window edge :- range 4s . " + RULES)
    heard = Heard(kb, "q", "?x, ?y :- path(?x, ?y)", every=every)
    read: list[str] = []
    answers_of = Answers.of

    def noted(answers: Answers, query: Any) -> Any:
        read.append(query.name)
        return answers_of(answers, query)

    before = set[Row]()
    for time in range(12):
        with kb.update(time=time) as update:
            update.insert("edge", [(time % 5, time % 3)])
        if time == 2:
            monkeypatch.setattr(Answers, "of", noted)
        if every is None or time % 2 == 0:
            before = set(kb.query("?x, ?y :- path(?x, ?y)").to_rows())
        assert heard.rows == before
    assert not read and not heard.wrong
    assert set(kb.queries["q"].result().to_rows()) == before
