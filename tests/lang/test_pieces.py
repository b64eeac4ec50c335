"""Queries, single rules and single facts."""

from __future__ import annotations

import pytest

from tidalog.lang import parse_fact, parse_query, parse_rule, parse_rules, print_rule
from tidalog.lang.updates import parse_updates
from tidalog.model.errors import ProgramError
from tidalog.model.program import Aggregate, Atom, Call, Fact, Rule, Variable
from tidalog.model.terms import IRI, Integer, String

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
        ("?x + 1, a :- size(_, ?x)", (Call("+", (X, Integer(1))), String("a"))),
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
    assert parse_rule("p(a)") == Rule((Atom("p", (String("a"),)),), ())


def test_a_fact_with_and_without_its_full_stop() -> None:
    assert parse_fact("edge(a, 3)") == parse_fact(" edge(a, 3) . ") == Fact("edge", (String("a"), Integer(3)))


@pytest.mark.parametrize("text", ["", "p(a). p(b).", "@output p .", "p(?x)", "p(?x) :- q(?x)", "p(a), q(b)"])
def test_what_is_not_one_fact_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_fact(text)


@pytest.mark.parametrize("text", ["", "p(?x) :- q(?x). p(a).", "@output p .", "p(?x", "p(a), q(b)."])
def test_what_is_not_one_rule_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_rule(text)


def test_several_rules_are_read_one_behind_the_other() -> None:
    """With prefixes of their own, comments between them, and the last full stop left out."""
    text = "@prefix o: <http://o.org/> . r1: p(?x) :- o:q(?x), ex:r(?x). % one\n p(a), q(b). :- p(?x)"
    first, second, third = parse_rules(text, {"ex": "http://e.org/"})
    assert (first.name, [str(atom.predicate) for atom in first.body]) == (  # type: ignore[union-attr]
        "r1",
        ["http://o.org/q", "http://e.org/r"],
    )
    assert [head.predicate for head in second.heads] == ["p", "q"]
    assert second.body == ()
    assert third.is_constraint
    for rule in (first, second, third):
        assert parse_rules(print_rule(rule)) == [rule]


@pytest.mark.parametrize(
    "text", ["", "% nothing", "@output p .", "p(?x). q(a).", "p(?x :- q(?x). r(?x) :- s(?x)."]
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_rules(text)


@pytest.mark.parametrize(
    "directive",
    [
        "@import p :- csv{} .",
        "@export p :- csv{} .",
        "@output p .",
        "@parameter $n = 1 .",
        "@declare p(a: int) .",
        "@window p :- range 10s .",
    ],
)
def test_a_directive_of_programs_is_refused_among_rules_and_in_scripts(directive: str) -> None:
    with pytest.raises(ProgramError) as among_rules:
        parse_rules(f"{directive} r: s(?x) :- p(?x).")
    with pytest.raises(ProgramError) as in_script:
        parse_updates(f"{directive} +p(a).")
    found = [*among_rules.value.diagnostics, *in_script.value.diagnostics]
    assert [diagnostic.number for diagnostic in found] == ["T009", "T029"]


def test_all_that_is_wrong_with_several_rules_is_told_at_once() -> None:
    with pytest.raises(ProgramError) as error:
        parse_rules("p(?x :- q(?x). @import p :- csv{} . r(?x) :- s(?x. t(?x) :- u(?x).")
    assert len(error.value.diagnostics) == 3
