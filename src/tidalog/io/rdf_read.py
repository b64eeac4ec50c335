"""RDF files: statements as columns of term ids, and the prefixes of the file.

N-Triples and N-Quads are read in blocks of lines (`rdf_lines`).  Other syntaxes are converted to N-Quads by
pyoxigraph, some statements at a time.  Relative IRIs are kept, unless a base is given.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Final, cast

import pyarrow as pa
import pyoxigraph as ox

from tidalog.engine.dictionary import Dictionary
from tidalog.io.blank_nodes import BlankNodes
from tidalog.io.diagnostics import Position, RdfSyntax
from tidalog.io.encoding import (
    as_bytes,
    is_utf8,
    line_text,
    require_utf8,
    without_mark,
)
from tidalog.io.files import ByteStream, open_buffer
from tidalog.io.rdf_lines import Fault, LineEncoder, quads
from tidalog.io.result import BadRow, BadRowLog
from tidalog.io.row_scan import skip_lines
from tidalog.io.text_blocks import text_blocks
from tidalog.model.facts import Ids

SYNTAXES: Final = {
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "turtle": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}
_NAMES: Final = {
    "ntriples": "an N-Triples statement",
    "nquads": "an N-Quads statement",
    "turtle": "Turtle",
    "trig": "TriG",
    "rdfxml": "RDF/XML",
    "jsonld": "JSON-LD",
}
_BY_LINES: Final = ("ntriples", "nquads")
_KEEP_RELATIVE: Final = ("turtle", "trig")
"""Syntaxes whose parser keeps a relative IRI as it is, if it is not given a base."""
_NO_BASE: Final = f"without-base-{secrets.token_hex(8)}:/"
"""A base for files without one: the parser needs it to check relative IRIs.  It is removed again."""
_MARK: Final = b"<" + _NO_BASE.encode()
_CHUNK: Final = 1 << 15
_HINT: Final = 'on_error = "skip" reads what can be read'

BytesRead = Callable[[int, int], object]
"""Called with the number of statements and of bytes that were read."""


@dataclass(frozen=True)
class Statements:
    """Subjects, predicates, objects and graphs; the graph of a triple is `NO_TERM`."""

    columns: list[Ids]
    rows: int
    prefixes: Mapping[str, str]


@dataclass(frozen=True)
class RdfSource:
    """A file, and how it is to be read."""

    path: Path
    syntax: str
    compression: str | None = None
    base: str | None = None


def read_rdf(source: RdfSource, dictionary: Dictionary, log: BadRowLog, progress: BytesRead) -> Statements:
    """The statements of a file.  Terms go into the dictionary; errors, into the log."""
    by_lines = source.syntax in _BY_LINES
    names = BlankNodes(source.path, generated=not by_lines)
    encoder = LineEncoder(dictionary, names, graphs=source.syntax != "ntriples")
    prefixes: dict[str, str] = {}
    if by_lines:
        _read_lines(source, encoder, log, progress)
    else:
        try:
            _convert(source, encoder, prefixes, progress)
        except SyntaxError:
            encoder.clear()
            names.forget()
            _read_with_errors(source, encoder, prefixes, log)
    return Statements(encoder.columns(), encoder.rows, prefixes)


# --- N-Triples and N-Quads ----------------------------------------------------------------------------------


def _read_lines(source: RdfSource, encoder: LineEncoder, log: BadRowLog, progress: BytesRead) -> None:
    line = 0
    for block in text_blocks(source.path, source.compression):
        text = block.text
        if not is_utf8(text):
            require_utf8(without_mark(open_buffer(source.path, source.compression), source.path), source.path)
        faults = _Faults(line)
        lines = encoder.add(text, faults.add)
        if faults.found:
            _report(source, text, faults.found, log, faults.first)
        line += lines
        progress(encoder.rows, block.done)


class _Faults:
    """The errors of a block that begins after some lines, and the line and the offset of the first."""

    def __init__(self, before: int) -> None:
        self._before = before
        self.found: list[Fault] = []
        self.first = (1, 0)

    def add(self, fault: Fault, offset: int) -> None:
        line = self._before + (fault.line or 0)
        if not self.found:
            self.first = line, offset
        self.found.append(replace(fault, line=line))


# --- other syntaxes -----------------------------------------------------------------------------------------


class _Input(io.RawIOBase):
    """A file for pyoxigraph."""

    def __init__(self, stream: ByteStream, path: Path) -> None:
        self._stream, self._path, self._is_first = stream, path, True

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size if size > 0 else 1 << 20)
        if self._is_first:
            piece, self._is_first = without_mark(piece, self._path), False
        return bytes(piece.to_pybytes())


def _convert(source: RdfSource, encoder: LineEncoder, prefixes: dict[str, str], progress: BytesRead) -> None:
    """Adds all statements of a file.  Raises `SyntaxError` if it has errors."""
    is_relative = False
    for lines in _converted(source, prefixes, encoder, progress, base=source.base or _NO_BASE):
        if _MARK in lines:
            is_relative = is_relative or source.syntax in _KEEP_RELATIVE
            lines = lines.replace(_MARK, b"<")
        if not is_relative:
            _add_converted(lines, encoder)
    if is_relative:
        # All IRIs are valid, and some are relative: without a base, `</a>` is kept.
        encoder.clear()
        for lines in _converted(source, {}, encoder, progress, base=None, lenient=True):
            _add_converted(lines, encoder)


def _converted(
    source: RdfSource,
    prefixes: dict[str, str],
    encoder: LineEncoder,
    progress: BytesRead,
    *,
    base: str | None,
    lenient: bool = False,
) -> Iterator[bytes]:
    """The statements of a file as lines of N-Quads, some at a time."""
    with ByteStream(source.path, source.compression) as stream:
        given = _Input(stream, source.path)
        parser = ox.parse(cast("IO[bytes]", given), SYNTAXES[source.syntax], base_iri=base, lenient=lenient)
        size = 1  # some parsers know the prefixes between statements only
        while lines := ox.serialize(islice(parser, size), format=ox.RdfFormat.N_QUADS):
            _learn(prefixes, parser.prefixes)
            yield lines
            size = _CHUNK
            progress(encoder.rows, stream.done)
        _learn(prefixes, parser.prefixes)


def _add_converted(lines: bytes, encoder: LineEncoder) -> None:
    def report(fault: Fault, _: int) -> None:
        raise SyntaxError(fault.why)

    encoder.add(pa.py_buffer(lines), report)


def _read_with_errors(
    source: RdfSource, encoder: LineEncoder, prefixes: dict[str, str], log: BadRowLog
) -> None:
    """Adds the statements of a file that has errors, and reports these."""
    buffer = without_mark(open_buffer(source.path, source.compression), source.path)
    require_utf8(buffer, source.path)
    faults: list[Fault] = []
    parser = ox.parse(buffer.to_pybytes(), SYNTAXES[source.syntax], base_iri=source.base or _NO_BASE)
    statements = quads(parser, faults.append)
    while lines := ox.serialize(islice(statements, _CHUNK), format=ox.RdfFormat.N_QUADS):
        encoder.add(
            pa.py_buffer(lines.replace(_MARK, b"<")),
            lambda fault, _: faults.append(replace(fault, line=None)),
        )
        _learn(prefixes, parser.prefixes)
    _report(source, buffer, faults, log, (1, 0))


def _learn(prefixes: dict[str, str], found: Mapping[str, str]) -> None:
    """The first namespace of a prefix counts."""
    for name, iri in found.items():
        if not iri.startswith(_NO_BASE):
            prefixes.setdefault(name, iri)


# --- errors -------------------------------------------------------------------------------------------------


def _report(
    source: RdfSource, text: pa.Buffer, faults: Iterable[Fault], log: BadRowLog, known: tuple[int, int]
) -> None:
    """One bad row for each line with errors, showing the first of them.  `known` is a line of the text at or
    before the first error, and its offset."""
    path = str(source.path)
    bad: dict[int, Fault] = {}
    for fault in faults:
        if fault.line is not None:
            bad.setdefault(fault.line, fault)
    nowhere = [fault for fault in faults if fault.line is None]

    def diagnostic(fault: Fault, position: Position) -> RdfSyntax:
        what = fault.what or _NAMES[source.syntax]
        return RdfSyntax(position, format=what, why=fault.why, hint=_HINT)

    def bad_rows() -> Iterator[BadRow]:
        line, start = known
        for number in sorted(bad):
            start, line = start + int(skip_lines(as_bytes(text)[start:], 0, number - line)), number
            fault, shown = bad[number], line_text(text, start)
            position = Position(path, number, min(fault.column, len(shown) + 1), shown, fault.width)
            yield BadRow(diagnostic(fault, position), None, shown)
        for fault in nowhere:
            yield BadRow(diagnostic(fault, Position(path)), None, fault.why)

    log.add(bad_rows(), len(bad) + len(nowhere))
