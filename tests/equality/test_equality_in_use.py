"""What a knowledge base with `@equality` says, refuses, undoes and counts."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from equality_streams import PLAIN, generated, steps
from test_equality_laws import applied, opened, rows

import tidalog
from tidalog import IRI, KnowledgeBase
from tidalog.model.errors import ProgramError, RunError, TidalogError

KEYS = "@equality same .\nsame(?x, ?y) :- key(?x, ?n), key(?y, ?n).\n"
RDF = (
    "@prefix ex: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n@equality owl:sameAs .\n"
    "owl:sameAs(?x, ?y) :- ex:k(?x, ?n), ex:k(?y, ?n).\n"
)
A, B, C = map(IRI, ("a", "b", "c"))


def loaded(text: str) -> KnowledgeBase:
    kb = tidalog.open()
    kb.load(text)
    return kb


def names(kb: KnowledgeBase, query: str) -> set[str]:
    return {term.value for (term,) in kb.query(query).to_terms() if isinstance(term, IRI)}


def number_of(error: pytest.ExceptionInfo[TidalogError]) -> list[str]:
    return [diagnostic.number for diagnostic in error.value.diagnostics]


# --- what falls apart -------------------------------------------------------------------------------


def test_a_proof_of_equality_that_needs_the_equality_does_not_keep_it() -> None:
    kb = loaded("@equality same .\nsame(?x, ?y) :- p(?x, ?z), q(?z, ?y).\nq(?x, ?x) :- same(?x, ?y), r(?x).")
    kb.insert("p", [(A, A), (B, B)])
    kb.insert("q", [(A, B)])
    kb.insert("r", [(A,)])
    assert kb.count("same") == 4
    with kb.update() as update:
        update.delete("q", [(A, B)])
    assert kb.count("same") == 0


def test_a_fact_goes_for_a_member_though_it_stays_for_the_representative() -> None:
    kb = loaded("@equality same .\nsame(?x, ?y) :- p(?z, ?x), p(?z, ?y).")
    kb.insert("p", [(IRI("w"), A), (IRI("w"), B), (IRI("w"), C)])
    assert kb.count("same") == 9
    with kb.update() as update:
        update.delete("p", [(IRI("w"), B)])
    assert rows(update.delta["p"].deleted) == {(IRI("w"), B)}
    assert rows(kb.facts("same")) == {(x, y) for x in (A, C) for y in (A, C)}


def test_members_have_what_was_said_of_them_when_they_fall_apart() -> None:
    kb = loaded(KEYS + "key(<a>, 1). key(<b>, 1). likes(<b>, <tea>). drinks(?x) :- likes(?x, ?y).")
    assert names(kb, "?x :- drinks(?x)") == {"a", "b"}
    with kb.update() as update:
        update.delete("key", [(A, 1)])
    assert names(kb, "?x :- drinks(?x)") == {"b"}
    assert rows(update.delta["drinks"].deleted) == {(A,)}


def test_that_something_is_different_is_found_once_it_is_equal() -> None:
    kb = loaded(KEYS + "wrong(?x) :- different(?x, ?x).  key(<a>, 1).  different(<a>, <b>).")
    assert kb.count("wrong") == 0
    with kb.update() as update:
        update.insert("key", [(B, 1)])
    assert rows(update.delta["wrong"].inserted) == {(A,), (B,)}


# --- negation, aggregates, inequality ---------------------------------------------------------------


def test_negation_is_about_individuals() -> None:
    kb = loaded(KEYS + "alone(?x) :- person(?x), ~married(?x).")
    kb.insert("person", [(A,), (B,), (C,)])
    kb.insert("married", [(A,)])
    assert names(kb, "?x :- alone(?x)") == {"b", "c"}
    with kb.update() as update:
        update.insert("key", [(A, 1), (B, 1)])
    assert rows(update.delta["alone"].deleted) == {(B,)}
    assert names(kb, "?x :- person(?x), ~married(?x)") == {"c"}


def test_aggregates_count_individuals() -> None:
    kb = loaded(KEYS + "friends(?x, #count(?y)) :- knows(?x, ?y).")
    kb.insert("knows", [(IRI("w"), A), (IRI("w"), B), (IRI("w"), C)])
    assert rows(kb.facts("friends")) == rows(loaded("f(<w>, 3).").facts("f"))
    with kb.update() as update:
        update.insert("key", [(A, 1), (B, 1)])
    assert rows(update.delta["friends"].inserted) == rows(loaded("f(<w>, 2).").facts("f"))
    assert kb.query("#count(?y) :- knows(?x, ?y)").to_rows() == [(2,)]


def test_terms_are_compared_as_individuals() -> None:
    kb = loaded(KEYS + "pair(?x, ?y) :- p(?x), p(?y), ?x != ?y.  p(<a>). p(<b>). p(<c>).")
    assert kb.count("pair") == 6
    with kb.update() as update:
        update.insert("key", [(A, 1), (B, 1)])
    assert rows(kb.facts("pair")) == {(A, C), (B, C), (C, A), (C, B)}
    assert rows(update.delta["pair"].deleted) == {(A, B), (B, A)}
    assert names(kb, "?x :- p(?x), ?x != <b>") == {"c"}


# --- literals ---------------------------------------------------------------------------------------


def test_literals_are_equal_to_nothing_and_reported() -> None:
    kb = loaded("@equality same .\nsame(?y, ?z) :- name(?x, ?y), name(?x, ?z).")
    kb.insert("name", [(A, "Ann"), (A, "Anna"), (A, B)])
    kb.insert("text", [("Ann",)])
    assert kb.count("text") == 1
    assert kb.count("same") == 9
    found = [warning for warning in kb.warnings if warning.number == "W243"]
    assert len(found) == 3
    with kb.update() as update:
        update.delete("name", [(A, "Anna"), (A, B)])
    assert not [warning for warning in kb.warnings if warning.number == "W243"]


# --- refused and undone -----------------------------------------------------------------------------


def everything(kb: KnowledgeBase) -> dict[str, set[object]]:
    kinds = (True, False)
    return {f"{n} {k}": set(rows(kb.facts(n, explicit=k))) for n in kb.predicates for k in kinds}


def test_refused_updates_change_nothing() -> None:
    refused = 0
    for seed in range(20):
        rng = random.Random(seed)
        oracle = generated(rng, PLAIN)
        kb = opened(oracle)
        try:
            kb.load("wrong: :- p(<a>), r(<b>, <b>)." if seed % 2 else "wrong: :- t(?x, ?x, ?x).")
            before = everything(kb)
        except RunError:
            continue
        for step in steps(rng, oracle, 30):
            try:
                applied(kb, step)
                before = everything(kb)
            except RunError as error:
                assert [diagnostic.number for diagnostic in error.diagnostics] == ["T055"]
                assert everything(kb) == before
                refused += 1
                break  # the steps after it are for other facts
    assert refused > 5


def test_a_refused_rule_changes_nothing() -> None:
    kb = loaded(
        KEYS + "two: :- p(?x), q(?x).  p(<a>). q(<b>). mail(<a>, 1). mail(<b>, 1). key(<b>, 2). key(<c>, 2)."
    )
    before = everything(kb)
    with pytest.raises(RunError) as error:
        kb.rules.add("key(?x, ?n) :- mail(?x, ?n).")
    assert number_of(error) == ["T055"]
    assert everything(kb) == before
    assert len(kb.rules) == 2
    kb.delete("p", [(A,)])
    with kb.update() as update:
        update.add_rule("key(?x, ?n) :- mail(?x, ?n).")
    assert rows(kb.facts("q")) == {(A,), (B,), (C,)}
    assert rows(update.delta["q"].inserted) == {(A,)}


def test_an_update_that_takes_too_much_changes_nothing() -> None:
    kb = tidalog.open(max_facts=40)
    kb.load(KEYS + "link(?x, ?y) :- p(?x), p(?y).  key(<a>, 1). key(<b>, 1). p(<a>).")
    before = everything(kb)
    with pytest.raises(RunError), kb.update() as update:
        update.delete("key", [(A, 1)])
        update.insert("p", [(IRI(f"n{number}"),) for number in range(10)])
    assert everything(kb) == before


def test_constraints_are_checked_when_all_that_is_equal_is_known() -> None:
    kb = loaded(KEYS + "missing: :- person(?x), ~named(?x).  person(<a>). named(<a>).")
    kb.materialise()
    with kb.update() as update:
        update.insert("person", [(B,)])
        update.insert("key", [(A, 1), (B, 1)])
    assert kb.count("person") == 2
    with pytest.raises(RunError) as error, kb.update() as update:
        update.delete("key", [(B, 1)])
    assert number_of(error) == ["T055"]
    assert kb.count("same") == 4


def test_properties_and_classes_that_rules_name_are_equal_to_nothing() -> None:
    kb = loaded(RDF + "ex:P(?x) :- ex:q(?x, ?y).\ntriple(ex:a, ex:q, ex:b).")
    before = rows(kb.facts("triple"))
    for name in ("q", "P", "k"):
        with pytest.raises(RunError) as error, kb.update() as update:
            same = IRI("http://www.w3.org/2002/07/owl#sameAs")
            update.insert("triple", [(IRI(f"http://e/{name}"), same, IRI("http://e/z"))])
        assert number_of(error) == ["T247"]
        assert rows(kb.facts("triple")) == before


def test_continuous_queries_are_refused() -> None:
    kb = loaded(KEYS)
    with pytest.raises(ProgramError) as error:
        kb.register("mine", "?x :- key(?x, 1)")
    assert number_of(error) == ["T246"]
    other = loaded("p(?x) :- key(?x, 1).")
    other.register("mine", "?x :- key(?x, 1)")
    with pytest.raises(ProgramError) as error:
        other.load(KEYS)
    assert number_of(error) == ["T246"]


def test_a_rule_that_makes_equality_depend_on_its_absence_is_refused() -> None:
    kb = loaded(KEYS + "old(<a>). key(<a>, 1). key(<b>, 1).")
    kb.materialise()
    for text, number in (
        ("key(?x, 2) :- old(?x), ~young(?x).", "T240"),
        ("key(?x, 2) :- old(?x), old(?y), ?x != ?y.", "T241"),
        ("seen(IRI(?x)) :- text(?x).", "T242"),
    ):
        with pytest.raises(ProgramError) as error:
            kb.rules.add(text)
        assert number_of(error) == [number]
    kb.rules.add("key(?x, 2) :- old(?x), age(?x, ?n), ?n != 3.")
    assert kb.count("same") == 4


def test_an_equality_that_comes_later_merges_what_is_there() -> None:
    kb = loaded("same(?x, ?y) :- key(?x, ?n), key(?y, ?n).  key(<a>, 1). key(<b>, 1). p(<b>).")
    assert kb.count("p") == 1
    kb.load("@equality same .")
    assert kb.count("p") == 2


# --- one representative -----------------------------------------------------------------------------


def test_a_class_of_a_thousand_terms_is_not_a_million_facts_inside() -> None:
    kb = loaded("@equality same .\nhot(?x) :- likes(?x, ?y).")
    members = [IRI(f"m{number:04}") for number in range(1000)]
    kb.insert("same", list(pairwise(members)))
    kb.insert("likes", [(member, IRI("tea")) for member in members])
    assert kb.count("same") == 1_000_000
    assert kb.count("hot") == 1000
    assert kb.stats().facts == 1_002_000
    assert kb.stats().bytes < 2_000_000
    assert len(kb.facts("hot", expand=False)) == 1
    with kb.update() as update:
        update.delete("same", [(members[499], members[500])])
    assert kb.count("same") == 2 * 500**2
    assert update.delta.implicit_facts == 2 * 500**2 - 998 + 1000
    assert kb.stats().bytes < 3_000_000


def test_many_updates_at_once_are_one_change() -> None:
    kb = loaded(KEYS + "key(<a>, 1). p(<b>).")
    updates = []
    for row in ((B, 1), (C, 1)):
        update = tidalog.Update()
        update.insert("key", [row])
        updates.append(update)
    (delta,) = kb.stream(updates, latest_only=True)
    assert delta.updates == 2
    assert rows(delta["p"].inserted) == {(A,), (C,)}


def test_subscribers_see_all_members() -> None:
    kb = loaded(KEYS + "key(<a>, 1). p(<b>).")
    seen: list[object] = []
    kb.subscribe("p", lambda change: seen.append(rows(change.inserted)))
    kb.subscribe("?x :- p(?x), ~key(?x, 2)", lambda came, gone: seen.append(rows(came)))
    with kb.update() as update:
        update.insert("key", [(B, 1)])
    assert seen == [{(A,)}, {(A,)}]


def test_several_loads_at_once() -> None:
    kb = loaded(KEYS + "key(<a>, 1). key(<b>, 1). p(<b>).")
    kb.materialise()
    with pytest.raises(RunError), kb.as_one():
        kb.load("never: :- p(<c>).")
        kb.insert("key", [(C, 1)])
    assert kb.count("p") == 2
    with kb.as_one():
        kb.insert("key", [(C, 1)])
        kb.delete("key", [(A, 1)])
    assert rows(kb.facts("p")) == {(B,), (C,)}
