"""Lines of N-Triples and N-Quads to term ids.

Compiled code splits the lines and looks up plain terms in the text itself.  Lines that it does not recognise
go through pyoxigraph.  Relative IRIs are kept: the IRI `a` of a program is written `<a>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyoxigraph as ox

from tidalog import arrow_compute as pc
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.span_encoding import NO_TERM
from tidalog.io.encoding import as_bytes
from tidalog.io.triple_scan import Bytes, Positions, cut_lines, gather
from tidalog.model.facts import Ids
from tidalog.rdf.ntriples import IRI_CHARACTERS

TERMS: Final = 4
"""Subject, predicate, object and graph; the default graph is `NO_TERM`."""
_STATEMENTS: Final = 1 << 15
"""How many are cut before their terms are looked up."""
_OTHERS: Final = 1 << 12
_VALID_IRIS: Final = re.compile(
    rf'(<{IRI_CHARACTERS}*>|_:\S+|".*"(@[\w-]+|\^\^<{IRI_CHARACTERS}*>)?)\Z', re.DOTALL
)
_NO_TRIPLE_TERMS: Final = "triples inside triples and texts with a direction are not supported as terms"

Row = tuple[str, str, str, str | None]


@dataclass(frozen=True)
class Fault:
    """An error in a line of a text (from 1): its column and its width in characters."""

    line: int | None
    column: int
    width: int
    why: str
    what: str | None = None
    """What the text should be, if its syntax is correct."""


Report = Callable[[Fault], object]
FaultAt = Callable[[Fault, int], object]
"""Called with an error and the offset of its line."""


class Labels(Protocol):
    """What blank nodes are called."""

    def named(self, labels: pa.Array) -> pa.Array: ...


class KeptLabels:
    """Labels are kept."""

    def named(self, labels: pa.Array) -> pa.Array:
        return labels


class LineEncoder:
    """Statements as columns of ids."""

    def __init__(self, dictionary: Dictionary, blank_nodes: Labels, *, graphs: bool) -> None:
        self._dictionary, self._blank_nodes, self._graphs = dictionary, blank_nodes, graphs
        self._cuts = np.empty((_STATEMENTS, 2 * TERMS), np.int64)
        self._others = np.empty((_OTHERS, 3), np.int64)
        self._parts: list[list[Ids]] = []
        self._offsets: list[npt.NDArray[np.int64]] = []
        self.rows = 0

    def add(self, text: pa.Buffer, report: FaultAt) -> int:
        """Adds the statements of lines; `report` gets errors.  Returns the number of lines."""
        data, at, line = as_bytes(text), 0, 0
        while at < len(data):
            plain, other, lines, at = cut_lines(data, at, len(data), self._cuts, self._others, self._graphs)
            if plain:
                self._append(self._ids(data, self._cuts[:plain]), self._cuts[:plain, 0].copy())
            rows: list[Row] = []
            starts: list[int] = []
            for start, end, number in self._others[:other].tolist():
                found, faults = _one_statement(text.slice(start, end - start).to_pybytes(), self._graphs)
                rows += found
                starts += [start] * len(found)
                for fault in faults:
                    report(replace(fault, line=line + number + 1), start)
            if rows:
                self._append(self._ids_of_texts(rows), np.array(starts, np.int64))
            line += int(lines)
        return line

    def _ids_of_texts(self, rows: Iterable[Row]) -> list[Ids]:
        columns: list[Ids] = []
        for texts in zip(*rows, strict=True):
            array = pa.array(texts, pa.string())
            ids = np.full(len(array), NO_TERM, np.int32)
            there = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
            ids[there] = self._dictionary.encode(self._named(array.take(pa.array(there))), "ntriples")
            columns.append(ids)
        return columns

    def offsets(self) -> npt.NDArray[np.int64]:
        """For each statement, an offset in its line, if all were added at once."""
        return np.concatenate([np.empty(0, np.int64), *self._offsets])

    def columns(self) -> list[Ids]:
        """The columns of all statements, which the encoder gives up."""
        parts, self._parts = self._parts, []
        if not parts:
            return [np.empty(0, np.int32)] * TERMS
        return [np.concatenate([part[column] for part in parts]) for column in range(TERMS)]

    def clear(self) -> None:
        self._parts.clear()
        self._offsets.clear()
        self.rows = 0

    def _append(self, columns: list[Ids], offsets: npt.NDArray[np.int64]) -> None:
        self._parts.append(columns)
        self._offsets.append(offsets)
        self.rows += len(columns[0])

    def _ids(self, data: Bytes, cuts: Positions) -> list[Ids]:
        columns: list[Ids] = []
        blank: list[tuple[int, npt.NDArray[np.int32], pa.Array]] = []
        for column in range(TERMS if self._graphs else TERMS - 1):
            ids, slow = self._dictionary.encode_spans(data, cuts, column)
            columns.append(ids)
            if len(slow):
                texts = _texts(data, cuts, column, slow)
                is_blank = _mask(pc.starts_with(texts, "_:"))
                if is_blank.any():
                    blank.append((column, slow[is_blank], texts.filter(pa.array(is_blank))))
                if not is_blank.all():
                    others = texts.filter(pa.array(~is_blank))
                    ids[slow[~is_blank]] = self._dictionary.encode(others, "ntriples")
        if not self._graphs:
            columns.append(np.full(len(cuts), NO_TERM, np.int32))
        if blank:
            self._set_blank_nodes(columns, blank)
        return columns

    def _set_blank_nodes(
        self, columns: list[Ids], blank: list[tuple[int, npt.NDArray[np.int32], pa.Array]]
    ) -> None:
        """Blank nodes are numbered in the order of the text."""
        keys = np.concatenate([rows.astype(np.int64) * TERMS + column for column, rows, _ in blank])
        order = np.argsort(keys, kind="stable")
        texts = pa.concat_arrays([texts for *_, texts in blank]).take(pa.array(order))
        ids = np.empty(len(order), np.int32)
        ids[order] = self._dictionary.encode(self._blank_nodes.named(texts), "ntriples")
        at = 0
        for column, rows, _ in blank:
            columns[column][rows] = ids[at : at + len(rows)]
            at += len(rows)

    def _named(self, texts: pa.Array) -> pa.Array:
        is_blank = pc.starts_with(texts, "_:")
        if not pc.any(is_blank, min_count=0).as_py():
            return texts
        return pc.replace_with_mask(texts, is_blank, self._blank_nodes.named(texts.filter(is_blank)))


def _mask(array: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = array.to_numpy(zero_copy_only=False)
    return found


def _texts(data: Bytes, cuts: Positions, column: int, rows: npt.NDArray[np.int32]) -> pa.Array:
    size = int((cuts[rows, 2 * column + 1] - cuts[rows, 2 * column]).sum())
    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    text = np.empty(size, dtype=np.uint8)
    gather(data, cuts, column, rows, offsets, text)
    return pa.Array.from_buffers(pa.string(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


# --- single statements --------------------------------------------------------------------------------------


def _one_statement(line: bytes, graphs: bool) -> tuple[list[Row], list[Fault]]:
    """The terms of the statement in a line, or its errors: never both, even if the parser found a statement
    beside an error."""
    faults: list[Fault] = []
    syntax = ox.RdfFormat.N_QUADS if graphs else ox.RdfFormat.N_TRIPLES
    # Lenient, to allow relative IRIs; but a lenient parser accepts any character in an IRI.
    rows = [row_of(quad) for quad in quads(ox.parse(line, syntax, lenient=True), faults.append)]
    if not all(_VALID_IRIS.match(term) for row in rows for term in row if term is not None):
        faults.append(Fault(1, 1, len(line), "an IRI has a character in it that no IRI has"))
    return ([], faults) if faults else (rows, [])


def row_of(quad: ox.Quad) -> Row:
    graph = quad.graph_name
    name = None if isinstance(graph, ox.DefaultGraph) else str(graph)
    return str(quad.subject), str(quad.predicate), str(quad.object), name


def quads(parser: Iterator[ox.Quad], report: Report) -> Iterator[ox.Quad]:
    """The statements of a parser, which continues after an error if it can."""
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
        if isinstance(quad.object, ox.Triple) or getattr(quad.object, "direction", None) is not None:
            report(Fault(None, 1, 1, _NO_TRIPLE_TERMS, "a triple of terms"))
        else:
            yield quad


def _fault(error: SyntaxError) -> Fault:
    column = error.offset or 1
    width = (error.end_offset or column) - column if error.end_lineno == error.lineno else 1
    # "Parser error at line 2 between columns 27 and 31: oops is not …": the position is reported separately.
    why = error.msg.split(": ", 1)[-1] if error.lineno is not None else error.msg
    return Fault(error.lineno, column, max(1, width), why)
