"""An error costs its own statement only."""

from __future__ import annotations

import pytest

from tidalog.lang.dialects import DIALECTS
from tidalog.model.errors import Source

GOOD = {
    "zodiac": "good{n}: p(X) :- q(X, Y) and COMP(Y, >, 3) .",
    "rdfox": "[?x, a, <http://example.org/good{n}>] :- [?x, <http://example.org/p>, 1.5] .",
    "jena": "[good{n}: (?x rdfs:seeAlso ?y) -> (?y rdfs:seeAlso ?x)]",
}
BAD = {
    "zodiac": [
        "p(X :- q(X) .",
        "p(X)) :- q(X) .",
        'p(X) :- q(X, "never) .',
        "p(X) :- q(X) q(X) .",
        "p(X) :- q(nope:X) .",
        "p(X) :- COMP(X, ~, 3) .",
        "p(X) .",
        "@window p .",
    ],
    "rdfox": [
        "[?x, a] :- [?x, a, <http://example.org/c>] .",
        "[?x, a, ?y :- [?x, a, ?y] .",
        '[?x, a, "never] :- [?x, a, ?y] .',
        "p(?x) :- q(?x), NOT .",
        "p(?x) :- q(?x), FILTER(?x >) .",
        "p(?x) :- q(nope:x) .",
        "p(?x) .",
        "p(3x) .",
    ],
    "jena": [
        "[bad: (?x rdfs:seeAlso ?y -> (?y rdfs:seeAlso ?x)]",
        "[bad: (?x rdfs:seeAlso ?y) -> (?y rdfs:seeAlso ?x)",
        "(?x rdfs:seeAlso ?y) -> (?y rdfs:seeAlso) .",
        "[bad: (?x rdfs:seeAlso 'never) -> (?x rdf:type rdf:List)]",
        "[bad: (?x nope:seeAlso ?y) -> (?y rdfs:seeAlso ?x)]",
        "[bad: (?x rdfs:seeAlso ?y) <- (?y rdfs:seeAlso ?x)]",
        "-> (?x rdf:type rdf:List) .",
        "[bad: print(?x) -> ]",
    ],
}


@pytest.mark.parametrize(("dialect", "bad"), [(d, bad) for d, texts in BAD.items() for bad in texts])
def test_the_statements_around_an_error_are_read(dialect: str, bad: str) -> None:
    good = [GOOD[dialect].format(n=n) for n in range(3)]
    text = f"{good[0]}\n{bad}\n{good[1]}\n{bad}\n{good[2]}\n"
    program, diagnostics = DIALECTS[dialect].parse_source(Source("text", text))
    clean, none = DIALECTS[dialect].parse_source(Source("text", "\n".join(good)))
    assert not none
    assert set(clean.rules) <= set(program.rules)
    lines = {text.count("\n", 0, d.span.start) + 1 for d in diagnostics if d.span}
    assert lines == {2, 4}
    assert all(d.render().count("hint:") == 1 for d in diagnostics)


@pytest.mark.parametrize("dialect", sorted(GOOD))
def test_an_empty_text_is_an_empty_program(dialect: str) -> None:
    for text in ("", "\n \n", "# nothing but this"):
        program, diagnostics = DIALECTS[dialect].parse_source(Source("text", text))
        assert (program.rules, program.facts, diagnostics) == ((), (), [])
