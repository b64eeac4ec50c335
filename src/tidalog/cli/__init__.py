"""The command line: options in, tables or JSON out, exit codes for scripts.

    0    fine
    1    the program or its data is wrong, a constraint is violated, `fmt --check` would change something
    2    the command line is wrong
    3    a limit stopped the run, or the machine's memory did
    130  Ctrl-C

Tables and figures go to stdout, errors and warnings to stderr.  With `--json` stdout holds one JSON object
and stderr nothing; its members are

    ok          whether all went well
    warnings    messages, as below
    errors      (not ok) messages: number, kind, message, reason, hint; file, line, column where known
    exit_code   (not ok) as above

and, where all went well, what `run`, `apply`, `check`, `fmt`, `query` and `version` have to say (see their
modules).
`repl --json` prints one such object for each statement.
"""

from __future__ import annotations

import gc
import sys
from typing import Final

_COLLECTED_AFTER: Final = 50_000
"""New objects before Python looks for cycles.  Nearly all are modules, which stay: at Python's 700 the search
takes a twentieth of a small run."""


def main() -> None:
    """The `tidalog` command."""
    gc.set_threshold(_COLLECTED_AFTER)
    from tidalog.cli.app import run
    from tidalog.cli.report import ready_streams

    ready_streams()
    sys.exit(run(sys.argv[1:]))


__all__ = ["main"]
