"""The result of reading: columns for the dictionary, and the bad rows.

Invariant.  The columns of a `ReadResult` have the same length, no nulls, and hold exactly the rows that are
well formed; every other row is counted in `bad`, and written to the quarantine file if there is one.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

import pyarrow as pa

from tidalog.io.diagnostics import DataDiagnostic, MoreBadRows
from tidalog.io.files import AtomicFile, writing
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError, Diagnostic
from tidalog.model.program import Declaration

Reading = Literal["any", "string", "iri", "int", "native", "ntriples", "ids"]
OnError = Literal["error", "skip"]


class Progress(Protocol):
    """Called after each file, and after each part of one that is read in parts."""

    def __call__(self, file: str, rows: int, done: int, total: int, /) -> None:
        """`rows` were read so far, and `done` of `total` bytes of all files."""


SHOWN: Final = 10
"""How many bad rows one error shows and a result keeps in memory."""


@dataclass(frozen=True)
class TermColumn:
    """A column and how its values are read as terms:

    native     int64, float64 or bool: numbers and booleans
    any        text as in docs/language.md, Terms in tables: `42`, `<iri>`, `"text"@en`, a bare name, any text
    string     text that is a string whatever it looks like
    iri        text that is an IRI, without angle brackets
    ntriples   a term in N-Triples syntax, escapes included
    ids        int32: ids of the dictionary that the reader was given

    The columns of a table may be `int` too: integers of any size in a column of decimals (`term_fields`).
    """

    array: pa.ChunkedArray
    reading: Reading


@dataclass(frozen=True)
class BadRow:
    """A row that is not a fact: the message, the column with the error (from 1) and the text of the row."""

    diagnostic: DataDiagnostic
    column: int | None
    text: str


@dataclass(frozen=True)
class BadRows:
    count: int = 0
    first: tuple[BadRow, ...] = ()
    quarantine: Path | None = None


@dataclass(frozen=True)
class ReadResult:
    columns: list[TermColumn]
    rows: int
    bad: BadRows = field(default_factory=BadRows)
    names: tuple[str, ...] | None = None
    """The names of the columns, if the data has any."""
    declaration: Declaration | None = None
    """What the columns were checked against."""
    notices: tuple[Diagnostic, ...] = ()
    quads: list[TermColumn] | None = None
    """Of a dataset: the statements in named graphs, with their graphs; `columns` are those in none."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """What RDF files declare."""


class BadRowLog:
    """Collects bad rows while files are read; at the end raises them as one error, or quarantines them."""

    def __init__(self, on_error: OnError, quarantine: Path | None) -> None:
        self._skip = on_error == "skip"
        self._target = quarantine if self._skip else None
        self._file: AtomicFile | None = None
        self._count = 0
        self._first: list[BadRow] = []

    def add(self, rows: Iterable[BadRow], count: int) -> None:
        """Adds `count` bad rows; reads only as many of `rows` as are kept."""
        self._count += count
        if self._target is None:
            self._first.extend(itertools.islice(rows, max(0, SHOWN - len(self._first))))
            return
        for row in rows:
            if len(self._first) < SHOWN:
                self._first.append(row)
            self._write(row, self._target)

    def _write(self, row: BadRow, target: Path) -> None:
        if self._file is None:
            self._file = AtomicFile(target)
            self._writer = csv.writer(self._file.text(), lineterminator="\n")
            self._writer.writerow(("line", "column", "reason", "text", "file"))
        position = row.diagnostic.position
        line = position.line if position is not None and position.line is not None else ""
        self._writer.writerow(
            (
                line,
                row.column or "",
                row.diagnostic.message,
                row.text,
                position.file if position is not None else "",
            )
        )

    def finish(self) -> BadRows:
        """The summary of all rows added.  Raises `DataError` if bad rows are an error."""
        if self._count and not self._skip:
            shown: list[DataDiagnostic] = [row.diagnostic for row in self._first]
            more = self._count - len(shown)
            if more:
                shown.append(MoreBadRows(rows=counted(more, "more bad row"), shown=len(shown)))
            raise DataError(shown)
        if self._file is not None and self._target is not None:
            with writing(self._target):
                self._file.commit()
        return BadRows(self._count, tuple(self._first), self._target if self._file is not None else None)

    def abandon(self) -> None:
        """Discards an unfinished quarantine file, after an error."""
        if self._file is not None:
            with suppress(OSError):
                self._file.abandon()
