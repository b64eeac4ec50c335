"""Laws of updates: the state is that of a run from scratch, and a delta is the difference of two states."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

import tidalog
from tidalog.io.result import ReadResult
from tidalog.model.term_text import parse_any
from tidalog.model.terms import IRI, RDF_TYPE, Term
from tidalog.stream import ListSource

Row = tuple[Term, ...]
EX = "http://example.org/"


@dataclass(frozen=True)
class Snapshot:
    """Facts by predicate: explicit ones, and those that are derived alone."""

    explicit: dict[str, frozenset[Row]]
    implicit: dict[str, frozenset[Row]]


def snapshot(kb: tidalog.KnowledgeBase) -> Snapshot:
    return Snapshot(
        {name: frozenset(kb.facts(name, True).to_terms()) for name in kb.predicates},
        {name: frozenset(kb.facts(name, False).to_terms()) for name in kb.predicates},
    )


def term(name: str) -> Term:
    return IRI(RDF_TYPE) if name == "a" else IRI(EX + name)


PLAIN = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
FULL = (
    PLAIN
    + """
degree(?x, #count(?y)) :- edge(?x, ?y) .
node(?x) :- edge(?x, _) .
unreached(?x) :- node(?x), ~path(a, ?x) .
twice(?x, ?n) :- degree(?x, ?m), ?n = ?m * 2 .
"""
)
PREFIX = f"@prefix ex: <{EX}> . "
PROPERTIES = PREFIX + "ex:knows(?y, ?x) :- ex:knows(?x, ?y) . ex:Known(?x) :- ex:knows(?x, _) ."
COPIED_UP = PROPERTIES + "used(?p) :- triple(_, ?p, _) ."
COPIED_DOWN = PROPERTIES + "triple(?x, ?p, ?y) :- same(?p, ?q), ex:knows(?x, ?y) ."
PROGRAMS = {
    "plain": PLAIN,
    "full": FULL,
    "properties": PROPERTIES,
    "copied up": COPIED_UP,
    "copied down": COPIED_DOWN,
}


def facts_for(program: str) -> dict[str, list[Row]]:
    names = "abcde"
    if not PROGRAMS[program].startswith(PREFIX):
        pairs = [(IRI(x), IRI(y)) for x in names for y in names]
        return {"edge": pairs, "path": pairs[:6], "node": [(IRI(x),) for x in names]}
    subjects = [term(x) for x in names[1:]]
    triples = [(s, term(p), o) for s in subjects for p in ("knows", "likes") for o in subjects]
    triples += [(s, term("a"), term(c)) for s in subjects for c in ("Known", "Other")]
    return {
        "triple": triples,
        "ex:knows": [(s, o) for s in subjects for o in subjects],
        "same": [(term("knows"), term("a")), (term("likes"), term("a")), (term("odd"), term("a"))],
    }


def updates_for(program: str, seed: int, count: int) -> Iterator[tidalog.Update]:
    chance = random.Random(f"{program} {seed}")
    facts = facts_for(program)
    for label in range(1, count + 1):
        update = tidalog.Update(label=label)
        for predicate, rows in facts.items():
            few = chance.sample(rows, min(len(rows), chance.randrange(4)))
            (update.insert if chance.random() < 0.6 else update.delete)(predicate, few)
            if chance.random() < 0.3:
                update.delete(predicate, chance.sample(rows, 2))
        yield update


def opened(program: str, **options: str) -> tidalog.KnowledgeBase:
    kb = tidalog.open(strategy=options.get("strategy", "auto"))
    kb.load(PROGRAMS[program])
    for predicate, rows in facts_for(program).items():
        kb.insert(predicate, rows[: len(rows) // 3])
    return kb


def from_scratch(kb: tidalog.KnowledgeBase, program: str) -> Snapshot:
    fresh = tidalog.open()
    fresh.load(PROGRAMS[program])
    for name in kb.predicates:
        fresh.insert(name, kb.facts(name, True).to_terms())
    return snapshot(fresh)


def filled(facts: dict[str, frozenset[Row]]) -> dict[str, frozenset[Row]]:
    return {name: rows for name, rows in facts.items() if rows}


def check_delta(delta: tidalog.Delta, before: Snapshot, now: Snapshot) -> None:
    names = {*before.explicit, *now.explicit}
    nothing: frozenset[Row] = frozenset()
    for name in names:
        old_explicit, old_implicit = before.explicit.get(name, nothing), before.implicit.get(name, nothing)
        explicit, implicit = now.explicit.get(name, nothing), now.implicit.get(name, nothing)
        change = delta[name]
        for result, wanted in (
            (change.inserted, (explicit | implicit) - old_explicit - old_implicit),
            (change.inserted_explicit, explicit - old_explicit - old_implicit),
            (change.inserted_implicit, implicit - old_explicit - old_implicit),
            (change.deleted, (old_explicit | old_implicit) - explicit - implicit),
            (change.deleted_explicit, old_explicit - explicit - implicit),
            (change.deleted_implicit, old_implicit - explicit - implicit),
            (change.became_explicit, explicit & old_implicit),
            (change.became_implicit, implicit & old_explicit),
        ):
            assert set(result.to_terms()) == wanted, name
            assert len(result) == len(wanted), name
        assert (name in delta) == bool(change)
    assert set(delta) == {name for name in names if delta[name]}
    assert delta.explicit_facts == sum(map(len, now.explicit.values()))
    assert delta.implicit_facts == sum(map(len, now.implicit.values()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_delta_is_the_difference_and_the_state_is_that_from_scratch(program: str, seed: int) -> None:
    kb = opened(program)
    before = snapshot(kb)
    for update in updates_for(program, seed, 12):
        delta = kb.apply(update)
        now = snapshot(kb)
        check_delta(delta, before, now)
        scratch = from_scratch(kb, program)
        assert filled(now.explicit) == filled(scratch.explicit)
        assert filled(now.implicit) == filled(scratch.implicit)
        before = now


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("strategy", ["ranked", "counting", "bf", "fbf", "dred", "recompute"])
def test_every_strategy_and_look_ahead_gives_the_same(program: str, strategy: str) -> None:
    kb, usual = opened(program, strategy=strategy), opened(program)
    updates = list(updates_for(program, 7, 12))
    deltas = kb.stream(updates, look_ahead=len(strategy) % 4)
    for one, other in zip(deltas, usual.stream(updates, look_ahead=0), strict=True):
        assert set(one) == set(other)
        assert snapshot(kb) == snapshot(usual)


@pytest.mark.parametrize("program", ["plain", "copied down"])
def test_strategies_marks_and_look_ahead_may_change_from_update_to_update(program: str) -> None:
    kb, usual = opened(program), opened(program)
    updates = list(updates_for(program, 11, 60))
    source, chance = ListSource(updates), random.Random(program)
    for update in updates:
        strategy = chance.choice(["auto", "ranked", "counting", "bf", "fbf", "dred", "recompute"])
        marking = chance.choice(["none", "paper", "linked", "complete"])
        stream = kb.stream(source, strategy=strategy, marking=marking, look_ahead=chance.randrange(4))
        next(stream)
        usual.apply(update)
        assert snapshot(kb) == snapshot(usual)


@pytest.mark.parametrize("program", PROGRAMS)
def test_updates_that_wait_can_be_applied_as_one(program: str) -> None:
    one_by_one, at_once = opened(program), opened(program)
    updates = list(updates_for(program, 3, 15))
    source = ListSource(updates)
    before = snapshot(at_once)
    deltas = list(at_once.stream(source, latest_only=True))
    assert [(delta.updates, delta.label) for delta in deltas] == [(15, 15)]
    assert len(list(one_by_one.stream(updates))) == 15
    now, wanted = snapshot(at_once), snapshot(one_by_one)
    assert filled(now.explicit) == filled(wanted.explicit)
    assert filled(now.implicit) == filled(wanted.implicit)
    check_delta(deltas[0], before, now)


@pytest.mark.parametrize("program", ["plain", "full", "copied up"])
def test_inserting_and_deleting_piece_by_piece_is_doing_it_at_once(program: str) -> None:
    """Whether it is maintained, or only inserted because nothing was derived yet."""
    lazy, eager = opened(program), opened(program)
    for update in updates_for(program, 5, 8):
        for predicate, table in update.deletions:
            rows = _rows(table)
            eager.materialise()
            assert lazy.delete(predicate, rows) == eager.delete(predicate, rows)
        for predicate, table in update.insertions:
            rows = _rows(table)
            eager.materialise()
            assert lazy.insert(predicate, rows) == eager.insert(predicate, rows)
    now, wanted = snapshot(lazy), snapshot(eager)
    assert now == wanted
    assert filled(now.implicit) == filled(from_scratch(lazy, program).implicit)


def _rows(table: ReadResult) -> list[Row]:
    columns = [[parse_any(text) for text in column.array.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))
