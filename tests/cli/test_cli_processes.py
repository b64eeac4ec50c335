"""The command as a process: Ctrl-C, closed pipes, terminals."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from tidalog.cli import main; main()"]
ENDLESS = "n(0). up: n(?m) :- n(?k), ?m = ?k + 1 ."
LONGEST = 120


def read_until(terminal: int, wanted: bytes) -> bytes:
    """What a terminal shows up to a text.  A process that ends closes it, which ends the reading."""
    seen = b""
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], LONGEST)
        assert ready, f"{wanted!r} did not come after {seen!r}"
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        seen += piece
    return seen


@pytest.fixture
def terminal() -> tuple[int, int]:
    return pty.openpty()


def test_ctrl_c_stops_a_run_and_names_the_rule(tmp_path: Path, terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    (tmp_path / "endless.rls").write_text(ENDLESS)
    process = subprocess.Popen(
        [*COMMAND, "run", "endless.rls", "--max-seconds", str(LONGEST)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        start_new_session=True,
    )
    os.close(theirs)
    # The progress bar shows up when the rules are at work for two seconds.
    shown = read_until(ours, b"facts/s")
    assert b"rule up" in shown
    process.send_signal(signal.SIGINT)
    rest = read_until(ours, b"as it was before").decode()
    out, _ = process.communicate(timeout=LONGEST)
    os.close(ours)
    assert process.returncode == 130
    assert "T053" in rest
    assert "interrupted in rule up" in rest
    assert "Traceback" not in rest
    assert out == b""


def test_a_reader_who_stops_early_is_no_error(tmp_path: Path) -> None:
    facts = "".join(f"n({i})." for i in range(20_000))
    (tmp_path / "n.rls").write_text(f"{facts} @output n .")
    process = subprocess.Popen(
        [*COMMAND, "run", "n.rls", "--rows", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"n  20,000 facts\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(LONGEST) == 0


def test_a_terminal_has_a_prompt_history_and_completion(tmp_path: Path, terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    process = subprocess.Popen(
        [*COMMAND, "repl"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1"},
        start_new_session=True,
    )
    os.close(theirs)
    read_until(ours, b"tidalog>")
    os.write(ours, b"person(ada).\r")
    read_until(ours, b"1 fact added")
    read_until(ours, b"tidalog>")
    os.write(ours, b":facts pers\t")
    read_until(ours, b"on")
    os.write(ours, b"\r")
    assert b"1 row" in read_until(ours, b"1 row")
    os.write(ours, b"\x04")
    read_until(ours, b"no such text")
    assert process.wait(LONGEST) == 0
    os.close(ours)
    assert "+person(ada)." in (tmp_path / "tidalog" / "history").read_text()
