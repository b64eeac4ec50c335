"""The first fact of a predicate changes which predicates may have explicit facts, and nothing else, unless it
is the first triple.  Law: a knowledge base then is the one that has had all its facts from the start."""

from __future__ import annotations

import random

import pytest
from ruled import check_delta, check_whole, digest, state

import tidalog
from tidalog import Update
from tidalog.api import load, naming
from tidalog.api.naming import user_predicates
from tidalog.model.errors import ProgramError, TidalogError

PROGRAMS = {
    "tables": """
@output p, r .
p(?x) :- a(?x), b(?x, ?y) .
p(?x) :- p(?y), c(?x, ?y) .
r(?x) :- p(?x), ~d(?x) .
n(?x, #count(?y)) :- b(?x, ?y) .
dd(?x) :- ddd(?x) .
""",
    "triples": """
@prefix ex: <http://e/> .
ex:knows(?x, ?y) :- ex:meets(?x, ?y) .
ex:Person(?x) :- triple(?x, ex:knows, ?y) .
all(?p) :- triple(?x, ?p, ?y) .
known(?x) :- ex:Person(?x), seen(?x) .
""",
    "shorthand": """
@prefix ex: <http://e/> .
ex:knows(?x, ?y) :- ex:meets(?x, ?y) .
ex:Person(?x) :- ex:knows(?x, ?y) .
lost(?x) :- seen(?x), ~ex:Person(?x) .
""",
}
PREDICATES = {
    "tables": ["a", "b", "c", "d", "p", "r", "n", "dd", "ddd", "dead", "new", "newer", "triple"],
    "triples": ["ex:knows", "ex:meets", "ex:Person", "ex:other", "triple", "all", "known", "seen", "new"],
    "shorthand": ["ex:knows", "ex:meets", "ex:Person", "ex:other", "seen", "lost", "new"],
}
RULES = [
    "new1(?x) :- new(?x) .",
    "p(?x) :- newer(?x) .",
    "s(?x) :- seen(?x), ~ new(?x) .",
    "d(?x) :- ddd(?x) .",
]


def arity(predicate: str) -> int:
    return {"triple": 3, "b": 2, "c": 2, "n": 2}.get(
        predicate, 2 if predicate.startswith("ex:") and predicate != "ex:Person" else 1
    )


def row(predicate: str, arguments: int, number: int) -> tuple[object, ...]:
    if predicate == "triple" and arguments == 3:
        return tidalog.IRI(f"http://e/{number}"), tidalog.IRI("http://e/knows"), tidalog.IRI("http://e/z")
    return (tidalog.IRI(f"http://e/{number % 2}"),) * arguments


def opened(kind: str) -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(PROGRAMS[kind])
    kb.materialise()
    return kb


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_first_fact_leaves_what_a_fresh_knowledge_base_has(kind: str, seed: int) -> None:
    choose = random.Random(seed)
    kb = opened(kind)
    for number in range(8):
        before, was, active = state(kb), digest(kb), kb.analysis.triples.active
        chosen = choose.sample(PREDICATES[kind], choose.randint(1, 3))
        arities = {name: arity(name) + (choose.random() < 0.1) for name in chosen}
        rows = {name: [row(name, arguments, number)] for name, arguments in arities.items()}
        update = Update(insertions=rows)
        if choose.random() < 0.3:
            update.add_rule(RULES[number % len(RULES)])
        try:
            if choose.random() < 0.3:
                for name, facts in rows.items():
                    kb.insert(name, facts)
            else:
                delta = kb.apply(update)
                if active == kb.analysis.triples.active:
                    check_delta(delta, before, state(kb))
        except TidalogError as error:
            assert {d.number for d in error.diagnostics} <= {"T010", "T034", "T035"}
            if len(rows) == 1:
                assert digest(kb) == was
        check_whole(kb)
        check_fresh(kb)


def check_fresh(kb: tidalog.KnowledgeBase) -> None:
    """It has the facts and the warnings of one that gets the same program and the same explicit facts."""
    fresh = tidalog.open()
    fresh.load(kb.program)
    for name in kb.predicates:
        explicit = kb.facts(name, True).to_terms()
        if explicit:
            fresh.insert(name, explicit)
    assert state(fresh) == state(kb)


def test_a_first_fact_does_not_analyse_the_program_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = opened("tables")
    kb.rules.add("s(?x) :- p(?x), e(?x) .")
    kb.apply(Update(insertions={"a": [(1,)]}))
    maintenance, rules = kb._open().maintenance, kb._open().rules
    monkeypatch.setattr(load, "analyse", lambda *_: pytest.fail("the program was analysed again"))
    kb.apply(Update(insertions={"b": [(1, 2)], "c": [(2, 1)], "new": [(1,)]}))
    kb.insert("d", [(1,)])
    kb.insert("p", [(5,)])
    assert (kb._open().maintenance, kb._open().rules) == (maintenance, rules)
    assert set(kb.facts("p").to_rows()) == {(1,), (2,), (5,)}
    assert set(kb.facts("r").to_rows()) == {(2,), (5,)}


def test_a_first_fact_of_a_failed_update_is_forgotten() -> None:
    kb = opened("tables")
    kb.rules.add("s(?x) :- p(?x), e(?x) .")
    was = digest(kb)
    with pytest.raises(ProgramError):
        kb.apply(Update(insertions={"new": [(1,)], "a": [(1, 2)]}))
    assert digest(kb) == was
    kb.apply(Update(insertions={"new": [(1, 2)]}))
    check_whole(kb)


def test_warnings_follow_first_facts_and_edits() -> None:
    kb = opened("tables")

    def undefined() -> set[object]:
        return {w.values["predicate"] for w in kb.warnings if w.number == "W010"}

    assert undefined() == {"a", "b", "c", "d", "ddd"}
    kb.apply(Update(insertions={"a": [(1,)], "ddd": [(1,)]}))
    assert undefined() == {"b", "c", "d"}
    kb.rules.add("s(?x) :- p(?x), e(?x) .")
    kb.insert("a", [(2,)])  # not the first one
    assert undefined() == {"b", "c", "d", "e"}
    kb.insert("e", [(2,)])
    assert undefined() == {"b", "c", "d"}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_name_is_known_if_and_only_if_it_is_listed(kind: str) -> None:
    analysis = opened(kind).analysis
    listed = user_predicates(analysis)
    names = {*analysis.predicates, *analysis.triples.arities, *PREDICATES[kind], "?triple", "#rule"}
    assert {name for name in names if naming._is_known(name, analysis)} == set(listed)
