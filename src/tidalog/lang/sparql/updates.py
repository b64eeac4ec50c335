"""SPARQL updates as values: the operations of a request, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tidalog.lang.sparql.algebra import Graph, Group, Node, TriplePattern
from tidalog.model.errors import Span
from tidalog.model.program import Variable
from tidalog.model.terms import IRI, BlankNode


@dataclass(frozen=True, slots=True)
class Quad:
    """A triple of the default graph (None) or of a named one."""

    subject: Node
    predicate: Node
    object: Node
    graph: IRI | Variable | None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def triple(self) -> TriplePattern:
        return TriplePattern(self.subject, self.predicate, self.object, self.span)

    @property
    def nodes(self) -> tuple[Node, ...]:
        triple = self.subject, self.predicate, self.object
        return triple if self.graph is None else (*triple, self.graph)


@dataclass(frozen=True, slots=True)
class Modify:
    """Deletes and inserts quads for each solution of `where`; None: there is one solution, without
    variables."""

    deletions: tuple[Quad, ...] = ()
    insertions: tuple[Quad, ...] = ()
    where: Group | None = None
    dataset: tuple[Graph, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Those of the templates."""
        nodes = (node for quad in (*self.deletions, *self.insertions) for node in quad.nodes)
        return tuple(dict.fromkeys(node for node in nodes if isinstance(node, Variable)))

    @property
    def makes_nodes(self) -> bool:
        """Whether each solution makes new blank nodes."""
        return any(isinstance(node, BlankNode) for quad in self.insertions for node in quad.nodes)


@dataclass(frozen=True, slots=True)
class Clear:
    """Deletes all triples of a graph, of the default graph, of all named graphs, or of all graphs."""

    target: IRI | Literal["DEFAULT", "NAMED", "ALL"]


Operation = Modify | Clear
