"""The reader of updates: what a query does not have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from tidalog.lang.diagnostics import NotData
from tidalog.lang.sparql.algebra import (
    Alternative,
    BasicPattern,
    Graph,
    Group,
    InGraph,
    Inverse,
    Negated,
    Repeated,
    Sequence,
    TriplePattern,
)
from tidalog.lang.sparql.reader import QueryReader
from tidalog.lang.sparql.updates import Clear, Modify, Operation, Quad
from tidalog.model.program import Variable
from tidalog.model.terms import IRI, BlankNode

_Part = IRI | tuple[str, tuple[Quad, ...]] | Graph | Group


class UpdateReader(QueryReader):
    """Builds the operations of one request."""

    def updates(self, children: list[Operation | None]) -> tuple[Operation, ...]:
        return tuple(child for child in children if child is not None)

    # --- quads --------------------------------------------------------------------------------------

    def quads(self, children: list[tuple[TriplePattern | Quad, ...]]) -> tuple[Quad, ...]:
        parts = (part for child in children for part in child)
        return tuple(part if isinstance(part, Quad) else self._quad(part, None) for part in parts)

    def quads_in_graph(self, children: list[IRI | Variable | tuple[TriplePattern, ...]]) -> tuple[Quad, ...]:
        graph = cast("IRI | Variable", children[0])
        triples = cast("tuple[TriplePattern, ...]", children[1]) if len(children) > 1 else ()
        return tuple(self._quad(triple, graph) for triple in triples)

    def _quad(self, triple: TriplePattern, graph: IRI | Variable | None) -> Quad:
        predicate = triple.predicate
        if isinstance(predicate, Inverse | Sequence | Alternative | Repeated | Negated):
            self._refuse_data(triple, "a path in a template", "only patterns have paths", "name a property")
            predicate = IRI("")
        return Quad(triple.subject, predicate, triple.object, graph, triple.span)

    def _refuse_data(self, at: TriplePattern | Quad, problem: str, why: str, advice: str) -> None:
        self.errors.append(NotData(at.span, problem=problem, why=why, advice=advice))

    def _check(self, quads: Iterable[Quad], where: str, *, variables: bool, blanks: bool) -> None:
        """What a template or data may have.  A literal is no subject, and only an IRI is a predicate."""
        for quad in quads:
            nodes = quad.nodes
            variable = next((node for node in nodes if isinstance(node, Variable)), None)
            if variable is not None and not variables:
                why, advice = "data consist of terms", "write DELETE or INSERT { … } WHERE { … }"
                self._refuse_data(quad, f"?{variable.name} in {where}", why, advice)
            elif not blanks and any(isinstance(node, BlankNode) for node in nodes):
                why = "the label of a blank node names no node of the data"
                self._refuse_data(quad, f"a blank node in {where}", why, "find it with a variable in WHERE")
            elif not isinstance(quad.subject, IRI | BlankNode | Variable):
                why = "a subject is an IRI or a blank node"
                self._refuse_data(quad, "a literal as a subject", why, "swap subject and object")

    # --- operations ---------------------------------------------------------------------------------

    @v_args(meta=True, inline=True)
    def insert_data(self, meta: Meta, quads: tuple[Quad, ...]) -> Modify:
        self._check(quads, "INSERT DATA", variables=False, blanks=True)
        return Modify(insertions=quads, span=self.span(meta))

    @v_args(meta=True, inline=True)
    def delete_data(self, meta: Meta, quads: tuple[Quad, ...]) -> Modify:
        self._check(quads, "DELETE DATA", variables=False, blanks=False)
        return Modify(quads, span=self.span(meta))

    @v_args(meta=True, inline=True)
    def delete_where(self, meta: Meta, quads: tuple[Quad, ...]) -> Modify:
        self._check(quads, "DELETE WHERE", variables=True, blanks=False)
        plain = [quad.triple for quad in quads if quad.graph is None]
        elements = [BasicPattern(tuple(plain))] if plain else []
        named = [
            InGraph(quad.graph, Group((BasicPattern((quad.triple,)),)))
            for quad in quads
            if quad.graph is not None
        ]
        return Modify(quads, where=Group((*elements, *named)), span=self.span(meta))

    def deleting(self, children: list[tuple[Quad, ...]]) -> tuple[str, tuple[Quad, ...]]:
        self._check(children[0], "DELETE", variables=True, blanks=False)
        return "DELETE", children[0]

    def inserting(self, children: list[tuple[Quad, ...]]) -> tuple[str, tuple[Quad, ...]]:
        self._check(children[0], "INSERT", variables=True, blanks=True)
        return "INSERT", children[0]

    @v_args(meta=True)
    def modify(self, meta: Meta, children: list[_Part]) -> Modify:
        quads = dict(child for child in children if isinstance(child, tuple))
        dataset = tuple(child for child in children if isinstance(child, Graph))
        graph, where = children[0], cast(Group, children[-1])
        deletions, insertions = quads.get("DELETE", ()), quads.get("INSERT", ())
        if isinstance(graph, IRI):
            deletions, insertions = (
                tuple(replace(quad, graph=graph) if quad.graph is None else quad for quad in part)
                for part in (deletions, insertions)
            )
            dataset = dataset or (Graph(graph.value, "with"),)
        return Modify(deletions, insertions, where, dataset, self.span(meta))

    def target(self, children: list[Token | IRI]) -> Token | IRI:
        return children[0]

    def clear(self, children: list[Token | IRI]) -> Clear:
        target = children[-1]
        if isinstance(target, Token):
            match target.upper():
                case "DEFAULT":
                    return Clear("DEFAULT")
                case "NAMED":
                    return Clear("NAMED")
            return Clear("ALL")
        return Clear(target)
