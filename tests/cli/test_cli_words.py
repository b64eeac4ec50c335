"""How commands word numbers, help and mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Command

from tidalog.cli.stream_report import print_summary
from tidalog.model.amounts import counted, duration, rate, times
from tidalog.spark.progress import Totals

COMMANDS = ("run", "apply", "stream", "query", "sparql", "check", "fmt", "repl", "version")


def test_one_is_singular() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 2000)] == ["0 rows", "1 row", "2 rows", "2,000 rows"]
    assert counted(2, "batch", "batches") == "2 batches"
    assert [times(n) for n in (1, 2)] == ["once", "2 times"]


def test_a_run_too_short_to_measure_has_no_rate() -> None:
    assert rate(1000, 0.0, "facts") == rate(1000, 0.09, "facts") == []
    assert rate(999, 0.5, "facts") == []
    assert rate(1000, 0.5, "facts") == ["2.0 k facts/s"]
    assert (duration(0.0012), duration(1.234)) == ("1.2 ms", "1.23 s")


def test_tables_and_figures_of_one_thing_are_singular(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text("e(a). p(?x) :- e(?x). @output p .")
    outcome = tidalog("run", "p.rls")
    assert "p  1 fact\n" in outcome.out
    assert "1 fact derived from 1 · " in outcome.out
    assert " · 1 derivation · " in outcome.out
    assert tidalog("query", "p.rls", "p(?x)").out.endswith("1 row\n")
    assert tidalog("repl", "p.rls", stdin=":predicates\n").out == "e/1  1 fact\np/1  1 fact\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_what_to_type_and_no_types(tidalog: Command, command: str) -> None:
    text = tidalog(command, "--help").out
    assert re.findall(r"<\w|[{}│]", text) == []
    assert re.search(r"^  --json +\S", text, re.MULTILINE), text


def test_the_help_of_query_says_what_is_required(tidalog: Command) -> None:
    text = tidalog("query", "--help").out
    assert text.startswith("Usage: tidalog query [OPTIONS] [PROGRAM] QUERY\n")
    assert "With --store the query" in text


@pytest.mark.parametrize(
    ("arguments", "problem", "near"),
    [
        (("apply", "--stragety", "dred"), "no such option: --stragety", "--strategy"),
        (("query", "--stroe", "x"), "no such option: --stroe", "--store"),
        (("rnu", "x"), "no such command 'rnu'", "run"),
        (("apply", "p.rls", "u.upd", "--strategy", "drd"), "--strategy drd is not known", "dred"),
        (("run", "p.rls", "--on-error", "skp"), "--on-error skp is not known", "skip"),
        (("check", "p.rls", "--dialect", "mian"), "there is no dialect mian", "main"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(
    tidalog: Command, arguments: tuple[str, ...], problem: str, near: str
) -> None:
    outcome = tidalog(*arguments)
    assert outcome.code == 2
    assert f"]: {problem}\n" in outcome.err
    assert f"hint: did you mean {near}?" in outcome.err


@pytest.mark.parametrize(
    ("called", "near"), [("UPER", "UCASE"), ("FLOR", "FLOOR"), ("CONTAIN", "CONTAINS"), ("upper", "UCASE")]
)
def test_a_misspelt_function_gets_a_suggestion(
    tidalog: Command, tmp_path: Path, called: str, near: str
) -> None:
    (tmp_path / "p.rls").write_text(f"e(a). p(?y) :- e(?x), ?y = {called}(?x) .")
    assert f"hint: did you mean {near}?" in tidalog("check", "p.rls").err
    (tmp_path / "p.rls").write_text("e(a).")
    assert f"hint: did you mean {near}?" in tidalog("query", "p.rls", f"e(?x), {called}(?x) = 1").err


def test_the_summary_of_a_stream_counts_what_did_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(Totals(rows=3, applied=3, updates=1, inserted=1, ignored=2, batches=1, seconds=0.5), {})
    assert capsys.readouterr().out == (
        "3 rows: 3 applied\n1 update in 1 batch · +1 −0 facts · 2 operations did nothing · 0.50 s at work\n"
    )
