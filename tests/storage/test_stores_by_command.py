"""`--store` on the command line: what one command keeps, the next one finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stored import CLOSURE

import tidalog
from tidalog.cli import app

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line in this process: its exit code, and what it prints."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = app.run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def test_run_apply_and_query_share_a_store(run: Run, tmp_path: Path) -> None:
    rules, updates, store = tmp_path / "rules.rls", tmp_path / "u.upd", tmp_path / "s.tidalog"
    rules.write_text(CLOSURE + "edge(a, b).")
    updates.write_text("+edge(b, c). commit. +edge(c, d). -edge(a, b). commit.")
    assert run("run", rules, "--store", store)[0] == 0
    assert run("query", "path(a, b)", "--store", store)[:2] == (0, "true\n")
    assert run("apply", rules, updates, "--store", store, "-q")[0] == 0
    assert run("query", "path(b, d)", "--store", store)[:2] == (0, "true\n")
    assert run("query", "path(a, $to)", "-p", "to=b", "--store", store)[:2] == (0, "false\n")
    with tidalog.open(store) as kb:
        assert kb.count("path") == 3
        code, _, err = run("apply", rules, updates, "--store", store)
        assert (code, "T091" in err) == (1, True)


def test_a_query_needs_a_program_or_a_store(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "rules.rls"
    rules.write_text(CLOSURE)
    for arguments in (["path(a, b)"], [rules, "path(a, b)", "--store", tmp_path / "s.tidalog"]):
        code, _, err = run("query", *arguments)
        assert (code, "T077" in err) == (2, True)
    code, _, err = run("query", "path(a, b)", "--store", tmp_path / "none.tidalog")
    assert (code, "T090" in err) == (1, True)


def test_another_program_is_refused_with_a_number(run: Run, tmp_path: Path) -> None:
    rules, other, store = tmp_path / "rules.rls", tmp_path / "other.rls", tmp_path / "s.tidalog"
    updates = tmp_path / "u.upd"
    rules.write_text(CLOSURE + "edge(a, b).")
    other.write_text(CLOSURE + "edge(a, c).")
    updates.write_text("+edge(b, c). commit.")
    assert run("apply", rules, updates, "--store", store)[0] == 0
    code, _, err = run("run", other, "--store", store)
    assert (code, "T096" in err) == (1, True)
