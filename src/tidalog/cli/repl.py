"""`tidalog repl`: a shell on a terminal, or over lines from a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.cli.options import read_limit
from tidalog.cli.report import INTERRUPTED, Report
from tidalog.cli.shell import Shell
from tidalog.cli.work import Work, prepared

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History

PROMPT: Final = "tidalog> "
CONTINUED: Final = "     ... "


def repl(report: Report, work: Work, rows: int) -> int:
    """Runs until the input ends.  With piped input, the exit code shows whether all statements succeeded."""
    shell = Shell(prepared(work, report), report, read_limit(rows))
    try:
        if sys.stdin.isatty():
            _on_a_terminal(shell)
            return 0
        for line in sys.stdin:
            shell.feed(line.rstrip("\n"))
            sys.stdout.flush()
            if shell.done or shell.code == INTERRUPTED:
                return shell.code
        shell.finish()
        return shell.code
    finally:
        shell.kb.close()


def _on_a_terminal(shell: Shell) -> None:
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession(
        history=_history(), completer=_completer(shell), complete_while_typing=False
    )
    print("Facts, rules and queries end with a full stop.  :help lists commands, Ctrl-D leaves.")
    while not shell.done:
        try:
            shell.feed(session.prompt(CONTINUED if shell.in_statement else PROMPT))
        except KeyboardInterrupt:
            shell.discard()
        except EOFError:
            return


def _history() -> History:
    """The history, kept between sessions if its folder is writable."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "tidalog" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _completer(shell: Shell) -> Completer:
    from prompt_toolkit.completion import DynamicCompleter, WordCompleter

    def words() -> Iterator[str]:
        yield from shell.commands
        for name in shell.kb.predicates:
            yield shell.kb.analysis.label(name)

    return DynamicCompleter(lambda: WordCompleter(list(words()), WORD=True))
