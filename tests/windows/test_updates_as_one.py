"""Updates that are applied as one do what they do one after the other, and move time alike."""

from __future__ import annotations

import random

import pytest

import tidalog
from tidalog import KnowledgeBase, Update

WINDOWS = (
    "@window edge :- range 10s .",
    "@window edge :- range 10s step 3s .",
    "@window edge :- tumbling 7s .",
    "@window edge :- count 5 .",
    "@window near :- edge, range 4s .\n@window far :- edge, range 12s .",
    "@window near :- edge, count 3 .\n@window far :- edge, range 12s .",
)
RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
Row = tuple[int, int]


def opened(text: str, late: int) -> KnowledgeBase:
    kb = tidalog.open(late=f"{late}s")
    kb.load(text)
    assert isinstance(kb, KnowledgeBase)
    return kb


def state(kb: KnowledgeBase, text: str) -> object:
    names = [name for name in ("edge", "near", "far", "path") if f"{name}(" in text or f"{name} :-" in text]
    names.append("other")
    return {name: sorted(kb.facts(name).to_rows()) for name in names}


def updates(draw: random.Random, start: int, late: int, count: int) -> list[Update]:
    """Mostly insertions in order of time, of few rows, so that many come again."""
    found, time = list[Update](), start
    for _ in range(count):
        time += draw.choice([0, 0, 1, 1, 2, 6])
        at = max(0, time - draw.choice([0, 0, 0, late]))
        rows = [(draw.randrange(4), draw.randrange(4)) for _ in range(draw.randrange(4))]
        gone = [(draw.randrange(4), draw.randrange(4))] if draw.random() < 0.15 else []
        other = [(draw.randrange(9),)] if draw.random() < 0.3 else []
        found.append(Update(time=at, insertions={"edge": rows, "other": other}, deletions={"edge": gone}))
    return found


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("late", [0, 3])
@pytest.mark.parametrize("seed", range(6))
def test_all_that_wait_are_applied_as_one_by_one(windows: str, late: int, seed: int) -> None:
    text, draw = f"{windows}\n{RULES}other(0) .\n", random.Random(seed)
    one_by_one, as_one = opened(text, late), opened(text, late)
    for _ in range(4):
        start = 0 if one_by_one.now is None else int(one_by_one.now.timestamp())
        waiting = updates(draw, start, late, draw.choice([1, 3, 10, 25]))
        for _ in one_by_one.stream(waiting):
            pass
        for _ in as_one.stream(waiting, latest_only=True):
            pass
        assert state(as_one, text) == state(one_by_one, text)
        assert as_one.now == one_by_one.now
        for kb in (one_by_one, as_one):
            kb.advance(start + 15)
        assert state(as_one, text) == state(one_by_one, text)
