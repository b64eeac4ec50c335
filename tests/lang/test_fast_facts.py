"""The fast path and the grammar agree on every fact."""

from __future__ import annotations

from hypothesis import given, settings
from strategies import facts

from tidalog.lang import parse, print_fact
from tidalog.lang.dialects.main import MainReader
from tidalog.lang.fast_facts import FactReader
from tidalog.lang.names import Names
from tidalog.model.errors import Source
from tidalog.model.program import Fact
from tidalog.model.terms import IRI, String

PLAIN = """
@prefix ex: <http://example.org/> .
edge(a, b).edge(b,c) . edge ( c , "d, e) . f" ). % edge(x, y).
size(a, 3). size(b, -2.5e3). size(c, 0x1F). size(d, 99999999999999999999).
name(a, "x \\"y\\" \\u00e9"@en). born(a, "1990"^^xsd:gYear). born(b, "1990"^^<http://t.org/y>).
ex:p(ex:a, <http://example.org/b.c>, true). <http://example.org/q>(_:b1).
ex:a ex:knows ex:b . ex:a a ex:C . <http://a.org/(x),y?z=1> ex:p "text"@de .
// a comment
none(). /* another */ last(é).
"""


def by_grammar(text: str) -> tuple[Fact, ...]:
    """What the grammar reads, statement by statement, without the fast path."""
    reader = MainReader(Source("t", text))
    at = 0
    while (statement := reader.statements.read(at)) is not None:
        at = statement.end
        reader.take(statement)
        if not statement.text:
            break
    assert not reader.errors
    return tuple(reader.facts)


def test_both_ways_read_the_same_facts() -> None:
    assert parse(PLAIN).facts == by_grammar(PLAIN)


def test_places_of_facts_are_the_same_both_ways() -> None:
    def starts(found: tuple[Fact, ...]) -> list[int]:
        return [fact.span.start for fact in found if fact.span is not None]

    assert starts(parse(PLAIN).facts) == starts(by_grammar(PLAIN))


@settings(max_examples=200, deadline=None)
@given(facts)
def test_what_the_fast_path_accepts_is_what_the_grammar_says(fact: Fact) -> None:
    text = print_fact(fact)
    quick = FactReader(Source("t", text), Names()).read_alone(text, 0)
    assert quick is None or quick == fact
    assert by_grammar(text) == (fact,)


def test_plain_facts_take_the_fast_path() -> None:
    for text in (
        "edge(a, b).",
        'p("x y", 3, -2.5, <http://a.org/b>, "t"@en).',
        "<http://a/b> a <http://a/c> .",
    ):
        reader = FactReader(Source("t", text), Names())
        found: list[Fact] = []
        assert reader.read(0, found) == len(text)
        assert len(found) == 1


def test_facts_among_rules_keep_their_order() -> None:
    program = parse("p(a). q(?x) :- p(?x). p(b). p(c). @output q . p(d).")
    assert [fact.arguments for fact in program.facts] == [(String(name),) for name in "abcd"]


def test_a_prefix_means_what_its_last_declaration_says() -> None:
    program = parse("@prefix e: <http://one/> . p(e:a). @prefix e: <http://two/> . p(e:a).")
    assert [fact.arguments for fact in program.facts] == [(IRI("http://one/a"),), (IRI("http://two/a"),)]


def test_many_facts_are_read() -> None:
    program = parse("\n".join(f'edge(n{i}, "node {i + 1}").' for i in range(50_000)))
    assert len(program.facts) == 50_000
