"""Expiries and the order of proofs that an engine keeps, held against their definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.engine.expiries import ExpiryStore
from tidalog.engine.expiry_kernels import GIVEN, RANK
from tidalog.model.lifetimes import NEVER_TIME
from tidalog.model.program import Program
from tidalog.reference.expiries import expiries, is_proved
from tidalog.reference.fact_sets import Fact


def check_expiries(kb: KnowledgeBase, program: Program, explicit: Mapping[Fact, int], now: int) -> int:
    """`explicit`: when explicit facts of windows leave them.  How many facts were checked."""
    database = kb._open()
    engine = database.engine
    kept: ExpiryStore = engine.expiries
    if not kept.timed:
        return 0
    timed = frozenset(engine.names[number] for number in kept.timed)
    listed = frozenset(engine.names[number] for number in kept.listed)
    rules = tuple(r for r in program.rules if any(atom.predicate in timed for atom in r.heads))
    positive = replace(program, rules=rules, windows=(), facts=())
    given: dict[Fact, int] = {}
    order: dict[Fact, tuple[int, int]] = {}
    for number, name in enumerate(engine.names):
        if name.startswith(("#", "?")):
            continue
        ids = engine.store.ids(number)
        columns = [engine.store.column(ids, c).tolist() for c in range(engine.arities[number])]
        facts = [(name, tuple(map(engine.dictionary.term, row))) for row in zip(*columns, strict=True)]
        times = kept.times_of(ids).tolist() if number in kept.timed else [NEVER_TIME] * len(ids)
        life = kept.arrays.life
        for fact, fact_id, time in zip(facts, ids.tolist(), times, strict=True):
            order[fact] = time, int(life[fact_id, RANK]) if name in listed else 0
            is_explicit = bool(engine.store.arrays.status[fact_id] & np.uint16(1))
            if name not in timed or is_explicit:
                given[fact] = explicit.get(fact, NEVER_TIME)
            if name in listed:
                slot = int(life[fact_id, GIVEN]) - 1
                kept_time = int(kept.arrays.when[slot]) if slot >= 0 else None
                assert kept_time == (given[fact] if is_explicit else None), fact
    expected = expiries(positive, given, now)
    assert {fact: time for fact, (time, _) in order.items() if fact[0] in timed} == {
        fact: time for fact, time in expected.items() if fact[0] in timed
    }
    checked = [fact for fact in order if fact[0] in listed]
    for fact in checked:
        component = next(c for c in database.maintained().maintainer.components if fact[0] in c.predicates)
        lower = frozenset(name for name, _ in order) - component.predicates
        assert is_proved(positive, fact, given, order, lower), fact
    return len(checked)
