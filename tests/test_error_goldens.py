"""Every message is part of the interface: tests/errors/NUMBER-slug/{program.*, expected.txt}.

A folder holds a program, an update script (`program.upd`), a SPARQL query or update (`program.rq`,
`program.ru`) that is wrong or odd, or registrations of queries (`program.csparql`), and its messages, word
for word.  Errors of the text stop there; a program without errors goes on to analysis.  Beside a program that
is right may stand a script that changes its rules (`change.upd`) and is wrong, or the name of a rewriting
(`rewriting.txt`) that the program does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import tidalog.analysis
import tidalog.lang
from tidalog.analysis.edit_scripts import changed_rules
from tidalog.analysis.maintenance_program import volz_program, window_program
from tidalog.api.continuous import register_all
from tidalog.lang import DIALECTS, dialect_of
from tidalog.lang.sparql import parse_statement, parse_updates, translate
from tidalog.lang.sparql.algebra import Registration
from tidalog.lang.updates import read_updates
from tidalog.model.errors import Diagnostic, ProgramError, Source, TidalogError

ROOT = Path(__file__).parent / "errors"
REWRITINGS = {"volz": volz_program, "maintenance-program": window_program}
FOLDERS = sorted(folder for folder in ROOT.iterdir() if folder.is_dir())


def diagnostics_of(path: Path) -> list[Diagnostic]:
    """What is said about a file, which goes by its bare name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".upd":
        return read_updates(Source(path.name, text))[1]
    if path.suffix == ".csparql":
        return errors_of_registration(text, path.name)
    if path.suffix == ".ru":
        return errors_of_request(text, path.name)
    if path.suffix == ".rq":
        return errors_of_query(text, path.name)
    program, found = DIALECTS[dialect_of(path).name].parse_source(Source(path.name, text))
    if any(not diagnostic.is_warning for diagnostic in found):
        return found
    try:
        analysis = tidalog.analysis.analyse(program)
        change = path.with_name("change.upd")
        if change.exists():
            ((update,), _) = read_updates(Source(change.name, change.read_text(encoding="utf-8")))
            return list(tidalog.analysis.EditedProgram(analysis).change(*changed_rules(update)).warnings)
        rewriting = path.with_name("rewriting.txt")
        if rewriting.exists():
            REWRITINGS[rewriting.read_text(encoding="utf-8").strip()](program)
        return [*found, *analysis.warnings]
    except ProgramError as error:
        return [*found, *error.diagnostics]


def errors_of_query(text: str, name: str) -> list[Diagnostic]:
    """A query without errors of its own is analysed as the rules that it becomes."""
    try:
        statement = parse_statement(text, name=name)
        query = statement.query if isinstance(statement, Registration) else statement
        return list(tidalog.analysis.analyse(translate(query, "q").program).warnings)
    except ProgramError as error:
        return list(error.diagnostics)


def errors_of_request(text: str, name: str) -> list[Diagnostic]:
    try:
        parse_updates(text, name=name)
    except ProgramError as error:
        return list(error.diagnostics)
    return []


def errors_of_registration(text: str, name: str) -> list[Diagnostic]:
    kb = tidalog.open()
    try:
        register_all(kb, text, source=name)
    except TidalogError as error:
        return list(error.diagnostics)
    return list(kb.warnings)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_message_is_the_golden_one(folder: Path) -> None:
    (program,) = folder.glob("program.*")
    found = diagnostics_of(program)
    shown = "\n\n".join(diagnostic.render() for diagnostic in found) + "\n"
    assert shown == (folder / "expected.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_folder_shows_the_number_it_is_named_after(folder: Path) -> None:
    (program,) = folder.glob("program.*")
    assert folder.name.split("-")[0] in {diagnostic.number for diagnostic in diagnostics_of(program)}


def _subclasses(kind: type[Diagnostic]) -> Iterator[type[Diagnostic]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _numbers_of_programs() -> set[str]:
    """The numbers that a program's text and analysis can have."""
    for package in (tidalog.lang, tidalog.analysis):
        for module in iter_modules(package.__path__, package.__name__ + "."):
            import_module(module.name)
    return {
        kind.number
        for kind in _subclasses(Diagnostic)
        if kind.__module__.startswith(("tidalog.lang.", "tidalog.analysis."))
        and hasattr(kind, "number")
        and (kind.number.startswith("W") or "T001" <= kind.number <= "T029" or kind.number >= "T130")
    }


@pytest.mark.parametrize("number", sorted(_numbers_of_programs()))
def test_every_number_has_a_golden_message(number: str) -> None:
    assert any(folder.name.startswith(f"{number}-") for folder in FOLDERS)


def test_a_file_is_named_in_its_messages_by_the_path_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "wrong.rls"
    path.write_text("p(?x).", encoding="utf-8")
    with pytest.raises(ProgramError, match=r"--> .*wrong\.rls:1:3"):
        tidalog.lang.parse_file(path)
