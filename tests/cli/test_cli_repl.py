"""`tidalog repl` over piped lines: the same shell that a terminal has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command

from tidalog.cli.shell import as_query, is_complete


def test_a_conversation(tidalog: Command) -> None:
    outcome = tidalog(
        "repl",
        stdin="""\
edge(a, b).
edge(b, c).  % a comment. with a stop
path(?x, ?y)
  :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
?- path(a, ?y).
?x, #count(?y) :- path(?x, ?y).
path(a, c)?
? path(c, a).
:facts path
:rules
:predicates
:quit
edge(never, read).
""",
    )
    assert (outcome.code, outcome.err) == (
        0,
        "",
    )
    assert outcome.out == (
        "1 fact added\n1 fact added\n"
        "1 rule added\n+ path(a, b)\n+ path(b, c)\n"
        "1 rule added\n+ path(a, c)\n"
        "y\n─\nb\nc\n2 rows\n"
        "x   count_y\n───────────\na         2\nb         1\n2 rows\n"
        "true\nfalse\n"
        "arg1   arg2\n───────────\na      b\na      c\nb      c\n3 rows\n"
        "r1: path(?x, ?y) :- edge(?x, ?y).\nr2: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).\n"
        "edge/2  2 facts\npath/2  3 facts\n"
    )


def test_errors_are_told_and_nothing_ends(tidalog: Command) -> None:
    outcome = tidalog(
        "repl",
        "--max-facts",
        1000,
        stdin='p(a).\np(a, b).\n"open\n?- q(?x).\n:nonsense\n:facts\n:load nowhere.rls\n:insert p\n'
        "p(\n\n"
        "n(0). up: n(?m) :- n(?k), ?m = ?k + 1 .\n?- n(?x).\n?- p(?x)",
    )
    assert outcome.code == 1
    numbers = [line[6:10] for line in outcome.err.splitlines() if line.startswith("error[")]
    assert numbers == ["T010", "T002", "T070", "T076", "T076", "T071", "T076", "T050", "T070"]
    assert outcome.out.startswith("1 fact added\n")


def test_prefixes_that_were_typed_hold(tidalog: Command) -> None:
    lines = "@prefix ex: <http://e.org/> .\nex:p(a, b).\n?- ex:p(?x, ?y).\n:predicates\n"
    outcome = tidalog("repl", stdin=lines)
    assert outcome.out.splitlines() == [
        "done",
        "1 fact added",
        "x   y",
        "─────",
        "a   b",
        "1 row",
        "ex:p/2  1 fact",
    ]


def test_it_begins_with_programs_and_loads_more(tidalog: Command, family: Path, tmp_path: Path) -> None:
    (tmp_path / "more.rls").write_text("oldest(?x) :- ancestor(_, ?x), ~ancestor(?x, _) .")
    (tmp_path / "born.csv").write_text("gus,finn\n")
    lines = ":load more.rls\n:facts oldest\n:insert parent born.csv\n?- grandparent(gus, ?x).\n"
    outcome = tidalog("repl", family, stdin=lines)
    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == "more.rls loaded"
    assert outcome.out.splitlines()[-4:] == ["x", "────", "carl", "1 row"]
    assert "1 new fact" in outcome.out


RULES = "path(?x, ?y) :- edge(?x, ?y).\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z).\n"


def test_facts_are_deleted_and_what_followed_is_shown(tidalog: Command) -> None:
    outcome = tidalog(
        "repl", stdin=f"edge(a, b). edge(b, c).\n{RULES}-edge(a, b). +edge(c, d).\n-edge(x, y).\n"
    )
    assert outcome.err == ""
    assert outcome.out.splitlines()[-6:] == [
        "1 fact added, 1 fact deleted",
        "- path(a, b)",
        "- path(a, c)",
        "+ path(b, d)",
        "+ path(c, d)",
        "1 operation did nothing",
    ]


def test_rules_are_listed_with_names_and_removed(tidalog: Command) -> None:
    lines = f"edge(a, b). edge(b, c).\n{RULES}:remove r2\n:rules\n-rule r1.\n:rules\n:remove r9\n"
    outcome = tidalog("repl", stdin=lines)
    assert outcome.out.splitlines()[-7:] == [
        "1 rule removed",
        "- path(a, c)",
        "r1: path(?x, ?y) :- edge(?x, ?y).",
        "1 rule removed",
        "- path(a, b)",
        "- path(b, c)",
        "no rules yet",
    ]
    assert "error[T130]" in outcome.err
    assert "hint: did you mean :remove r2?" in tidalog("repl", stdin=f"{RULES}:remove r22\n").err
    assert "hint: :rules lists the rules" in tidalog("repl", stdin=f"{RULES}:remove other\n").err


def test_many_changes_are_counted(tidalog: Command) -> None:
    outcome = tidalog("repl", stdin="n(?x) :- go(a), ?x = RANGE(1, 15).\ngo(a).\n")
    assert outcome.out.splitlines()[-2:] == ["+ n(10)", "… 5 more"]


def test_a_store_is_opened_and_keeps_what_was_typed(tidalog: Command) -> None:
    first = tidalog("repl", "--store", "s.tidalog", stdin=f"{RULES}edge(a, b).\n")
    assert first.code == 0, first.err
    second = tidalog("repl", stdin="p(x).\n:open s.tidalog\n+edge(b, c).\n:facts p\n")
    assert second.out.splitlines()[1:] == [
        "s.tidalog: 2 facts, 2 rules",
        "left behind: 1 fact, 0 rules",
        "1 fact added",
        "+ path(a, c)",
        "+ path(b, c)",
    ]
    assert "error[T070]" in second.err
    asked = tidalog("query", "--store", "s.tidalog", "path(?x, ?y)", "-q")
    assert asked.out.splitlines() == ["a   b", "a   c", "b   c"]


def test_the_store_that_is_open_is_not_opened_again(tidalog: Command, tmp_path: Path) -> None:
    lines = f"p(a).\n:open s.tidalog\n:open {tmp_path / 't.tidalog'}\n:facts p\n"
    outcome = tidalog("repl", "--store", "s.tidalog", stdin=lines)
    assert outcome.out.splitlines()[1:] == [
        "s.tidalog is open already: 1 fact, 0 rules",
        f"{tmp_path / 't.tidalog'}: 0 facts, 0 rules",
    ]
    assert "T070" in outcome.err


def test_a_command_without_its_colon_is_one(tidalog: Command) -> None:
    outcome = tidalog("repl", stdin=f"edge(a, b).\n{RULES}facts\nrules\n:predicates\n")
    assert outcome.out.splitlines()[-4:] == [
        "r1: path(?x, ?y) :- edge(?x, ?y).",
        "r2: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).",
        "edge/2  1 fact",
        "path/2  1 fact",
    ]
    assert ":facts needs a predicate" in outcome.err


def test_a_statement_without_its_stop_ends_before_a_command(tidalog: Command) -> None:
    outcome = tidalog("repl", stdin="edge(a, b)\n:predicates\n")
    assert "a statement ends with a full stop" in outcome.err
    assert outcome.out == "no predicates yet\n"
    names = "@prefix : <http://e/> .\n<http://e/a> :facts\n:rules .\n"
    assert tidalog("repl", stdin=names).out == "done\n1 fact added\n"


@pytest.mark.parametrize("word", ["help", ":help", ":?", "HELP"])
def test_help_needs_no_colon(tidalog: Command, word: str) -> None:
    assert ":remove NAME" in tidalog("repl", stdin=f"{word}\n").out


def test_a_misspelt_command_has_a_suggestion(tidalog: Command) -> None:
    outcome = tidalog("repl", stdin=":facst path\n:zzz\n")
    assert "did you mean :facts?" in outcome.err
    assert "did you mean" not in tidalog("repl", stdin=":nope\n").err
    assert "try :help" in outcome.err


def test_an_unexpected_error_does_not_end_it(tidalog: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidalog.cli.shell.as_query", lambda text: 1 / 0)
    outcome = tidalog("repl", stdin="p(a).\n:rules\nquit\nnever read\n")
    assert (outcome.code, outcome.out) == (1, "no rules yet\n")
    assert "ZeroDivisionError" in outcome.err
    assert "Traceback" not in outcome.err


def test_json_is_one_object_a_statement(tidalog: Command) -> None:
    outcome = tidalog("repl", "--json", stdin="p(a).\n?- p(?x).\n?- q(?x).\n:stats\n")
    answers = [json.loads(line) for line in outcome.out.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, True, False, True]
    assert answers[1]["rows"] == [["a"]]
    assert answers[2]["errors"][0]["number"] == "T070"
    assert answers[3]["stats"]["facts"] == 1
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("?- p(?x).", "p(?x)."),
        ("? p(?x) .", "p(?x) ."),
        ("?~p(a), q(?x).", "~p(a), q(?x)."),
        ("?x, ?y :- p(?x, ?y).", "?x, ?y :- p(?x, ?y)."),
        ("?x :- p(?x).", "?x :- p(?x)."),
        ("#count(?x) :- p(?x).", "#count(?x) :- p(?x)."),
        ("p(a)?", "p(a)"),
        ("?x ex:p ?y .", "?x ex:p ?y ."),
        ("?x ex:q ?y :- ?x ex:p ?y .", None),
        ("?x a ex:D :- ?x a ex:C .", None),
        ('#[name("r")] p(?x) :- q(?x) .', None),
        ("p(?x) :- q(?x).", None),
        (":- p(?x).", None),
        ("p(a).", None),
    ],
)
def test_what_is_a_query(text: str, query: str | None) -> None:
    assert as_query(text) == query


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("p(a).", True),
        ("p(a)", False),
        ("p(a)?", True),
        ("p(2.5", False),
        ("p(a). q(b", False),
        ("p(a). % more", True),
        ("p(a) % not. yet", False),
        ('p("a. b")', False),
        ('p("open', True),
        ('p("""open.', False),
        ("/* open.", False),
        ("% only a comment", True),
    ],
)
def test_when_a_statement_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
