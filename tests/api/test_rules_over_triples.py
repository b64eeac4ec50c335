"""Rules over triples come and go: relations of triples move, and state and delta are right all the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from ruled import check_delta, check_whole, digest, state

import tidalog
from tidalog.model.terms import IRI, RDF_TYPE, Term

EX = "http://example.org/"
PREFIX = f"@prefix ex: <{EX}> . "
POOL = {
    "symmetric": "ex:knows(?y, ?x) :- ex:knows(?x, ?y)",
    "class": "ex:Known(?x) :- ex:knows(?x, _)",
    "subclass": "ex:Person(?x) :- ex:Known(?x)",
    "used": "used(?p) :- triple(_, ?p, _)",
    "typed": "typed(?c) :- triple(?x, rdf:type, ?c)",
    "copy": "triple(?x, ?q, ?y) :- same(?p, ?q), triple(?x, ?p, ?y)",
    "made": "triple(?x, ?p, ?y) :- same(?p, _), ex:knows(?x, ?y)",
    "liked": "ex:likes(?x, ?y) :- ex:knows(?x, ?y), ~same(ex:likes, ?y)",
    "lonely": "lonely(?x) :- ex:Person(?x), ~ex:likes(?x, _)",
    "degree": "degree(?x, #count(?p, ?y)) :- triple(?x, ?p, ?y)",
    "plain": "same(?q, ?p) :- same(?p, ?q)",
}
BASES = {"none": "", "plain": "start(?x) :- same(?x, _) .", "always": "every(?p) :- triple(_, ?p, _) ."}


def term(name: str) -> Term:
    return IRI(RDF_TYPE) if name == "a" else IRI(EX + name)


def some_facts(chance: random.Random) -> dict[str, list[tuple[Term, ...]]]:
    people = [term(name) for name in ("ann", "bob", "cid")]
    pick = chance.choice
    return {
        "triple": [(pick(people), term(pick(("knows", "likes", "odd"))), pick(people))],
        "ex:knows": [(pick(people), pick(people))],
        "ex:Person": [(pick(people),)],
        "same": [(term(pick(("knows", "likes", "odd"))), term(pick(("likes", "odd", "ann"))))],
    }


def random_update(chance: random.Random, there: set[str]) -> tidalog.Update:
    update = tidalog.Update()
    for name, rows in some_facts(chance).items():
        if chance.random() < 0.5:
            (update.insert if chance.random() < 0.6 else update.delete)(name, rows)
    for name in chance.sample(sorted(POOL), chance.randrange(3)):
        if name in there:
            update.remove_rule(name)
        else:
            update.add_rule(f"{name}: {POOL[name]}")
    return update


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("base", BASES)
def test_the_state_is_that_from_scratch_and_the_delta_is_the_difference(base: str, seed: int) -> None:
    chance = random.Random(f"{base} {seed}")
    kb = tidalog.open()
    kb.load(PREFIX + BASES[base])
    for name, rows in some_facts(chance).items():
        kb.insert(name, rows)
    kb.apply(tidalog.Update())
    before = state(kb)
    for _ in range(14):
        update = random_update(chance, set(kb.rules))
        whole = digest(kb)
        try:
            delta = kb.apply(update)
        except tidalog.ProgramError as error:
            assert {found.number for found in error.diagnostics} <= {"T020", "T021"}
            assert digest(kb) == whole
            continue
        now = state(kb)
        check_delta(delta, before, now)
        check_whole(kb)
        fresh = tidalog.open()
        fresh.load(kb.program)
        for name in kb.predicates:
            fresh.insert(name, kb.facts(name, True).to_terms())
        assert state(fresh) == now
        before = now


LAST = """
r1: q(?x) :- <http://e/p>(?x, ?y) .
r2: t(?s) :- triple(?s, ?p, ?o) .
<http://e/p>(b, c) .
"""


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
def test_the_last_rule_over_triple_goes_and_facts_of_an_iri_stay(stored: bool, tmp_path: Path) -> None:
    kb: tidalog.KnowledgeBase = tidalog.open(tmp_path / "s") if stored else tidalog.open()
    kb.load(LAST)
    before = state(kb)
    delta = kb.rules.remove("r2")
    check_delta(delta, before, state(kb))
    if isinstance(kb, tidalog.StoredKnowledgeBase):
        kb.snapshot()
        kb.close()
        kb = tidalog.open(tmp_path / "s")
    assert kb.facts("q").to_rows() == [("b",)]
    assert kb.facts("<http://e/p>").to_rows() == [("b", "c")]
    before = state(kb)
    delta = kb.rules.add("r2: t(?s) :- triple(?s, ?p, ?o)")
    check_delta(delta, before, state(kb))
    assert kb.facts("<http://e/p>").to_rows() == [("b", "c")]
    kb.rules.remove("r2")
    assert kb.delete("<http://e/p>", [("b", "c")]) == 1
    kb.rules.add("r2: t(?s) :- triple(?s, ?p, ?o)")
    assert not state(kb).facts
    kb.close()


@pytest.mark.parametrize("predicate", ["http://e/p", "http://e/r"])
def test_the_delta_of_the_first_triple_has_the_facts_that_become_triples(predicate: str) -> None:
    kb = tidalog.open()
    kb.load("q(?x) :- <http://e/p>(?x, ?y) . <http://e/p>(b, c) . other(x) .")
    kb.materialise()
    before = state(kb)
    delta = kb.apply(tidalog.Update(insertions={"triple": [(IRI(EX + "s"), IRI(predicate), IRI(EX + "o"))]}))
    check_delta(delta, before, state(kb))
    assert delta["triple"].inserted_count == 2


MOVES = """
q(?x) :- <http://e/p>(?x, ?y) .
<http://e/r>(?x, ?y) :- <http://e/p>(?x, ?y) .
<http://e/C>(?x) :- <http://e/p>(?x, ?y) .
<http://e/p>(b, c) .
"""


def facts_of(kb: tidalog.KnowledgeBase, name: str) -> tuple[set[tuple[Term, ...]], set[tuple[Term, ...]]]:
    return set(kb.facts(name).to_terms()), set(kb.facts(name, explicit=True).to_terms())


@pytest.mark.parametrize("order", [("rule", "triple"), ("triple", "rule"), ("rule", "drop", "triple", "p")])
def test_a_subscriber_of_an_iri_gets_the_difference_of_its_facts(order: tuple[str, ...]) -> None:
    """Also when they become triples, or stop being triples."""
    kb = tidalog.open()
    kb.load(MOVES)
    kb.materialise()
    names = ["http://e/p", "http://e/r", "http://e/C", "q"]
    now = {name: facts_of(kb, name)[0] for name in names}

    def follow(name: str) -> None:
        def changed(change: tidalog.PredicateChange) -> None:
            inserted, deleted = set(change.inserted.to_terms()), set(change.deleted.to_terms())
            assert deleted <= now[name]
            assert not inserted & now[name]
            now[name] = now[name] - deleted | inserted

        kb.subscribe(name, changed)

    for name in names:
        follow(name)
    steps = {
        "rule": lambda: kb.rules.add("t: <http://e/p>(?s, ?s) :- triple(?s, ?p, ?o)"),
        "drop": lambda: kb.rules.remove("t"),
        "triple": lambda: kb.insert("triple", [(IRI(EX + "s"), IRI("http://e/p"), IRI(EX + "o"))]),
        "p": lambda: kb.delete("<http://e/p>", [("b", "c")]),
    }
    for step in order:
        steps[step]()
        assert now == {name: facts_of(kb, name)[0] for name in names}, step


def test_an_insertion_of_the_first_triple_counts_only_its_own_facts() -> None:
    kb = tidalog.open()
    kb.load(MOVES)
    kb.materialise()
    assert kb.insert("triple", [(IRI(EX + "s"), IRI("http://e/p"), IRI(EX + "o"))]) == 1
    assert kb.insert("triple", [(IRI(EX + "t"), IRI("http://e/p"), IRI(EX + "o"))]) == 1
    assert kb.delete("triple", [(IRI(EX + "t"), IRI("http://e/p"), IRI(EX + "o"))]) == 1
