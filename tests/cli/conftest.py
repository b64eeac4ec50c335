"""A command line in this process, and a program for it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from command_line import Command, Outcome

from tidalog.cli.app import run


@pytest.fixture
def tidalog(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Calls a command in a folder of its own; `stdin` is what is piped in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object, stdin: str = "") -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A small program with a warning, an output and a parameter."""
    path = tmp_path / "family.rls"
    path.write_text(
        """\
@parameter $least = 1 .
@parameter $unused = 1 .
@output grandparent .

parent(bea, ada).  parent(carl, ada).
parent(dora, bea).  parent(finn, carl).

r1: ancestor(?x, ?y) :- parent(?x, ?y) .
r2: ancestor(?x, ?z) :- ancestor(?x, ?y), parent(?y, ?z) .
grandparent(?x, ?z) :- parent(?x, ?y), parent(?y, ?z) .
many(?y) :- children(?y, ?n), ?n > $least .
children(?y, #count(?x)) :- parent(?x, ?y) .
"""
    )
    return path
