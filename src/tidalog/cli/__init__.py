"""The command line: options in, tables or JSON out, exit codes for scripts.

    0    success
    1    the program or its data has errors, a constraint is violated, `fmt --check` would change something
    2    the command line has an error
    3    a limit stopped the run, or the machine ran out of memory
    130  Ctrl-C

Tables and figures go to stdout, errors and warnings to stderr.  With `--json` stdout has one JSON object and
stderr nothing; its members are

    ok          whether the command succeeded
    warnings    messages, as below
    errors      (not ok) messages: number, kind, message, reason, hint; file, line, column where known, and
                `second`, a position that explains the first
    exit_code   (not ok) as above

and, if it succeeded, the results of `run`, `apply`, `check`, `fmt`, `query` or `version` (see their modules).
`repl --json` prints one such object for each statement.
"""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Final

_COLLECTED_AFTER: Final = 200_000
"""How many new objects start the search for cycles.  Nearly all objects are modules, which stay, and the
operating system frees them when the process ends: with Python's defaults the searches while modules are
imported and at the end take a fifth of a small run."""


def main() -> None:
    """The `tidalog` command."""
    gc.set_threshold(_COLLECTED_AFTER)
    atexit.register(gc.freeze)  # the search at the end skips what is frozen
    try:
        from tidalog.cli.app import run
        from tidalog.cli.report import ready_streams

        ready_streams()
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # while modules are imported, or at the very end
        sys.exit(130)


__all__ = ["main"]
