"""Random updates over windows, and a knowledge base held against the oracle after each."""

from __future__ import annotations

import random
from dataclasses import replace

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.lang import parse
from tidalog.model.errors import UsageError
from tidalog.model.program import Fact
from tidalog.model.terms import Integer, Term
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import WindowOracle

SECOND = 1_000_000
Rows = list[tuple[str, tuple[int, int]]]
"""Predicates and arguments."""
RULES = {
    "closure": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
    "background": "near(?x, ?z) :- edge(?x, ?y), road(?y, ?z) . near(?x, ?z) :- near(?x, ?y), near(?y, ?z) .",
    "negation": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
    "quiet(?x) :- road(?x, _), ~edge(?x, _) . alone(?x) :- edge(?x, _), ~path(_, ?x) .",
    "aggregates": "degree(?x, #count(?y)) :- edge(?x, ?y) . most(#max(?n)) :- degree(_, ?n) ."
    "sum(?x, #sum(?y)) :- edge(?x, ?y) .",
    "derived too": "edge(?y, ?x) :- edge(?x, ?y), road(?x, ?y) .",
}
WINDOWS = {
    "range": "@window edge :- range 10s .",
    "step": "@window edge :- range 10s step 3s .",
    "tumbling": "@window edge :- tumbling 7s .",
    "landmark": "@window edge :- landmark .",
    "count": "@window edge :- count 5 .",
    "two": "@window edge :- range 6s step 2s . @window long :- edge, range 20s ."
    "both(?x, ?y) :- long(?x, ?y), ~edge(?x, ?y) .",
    "named": "@window short :- edge, count 4 . @window long :- edge, range 9s step 2s ."
    "both(?x, ?z) :- long(?x, ?y), short(?y, ?z) .",
    "streams": "@window edge :- range 8s . @window road :- tumbling 5s .",
}


class Checked:
    """A knowledge base and the oracle beside it."""

    def __init__(self, text: str, late: int, strategy: str, marking: str) -> None:
        self.program = parse(text)
        self.kb: KnowledgeBase = tidalog.open(late=late, strategy=strategy, marking=marking)
        self.kb.load(text)
        self.oracle = WindowOracle(self.program.windows, late * SECOND)
        self.sources = {window.source for window in self.program.windows}
        self.plain: set[tuple[str, tuple[Term, ...]]] = set()

    def step(
        self,
        time: int,
        deletions: list[tuple[str, tuple[int, int]]],
        insertions: list[tuple[str, tuple[int, int]]],
    ) -> None:
        streamed = [
            [(p, (Integer(x), Integer(y))) for p, (x, y) in part if p in self.sources]
            for part in (deletions, insertions)
        ]
        taken = self.oracle.update(time * SECOND, streamed[0], streamed[1])
        before = self.facts()
        update = tidalog.Update(time=time)
        for part, take in ((deletions, update.delete), (insertions, update.insert)):
            for predicate, row in part:
                take(predicate, [row])
        if not taken:
            try:
                self.kb.apply(update)
            except UsageError as error:
                assert error.diagnostics[0].number == "T175"
                assert self.facts() == before
                return
            raise AssertionError("the update came too late")
        for part, inserts in ((deletions, False), (insertions, True)):
            for predicate, (x, y) in part:
                if predicate not in self.sources:
                    fact = predicate, (Integer(x), Integer(y))
                    (self.plain.add if inserts else self.plain.discard)(fact)
        delta = self.kb.apply(update)
        self.check(before, delta)

    def facts(self) -> dict[str, set[tuple[Term, ...]]]:
        return {name: set(self.kb.facts(name).to_terms()) for name in self.kb.predicates}

    def expected(self) -> dict[str, set[tuple[Term, ...]]]:
        rows = [(name, row) for name, content in self.oracle.explicit().items() for row in content]
        facts = tuple(Fact(name, row) for name, row in [*rows, *self.plain])
        model = evaluate(replace(self.program, facts=facts, windows=()))
        return {name: set(rows) for name, rows in model.items() if rows}

    def check(self, before: dict[str, set[tuple[Term, ...]]], delta: tidalog.Delta) -> None:
        after = self.facts()
        assert {name: rows for name, rows in after.items() if rows} == self.expected()
        for name, rows in after.items():
            old = before.get(name, set())
            change = delta[name]
            assert set(change.inserted.to_terms()) == rows - old
            assert set(change.deleted.to_terms()) == old - rows
            assert set(change.expired.to_terms()) <= old - rows


def run(seed: int, steps: int) -> None:
    """Random updates of a random program."""
    draw = random.Random(seed)
    rules, windows = draw.choice(sorted(RULES)), draw.choice(sorted(WINDOWS))
    strategy = draw.choice(["auto", "auto", "ranked", "bf", "fbf", "dred", "counting", "recompute"])
    late, marking = draw.choice([0, 0, 3, 8]), draw.choice(["auto", "none"])
    checked = Checked(f"{WINDOWS[windows]} {RULES[rules]}", late, strategy, marking)
    nodes, time = draw.choice([3, 5, 8]), draw.choice([0, 1, 100])

    def facts(most: int) -> Rows:
        count = draw.randrange(most + 1)
        return [
            (draw.choice(["edge", "edge", "road"]), (draw.randrange(nodes), draw.randrange(nodes)))
            for _ in range(count)
        ]

    for _ in range(steps):
        time += draw.choice([0, 0, 1, 1, 2, 5, 30])
        at = time - draw.choice([0, 0, 0, 1, 2, 4, 9])
        checked.step(max(at, 0), facts(2), facts(4))
