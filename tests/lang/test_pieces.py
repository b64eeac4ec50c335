"""Queries, single rules and single facts."""

from __future__ import annotations

import pytest

from tidalog.errors import ProgramError
from tidalog.lang import parse_fact, parse_query, parse_rule
from tidalog.program import Aggregate, Atom, Call, Fact, Rule, Variable
from tidalog.terms import IRI, Integer

X, Y = Variable("x"), Variable("y")


def answers(text: str) -> tuple[object, ...]:
    (head,) = parse_query(text).heads
    assert head.predicate == "?"
    return head.arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?x, ?y :- path(?x, ?y), ?x != ?y", (X, Y)),
        ("?- path(?x, ?y).", (X, Y)),
        ("path(?y, a), path(?x, _), ~q(?x, ?local)", (Y, X)),
        ("path(a, b)", ()),
        ("?x, #count(?y) :- edge(?x, ?y)", (X, Aggregate("count", (Y,)))),
        ("#sum(?y) :- size(_, ?y) .", (Aggregate("sum", (Y,)),)),
        ("?x + 1, a :- size(_, ?x)", (Call("+", (X, Integer(1))), IRI("a"))),
        ("ABS(?x) :- size(_, ?x)", (Call("ABS", (X,)),)),
        ("path(?x, ?y) :- edge(?x, ?y)", (X, Y)),
        ("size(?x, ?y), ?y > 3 % big ones\n", (X, Y)),
    ],
)
def test_what_a_query_asks_for(text: str, expected: tuple[object, ...]) -> None:
    assert answers(text) == expected


def test_prefixes_of_the_knowledge_base_hold_in_queries() -> None:
    query = parse_query("?x ex:p ex:b", {"ex": "http://example.org/"})
    assert query.body == (Atom("triple", (X, IRI("http://example.org/p"), IRI("http://example.org/b"))),)


@pytest.mark.parametrize("text", ["", "  ", "path(?x", "?x :- ", "p(a). q(b).", "x:y(?z)", "p(#count(?x))"])
def test_a_wrong_query_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_query(text)


def test_a_rule_with_and_without_its_full_stop() -> None:
    rule = Rule((Atom("p", (X,)),), (Atom("q", (X,)),), "r9")
    assert parse_rule("r9: p(?x) :- q(?x).") == parse_rule("r9: p(?x) :- q(?x) % that is all") == rule
    assert parse_rule("p(a)") == Rule((Atom("p", (IRI("a"),)),), ())


def test_a_fact_with_and_without_its_full_stop() -> None:
    assert parse_fact("edge(a, 3)") == parse_fact(" edge(a, 3) . ") == Fact("edge", (IRI("a"), Integer(3)))


@pytest.mark.parametrize("text", ["", "p(a). p(b).", "@output p .", "p(?x)", "p(?x) :- q(?x)", "p(a), q(b)"])
def test_what_is_not_one_fact_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_fact(text)


@pytest.mark.parametrize("text", ["", "p(?x) :- q(?x). p(a).", "@output p .", "p(?x", "p(a), q(b)."])
def test_what_is_not_one_rule_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_rule(text)
