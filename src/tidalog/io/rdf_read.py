"""RDF files: three columns of terms in N-Triples syntax.

Compiled code splits N-Triples block by block; only the lines that it does not recognise go through
pyoxigraph.  Other syntaxes are converted to N-Triples by pyoxigraph first.  Relative IRIs are kept (a bare
constant `a` is written `<a>`), unless a base is given.  Blank nodes keep their labels.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import Position, RdfSyntax
from tidalog.io.encoding import as_bytes, line_text, require_utf8, without_mark
from tidalog.io.result import BadRow, BadRowLog
from tidalog.io.row_scan import skip_lines
from tidalog.io.triple_scan import Bytes, Positions, count_lines, cut_lines, gather
from tidalog.rdf.ntriples import IRI_CHARACTERS

_BLOCK: Final = 1 << 24
NAMES: Final = ("subject", "predicate", "object")
SYNTAXES: Final = {
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "turtle": ox.RdfFormat.TURTLE,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "trig": ox.RdfFormat.TRIG,
}
_NO_BASE: Final = f"without-base-{secrets.token_hex(8)}:/"
"""A base for files without one: the parser needs it to check relative IRIs.  It is removed again."""
_VALID_IRIS: Final = re.compile(
    rf'(<{IRI_CHARACTERS}*>|_:\S+|".*"(@[\w-]+|\^\^<{IRI_CHARACTERS}*>)?)\Z', re.DOTALL
)
_NAMES: Final = {
    "ntriples": "an N-Triples statement",
    "turtle": "Turtle",
    "rdfxml": "RDF/XML",
    "trig": "TriG",
}
_NO_TRIPLE_TERMS: Final = "triples inside triples and texts with a direction are not supported as terms"
_HINT: Final = 'on_error = "skip" reads what can be read'

Chunks = tuple[list[pa.Array], list[pa.Array], list[pa.Array]]


@dataclass(frozen=True)
class _Fault:
    """An error in a line of a text (from 1): its column and its width in characters."""

    line: int | None
    column: int
    width: int
    why: str
    what: str | None = None
    """What the text should be, if its syntax is correct."""


def read_rdf(path: Path, buffer: pa.Buffer, syntax: str, base: str | None, log: BadRowLog) -> RawTable:
    buffer = without_mark(buffer, path)
    require_utf8(buffer, path)
    chunks: Chunks = ([], [], [])
    if syntax == "ntriples":
        _read_lines(path, buffer, buffer, chunks, log)
    else:
        faults: list[_Fault] = []
        parser = ox.parse(buffer.to_pybytes(), SYNTAXES[syntax], base_iri=base or _NO_BASE)
        triples = _triples(parser, faults.append)
        lines = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
        mark = b"<" + _NO_BASE.encode()
        if mark in lines and not faults and syntax != "rdfxml":
            # All IRIs are valid, and some are relative: without a base, `</a>` is kept.
            again = ox.parse(buffer.to_pybytes(), SYNTAXES[syntax], base_iri=base, lenient=True)
            lines = ox.serialize(_triples(again, faults.append), format=ox.RdfFormat.N_TRIPLES) or b""
        text = pa.py_buffer(lines.replace(mark, b"<"))
        _report(path, buffer, syntax, faults, log)
        _read_lines(path, buffer, text, chunks, log)
    columns = [pa.chunked_array(column, pa.string()) for column in chunks]

    def locate(row: int, field: int) -> tuple[Position, str]:
        return Position(str(path)), " ".join(column[row].as_py() for column in columns)

    return RawTable(str(path), columns, len(columns[0]), locate, NAMES)


def _triples(parser: ox.QuadParser, report: Callable[[_Fault], object]) -> Iterator[ox.Triple]:
    """The triples of the default graph.  The parser continues after an error if it can."""
    last: tuple[int | None, int | None] | None = None
    while True:
        try:
            quad = next(parser)
        except StopIteration:
            return
        except SyntaxError as error:
            spot = (error.lineno, error.offset)
            if spot == last:
                return
            last = spot
            report(_fault(error))
            if error.lineno is None:
                return
            continue
        if not isinstance(quad.graph_name, ox.DefaultGraph):
            why = f"a triple is in the graph {quad.graph_name}, and facts have no graphs"
            report(_Fault(None, 1, 1, why, "one graph without a name"))
        elif _is_plain(quad.object):
            yield quad.triple
        else:
            report(_Fault(None, 1, 1, _NO_TRIPLE_TERMS, "a triple of terms"))


def _is_plain(term: object) -> bool:
    return not isinstance(term, ox.Triple) and getattr(term, "direction", None) is None


def _fault(error: SyntaxError) -> _Fault:
    column = error.offset or 1
    width = (error.end_offset or column) - column if error.end_lineno == error.lineno else 1
    # "Parser error at line 2 between columns 27 and 31: oops is not …": the position is reported separately.
    why = error.msg.split(": ", 1)[-1] if error.lineno is not None else error.msg
    return _Fault(error.lineno, column, max(1, width), why)


# --- lines of N-Triples -----------------------------------------------------------------------------------


def _read_lines(path: Path, source: pa.Buffer, text: pa.Buffer, chunks: Chunks, log: BadRowLog) -> None:
    """Appends the statements of N-Triples lines; errors are shown in `source`."""
    data = as_bytes(text)
    at, line = 0, 1
    while at < len(data):
        stop = _block_end(text, at)
        most = int(count_lines(data, at, stop))
        cuts = np.empty((most, 6), dtype=np.int64)
        others = np.empty((most, 3), dtype=np.int64)
        plain, other, lines = cut_lines(data, at, stop, cuts, others)
        for column, chunk in enumerate(chunks):
            chunk.append(_terms(data, cuts[:plain], column))
        if other:
            _read_others(path, source, text, others[:other], (line, at), chunks, log)
        at, line = stop, line + int(lines)


def _block_end(text: pa.Buffer, at: int) -> int:
    """The end of the line at which the block ends."""
    end = at + _BLOCK
    while end < text.size:
        piece = text.slice(end, min(_BLOCK, text.size - end)).to_pybytes()
        found = int(piece.find(b"\n"))
        if found >= 0:
            return end + found + 1
        end += len(piece)
    return int(text.size)


def _terms(data: Bytes, cuts: Positions, column: int) -> pa.Array:
    size = int((cuts[:, 2 * column + 1] - cuts[:, 2 * column]).sum())
    offsets = np.zeros(len(cuts) + 1, dtype=np.int32)
    text = np.empty(size, dtype=np.uint8)
    gather(data, cuts, column, offsets, text)
    return pa.Array.from_buffers(pa.string(), len(cuts), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def _read_others(
    path: Path,
    source: pa.Buffer,
    text: pa.Buffer,
    others: Positions,
    block: tuple[int, int],
    chunks: Chunks,
    log: BadRowLog,
) -> None:
    """Parses the lines that are not plain.  `block` is the first line of their block, and its offset."""
    faults: list[_Fault] = []
    rows: list[tuple[str, str, str]] = []
    for start, end, number in others.tolist():
        found, why = _one_statement(text.slice(start, end - start).to_pybytes())
        rows += found
        faults += [replace(fault, line=block[0] + number) for fault in why]
    _report(path, source, "ntriples", faults, log, block)
    if rows:
        for chunk, terms in zip(chunks, zip(*rows, strict=True), strict=True):
            chunk.append(pa.array(terms, pa.string()))


def _one_statement(line: bytes) -> tuple[list[tuple[str, str, str]], list[_Fault]]:
    """The terms of the statement in a line, or its errors: never both, even if the parser found a triple
    beside an error."""
    faults: list[_Fault] = []
    # Lenient, to allow relative IRIs; but a lenient parser accepts any character in an IRI.
    triples = list(_triples(ox.parse(line, ox.RdfFormat.N_TRIPLES, lenient=True), faults.append))
    rows = [(str(t.subject), str(t.predicate), str(t.object)) for t in triples]
    if not all(_VALID_IRIS.match(term) for row in rows for term in row):
        faults.append(_Fault(1, 1, len(line), "an IRI has a character in it that no IRI has"))
    return ([], faults) if faults else (rows, [])


def _report(
    path: Path,
    source: pa.Buffer,
    syntax: str,
    faults: list[_Fault],
    log: BadRowLog,
    known: tuple[int, int] = (1, 0),
) -> None:
    """One bad row for each line with errors, showing the first of them.  `known` is a line at or before the
    first error, and its offset in the source."""
    bad: dict[int, _Fault] = {}
    for fault in faults:
        if fault.line is not None:
            bad.setdefault(fault.line, fault)
    nowhere = [fault for fault in faults if fault.line is None]

    def diagnostic(fault: _Fault, position: Position) -> RdfSyntax:
        return RdfSyntax(position, format=fault.what or _NAMES[syntax], why=fault.why, hint=_HINT)

    def bad_rows() -> Iterator[BadRow]:
        line, start = known
        for number in sorted(bad):
            start, line = start + int(skip_lines(as_bytes(source)[start:], 0, number - line)), number
            fault, text = bad[number], line_text(source, start)
            position = Position(str(path), number, min(fault.column, len(text) + 1), text, fault.width)
            yield BadRow(diagnostic(fault, position), None, text)
        for fault in nowhere:
            yield BadRow(diagnostic(fault, Position(str(path))), None, fault.why)

    log.add(bad_rows(), len(bad) + len(nowhere))
