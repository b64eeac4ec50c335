"""Thousands of small updates on one engine: it stays right, and what deletions leave is closed up."""

from __future__ import annotations

import random

import pytest
from maintained import PLAIN_CONFIGURATIONS, Fact, Maintained, Oracle, Update, steps_run

from tidalog.engine import facts as fact_store
from tidalog.engine.index_kernels import RECORD_COUNT
from tidalog.lang import parse
from tidalog.maintain.choose import Options
from tidalog.model.terms import Integer

RULES = """
    path(?x, ?y) :- edge(?x, ?y).
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
    round(?x) :- path(?x, ?x).
    ahead(?x, ?m) :- round(?x), ?m = ?x + 1.
    alone(?x) :- node(?x), ~round(?x).
    degree(?x, #count(?y)) :- edge(?x, ?y).
"""
NODES = 7
STEPS = 350
LOOK_EVERY = 25


def next_update(chance: random.Random, explicit: set[Fact]) -> Update:
    """Up to two edges go and up to two come, so that there are about as many as nodes."""
    edges = sorted((f for f in explicit if f[0] == "edge"), key=repr)
    gone = chance.sample(edges, min(len(edges), chance.randrange(1, 3))) if len(edges) > NODES - 2 else []
    new = [
        ("edge", (Integer(chance.randrange(NODES)), Integer(chance.randrange(NODES))))
        for _ in range(chance.randrange(3))
    ]
    if chance.randrange(5) == 0:
        new.append(("path", (Integer(chance.randrange(NODES)), Integer(0))))
        gone += sorted((f for f in explicit if f[0] == "path"), key=repr)[:1]
    return tuple(gone), tuple(new)


@pytest.mark.parametrize("marking", ["none", "auto", "linked"])
@pytest.mark.parametrize("options", PLAIN_CONFIGURATIONS, ids=lambda o: f"{o.strategy}, {o.order}")
def test_it_stays_right_and_bounded(options: Options, marking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_store, "UNUSED", 60)
    facts = "".join(f"node({n}). edge({n}, {(n + 1) % NODES}). " for n in range(NODES))
    program = parse(RULES + facts)
    options = Options(options.strategy, marking, options.order, 1)
    kept, oracle, chance = Maintained(program, options), Oracle(program), random.Random(7)
    explicit = oracle.state.explicit
    planned = [next_update(chance, explicit)]
    closed_up, ids, most_bytes = 0, 0, []
    for step in range(STEPS):
        update = planned.pop()
        following = explicit - set(update[0]) | set(update[1])
        planned.append(next_update(chance, following))
        before = len(kept.engine.store)
        kept.apply(update, planned)
        steps_run[options.strategy] += 1
        explicit = following
        closed_up += len(kept.engine.store) < before
        ids = max(ids, len(kept.engine.store))
        most_bytes.append(kept.engine.nbytes)
        if step % LOOK_EVERY == LOOK_EVERY - 1:
            kept.check_state(oracle.with_explicit(explicit))
    assert closed_up > 2
    live = kept.engine.store.live
    assert ids < 3 * live + 3 * 60 + 200
    assert max(most_bytes[STEPS // 2 :]) <= 2 * max(most_bytes[: STEPS // 2])
    records = kept.engine.indexes.meta[: len(kept.engine.indexes), RECORD_COUNT]
    assert int(records.max()) <= 4 * live
