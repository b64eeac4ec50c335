"""All triples and quads as one RDF file: explicit ones, inferred ones, or both.

A triple that follows from a quad alone is written as the quad, if the format has graphs.  Facts that are not
RDF are counted in a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.api.database import Database
from tidalog.api.diagnostics import GraphsLeftOut, NotInRdf
from tidalog.api.naming import user_predicates
from tidalog.api.queries import facts_of, ntriples_column
from tidalog.api.relations import count_of
from tidalog.io.formats import format_named
from tidalog.io.rdf_write import misfits
from tidalog.io.write import write_table
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic
from tidalog.model.facts import Facts
from tidalog.model.registered import is_of_query
from tidalog.rdf.layout import TRIPLE
from tidalog.rdf.quads import ARITY, QUAD

Mask = npt.NDArray[np.bool_]


def write_statements(
    database: Database, path: Path, format: str | None, explicit: bool | None
) -> Iterator[Diagnostic]:
    """Writes a file, and yields warnings about what is not in it."""
    kind = format_named(format, path)
    triples, quads = _triples(database, explicit), _quads(database, explicit)
    copies = _quads(database, explicit if not kind.graphs and explicit else None)
    from_quads = _rows(copies.columns[:3])
    if kind.graphs:
        own = _explicit_rows(database, triples) if explicit is None else np.full(triples.count, explicit)
        triples = _chosen(triples, own | ~np.isin(_rows(triples.columns), from_quads))
        columns = _texts(database, triples, quads)
    else:
        if explicit is not None and copies.count:
            triples = _with_copies(database, triples, explicit)
        columns = _texts(database, triples, None)
    names = ("subject", "predicate", "object", "graph")
    bad = np.zeros(len(columns[0]), np.bool_)
    reasons: Counter[str] = Counter()
    for wrong, rule in misfits(columns):
        reasons[rule] += int(np.count_nonzero(wrong & ~bad))
        bad |= wrong
    if bad.any():
        columns = [column.filter(pa.array(~bad)) for column in columns]
    table = pa.table(dict(zip(names, columns, strict=False)))
    prefixes = database.program.prefixes
    write_table(table, path, format, prefixes=prefixes, predicate="triple and quad")
    left_out = [f"{counted(count, 'statement')} ({rule})" for rule, count in reasons.items()]
    left_out += list(_others(database, explicit))
    if left_out:
        yield NotInRdf(path=path, facts="; ".join(left_out))
    if quads.count and not kind.graphs:
        yield GraphsLeftOut(path=path, format=kind.name, quads=counted(quads.count, "quad"))


def _others(database: Database, explicit: bool | None) -> Iterator[str]:
    """How many facts other predicates have."""
    for name in user_predicates(database.analysis):
        if name == TRIPLE or is_of_query(name) or (name == QUAD and _has_quads(database)):
            continue
        count = count_of(database.engine, database.analysis, name, explicit)
        if count:
            yield f"{counted(count, 'fact')} of {database.analysis.label(name)}"


def _triples(database: Database, explicit: bool | None) -> Facts:
    if not database.analysis.triples.active:
        return _none(TRIPLE, 3)
    return facts_of(database, TRIPLE, explicit)


def _quads(database: Database, explicit: bool | None) -> Facts:
    return facts_of(database, QUAD, explicit) if _has_quads(database) else _none(QUAD, ARITY)


def _has_quads(database: Database) -> bool:
    known = database.analysis.predicates.get(QUAD)
    return known is not None and known.arity == ARITY


def _none(predicate: str, arity: int) -> Facts:
    return Facts(predicate, [np.empty(0, np.int32)] * arity, 0)


def _with_copies(database: Database, triples: Facts, explicit: bool) -> Facts:
    """Triples that are explicit, or are copies of explicit quads; or those that are neither."""
    copies = _quads(database, True).columns[:3]
    if not explicit:
        return _chosen(triples, ~np.isin(_rows(triples.columns), _rows(copies)))
    both = [np.concatenate(pair) for pair in zip(triples.columns, copies, strict=True)]
    _, first = np.unique(_rows(both), return_index=True)
    return Facts(TRIPLE, [np.ascontiguousarray(column[first]) for column in both], len(first))


def _explicit_rows(database: Database, triples: Facts) -> Mask:
    """Which triples are explicit."""
    if not _has_quads(database):
        return np.ones(triples.count, np.bool_)
    found: Mask = np.isin(_rows(triples.columns), _rows(_triples(database, True).columns))
    return found


def _rows(columns: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.void]:
    """Triples as values that numpy compares."""
    table = np.stack(columns, axis=1)
    return np.ascontiguousarray(table).view([("s", "i4"), ("p", "i4"), ("o", "i4")]).reshape(-1)


def _chosen(facts: Facts, rows: Mask) -> Facts:
    if rows.all():
        return facts
    return Facts(facts.predicate, [column[rows] for column in facts.columns], int(np.count_nonzero(rows)))


def _texts(database: Database, triples: Facts, quads: Facts | None) -> list[pa.ChunkedArray]:
    columns = [ntriples_column(database.dictionary, column) for column in triples.columns]
    if quads is None:
        return [pa.chunked_array([column]) for column in columns]
    graphs = [ntriples_column(database.dictionary, column) for column in quads.columns]
    columns.append(pa.array([""] * triples.count, pa.string()))
    kind = pa.large_string() if any(pa.types.is_large_string(c.type) for c in (*columns, *graphs)) else None
    pairs = zip(columns, graphs, strict=True)
    return [pa.chunked_array([c if kind is None else c.cast(kind) for c in pair]) for pair in pairs]
