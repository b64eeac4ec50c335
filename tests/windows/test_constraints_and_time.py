"""Constraints over windows: changes are refused, time is not."""

from __future__ import annotations

import logging
import random
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.lang import parse
from tidalog.model.errors import RunError
from tidalog.model.program import Fact
from tidalog.model.terms import Integer
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import WindowOracle

SECOND = 1_000_000
RULES = """
@window item :- range 6s . @window order :- range 40s step 2s . @window last :- item, count 2 .
n(#count(?x)) :- item(?x) . path(?x, ?y) :- link(?x, ?y) . path(?x, ?z) :- path(?x, ?y), link(?y, ?z) .
"""
CONSTRAINTS = {
    "stocked": "order(?x), ~item(_)",
    "own": "order(?x), ~item(?x), ?x > 2",
    "enough": "n(?n), ?n < 2, link(2, _)",
    "acyclic": "path(?x, ?x), ?x > 2",
}
PROGRAM = RULES + " ".join(f"{name}: :- {body} ." for name, body in CONSTRAINTS.items())
ORACLE = replace(
    parse(RULES + " ".join(f"{name}() :- {body} ." for name, body in CONSTRAINTS.items())), windows=()
)
SOURCES = ("item", "order")
Rows = list[tuple[str, tuple[int, ...]]]


class Oracle:
    """What is there, and which changes are refused."""

    def __init__(self) -> None:
        self.windows = WindowOracle(parse(PROGRAM).windows, 0)
        self.links: set[tuple[int, ...]] = set()
        self.violated: set[str] = set()

    def content(self, windows: WindowOracle, links: set[tuple[int, ...]]) -> dict[str, set[tuple[int, ...]]]:
        rows = [(name, row) for name, content in windows.explicit().items() for row in content]
        rows += [("link", tuple(map(Integer, row))) for row in links]
        model = evaluate(replace(ORACLE, facts=tuple(Fact(name, row) for name, row in rows)))
        return {name: {tuple(int(t.value) for t in row) for row in found} for name, found in model.items()}  # type: ignore[union-attr]

    def apply(self, time: int, deletions: Rows, insertions: Rows) -> bool:
        alone, after, links = deepcopy(self.windows), deepcopy(self.windows), set(self.links)
        alone.update(time * SECOND, [], [])
        sides = [
            [(name, tuple(map(Integer, row))) for name, row in side if name in SOURCES]
            for side in (deletions, insertions)
        ]
        after.update(time * SECOND, *sides)
        links -= {row for name, row in deletions if name == "link"}
        links |= {row for name, row in insertions if name == "link"}
        by_time, found = (self.names(self.content(w, ls)) for w, ls in ((alone, self.links), (after, links)))
        if not (found <= self.violated or found <= by_time):
            return False
        self.windows, self.links, self.violated = after, links, found
        return True

    @staticmethod
    def names(content: dict[str, set[tuple[int, ...]]]) -> set[str]:
        return {name for name in CONSTRAINTS if content.get(name)}

    def facts(self) -> dict[str, set[tuple[int, ...]]]:
        found = self.content(self.windows, self.links)
        return {name: rows for name, rows in found.items() if rows and name not in CONSTRAINTS}


def facts(kb: KnowledgeBase) -> dict[str, set[tuple[object, ...]]]:
    found = {name: set(kb.facts(name).to_rows()) for name in kb.predicates}
    return {name: rows for name, rows in found.items() if rows}


@pytest.mark.parametrize("strategy", ["auto", "expire", "ranked", "fbf", "dred", "recompute"])
@pytest.mark.parametrize("seed", range(4))
def test_an_update_is_refused_unless_time_alone_violates_what_it_does(
    tmp_path: Path, strategy: str, seed: int
) -> None:
    draw, oracle, time, refused, overdue = random.Random(f"{strategy} {seed}"), Oracle(), 10, 0, 0
    kb: KnowledgeBase = tidalog.open(tmp_path / "s.tidalog", strategy=strategy, fsync="off")
    kb.load(PROGRAM)

    def rows(most: int) -> Rows:
        names = [draw.choice(["item", "item", "order", "link"]) for _ in range(draw.randrange(most + 1))]
        return [(n, tuple(draw.randrange(4) for _ in range(1 + (n == "link")))) for n in names]

    for step in range(40):
        at = time + draw.choice([0, 0, 1, 1, 2, 5, 9])
        deletions, insertions = rows(2), rows(3)
        update = tidalog.Update(time=at)
        for change, side in ((update.delete, deletions), (update.insert, insertions)):
            for name, row in side:
                change(name, [row])
        if oracle.apply(at, deletions, insertions):
            delta, time = kb.apply(update), at
            assert set(delta.violated) == oracle.violated
            overdue += bool(oracle.violated)
        else:
            refused += 1
            with pytest.raises(RunError, match="T055"):
                kb.apply(update)
        assert facts(kb) == oracle.facts()
        if draw.random() < 0.15:
            if draw.random() < 0.5:
                kb.snapshot()  # type: ignore[attr-defined]
            kb.close()
            kb = tidalog.open(tmp_path / "s.tidalog", strategy=strategy, fsync="off")
            assert facts(kb) == oracle.facts(), step
    assert refused and overdue
    kb.close()


STOCKED = "@window item :- range 10s . stocked: :- order(?x), ~item(?x) . "


def stocked() -> KnowledgeBase:
    kb = tidalog.open()
    kb.load(STOCKED)
    with kb.update(time=1) as u:
        u.insert("item", [("tea",)]).insert("order", [("tea",)])
    return kb


def test_what_time_has_violated_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    kb = stocked()
    with caplog.at_level(logging.WARNING, "tidalog"):
        assert kb.advance(20).violated == ("stocked",)
        assert kb.advance(21).violated == ("stocked",)
    (record,) = caplog.records
    assert "W260" in record.getMessage() and "?x = tea" in record.getMessage()


def test_a_constraint_refuses_again_once_it_holds() -> None:
    kb = stocked()
    kb.advance(20)
    with kb.update(time=21) as u:
        u.insert("order", [("milk",)])
    with kb.update(time=22) as u:
        u.delete("order", [("tea",), ("milk",)])
    assert not u.delta.violated
    with pytest.raises(RunError, match="T055"), kb.update(time=23) as u:
        u.insert("order", [("milk",)])


def test_another_constraint_of_its_name_is_not_violated_yet() -> None:
    kb = stocked()
    kb.advance(20)
    with pytest.raises(RunError, match="T055"):
        kb.rules.replace("stocked", "stocked: :- order(?x), ~shelf(?x)")
    kb.rules.add("far(?x) :- order(?x)")
    assert facts(kb) == {"order": {("tea",)}, "far": {("tea",)}}


@pytest.mark.parametrize("rows", [1, 2000])
def test_a_bulk_insertion_and_a_block_of_changes_pass_the_moment_too(rows: int) -> None:
    kb = tidalog.open()
    kb.load(
        "@declare seen(x: int, at: dateTime) . @window seen :- range 10s, time at ."
        "@window item :- range 10s . stocked: :- order(?x), ~item(?x) ."
    )
    with kb.update(time=1) as u:
        u.insert("item", [("tea",)]).insert("order", [("tea",)])
    times = [(number, "1970-01-01T00:00:30Z") for number in range(rows)]
    kb.insert("seen", times)
    assert not kb.facts("item").to_rows() and len(kb.facts("seen")) == rows
    with kb.as_one():
        kb.insert("order", [("milk",)])
        kb.insert("seen", [(0, "1970-01-01T00:00:31Z")])
    assert len(kb.facts("order")) == 2
