"""SPARQL updates: requests as one update of explicit facts.

The operations of a request come one after the other, and a pattern sees what those before it did.  So where a
pattern follows another operation, the operations before the last pattern are applied to find out what it
matches, and undone; then the whole request is applied as one update.

Triples of the default graph are facts of `triple`, those of named graphs facts of `quad`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tidalog.api.bulk_terms import ids_of_many
from tidalog.api.database import Database
from tidalog.api.encoded_update import net_update
from tidalog.api.relations import rows_of
from tidalog.api.sparql import compiled, solutions
from tidalog.lang.sparql import parse_updates, translate
from tidalog.lang.sparql.algebra import Node, Projected, Query
from tidalog.lang.sparql.solutions import UNBOUND
from tidalog.lang.sparql.triples import QUAD, TRIPLE
from tidalog.lang.sparql.updates import Clear, Modify, Operation, Quad
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Variable
from tidalog.model.terms import BlankNode
from tidalog.model.update import EncodedUpdate

_NAME: Final = "(update)"


class _Undone(Exception):
    """Ends the trial of some operations."""


def update_of(database: Database, text: str, name: str = "<update>") -> EncodedUpdate:
    """What a request changes.  Raises `ProgramError`."""
    found = net_update([EncodedUpdate(), *_updates_of(database, text, name)])
    return EncodedUpdate(found.deletions, found.insertions, dictionary=database.dictionary)


def _updates_of(database: Database, text: str, name: str) -> list[EncodedUpdate]:
    operations = parse_updates(text, database.program.prefixes, name)
    tried = max((n for n, one in enumerate(operations) if _looks(one)), default=0)
    if tried == 0:
        return [_update_of(database, one) for one in operations]
    found: list[EncodedUpdate] = []
    database.materialise()
    try:
        with database.steps():
            for operation in operations[:tried]:
                found.append(_update_of(database, operation))
                database.apply([found[-1]])
            found += [_update_of(database, one) for one in operations[tried:]]
            raise _Undone
    except _Undone:
        return found


def _looks(operation: Operation) -> bool:
    """Whether what it changes depends on the facts."""
    return isinstance(operation, Clear) or operation.where is not None


def _update_of(database: Database, operation: Operation) -> EncodedUpdate:
    if isinstance(operation, Clear):
        return EncodedUpdate(_cleared(database, operation), dictionary=database.dictionary)
    columns, rows = _bindings(database, operation)
    deletions, insertions = (
        _facts_of(database, quads, columns, rows) for quads in (operation.deletions, operation.insertions)
    )
    return EncodedUpdate(deletions, insertions, dictionary=database.dictionary)


def _bindings(database: Database, operation: Modify) -> tuple[Mapping[Variable, Ids], int]:
    """The values of the variables in templates, one for each solution."""
    if operation.where is None:
        return {}, 1
    variables = operation.variables
    query = Query(
        "SELECT",
        operation.where,
        tuple(map(Projected, variables)),
        distinct=not operation.makes_nodes,
        dataset=operation.dataset,
        span=operation.span,
    )
    translation = translate(query, _NAME, counted=True, once=True)
    found = solutions(database, translation, compiled(database, translation))
    return dict(zip(variables, found.columns, strict=True)), found.count


def _facts_of(
    database: Database, quads: Sequence[Quad], columns: Mapping[Variable, Ids], rows: int
) -> list[Facts]:
    """The facts of templates.  A quad without a value somewhere, or that RDF does not have, is left out."""
    dictionary = database.dictionary
    unbound = dictionary.id_of(UNBOUND)
    nodes: dict[str, Ids] = {}

    def column(node: Node) -> Ids:
        if isinstance(node, Variable):
            return columns[node]
        if isinstance(node, BlankNode):
            if node.label not in nodes:
                new = uuid.uuid4().hex
                terms = [BlankNode(f"b{new}{number}") for number in range(rows)]
                nodes[node.label] = ids_of_many(dictionary, terms)
            return nodes[node.label]
        return np.full(rows, dictionary.id_of(node), np.int32)

    found: list[Facts] = []
    for quad in quads:
        cells = [column(node) for node in quad.nodes]
        kept = np.ones(rows, np.bool_)
        for cell in cells:
            kept &= cell != unbound
        kept &= ~dictionary.is_literal(cells[0])
        for cell in (cells[1], *cells[3:]):
            kept &= dictionary.is_iri(cell)
        if kept.any():
            predicate = TRIPLE if quad.graph is None else QUAD
            found.append(Facts(predicate, [cell[kept] for cell in cells], int(kept.sum())))
    return found


def _cleared(database: Database, operation: Clear) -> list[Facts]:
    """The explicit facts of graphs."""
    found: list[Facts] = []
    if operation.target in ("DEFAULT", "ALL"):
        found.append(_explicit(database, TRIPLE))
    if operation.target != "DEFAULT":
        quads = _explicit(database, QUAD)
        if operation.target not in ("NAMED", "ALL"):
            assert not isinstance(operation.target, str)
            kept = quads.columns[3] == database.dictionary.id_of(operation.target)
            quads = Facts(QUAD, [column[kept] for column in quads.columns], int(kept.sum()))
        found.append(quads)
    return [facts for facts in found if facts.count]


def _explicit(database: Database, predicate: str) -> Facts:
    analysis = database.analysis
    if predicate not in analysis.predicates and not (predicate == TRIPLE and analysis.triples.active):
        return Facts(predicate, [np.empty(0, np.int32)] * (3 if predicate == TRIPLE else 4), 0)
    return rows_of(database.engine, analysis, predicate, True)
