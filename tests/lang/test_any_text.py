"""Whatever the text: a program or numbered errors, never a crash; and formatting keeps what was read."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.lang import format_text, parse, parse_fact, parse_query, parse_rule, print_program
from tidalog.model.errors import ProgramError

PIECES = [
    *"pa?$_~@#%.,;:=<>!+-*/()[]{}\"\\'\n 1é",
    "p(a)",
    "?x",
    "$p",
    ":-",
    " . ",
    "ex:a",
    "ex:",
    "<http://a.b/c>",
    "_:b",
    '"s"',
    '"""',
    'f"{?x}"',
    'f"{',
    "@en",
    "^^xsd:int",
    "#count(?x)",
    "#[name(",
    "@prefix ex: <http://e/> .",
    "@base ",
    "@import p :- csv{",
    "true",
    "1.5",
    "0x1F",
    "1e",
    "/*",
    "*/",
    "//",
    " a ",
    "**",
    "NOT(",
    "p(?x) :- q(?x), ",
]
wild_texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.one_of(wild_texts, st.text(max_size=40)))
def test_any_text_gives_a_program_or_errors_with_a_place(text: str) -> None:
    try:
        program = parse(text)
    except ProgramError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            assert diagnostic.span is not None
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text) + 1
            assert diagnostic.render()
    else:
        assert parse(print_program(program)) == program
        once = format_text(text)
        assert parse(once) == program
        assert format_text(once) == once


@settings(max_examples=200, deadline=None)
@given(wild_texts)
def test_any_text_as_a_query_a_rule_or_a_fact(text: str) -> None:
    for read in (parse_query, parse_rule, parse_fact):
        try:
            read(text)
        except ProgramError as error:
            assert error.diagnostics
