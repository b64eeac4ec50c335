"""`tidalog fmt`: programs of any dialect as formatted text of the main one.

JSON: `files`, a list of `file`, `changed`, and `text` unless files are written or checked.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import typer

from tidalog.api.sources import check_dialect, read_program_text
from tidalog.cli.options import STANDARD_INPUT, bad_option
from tidalog.cli.report import FAILED, Report, writing
from tidalog.lang import dialect_of, format_text
from tidalog.model.errors import Diagnostic, ProgramError


def fmt(report: Report, paths: list[Path], dialect: str | None, check: bool, write: bool) -> None:
    if check and write:
        raise bad_option("--check and --write together", "one looks, the other changes", "choose one")
    check_dialect(dialect)
    errors: list[Diagnostic] = []
    files: list[dict[str, object]] = []
    for path in paths:
        try:
            files.append(_format(path, dialect, check, write))
        except ProgramError as error:
            errors += error.diagnostics
    if errors:
        raise ProgramError(errors)
    changed = [file for file in files if file["changed"]]
    if report.as_json:
        report.finish({"files": files})
    elif check:
        for file in changed:
            print(f"{file['file']} would change")
    elif write:
        for file in changed:
            print(f"{file['file']} changed")
    else:
        print("\n".join(str(file["text"]).rstrip("\n") for file in files if file["text"]))
    if check and changed:
        raise typer.Exit(FAILED)


def _format(path: Path, dialect: str | None, check: bool, write: bool) -> dict[str, object]:
    standard_input = str(path) == STANDARD_INPUT
    if standard_input and write:
        raise bad_option("--write has no file to write to", "the program comes from stdin", "leave it out")
    name = dialect or ("main" if standard_input else dialect_of(path).name)
    if write and name != "main":
        raise bad_option(
            f"{path} stays as it is",
            f"it is of the dialect {name}, and --write would replace it by text of the main dialect",
            f"write it to a file of its own: tidalog fmt {path} > {path.with_suffix('.rls')}",
        )
    text = sys.stdin.read() if standard_input else read_program_text(path)
    tidy = format_text(text, "<stdin>" if standard_input else str(path), name)
    if write and tidy != text:
        _replace(path, tidy)
    file: dict[str, object] = {"file": "<stdin>" if standard_input else str(path), "changed": tidy != text}
    return file if check or write else {**file, "text": tidy}


def _replace(path: Path, text: str) -> None:
    """Replaces a file atomically and keeps its permissions."""
    target = Path(os.path.realpath(path))
    with writing(path):
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as part:
            part.write(text)
        os.chmod(part.name, target.stat().st_mode & 0o7777)
        os.replace(part.name, target)
