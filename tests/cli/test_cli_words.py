"""How commands word numbers, help and mistakes."""

from __future__ import annotations

from pathlib import Path

from command_line import Command

from tidalog.model.amounts import counted, duration, rate, times

COMMANDS = ("run", "apply", "stream", "query", "check", "fmt", "repl", "version")


def test_one_is_singular() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 2000)] == ["0 rows", "1 row", "2 rows", "2,000 rows"]
    assert counted(2, "batch", "batches") == "2 batches"
    assert [times(n) for n in (1, 2)] == ["once", "2 times"]


def test_a_run_too_short_to_measure_has_no_rate() -> None:
    assert rate(1000, 0.0, "facts") == rate(1000, 0.09, "facts") == []
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
