"""Runs the code blocks of a documentation page in a fresh folder, in order and as printed.

The folder has `examples/`, as a clone has.  What a block is depends on its language:

prolog, csv, upd, json   A file, if the paragraph before or after it says "save this as `NAME`" or "add this
                         to `NAME`".  Otherwise a program that parses (and prints to the same program), an
                         update table or a script that can be read, lines of JSON.
python                   Runs; the blocks of a page share their variables.  With `>>>` it is a session.  A
                         `text` block directly below it is what it prints.
text                     `$ tidalog …`: commands and what they print.  `tidalog> …`: a session of the REPL.
                         A text that is saved is a file.
sh                       Commands: `make TARGET` must exist, `python -m bench NAME` must be known,
                         `tidalog …` must succeed.

In printed output, `…` stands for anything: alone in a line for any lines, within a line for any text.
Figures with a unit of time or memory, and rates, may differ (`steady`).  Two comments, which a reader of the
page does not see, are for the rest:

    <!-- not run: REASON -->      the next block cannot run; `test_docs.py` limits how many there are
    <!-- file: NAME               a file that the page takes for granted
    … -->
"""

from __future__ import annotations

import doctest
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidalog.analysis import analyse
from tidalog.cli.app import run
from tidalog.io.update_tables import read_update_table
from tidalog.lang import DIALECTS, parse, print_program
from tidalog.lang.updates import parse_updates, read_updates
from tidalog.model.errors import ProgramError, Source

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
ON_SPARK = ("README.md", "docs/cli.md", "docs/spark.md", "docs/keyed.md")

_BLOCK = re.compile(
    r"^<!-- file: (?P<file>\S+)\n(?P<content>.*?)^-->$|^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SAVED = re.compile(r"[Ss]aved? (?:\w+ ){0,3}as `([^`]+)`")
_ADDED = re.compile(r"[Aa]dd (?:this )?to `([^`]+)`")
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z", re.DOTALL)
_VARIES = re.compile(r"\b\d[\d,.]*(?: [kMG](?= ))? (?:ms|s|[kMG]?B|(?:facts|updates|rows)/s)(?!\w)")
_PROMPT = re.compile(r"^(?:tidalog> |     \.\.\. )(.*)$")
_DIALECTS = {"ZodiacEdge": "zodiac", "RDFox": "rdfox", "Jena": "jena"}
_NUMBER = re.compile(r"[TW]\d{3}")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    """Empty for a hidden file."""
    text: str
    heading: str
    file: str | None
    """The name of the file that the block is."""
    adds: bool
    """Whether it is added to that file."""
    not_run: str | None
    """Why it cannot run."""
    follows: str
    """The language of the block directly above it."""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str) -> Iterator[Block]:
    source = (ROOT / page).read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(source))
    previous = None
    for match, following in zip(found, [*found[1:], None], strict=False):
        before = source[previous.end() if previous else 0 : match.start()]
        after = source[match.end() : following.start() if following else None]
        headings = re.findall(r"^#+ (.+)$", source[: match.start()], re.MULTILINE)
        paragraph = before.strip().rpartition("\n\n")[2]
        added = _ADDED.search(paragraph)
        saved = _SAVED.search(paragraph) or _SAVED.match(after.strip())
        if (match["text"] or "").startswith("$ "):
            added = saved = None
        skipped = _NOT_RUN.search(before)
        yield Block(
            page,
            source.count("\n", 0, match.start()) + 1,
            match["language"] or "",
            match["text"] if match["file"] is None else match["content"],
            headings[-1] if headings else "",
            match["file"] or (added[1] if added else saved[1] if saved else None),
            added is not None,
            skipped[1] if skipped else None,
            previous["language"] or "" if previous and not before.strip() else "",
        )
        previous = match


def steady(text: str) -> str:
    """The text without what differs from run to run: times, rates, memory."""
    return _VARIES.sub("N unit", text)


def assert_printed(block: Block, what: str, expected: str, actual: str) -> None:
    def pattern(line: str) -> str:
        if line.strip() == "…":
            return r"(?:.*\n)*?"
        return re.escape(line.rstrip()).replace("…", ".*") + r"\n"

    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in steady(text).strip("\n").split("\n")]

    wanted, printed = lines(expected), lines(actual)
    if not re.fullmatch("".join(map(pattern, wanted)), "".join(f"{line}\n" for line in printed)):
        pytest.fail(f"{block.where}: {what} prints\n" + "\n".join(actual.rstrip().split("\n")), pytrace=False)


class Page:
    """One page, read in a folder of its own."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.variables: dict[str, object] = {"__name__": "__main__"}
        self._printed = ""
        shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)

    def run(self) -> None:
        kinds: dict[str, Callable[[Block], None]] = {
            "prolog": self._program,
            "csv": self._table,
            "upd": self._script,
            "json": self._json,
            "python": self._python,
            "text": self._text,
            "sh": self._commands,
        }
        for block in blocks_of(self.page):
            if block.not_run is not None:
                continue
            if block.file is not None:
                self._write(block.file, block.text, block.adds)
            elif block.language in kinds:
                kinds[block.language](block)
            else:
                pytest.fail(f"{block.where}: a block of no known language: {block.language!r}")

    def _write(self, name: str, text: str, add: bool) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((path.read_text() if add else "") + text, encoding="utf-8")

    # --- texts --------------------------------------------------------------------------------------

    def _program(self, block: Block) -> None:
        dialect = _DIALECTS.get(block.heading, "main")
        if _NUMBER.fullmatch(block.heading):
            return  # of docs/errors.md: test_docs.py looks for the error
        program = parse(block.text, block.where, dialect)
        if dialect == "main":
            assert parse(print_program(program), block.where) == program, block.where
        else:
            assert analyse(program).rules, block.where

    def _table(self, block: Block) -> None:
        path = self.folder / "a table.csv"
        path.write_text(block.text)
        assert len(read_update_table(path).updates) > 0, block.where

    def _script(self, block: Block) -> None:
        if not _NUMBER.fullmatch(block.heading):
            assert parse_updates(block.text, block.where), block.where

    def _json(self, block: Block) -> None:
        for line in block.text.splitlines():
            json.loads(line)

    # --- code ---------------------------------------------------------------------------------------

    def _python(self, block: Block) -> None:
        if block.text.startswith(">>>"):
            for example in doctest.DocTestParser().get_examples(block.text):
                printed = self._execute(block, example.source, "single", example.lineno)
                assert_printed(block, example.source.strip(), example.want, printed)
        else:
            self._printed = self._execute(block, block.text, "exec", 0)

    def _execute(self, block: Block, source: str, mode: str, line: int) -> str:
        with _captured() as out:
            try:
                exec(compile("\n" * (block.line + line) + source, block.page, mode), self.variables)
            except Exception as error:
                error.add_note(f"in a block of {block.where}")
                raise
        return out.getvalue()

    # --- commands -----------------------------------------------------------------------------------

    def _text(self, block: Block) -> None:
        if block.follows == "python":
            assert_printed(block, "the code above", block.text, self._printed)
        elif block.text.startswith("$ "):
            for command, expected in _session(block.text):
                code, printed = self._command(block, command)
                assert_printed(block, command, expected, printed)
                assert (code == 0) == ("error[" not in expected), f"{block.where}: {command} ends with {code}"
        elif block.text.startswith("tidalog> "):
            given = [_PROMPT.match(line) for line in block.text.splitlines()]
            answers = [line for line in block.text.splitlines() if not _PROMPT.match(line)]
            _, printed = self._command(block, "tidalog repl", "\n".join(m[1] for m in given if m))
            assert_printed(block, "the session", "\n".join(answers), printed)
        else:
            pytest.fail(f"{block.where}: text that no command prints", pytrace=False)

    def _commands(self, block: Block) -> None:
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if words[0] == "make":
                assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
            elif words[:3] == ["python", "-m", "bench"]:
                assert _known_benchmarks().issuperset(words[3:]), line
            else:
                code, printed = self._command(block, line)
                assert code == 0, f"{block.where}: {line}\n{printed}"

    def _command(self, block: Block, command: str, given: str = "") -> tuple[int, str]:
        program, *arguments = shlex.split(command, comments=True)
        assert program == "tidalog", f"{block.where}: {program} is not run here"
        before = sys.stdin
        sys.stdin = io.StringIO(given)
        try:
            with _captured() as out:
                code = run(arguments)
        finally:
            sys.stdin = before
        return code, out.getvalue()


class _captured:
    """Everything that is printed, errors included, as on a terminal."""

    def __enter__(self) -> io.StringIO:
        out = io.StringIO()
        self._both = redirect_stdout(out), redirect_stderr(out)
        for one in self._both:
            one.__enter__()
        return out

    def __exit__(self, *error: object) -> None:
        for one in reversed(self._both):
            one.__exit__(None, None, None)


def _session(text: str) -> Iterator[tuple[str, str]]:
    """Commands after `$ ` and what each prints; a backslash continues a command."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def _known_benchmarks() -> set[str]:
    from bench.suites.catalogue import SUITES

    return {name for suite in SUITES for name in (suite.name, *suite.workloads(False))}


def messages(block: Block) -> set[str]:
    """The numbers of all errors and warnings of a program or a script."""
    source = Source(block.where, block.text)
    if block.language == "upd":
        return {diagnostic.number for diagnostic in read_updates(source)[1]}
    program, found = DIALECTS["main"].parse_source(source)
    numbers = {diagnostic.number for diagnostic in found}
    if all(diagnostic.is_warning for diagnostic in found):
        try:
            numbers.update(diagnostic.number for diagnostic in analyse(program).warnings)
        except ProgramError as error:
            numbers.update(diagnostic.number for diagnostic in error.diagnostics)
    return numbers
