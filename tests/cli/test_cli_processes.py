"""The command as a process: Ctrl-C, closed pipes, terminals."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidalog
from tidalog.cli import main

COMMAND = [sys.executable, "-c", "from tidalog.cli import main; main()"]
ENDLESS = "n(0). up: n(?m) :- n(?k), ?m = ?k + 1 ."
LONGEST = 120


class Terminal:
    """Our side of a terminal: what a process shows there, in order, and what we type."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        self._unread = b""

    def until(self, wanted: bytes) -> str:
        """What is shown up to and with a text.  The end of the process ends it too."""
        while wanted not in self._unread:
            ready, _, _ = select.select([self.ours], [], [], LONGEST)
            assert ready, f"{wanted!r} did not come after {self._unread!r}"
            try:
                piece = os.read(self.ours, 4096)
            except OSError:  # the other side is closed
                piece = b""
            if not piece:
                wanted = self._unread
                break
            self._unread += piece
        end = self._unread.index(wanted) + len(wanted)
        shown, self._unread = self._unread[:end], self._unread[end:]
        return shown.decode()

    def start(self, folder: Path, *command: str) -> subprocess.Popen[bytes]:
        """Starts a command with its stderr on the terminal."""
        process = subprocess.Popen(
            [*COMMAND, *command, "--max-seconds", str(LONGEST)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=self.theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
            start_new_session=True,
        )
        os.close(self.theirs)
        return process

    def type(self, keys: bytes) -> None:
        os.write(self.ours, keys)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    os.close(opened.ours)


def test_ctrl_c_stops_a_run_and_names_the_rule(tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / "endless.rls").write_text(ENDLESS)
    process = terminal.start(tmp_path, "run", "endless.rls")
    # The progress bar shows up when the rules are at work for two seconds.
    assert "rule up" in terminal.until(b"facts/s")
    process.send_signal(signal.SIGINT)
    rest = terminal.until(b"as it was before")
    out, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert "T053" in rest
    assert "interrupted in rule up" in rest
    assert "Traceback" not in rest
    assert out == b""


def test_ctrl_c_stops_an_update_and_keeps_those_before(tmp_path: Path, terminal: Terminal) -> None:
    program = "n(0). up: n(?m) :- n(?k), go(now), ?m = ?k + 1 ."
    (tmp_path / "endless.rls").write_text(program)
    with tidalog.open(max_facts=1_000) as kb:  # so that nothing is compiled when the signal comes
        kb.load(program)
        kb.apply(tidalog.Update(insertions={"n": [(7,)]}))
        with pytest.raises(tidalog.RunError):
            kb.apply(tidalog.Update(insertions={"go": [("now",)]}))
    (tmp_path / "go.upd").write_text("+n(7).\ncommit.\n+go(now).\n")
    process = terminal.start(tmp_path, "apply", "endless.rls", "go.upd", "--out", "out")
    terminal.until(b"rule up")  # of the update: the run before it is done within two seconds
    process.send_signal(signal.SIGINT)
    rest = terminal.until(b"as it was before")
    out, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert "T053" in rest
    assert "Traceback" not in rest
    assert out == b""
    assert (tmp_path / "out" / "changes.csv").read_text().splitlines()[1:] == ["1,+,n,7,explicit"]


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


def test_a_terminal_has_a_prompt_history_and_completion(tmp_path: Path, terminal: Terminal) -> None:
    process = subprocess.Popen(
        [*COMMAND, "repl"],
        cwd=tmp_path,
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        env={**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1"},
        start_new_session=True,
    )
    os.close(terminal.theirs)
    terminal.until(b"tidalog>")
    terminal.type(b"person(ada).\r")
    terminal.until(b"1 fact added")
    terminal.until(b"tidalog>")
    terminal.type(b":facts pers\t")
    terminal.until(b"on")
    terminal.type(b"\r")
    assert "ada" in terminal.until(b"1 row")
    terminal.until(b"tidalog>")
    terminal.type(b"\x04")
    terminal.until(b"the end of the process")
    assert process.wait(LONGEST) == 0
    assert "+person(ada)." in (tmp_path / "tidalog" / "history").read_text()


FACTS = 'p("é─東"). @output p .'


def on_streams(text: str, shell: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of a program whose standard streams a shell has arranged."""
    command = f"{shlex.join(COMMAND)} run - {shell}"
    variables = {**os.environ, **environment}
    return subprocess.run(
        ["sh", "-c", command], input=text, capture_output=True, text=True, timeout=LONGEST, env=variables
    )


def test_a_full_disk_is_said_and_no_traceback() -> None:
    done = on_streams(FACTS, "> /dev/full")
    assert done.returncode == 2
    assert "error[T078]: the output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stream_takes_what_is_printed_nowhere(closed: str) -> None:
    done = on_streams(FACTS, closed)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_encoding_that_lacks_letters_gets_escapes() -> None:
    done = on_streams(FACTS, "", PYTHONIOENCODING="ascii:strict", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe9\\u2500\\u6771" in done.stdout


@pytest.mark.parametrize("command", ["run", "check", "fmt", "repl"])
def test_a_program_that_is_no_text_is_said_to_be_none(command: str) -> None:
    piped = [*COMMAND, command, *([] if command == "repl" else ["-"])]
    done = subprocess.run(piped, input=b'p("\xff").\n', capture_output=True, timeout=LONGEST)
    assert done.returncode == 1
    assert b"error[T00" in done.stderr
    assert b"Traceback" not in done.stderr


def test_ctrl_c_at_the_very_start_is_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidalog.cli.app.run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_ctrl_c_while_spark_starts_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text("p(?x) :- e(?x) .")
    script = (
        "import logging, tidalog.spark.session as s\n"
        "def interrupted(*_):\n"
        "    try: raise KeyboardInterrupt\n"
        "    except KeyboardInterrupt:  # as in py4j\n"
        "        logging.exception('KeyboardInterrupt while sending command.'); raise\n"
        "s.spark_session = interrupted\n"
        "from tidalog.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "stream", "p.rls", "updates/"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("error[T080]: interrupted\n")
    assert "Traceback" not in done.stderr
