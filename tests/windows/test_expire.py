"""The strategy `expire`: content, every expiry and the order of proofs, after every update."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from expiry_checks import check_expiries
from window_streams import SECOND, Checked

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.lang import parse
from tidalog.model.lifetimes import NEVER_TIME
from tidalog.model.window_times import expiry_of
from tidalog.reference.fact_sets import Fact

RULES = {
    "closure": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .",
    "linear": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
    "background": "near(?x, ?z) :- edge(?x, ?y), road(?y, ?z) . near(?x, ?z) :- near(?x, ?y), near(?y, ?z) .",
    "stream that is derived": "edge(?y, ?x) :- edge(?x, ?y), road(?x, ?y) . two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .",
    "above": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
    "ring(?x) :- path(?x, ?x) . meets(?x, ?y) :- ring(?x), path(?x, ?y), road(?y, _) ."
    "meets(?x, ?z) :- meets(?x, ?y), edge(?z, ?y), ring(?z) .",
    "three": "tri(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x) . tri(?y, ?z, ?x) :- tri(?x, ?y, ?z) ."
    "odd(?x) :- tri(?x, ?y, ?z), ?x != ?y . p(?x, ?s) :- edge(?x, ?y), ?s = ?x + ?y . p(?x, 1) :- edge(?x, 1) .",
    "mutual": "a(?x, ?y) :- edge(?x, ?y) . b(?x, ?z) :- a(?x, ?y), edge(?y, ?z) . a(?x, ?z) :- b(?x, ?y), a(?y, ?z) .",
    "negation": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
    "quiet(?x) :- road(?x, _), ~edge(?x, _) . after(?x, ?y) :- quiet(?x), path(?x, ?y) ."
    "after(?x, ?y) :- path(?x, ?y), road(?y, ?x) . after(?x, ?z) :- after(?x, ?y), after(?y, ?z) .",
    "plain facts": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) . path(1, 2). path(2, 3).",
}
WINDOWS = {
    "range": "@window edge :- range 10s .",
    "step": "@window edge :- range 10s step 3s .",
    "tumbling": "@window edge :- tumbling 7s .",
    "landmark": "@window edge :- landmark .",
    "count": "@window edge :- count 5 .",
    "two": "@window edge :- range 6s step 2s . @window long :- edge, range 20s ."
    "both(?x, ?y) :- long(?x, ?y), edge(?y, ?x) .",
    "named": "@window short :- edge, tumbling 4s . @window long :- edge, range 9s step 2s ."
    "both(?x, ?z) :- long(?x, ?y), short(?y, ?z) .",
    "streams": "@window edge :- range 8s . @window road :- tumbling 5s .",
}


EXTRA = {
    "back": "path(?y, ?x) :- edge(?x, ?y), road(?y, ?x) .",
    "more": "path(?x, ?z) :- edge(?x, ?y), path(?y, ?z) .",
    "seen": "seen(?x) :- path(?x, ?y), edge(?y, ?x) .",
    "loop": "edge(?x, ?x) :- seen(?x), road(?x, ?x) .",
    "not": "path(?x, ?x) :- road(?x, ?y), ~quiet(?y) .",
}


class Timed(Checked):
    """A knowledge base, and the oracles of its content and of its expiries."""

    checked = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.plain |= {(fact.predicate, fact.arguments) for fact in self.program.facts}

    def explicit(self) -> dict[Fact, int]:
        """When explicit facts of windows leave them."""
        found: dict[Fact, int] = {}
        own = {window.name for window in self.program.windows}
        for window in self.program.windows:
            last = {
                one.row: one
                for one in sorted(self.oracle.operations, key=lambda one: (one.time, one.number))
                if one.predicate == window.source
            }
            for row in self.oracle.content(window):
                time = NEVER_TIME if window.kind == "count" else expiry_of(window, last[row].time)
                for name in {window.name, *(() if window.source in own else (window.source,))}:
                    found[name, row] = max(time, found.get((name, row), time))
        return found

    def check(self, before: dict, delta: tidalog.Delta) -> None:  # type: ignore[type-arg]
        super().check(before, delta)
        assert self.oracle.now is not None
        self.checked += check_expiries(self.kb, self.program, self.explicit(), self.oracle.now)

    def edit(self, name: str, text: str, *, added: bool) -> None:
        """Adds a rule, or removes it."""
        before, named = self.facts(), f"{name}: {text}"
        rule = parse(named).rules[0]
        update = tidalog.Update()
        if added:
            self.program = replace(self.program, rules=(*self.program.rules, rule))
            update.add_rule(named)
        else:
            self.program = replace(self.program, rules=tuple(r for r in self.program.rules if r != rule))
            update.remove_rule(name)
        self.check(before, self.kb.apply(update))


def run(seed: int, steps: int, strategy: str = "expire") -> int:
    draw = random.Random(seed)
    rules, windows = draw.choice(sorted(RULES)), draw.choice(sorted(WINDOWS))
    late = draw.choice([0, 0, 3, 8])
    checked = Timed(f"{WINDOWS[windows]} {RULES[rules]}", late, strategy, "auto")
    nodes, time = draw.choice([3, 5, 8]), draw.choice([0, 1, 100])
    deletes = draw.choice([0, 1, 3])

    def facts(most: int) -> list[tuple[str, tuple[int, int]]]:
        count = draw.randrange(most + 1)
        return [
            (draw.choice(["edge", "edge", "road"]), (draw.randrange(nodes), draw.randrange(nodes)))
            for _ in range(count)
        ]

    extra = draw.sample(sorted(EXTRA), 2) if draw.random() < 0.5 else []
    there: set[str] = set()
    for _ in range(steps):
        if extra and checked.oracle.now is not None and draw.random() < 0.3:
            name = draw.choice(extra)
            checked.edit(name, EXTRA[name], added=name not in there)
            there ^= {name}
        time += draw.choice([0, 0, 1, 1, 2, 5, 30])
        at = time - draw.choice([0, 0, 0, 1, 2, 4, 9])
        checked.step(max(at, 0), facts(deletes), facts(4))
    return checked.checked


class TestRandomStreams:
    @pytest.mark.parametrize("seed", range(60))
    def test_content_expiries_and_proofs_are_right_after_every_update(self, seed: int) -> None:
        run(seed, 14)
