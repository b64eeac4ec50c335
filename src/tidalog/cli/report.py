"""The output of commands: text for people at a terminal, or JSON for programs."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

import typer

from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, TidalogError, UsageError, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidalog.api.results import Result

FAILED: Final = 1
USAGE: Final = 2
LIMIT: Final = 3
INTERRUPTED: Final = 130

_LIMITS: Final = frozenset({"T050", "T051", "T052", "T079"})
_INTERRUPTS: Final = frozenset({"T053", "T080"})
_COLOURS: Final = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m"}
_PLAIN: Final = "\x1b[0m"
_RENDERED: Final = 1_000
"""The largest number of rows for which a table is fitted to a terminal."""
_UNLIMITED: Final = 10_000
"""The width of a table that goes to a file or a pipe."""


def exit_code(error: TidalogError) -> int:
    numbers = {diagnostic.number for diagnostic in error.diagnostics}
    if numbers & _INTERRUPTS:
        return INTERRUPTED
    if numbers & _LIMITS:
        return LIMIT
    return USAGE if isinstance(error, UsageError) else FAILED


class Report:
    """The outcome of one command.  With `as_json` everything goes into one object at the end."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._warnings: dict[tuple[object, ...], Diagnostic] = {}

    def warn(self, warnings: Iterable[Diagnostic]) -> None:
        """Shows warnings that were not shown yet."""
        new = {key: w for w in warnings if (key := w.key) not in self._warnings}
        self._warnings |= new
        if new and not self.as_json:
            print(shown(list(new.values()), rendered), end="\n\n", file=sys.stderr)

    def note(self, text: str) -> None:
        """Prints a remark to stderr."""
        if not self.as_json:
            print(text, file=sys.stderr)

    def finish(self, content: Mapping[str, object]) -> None:
        """Reports success; `content` goes into the JSON object."""
        if self.as_json:
            print_json({"ok": True, "warnings": _messages(self._warnings.values()), **content})

    def fail(self, errors: Iterable[Diagnostic], code: int) -> NoReturn:
        """Shows the errors and ends the command."""
        self.show_errors(errors, code)
        raise typer.Exit(code)

    def show_errors(self, errors: Iterable[Diagnostic], code: int) -> None:
        if self.as_json:
            failure = {"errors": _messages(errors), "exit_code": code}
            print_json({"ok": False, "warnings": _messages(self._warnings.values()), **failure})
        else:
            sys.stdout.flush()
            print(shown(list(errors), rendered), file=sys.stderr)


@contextmanager
def reporting(as_json: bool) -> Iterator[Report]:
    """Converts the errors of a command to messages and an exit code."""
    report = Report(as_json)
    try:
        yield report
    except (TidalogError, KeyboardInterrupt, MemoryError) as error:
        report.fail(*failure_of(error))
    except BrokenPipeError:
        silence_stdout()
        raise typer.Exit(0) from None


def ready_streams() -> None:
    """Makes the standard streams accept any output: a closed one discards it, and characters that its
    encoding does not have are escaped.  Programs are always read as UTF-8; the parser reports invalid
    bytes."""
    if isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
    elif sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - until the end
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Drops the rest of the buffer: a reader that stops early is not an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failure_of(error: TidalogError | KeyboardInterrupt | MemoryError) -> tuple[tuple[Diagnostic, ...], int]:
    """The messages and the exit code of an exception."""
    if isinstance(error, TidalogError):
        return error.diagnostics, exit_code(error)
    from tidalog.api.diagnostics import OutOfMemory, Stopped

    return ((OutOfMemory(),), LIMIT) if isinstance(error, MemoryError) else ((Stopped(),), INTERRUPTED)


def _messages(diagnostics: Iterable[Diagnostic]) -> list[dict[str, object]]:
    return [diagnostic.to_json() for diagnostic in diagnostics]


def rendered(diagnostic: Diagnostic) -> str:
    """The message, with its first word in colour on a terminal."""
    text = diagnostic.render()
    if not in_colour(sys.stderr):
        return text
    kind = "warning" if diagnostic.is_warning else "error"
    head, _, rest = text.partition(":")
    return f"{_COLOURS[kind]}{head}{_PLAIN}:{rest}"


def in_colour(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ


def print_json(value: Mapping[str, object]) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def print_table(table: RenderableType) -> None:
    """Prints a table of rich; as wide as necessary unless it goes to a terminal."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else _UNLIMITED, highlight=False)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def print_predicates(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table of figures by predicate, which is the first column of each row."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("predicate")
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for name, *figures in rows:
        table.add_row(Text(name), *figures)
    print_table(table)
    print()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Converts an `OSError` to one that names the file of an option."""
    try:
        yield
    except OSError as error:
        from tidalog.api.diagnostics import OutputNotWritable

        raise UsageError(OutputNotWritable(path=path, why=error.strerror or str(error))) from error


def write_text(path: Path, text: str) -> None:
    with writing(path):
        path.write_text(text, encoding="utf-8")


def print_rows(result: Result, limit: int | None) -> None:
    """Prints the rows of a result in reading order, at most `limit`.  rich wraps long cells to fit a
    terminal, which is slow for many rows."""
    ordered = result.in_reading_order()
    shown = len(ordered) if limit is None else min(limit, len(ordered))
    if sys.stdout.isatty() and shown <= _RENDERED:
        print_table(ordered.as_rich_table(limit))
    else:
        for line in ordered.lines(limit):
            print(line)


def print_output(name: str, result: Result, limit: int | None) -> None:
    """Prints the name and the facts of a predicate."""
    if not result.columns:
        print(f"{name}  {'true' if len(result) else 'false'}")
        return
    print(f"{name}  {counted(len(result), 'fact')}")
    if len(result):
        print_rows(result, limit)
        left_out = 0 if limit is None else len(result) - limit
        if left_out > 0:
            print(f"… {left_out:,} more (--rows 0 shows all)")


def print_answer(result: Result, limit: int | None) -> None:
    """Prints the answers to a query and their number; or whether a query without variables is true."""
    if not result.columns:
        print("true" if len(result) else "false")
        return
    if len(result):
        print_rows(result, limit)
    print(result.footer(limit))


def result_json(result: Result) -> dict[str, object]:
    """`columns` and `rows`; numbers that JSON does not have (NaN, infinity) are text as in a table."""
    from tidalog.model.term_text import format_any, from_python

    rows = [
        [format_any(from_python(v)) if isinstance(v, float) and v - v != 0.0 else v for v in row]
        for row in result.in_reading_order()
    ]
    return {"columns": list(result.columns), "rows": rows}
