"""Where a program comes from: a file, a text, or a `Program`; and how several programs become one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from tidalog.api.diagnostics import ProgramNotFound, ProgramNotReadable, UnknownDialect, bad_argument
from tidalog.lang import DIALECTS, dialect_of, parse_with_warnings
from tidalog.model.amounts import article
from tidalog.model.errors import Diagnostic, UsageError
from tidalog.model.program import DataBinding, Program, Rule

ProgramSource = str | os.PathLike[str] | Program
_PATH: Final = re.compile(r"[^\n(){}<>?\"]+\.(?:rls|rules|dlog|jrules)")
"""A text that looks like the path of a program and not like a statement."""
_LONGEST_PATH: Final = 4096
T = TypeVar("T")


@dataclass(frozen=True)
class ReadProgram:
    """A program, the warnings about its text, and the folder that its relative paths start from."""

    program: Program
    warnings: tuple[Diagnostic, ...]
    folder: Path


def read_program(source: ProgramSource, dialect: str | None, base_dir: Path | None) -> ReadProgram:
    """A path is one that names a file, or looks like the path of a program; any other `str` is a text."""
    check_dialect(dialect)
    if isinstance(source, Program):
        return ReadProgram(source, (), base_dir or Path())
    if isinstance(source, str) and not names_a_file(source):
        program, warnings = parse_with_warnings(source, dialect=dialect or "main")
        return ReadProgram(program, warnings, base_dir or Path())
    if not isinstance(source, str | os.PathLike):
        hint = "pass bytes as text: data.decode()" if isinstance(source, bytes) else ""
        problem = f"{article(type(source).__name__)} cannot be loaded"
        raise bad_argument(problem, "a program is a path, a text or a Program", hint)
    path = Path(source).expanduser()
    program, warnings = read_program_file(path, dialect)
    return ReadProgram(program, warnings, base_dir or path.parent)


def check_dialect(name: str | None) -> None:
    if name is not None and name not in DIALECTS:
        near = get_close_matches(str(name).lower(), DIALECTS, 1)
        suggestion = f"did you mean {near[0]}?  Or " if near else ""
        raise UsageError(UnknownDialect(name=name, known=", ".join(DIALECTS), suggestion=suggestion))


def read_program_file(path: Path, dialect: str | None) -> tuple[Program, tuple[Diagnostic, ...]]:
    """The program in a file, in the dialect of its ending unless one is given, and its warnings."""
    return parse_with_warnings(read_program_text(path), str(path), dialect or dialect_of(path).name)


def read_program_text(path: Path) -> str:
    """The text of a file.  Raises `UsageError` if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(
            ProgramNotFound(path=path, why=_where_looked(path), hint=_similar_files(path))
        ) from None
    except OSError as error:
        why = "it is a folder" if os.path.isdir(path) else error.strerror or str(error)
        raise UsageError(ProgramNotReadable(path=path, why=why)) from error
    except UnicodeDecodeError as error:
        why = f"the byte at offset {error.start:,} is not UTF-8"
        raise UsageError(ProgramNotReadable(path=path, why=why)) from error
    except ValueError as error:  # a name that no file can have
        raise UsageError(ProgramNotReadable(path=path, why=str(error))) from error


def names_a_file(text: str) -> bool:
    """Whether a text is a path: that of a file, or one that looks like the path of a program."""
    if len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
        return False
    return _PATH.fullmatch(text.strip()) is not None or (bool(text.strip()) and os.path.isfile(text))


def _where_looked(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    return "looked in the current folder" if path.parent == Path() else f"looked in {path.parent}"


def _similar_files(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        return ""
    near = get_close_matches(path.name, names, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else "name a file of rules, such as rules.rls"


# --- several programs ------------------------------------------------------------------------------


def joined(old: Program, new: Program) -> Program:
    """Two programs as one, without facts.  What is in both occurs once; a prefix or parameter that both
    declare has the value of the new one."""
    return replace(
        new,
        rules=(*old.rules, *(rule for rule in new.rules if not _is_among(rule, old.rules))),
        facts=(),
        prefixes=MappingProxyType({**old.prefixes, **new.prefixes}),
        base=new.base if old == Program() or old.base == new.base else None,
        imports=_added(old.imports, new.imports),
        exports=_added(old.exports, new.exports),
        outputs=_added(old.outputs, new.outputs),
        declarations=_added(old.declarations, new.declarations),
        windows=_added(old.windows, new.windows),
        equalities=_added(old.equalities, new.equalities),
        parameters=MappingProxyType({**old.parameters, **new.parameters}),
        queries_triples=old.queries_triples,
    )


def only_declares(program: Program) -> bool:
    """Whether a program has only windows, declarations and prefixes, which neither derive anything nor bring
    facts."""
    bare = Program(
        prefixes=program.prefixes,
        base=program.base,
        declarations=program.declarations,
        windows=program.windows,
    )
    return program == bare and bool(program.windows or program.declarations)


def says_nothing_new(known: Program, program: Program) -> bool:
    """Whether a program, but for its facts, is a part of one that is known."""
    whole = joined(known, program)
    return replace(whole, base=known.base) == replace(known, facts=())


def _is_among(rule: Rule, rules: tuple[Rule, ...]) -> bool:
    """Whether a rule is among others.  One without a name may have got one since it was loaded."""
    if rule in rules:
        return True
    return rule.name is None and any(replace(known, name=None) == rule for known in rules)


def _added(old: tuple[T, ...], new: Iterable[T]) -> tuple[T, ...]:
    """In order.  What occurs twice in the new program is kept: the analysis warns of it."""
    return (*old, *(item for item in new if item not in old))


# --- data that programs name ------------------------------------------------------------------------


def import_number(program: Program, binding: DataBinding) -> int:
    """Which of a predicate's imports this is, from 1."""
    return [b for b in program.imports if b.predicate == binding.predicate].index(binding) + 1
