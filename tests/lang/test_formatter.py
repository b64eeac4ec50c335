"""The formatter: tidy, complete, and at rest on its own output."""

from __future__ import annotations

import pytest

from tidalog.lang import format_text, parse
from tidalog.model.errors import ProgramError

UNTIDY = """\
% header

@prefix ex:<http://example.org/>.   % prefix
@import edge:-csv{resource="e.csv"}.
@base <http://base.org/> .


edge(a,b).edge( b , "c d" ).   % two facts
/* before */ r1:path(?x,?y):-edge(?x,?y).
path(?x, ?z) :- % inside
   edge(?x, ?y),path(?y,?z) .
?x  a ex:C:-?x ex:p -3,~<http://example.org/q>( ?x ),?x%2=1.
long(?a, ?b, ?c) :- first_condition(?a, ?b), second_condition(?b, ?c), third_condition(?c, ?a), ~fourth(?a).
@parameter $limit=1+2.
@output long,path.
% the end
"""

TIDY = """\
% header

@prefix ex: <http://example.org/> .  % prefix
@import edge :- csv{resource = "e.csv"} .
@base <http://base.org/> .

edge(a, b).
edge(b, "c d").  % two facts
/* before */
r1: path(?x, ?y) :- edge(?x, ?y).
% inside
path(?x, ?z) :- edge(?x, ?y), path(?y, ?z).
?x a ex:C :- ?x ex:p -3, ~ex:q(?x), ?x % 2 = 1.
long(?a, ?b, ?c) :-
    first_condition(?a, ?b),
    second_condition(?b, ?c),
    third_condition(?c, ?a),
    ~fourth(?a).
@parameter $limit = 1 + 2 .
@output long .
@output path .
% the end
"""


def test_a_text_becomes_tidy_and_keeps_its_comments() -> None:
    assert format_text(UNTIDY.replace("r1:path", "r1: path")) == TIDY


def test_tidy_text_stays() -> None:
    assert format_text(TIDY) == TIDY


def test_formatting_keeps_the_meaning() -> None:
    assert parse(TIDY) == parse(UNTIDY.replace("r1:path", "r1: path"))


def test_a_name_means_what_it_meant_at_its_place() -> None:
    text = "@prefix e: <http://one/> .\np(e:a).\n@prefix e: <http://two/> .\np(e:a, <http://one/a>).\n"
    assert format_text(text) == text
    relative = "p(<a/b>).\n@base <http://base.org/> .\np(<a/b>).\n"
    assert parse(format_text(relative)) == parse(relative)


@pytest.mark.parametrize("text", ["", "% only a comment\n", "/* one\n\n   two */\n", "p(a).\n\n% last\n"])
def test_texts_without_statements_or_with_few(text: str) -> None:
    assert format_text(text) == text


def test_a_wrong_text_is_not_formatted() -> None:
    with pytest.raises(ProgramError, match="T001"):
        format_text("p(a b).")


def test_another_dialect_becomes_the_main_one() -> None:
    formatted = format_text("r2: p(X,Y) :- p(X,Z) and p(Z,Y) and COMP(X,!=,Y).", dialect="zodiac")
    assert formatted == "r2: p(?X, ?Y) :- p(?X, ?Z), p(?Z, ?Y), ?X != ?Y.\n"


def test_declarations_that_follow_each_other_are_aligned() -> None:
    text = """
@declare reading(turbine:string, "wind speed" : xsd:double, at: datetime0) .
@declare e(from,to).   % edges
% other
@declare longer( a:integer ) .
@declare many_columns(first_of_them: string, second_of_them: dateTime, third: int, fourth_of_them: decimal) .
""".replace("datetime0", "dateTime")
    assert (
        format_text(text)
        == """\
@declare reading(turbine: string, "wind speed": double, at: dateTime) .
@declare e      (from, to) .  % edges
% other
@declare longer(a: int) .
@declare many_columns(
    first_of_them:  string,
    second_of_them: dateTime,
    third:          int,
    fourth_of_them: decimal
) .
"""
    )


@pytest.mark.parametrize(
    "line",
    [
        'label(?x, f"{?x} km") :- p(?x).',
        'label(?x, f"{{{?x + 1}}}\\n{?x}") :- p(?x).',
        'label(?x, f"""{CONCAT(?x, "a")} \\"b\\"""") :- p(?x).',
        'label(?x, f"{#count(?y)} times") :- p(?x, ?y).',
        "one(?x) :- p(?x), ?x IN (1, 2), ?x + 1 IN (2, 3).",
        "one(?x) :- p(?x), (?x IN (1, 2) ; ?x = 5).",
        'label(?x, CONCAT(STR(?x), " km")) :- p(?x).',
        '@import p :- csv{resource = f"{?x}-{?y}.csv", header = ?h}, ?x = "a", ?y = $n + 1, ?h = true .',
        '@export p :- csv{resource = f"""{CONCAT($a, "b")}.csv"""} .',
    ],
)
def test_what_is_written_well_stays(line: str) -> None:
    assert format_text(line) == f"{line}\n"
