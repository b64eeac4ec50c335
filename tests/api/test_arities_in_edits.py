"""A predicate that no rule has any more may have facts of another arity, in the same update or later."""

from __future__ import annotations

import pytest
from ruled import check_whole

import tidalog
from tidalog.api.update import Update

PROGRAM = "r1: p(?x) :- e(?x, ?y). q(?x) :- e(?x, ?y), e(?y, ?z). e(1, 2). e(2, 3)."


def opened(**options: str) -> tidalog.KnowledgeBase:
    kb = tidalog.open(**options)
    kb.load(PROGRAM)
    kb.apply(Update())
    return kb


def test_facts_of_another_arity_come_with_the_edit_that_allows_them() -> None:
    kb = opened()
    delta = kb.apply(Update(remove_rules="r1", insertions={"p": [(1, 2)]}, deletions={"e": [(1, 2)]}))
    assert kb.facts("p").to_rows() == [(1, 2)]
    assert delta["q"].deleted.to_rows() == [(1,)]
    check_whole(kb)


@pytest.mark.parametrize("together", [True, False])
def test_to_delete_facts_of_an_arity_that_the_engine_does_not_know_is_nothing(together: bool) -> None:
    kb = opened()
    if not together:
        kb.rules.remove("r1")
    delta = kb.apply(Update(remove_rules="r1" if together else (), deletions={"p": [(1, 2)]}))
    assert set(delta) == ({"p"} if together else set())
    assert "p" not in kb.predicates
    check_whole(kb)


@pytest.mark.parametrize("marking", ["auto", "none", "paper", "linked", "complete"])
@pytest.mark.parametrize("strategy", ["auto", "dred"])
def test_announced_facts_may_have_an_arity_that_only_their_update_allows(strategy: str, marking: str) -> None:
    kb = opened(strategy=strategy, marking=marking)
    updates = [
        Update(insertions={"e": [(7, 8)]}),
        Update(remove_rules="r1", insertions={"p": [(1, 2), (3, 4)]}),
        Update(deletions={"p": [(1, 2)], "e": [(7, 8)]}),
    ]
    list(kb.stream(updates, look_ahead=2))
    assert kb.facts("p").to_rows() == [(3, 4)]
    check_whole(kb)


def test_facts_that_come_differ_from_the_program_and_not_the_program_from_them() -> None:
    kb = tidalog.open()
    kb.load("p(1, 2). r1: q(?x) :- p(?x, ?y) .")
    for update in (tidalog.Update(insertions={"q": [(1, 2)]}), tidalog.Update(deletions={"q": [(1, 2)]})):
        with pytest.raises(
            tidalog.ProgramError, match="q has 2 arguments here and 1 argument elsewhere"
        ) as raised:
            kb.apply(update)
        assert "r1: q(?x)" in str(raised.value)


@pytest.mark.parametrize(
    ("query", "place"),
    [("p(?x)", "r1: q(?x) :- p("), ("q(?x, ?y)", "r1: q(?x) :-"), ("d(?x)", "declaration at <text>:1:1")],
)
def test_a_query_is_shown_where_the_number_of_arguments_was_fixed(query: str, place: str) -> None:
    kb = tidalog.open()
    kb.load("@declare d(a, b) .\np(1, 2).\nr1: q(?x) :- p(?x, ?y) .")
    with pytest.raises(tidalog.ProgramError) as raised:
        kb.query(query)
    assert place in str(raised.value)
