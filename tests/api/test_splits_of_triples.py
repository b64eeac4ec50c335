"""A property or class that a rule names for the first time is split off, and a rule that goes leaves its
relation: whatever the edits, all is as in a knowledge base that starts from the same rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruled import check_delta, check_whole, digest, state

import tidalog
from tidalog.model.terms import IRI, RDF_TYPE, Term
from tidalog.rdf.layout import Layout

EX = "http://example.org/"
PREFIX = f"@prefix ex: <{EX}> . "
AXIOMS = {
    "sub": "ex:{0}(?x) :- ex:{1}(?x)",
    "property": "ex:{0}(?x, ?y) :- ex:{1}(?x, ?y)",
    "inverse": "ex:{0}(?y, ?x) :- ex:{1}(?x, ?y)",
    "domain": "ex:{0}(?x) :- ex:{1}(?x, _)",
    "chain": "ex:{0}(?x, ?z) :- ex:{1}(?x, ?y), ex:{1}(?y, ?z)",
    "some": "ex:{0}(?x) :- ex:{1}(?x, ?y), ex:{0}(?y)",
    "without": "ex:{0}(?x) :- ex:{1}(?x, _), ~ex:{0}2(?x)",
}
CLASSES, PROPERTIES = ("A", "B", "C", "D"), ("p", "q", "r", "s")
OTHERS = {
    "reads": "used(?p) :- triple(_, ?p, _)",
    "types": "typed(?c) :- triple(_, rdf:type, ?c)",
    "derives": "triple(?x, ?p, ?y) :- copied(?x, ?p, ?y)",
    "gives types": "triple(?x, rdf:type, ?c) :- given(?x, ?c)",
    "both": "triple(?y, ?p, ?x) :- symmetric(?p), triple(?x, ?p, ?y)",
    "negates": "idle(?x) :- name(?x), ~triple(?x, _, _)",
    "counts": "many(?p, #count(?x, ?y)) :- triple(?x, ?p, ?y)",
    "plain": "name(?x) :- copied(?x, _, _)",
}
PEOPLE = [IRI(EX + name) for name in "abcd"]


def iri(name: str) -> Term:
    return IRI(RDF_TYPE) if name == "a" else IRI(EX + name)


def some_axiom(chance: random.Random) -> str:
    kind = chance.choice(list(AXIOMS))
    pools = {
        "sub": (CLASSES, CLASSES),
        "property": (PROPERTIES, PROPERTIES),
        "inverse": (PROPERTIES, PROPERTIES),
        "chain": (PROPERTIES, PROPERTIES),
    }
    head, body = pools.get(kind, (CLASSES, PROPERTIES))
    return AXIOMS[kind].format(chance.choice(head), chance.choice(body))


def some_fact(chance: random.Random) -> tuple[str, tuple[Term, ...]]:
    person, other = chance.choice(PEOPLE), chance.choice(PEOPLE)
    property_, class_ = iri(chance.choice(PROPERTIES)), iri(chance.choice(CLASSES))
    return chance.choice(
        [
            ("triple", (person, property_, other)),
            ("triple", (person, property_, other)),
            ("triple", (person, iri("a"), class_)),
            (f"ex:{chance.choice(CLASSES)}", (person,)),
            (f"ex:{chance.choice(PROPERTIES)}", (person, other)),
            ("copied", (person, property_, other)),
            ("given", (person, class_)),
            ("symmetric", (property_,)),
            ("name", (person,)),
        ]
    )


def steps(chance: random.Random, kb: tidalog.KnowledgeBase, count: int) -> Iterator[tidalog.Update]:
    """Updates that change up to two rules and some facts, each of them perhaps none."""
    for number in range(count):
        update = tidalog.Update()
        for _ in range(chance.choice([0, 0, 1, 3])):
            name, row = some_fact(chance)
            (update.insert if chance.random() < 0.6 else update.delete)(name, [row])
        for _ in range(chance.choice([0, 1, 1, 2])):
            there = [name for name in kb.rules if name not in update.rules_removed]
            kind = chance.random()
            if there and kind < 0.45:
                update.remove_rule(chance.choice(there))
            elif kind < 0.85:
                update.add_rule(
                    f"n{number}: {some_axiom(chance)}" if chance.random() < 0.5 else some_axiom(chance)
                )
            else:
                update.add_rule(OTHERS[chance.choice(list(OTHERS))])
        yield update


def fresh(kb: tidalog.KnowledgeBase) -> tidalog.KnowledgeBase:
    found = tidalog.open()
    found.load(kb.program)
    for name in kb.predicates:
        found.insert(name, kb.facts(name, True).to_terms())
    return found


def walk(kb: tidalog.KnowledgeBase, chance: random.Random, count: int) -> int:
    """Makes updates, with all laws after each; how many splits there were."""
    before, splits = state(kb), 0
    for update in steps(chance, kb, count):
        whole, layout = digest(kb), kb._open().analysis.triples
        try:
            delta = kb.apply(update)
        except tidalog.ProgramError:
            assert digest(kb) == whole
            continue
        now = state(kb)
        check_delta(delta, before, now)
        check_whole(kb)
        assert state(fresh(kb)) == now
        splits += bool(kb._open().analysis.triples.splits(layout))
        before = now
    return splits


def started(chance: random.Random, path: Path | None = None) -> tidalog.KnowledgeBase:
    kb: tidalog.KnowledgeBase = tidalog.open() if path is None else tidalog.open(path)
    kb.load(PREFIX + "triple(ex:a, ex:p, ex:b) . start(?x) :- name(?x) .")
    for _ in range(12):
        name, row = some_fact(chance)
        kb.insert(name, [row])
    kb.apply(tidalog.Update())
    return kb


@pytest.mark.parametrize("seed", range(6))
def test_after_every_edit_all_is_as_from_scratch(seed: int) -> None:
    chance = random.Random(seed)
    assert walk(started(chance), chance, 40) > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_thousands_of_edits_are_as_from_scratch(seed: int) -> None:
    chance = random.Random(seed)
    walk(started(chance), chance, 60)


@pytest.mark.parametrize("seed", range(3))
def test_a_store_keeps_the_relations_that_its_edits_have_left(seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"stored {seed}")
    kb = started(chance, tmp_path / "s")
    for turn in range(3):
        walk(kb, chance, 8)
        assert isinstance(kb, tidalog.StoredKnowledgeBase)
        if turn != 1:
            kb.snapshot()
        known, layout = state(kb), kb._open().analysis.triples
        kb.close()
        kb = tidalog.open(tmp_path / "s")
        assert state(kb) == known
        assert kb._open().analysis.triples == layout
        check_whole(kb)
    kb.close()


def test_an_edit_moves_the_triples_of_what_it_names_first_and_no_others() -> None:
    kb = tidalog.open()
    kb.load(PREFIX + "ex:B(?x) :- ex:A(?x) . triple(ex:a, ex:p, ex:b) . triple(ex:a, ex:q, ex:b) .")
    kb.materialise()
    engine = kb._open().engine

    def layout() -> Layout:
        return kb._open().analysis.triples

    kb.rules.add("new: ex:C(?x) :- ex:p(?x, _)")
    assert kb._open().engine is engine
    assert [*layout().properties] == [EX + "p"]
    assert engine.count("triple") == 1
    kb.rules.remove("new")
    assert kb._open().engine is engine
    assert [*layout().properties] == [EX + "p"]
    assert kb.facts("ex:p").to_terms() == [(PEOPLE[0], PEOPLE[1])]


def test_an_update_that_splits_may_delete_what_moves() -> None:
    kb = tidalog.open()
    kb.load(PREFIX + "ex:B(?x) :- ex:A(?x) . triple(ex:a, ex:p, ex:b) . triple(ex:b, ex:p, ex:c) .")
    kb.materialise()
    update = tidalog.Update(deletions={"triple": [(PEOPLE[0], iri("p"), PEOPLE[1])]})
    update.add_rule("ex:C(?x) :- ex:p(?x, _)")
    before = state(kb)
    delta = kb.apply(update)
    check_delta(delta, before, state(kb))
    assert kb.facts("ex:C").to_terms() == [(PEOPLE[1],)]


def test_a_split_that_is_refused_leaves_everything_as_it_was() -> None:
    kb = tidalog.open()
    kb.load(PREFIX + "ex:B(?x) :- ex:A(?x) . :- ex:C(?x) . triple(ex:a, ex:p, ex:b) .")
    kb.materialise()
    kb.apply(tidalog.Update())
    whole = digest(kb)
    with pytest.raises(tidalog.RunError):
        kb.rules.add("ex:C(?x) :- ex:p(?x, _)")
    assert digest(kb) == whole
