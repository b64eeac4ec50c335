"""A statement whose tree is copied from one of the same shape means what it would mean if it were parsed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tidalog.lang import parse
from tidalog.lang.statement_shapes import Pieces, StatementShapes
from tidalog.model.errors import ProgramError

FOLDER = Path(__file__).parent.parent
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*.rls"))]
PARTS = ["?x", " ", "(", ")", ",", ".", "a", '"', "1", "IN", "~", "-", ":", "<", ">", "true", "_", "p", "%"]
PARTS += [
    "ex:",
    ":p",
    "<http://e/a>",
    "<http://e/a",
    "^^",
    "a:b",
    "ex:a.b",
    "ex:5",
    "true:p",
    "in:p(",
    "ex:a-b",
]
PARTS += ['f"x"', "#count", "\n", "0x1", "@en", "ex:p", "<a>", "?y", '"b"', " IN (", "3.5", ":-", "e-f"]


def meaning(text: str) -> object:
    """The program with the positions of its parts, or the errors."""
    try:
        program = parse(text)
    except ProgramError as error:
        return str(error)
    spans = [
        (part.span.start, part.span.end)
        for rule in program.rules
        for part in (rule, *rule.heads, *rule.body)
        if getattr(part, "span", None) is not None and part.span is not None  # type: ignore[union-attr]
    ]
    return repr(program), spans


def mutated(text: str, draw: random.Random) -> str:
    for _ in range(draw.randrange(5)):
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice(PARTS) + text[at + draw.randrange(3) :]
    return text


def test_copied_trees_mean_what_parsed_ones_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    texts = [mutated(text, draw) for text in TEXTS for _ in range(2)]
    found = [meaning(text) for text in texts]
    monkeypatch.setattr(StatementShapes, "shape", lambda self, text: None)
    for text, one in zip(texts, found, strict=True):
        assert one == meaning(text), text


def test_plain_statements_have_shapes_and_others_have_none() -> None:
    def shape(text: str) -> str | None:
        found: tuple[str, Pieces] | None = StatementShapes().shape(text)
        return None if found is None else found[0]

    rule = 'r1: p(?x, "a") :- q(?x, ?y), ~s(?y, 5), ?x < ?y .'
    assert shape(rule) == shape('r2: path(?u, "b c") :- edge(?u, ?v), ~t(?v, 17), ?u < ?v .') is not None
    assert shape("p(?x, 2.5) :- q(?x), ?x > 1.5.") == shape("c(?y, 10.25) :- d(?y), ?y > 0.0.") is not None
    rdf = "ex:p(?x, <http://e/a>) :- :q(?x, ex:a5), ?x ex:b ?y."
    assert shape(rdf) == shape("b:c(?u, <urn:x:(y)>) :- ex:ab(?u, d:5), ?u d:e ?v.") is not None
    assert shape(rdf) not in (None, shape(rdf.replace("ex:b", "true:b")), shape(rdf.replace("ex:b", "in:b")))
    for other in (
        rule.replace("5", "5.5"),
        rule.replace("q(", "q (", 1).replace("q (", "~q("),
        rule.replace('"a"', "true"),
        rule.replace(", ?x <", ", ?x >"),
    ):
        assert shape(other) not in (None, shape(rule))
    for odd in (
        "p(ex:a.b) .",
        "p(ex:a-b) .",
        "p(ex:) .",
        'p("a"@en) .',
        "p(<a>) .",
        "p(0x1) .",
        'p(f"{?x}") .',
        "p(?x) :- ?x % 2 = 0 .",
        "p(1e3) .",
        "p(2.5e3) .",
        "p(?x) :- q(?x), ?x > 1.2.3.",
        "@window p :- range 10s .",
    ):
        assert shape(odd) is None
