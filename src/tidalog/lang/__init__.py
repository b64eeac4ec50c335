"""Parsing and printing: grammars, statements, printer; one module per dialect, all lowering to one AST.

    text ──statements──▶ statement ──grammar──▶ tree ──builder──▶ Program        facts: the fast path

What a program means beyond its text is the subject of analysis.
"""

from __future__ import annotations

from pathlib import Path

from tidalog.lang.dialects import DIALECTS, Dialect, dialect_of
from tidalog.lang.formatter import format_text
from tidalog.lang.fragments import QUERY, parse_fact, parse_query, parse_rule, parse_rules
from tidalog.lang.printer import (
    print_atom,
    print_expression,
    print_fact,
    print_literal,
    print_program,
    print_rule,
)
from tidalog.model.errors import Diagnostic, ProgramError, Source
from tidalog.model.program import Program


def parse(text: str, name: str = "<text>", dialect: str = "main") -> Program:
    """Parses a program.  Raises `ProgramError` with all errors found."""
    return parse_with_warnings(text, name, dialect)[0]


def parse_with_warnings(
    text: str, name: str = "<text>", dialect: str = "main"
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """`parse`, with warnings."""
    program, found = DIALECTS[dialect].parse_source(Source(name, text))
    errors = [diagnostic for diagnostic in found if not diagnostic.is_warning]
    if errors:
        raise ProgramError(errors)
    return program, tuple(found)


def parse_file(path: str | Path, dialect: str | None = None) -> Program:
    """Parses a file in the given dialect; by default, the file's ending selects it."""
    return parse_file_with_warnings(path, dialect)[0]


def parse_file_with_warnings(
    path: str | Path, dialect: str | None = None
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """`parse_file`, with warnings.  A file that cannot be read raises `OSError` or `UnicodeDecodeError`."""
    text = Path(path).read_text(encoding="utf-8-sig")
    return parse_with_warnings(text, str(path), dialect or dialect_of(path).name)


__all__ = [
    "DIALECTS",
    "QUERY",
    "Dialect",
    "dialect_of",
    "format_text",
    "parse",
    "parse_fact",
    "parse_file",
    "parse_file_with_warnings",
    "parse_query",
    "parse_rule",
    "parse_rules",
    "parse_with_warnings",
    "print_atom",
    "print_expression",
    "print_fact",
    "print_literal",
    "print_program",
    "print_rule",
]
