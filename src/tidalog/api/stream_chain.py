"""Queries that feed streams which other queries read: their evaluation order.

Invariant.  A query comes after those whose answers it reads, so there are no cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidalog.analysis.rewrite import placed_atoms
from tidalog.api.diagnostics import StreamCycle
from tidalog.api.query_text import rules_of
from tidalog.model.errors import UsageError
from tidalog.model.program import Program, Window
from tidalog.model.registered import Registered, RegisteredQuery


def sources_of(query: RegisteredQuery, windows: Mapping[str, Window]) -> set[str]:
    """The streams that a query reads, itself or through a window of the program."""
    meaning = rules_of(query)
    named = {**windows, **{window.name: window for window in meaning.windows}}
    return {named[name].source if name in named else name for name in meaning.streams}


def evaluation_order(queries: Iterable[RegisteredQuery], program: Program) -> list[RegisteredQuery]:
    """The queries, each after those that feed it.  Raises `UsageError` (T185) for a cycle."""
    found: list[RegisteredQuery] = []
    queries = list(queries)
    windows = {window.name: window for window in program.windows}
    sources = {query.name: sources_of(query, windows) for query in queries}
    feeding = [query for query in queries if rules_of(query).is_stream]

    def visit(query: RegisteredQuery, way: Sequence[str]) -> None:
        way = [*way, query.name]
        if query.name in way[:-1]:
            raise UsageError(StreamCycle(way=" → ".join(way[way.index(query.name) :])))
        if query not in found:
            for other in feeding:
                if other.name in sources[query.name]:
                    visit(other, way)
            found.append(query)

    for query in queries:
        visit(query, ())
    return found


class Chain:
    """Queries in evaluation order, and which of them feed others."""

    def __init__(self, registered: Registered, program: Program) -> None:
        self._registered, self._program = registered, program
        self.queries = evaluation_order(registered, program)
        streams = [query.name for query in registered if rules_of(query).is_stream]
        self.feeding = read_streams(registered, program).intersection(streams) if streams else set[str]()

    def is_of(self, registered: Registered, program: Program) -> bool:
        return registered is self._registered and program is self._program


def read_streams(queries: Iterable[RegisteredQuery], program: Program) -> set[str]:
    """The streams that queries, windows or rules of the program read."""
    windows = {window.name: window for window in program.windows}
    of_queries = (name for query in queries for name in sources_of(query, windows))
    of_rules = (
        atom.predicate for rule in program.rules for atom, is_head in placed_atoms(rule) if not is_head
    )
    return {*of_queries, *of_rules, *(window.source for window in program.windows)}
