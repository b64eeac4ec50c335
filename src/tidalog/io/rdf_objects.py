"""Graphs of other libraries: those of rdflib, and stores, datasets and parsers of pyoxigraph.

Statements are taken some at a time.  Blank nodes keep their labels, which such graphs choose themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, TypeGuard, cast

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.span_encoding import NO_TERM
from tidalog.io.diagnostics import Position, RdfSyntax
from tidalog.io.rdf_lines import Fault, KeptLabels, LineEncoder
from tidalog.io.rdf_read import Statements
from tidalog.io.result import BadRow, BadRowLog
from tidalog.io.values import column_of
from tidalog.model.facts import Ids

_AT_ONCE: Final = 1 << 15
_DEFAULT: Final = "urn:x-rdflib:default"
_ITERABLE: Final = (ox.Store, ox.Dataset, ox.QuadParser, ox.QueryTriples)
SOURCE: Final = Path("the data")


def is_graph(data: object) -> TypeGuard[Iterable[object]]:
    """Whether data is a graph of rdflib or pyoxigraph."""
    if isinstance(data, _ITERABLE):
        return True
    return type(data).__module__.partition(".")[0] == "rdflib" and hasattr(data, "triples")


def read_graph(data: Iterable[object], dictionary: Dictionary, log: BadRowLog) -> Statements:
    if isinstance(data, _ITERABLE):
        return _of_pyoxigraph(iter(data), dictionary, log)
    return _of_rdflib(data, dictionary)


def _of_pyoxigraph(
    statements: Iterator[ox.Quad | ox.Triple], dictionary: Dictionary, log: BadRowLog
) -> Statements:
    encoder = LineEncoder(dictionary, KeptLabels(), graphs=True)

    def report(fault: Fault, _: int) -> None:
        why = RdfSyntax(Position(str(SOURCE)), format=fault.what or "a statement", why=fault.why, hint="")
        log.add([BadRow(why, None, fault.why)], 1)

    quads = cast("Iterator[ox.Quad]", statements)
    while lines := ox.serialize(islice(quads, _AT_ONCE), format=ox.RdfFormat.N_QUADS):
        encoder.add(pa.py_buffer(lines), report)
    return Statements(encoder.columns(), encoder.rows, {})


def _of_rdflib(graph: Iterable[object], dictionary: Dictionary) -> Statements:
    quads = getattr(graph, "quads", None)
    rows = iter(graph if quads is None else quads())
    parts: list[list[Ids]] = []
    while some := cast("list[tuple[object, ...]]", list(islice(rows, _AT_ONCE))):
        given = list(zip(*some, strict=True))
        found = [_encoded(column, dictionary) for column in given[:3]]
        graphs = [_name(one) for one in given[3]] if quads is not None else [None] * len(some)
        found.append(_encoded(graphs, dictionary))
        parts.append(found)
    columns = [np.concatenate([np.empty(0, np.int32), *(part[c] for part in parts)]) for c in range(4)]
    return Statements(columns, len(columns[0]), _prefixes(graph))


def _prefixes(graph: object) -> dict[str, str]:
    """The prefixes of a graph, without those that each graph of rdflib has."""
    import rdflib

    usual = {str(name) for name, _ in rdflib.Graph().namespaces()}
    found = graph.namespaces() if isinstance(graph, rdflib.Graph) else ()
    return {str(name): str(iri) for name, iri in found if str(name) not in usual}


def _name(context: object) -> object:
    """The term of a graph, None for the default one."""
    name = getattr(context, "identifier", context)
    return None if name is None or str(name) == _DEFAULT else name


def _encoded(values: Iterable[object], dictionary: Dictionary) -> Ids:
    """Terms as ids; None is no term."""
    given = list(values)
    ids = np.full(len(given), NO_TERM, np.int32)
    there = [row for row, value in enumerate(given) if value is not None]
    array, reading, _ = column_of([given[row] for row in there])
    ids[there] = dictionary.encode(array, reading)
    return ids
