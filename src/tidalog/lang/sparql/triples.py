"""What a query reads: triples of the default graph, quads of named graphs.

Without FROM the default graph is the predicate of triples.  With FROM it is the union of the graphs that are
named, each triple once; with FROM NAMED alone it is empty.  A named graph is the quads that have its name;
one without quads is not there.

Inside `GRAPH ?g` every solution has a column for the graph it was found in, under a variable of its own, so
that all patterns inside are about one graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tidalog.lang.sparql.algebra import Node
from tidalog.lang.sparql.solutions import IMPOSSIBLE, UNBOUND, Rules, Solutions
from tidalog.model.errors import Span
from tidalog.model.program import Atom, FlatLiteral, Variable
from tidalog.model.terms import IRI

TRIPLE = "triple"
QUAD = "quad"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The predicates of triples and quads, and the graphs of FROM and FROM NAMED; None: all there are."""

    triple: str = TRIPLE
    quad: str = QUAD
    default: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None


class Triples:
    """Turns triple patterns into literals; their rules go to `rules`."""

    def __init__(self, rules: Rules, dataset: Dataset) -> None:
        self.rules = rules
        self.dataset = dataset
        self.counted = False
        self.active: IRI | Variable | None = None
        """The graph that patterns are about; None: the default graph."""
        self._names: str | None = None
        self._named: str | None = None

    @contextmanager
    def counting(self, counted: bool) -> Iterator[None]:
        before, self.counted = self.counted, counted
        try:
            yield
        finally:
            self.counted = before

    @contextmanager
    def about(self, graph: IRI | Variable) -> Iterator[None]:
        before, self.active = self.active, graph
        try:
            yield
        finally:
            self.active = before

    @property
    def context(self) -> tuple[Variable, ...]:
        """The variable of the graph, which every solution has."""
        return (self.active,) if isinstance(self.active, Variable) else ()

    def match(
        self, subject: Node, predicate: Node, object_: Node, span: Span | None = None
    ) -> tuple[FlatLiteral, ...]:
        """The literals that a triple of the active graph matches."""
        nodes, data = (subject, predicate, object_), self.dataset
        if isinstance(self.active, Variable):
            return (Atom(data.quad, (*nodes, self.active), span), *self._is_named(self.active))
        if self.active is not None:
            of_graph = Atom(data.quad, (*nodes, self.active), span)
            is_there = self._has(self.active)
            return (of_graph,) if is_there else (of_graph, IMPOSSIBLE)
        if data.default is None:
            return (Atom(data.triple, nodes, span),)
        graphs = [Atom(data.quad, (*nodes, IRI(iri)), span) for iri in data.default]
        if len(graphs) == 1:
            return (graphs[0],)
        variables = tuple(dict.fromkeys(node for node in nodes if isinstance(node, Variable)))
        name = self.rules.helper("from")
        for graph in graphs:
            self.rules.add(name, variables, (graph,))
        if not graphs:
            self.rules.add(name, [UNBOUND] * len(variables), [IMPOSSIBLE])
        return (Atom(name, variables, span),)

    def graphs(self) -> Solutions:
        """A solution for each graph that the active one may be: one without variables for a named graph that
        is there."""
        if self._names is None:
            self._names = self.rules.helper("graphs")
            name = self.rules.fresh("graph")
            anything = tuple(self.rules.fresh("any") for _ in range(3))
            quad = Atom(self.dataset.quad, (*anything, name))
            self.rules.add(self._names, (name,), (quad, *self._is_named(name)))
        if self.active is None:
            return Solutions()
        columns = self.context
        return Solutions((Atom(self._names, (self.active,)),), columns, frozenset(columns))

    def _is_named(self, graph: Variable) -> tuple[Atom, ...]:
        """With FROM or FROM NAMED only the graphs of the latter are there by name."""
        data = self.dataset
        if data.named is None:
            return ()
        if self._named is None:
            self._named = self.rules.helper("named")
            for iri in data.named:
                self.rules.add(self._named, (IRI(iri),), ())
            if not data.named:
                self.rules.add(self._named, (UNBOUND,), (IMPOSSIBLE,))
        return (Atom(self._named, (graph,)),)

    def _has(self, graph: IRI) -> bool:
        """Whether the dataset has a named graph, as far as the query says."""
        data = self.dataset
        return data.named is None or graph.value in data.named

    def is_node(self, variable: Variable, solutions: Solutions) -> bool:
        """Whether the values of a variable are surely ends of triples of the active graph."""
        graph = () if self.active is None else (self.active,)
        for literal in solutions.body:
            if (
                isinstance(literal, Atom)
                and literal.predicate in (self.dataset.triple, self.dataset.quad)
                and variable in (literal.arguments[0], literal.arguments[2])
                and literal.arguments[3:] == graph
            ):
                return True
        return False
