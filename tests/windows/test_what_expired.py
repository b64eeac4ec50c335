"""A derived fact counts as expired if nothing but time can have ended it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import tidalog
from tidalog import Delta, KnowledgeBase

PROGRAM = """
@window edge :- range 10s .
@window other :- range 100s .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
seen(?x) :- other(?x) .
both(?x) :- path(?x, _), plain(?x) .
left(?x) :- path(?x, _), ~plain(?x) .
r9: unused(?x) :- plain(?x) .
plain(2). plain(7).
"""
Fill = Callable[[tidalog.Update], object]
NOTHING: Fill = lambda u: None  # noqa: E731


def opened(strategy: str = "auto") -> KnowledgeBase:
    kb = tidalog.open(strategy=strategy)
    kb.load(PROGRAM)
    with kb.update(time=1) as u:
        u.insert("edge", [(1, 2), (2, 3)]).insert("other", [(5,)])
    kb.materialise()
    return kb


def expired(delta: Delta, *names: str) -> dict[str, tuple[int, int]]:
    """By predicate: how many facts expired, and how many were deleted in all."""
    return {name: (delta[name].expired_count, delta[name].deleted_count) for name in names}


@pytest.mark.parametrize("strategy", ["auto", "ranked", "recompute", "expire"])
@pytest.mark.parametrize(
    "fill",
    [
        pytest.param(NOTHING, id="time alone"),
        pytest.param(lambda u: u.insert("edge", [(8, 9)]), id="an insertion"),
        pytest.param(lambda u: u.delete("plain", [(777,)]), id="a fact that is not there"),
        pytest.param(lambda u: u.delete("edge", [(777, 1)]), id="a fact of the stream that is not there"),
        pytest.param(lambda u: u.delete("other", [(5,)]), id="another stream"),
        pytest.param(lambda u: u.remove_rule("r9"), id="another rule"),
        pytest.param(lambda u: u.add_rule("far(?x) :- path(?x, _)"), id="a new rule"),
    ],
)
def test_what_cannot_reach_a_predicate_does_not_matter(strategy: str, fill: Fill) -> None:
    kb = opened(strategy)
    with kb.update(time=15) as u:
        fill(u)
    assert u.delta is not None
    assert expired(u.delta, "edge", "path", "both") == {"edge": (2, 2), "path": (3, 3), "both": (1, 1)}
    assert u.delta["seen"].expired_count == 0
    assert expired(u.delta, "left") == {"left": (0, 1)}, "a rule with negation"


def test_what_follows_from_a_deleted_fact_did_not_expire() -> None:
    kb = opened()
    with kb.update(time=15) as u:
        u.delete("plain", [(2,)])
    assert u.delta is not None
    assert expired(u.delta, "path", "both") == {"path": (3, 3), "both": (0, 1)}


def test_what_a_removed_rule_derived_did_not_expire() -> None:
    kb = opened()
    kb.rules.add("r10: near(?x) :- path(?x, _), ?x < 9")
    kb.rules.add("nearer(?x) :- near(?x)")
    with kb.update(time=15) as u:
        u.remove_rule("r10")
    assert u.delta is not None
    assert expired(u.delta, "path", "near", "nearer") == {"path": (3, 3), "near": (0, 2), "nearer": (0, 2)}


def test_expiries_tell_what_expired_beside_deletions() -> None:
    """Under `expire` a fact expired exactly if the time had come that it had before."""
    draw, now = random.Random(3), 0
    kb = tidalog.open(strategy="expire")
    kb.load(PROGRAM.replace("left(?x) :- path(?x, _), ~plain(?x) .", ""))
    seen = 0
    for _ in range(60):
        before = {row[:-1]: row[-1] for row in kb.facts("path", expiry=True).to_rows()}
        edges = kb.facts("edge").to_rows()
        now += draw.choice((1, 2, 4))
        with kb.update(time=now) as u:
            u.insert("edge", [(draw.randrange(6), draw.randrange(6)) for _ in range(2)])
            if edges and draw.random() < 0.6:
                u.delete("edge", [draw.choice(edges)])
        assert u.delta is not None and kb.now is not None
        change = u.delta["path"]
        gone = set(change.deleted.to_rows())
        assert set(change.expired.to_rows()) == {row for row in gone if before[row] <= kb.now}
        seen += len(gone) > change.expired_count > 0
    assert seen > 3
