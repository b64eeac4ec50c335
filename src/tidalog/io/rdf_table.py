"""RDF files as columns of a predicate: triples, and the statements of named graphs.

A *dataset* may have named graphs: it is read into `triple` and `quad`.  Any other predicate has triples
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.span_encoding import NO_TERM
from tidalog.io.columns import RawTable, check_shape, to_terms
from tidalog.io.diagnostics import Position, RdfSyntax
from tidalog.io.rdf_lines import TERMS
from tidalog.io.rdf_read import BytesRead, RdfSource, Statements, read_rdf
from tidalog.io.result import BadRow, BadRowLog, TermColumn
from tidalog.model.facts import Ids
from tidalog.model.program import Declaration
from tidalog.rdf.ntriples import ntriples_text

NAMES = ("subject", "predicate", "object")
_AS_IDS = pa.int32()


@dataclass(frozen=True)
class RdfTable:
    """The triples of a file, the statements in named graphs if it is a dataset, and its prefixes."""

    columns: list[TermColumn]
    rows: int
    quads: list[TermColumn] | None
    prefixes: Mapping[str, str]


@dataclass(frozen=True)
class RdfOptions:
    """What a predicate has.  Without a `dictionary`, columns are text."""

    arity: int | None
    dataset: bool
    declaration: Declaration | None
    dictionary: Dictionary | None


def read_rdf_table(source: RdfSource, options: RdfOptions, log: BadRowLog, progress: BytesRead) -> RdfTable:
    if not options.dataset and options.arity not in (None, 3):
        check_shape(str(source.path), 3, None, options.arity, "RDF is triples: subject, predicate, object")
    dictionary = options.dictionary if options.dictionary is not None else Dictionary()
    return as_table(read_rdf(source, dictionary, log, progress), source.path, options, dictionary, log)


def as_table(
    found: Statements, path: Path, options: RdfOptions, dictionary: Dictionary, log: BadRowLog
) -> RdfTable:
    """Statements as columns of a predicate."""
    columns, quads = found.columns, None
    named = columns[3] != NO_TERM
    if not named.any():
        columns, quads = columns[:3], _none() if options.dataset else None
    else:
        if options.dataset:
            quads = [column[named] for column in columns]
        else:
            log.add(_in_graphs(path, columns, np.flatnonzero(named), dictionary), int(named.sum()))
        columns = [column[~named] for column in columns[:3]]
    rows, declaration = len(columns[0]), options.declaration
    as_text = None if options.dictionary is not None else dictionary
    others = None if quads is None else [_term_column(column, as_text) for column in quads]
    if declaration is None or not declaration.is_typed:
        own = [_term_column(column, as_text) for column in columns]
        return RdfTable(own, rows, others, found.prefixes)
    texts = [pa.chunked_array([dictionary.decode_text(column)]) for column in columns]

    def locate(row: int, field: int) -> tuple[Position, str]:
        cells = (dictionary.term(int(column[row])) for column in columns)
        return Position(str(path)), " ".join(map(ntriples_text, cells))

    raw = RawTable(str(path), texts, rows, locate, NAMES, ("any",) * 3)
    terms, rows = to_terms(raw, None, 3, log, declaration)
    return RdfTable(terms, rows, others, found.prefixes)


def _none() -> list[Ids]:
    return [np.empty(0, np.int32)] * TERMS


def _term_column(ids: Ids, as_text: Dictionary | None) -> TermColumn:
    if as_text is not None:
        return TermColumn(pa.chunked_array([as_text.decode_text(ids)]), "any")
    array = pa.Array.from_buffers(_AS_IDS, len(ids), [None, pa.py_buffer(np.ascontiguousarray(ids))])
    return TermColumn(pa.chunked_array([array]), "ids")


def _in_graphs(
    path: Path, columns: Sequence[Ids], rows: npt.NDArray[np.intp], dictionary: Dictionary
) -> Iterator[BadRow]:
    for row in rows:
        *triple, graph = (ntriples_text(dictionary.term(int(column[row]))) for column in columns)
        diagnostic = RdfSyntax(
            Position(str(path)),
            format="one graph without a name",
            why=f"a triple is in the graph {graph}, and only triple and quad have graphs",
            hint="import it as triple or quad; graphs are then the last argument of quad",
        )
        yield BadRow(diagnostic, None, " ".join([*triple, graph, "."]))
