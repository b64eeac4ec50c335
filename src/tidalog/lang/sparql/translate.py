"""A query as rules, so that its answers are evaluated and kept up to date as any predicate is.

The answer predicate has the query's name.  Its columns are those of the answer, then those that ORDER BY
needs, then, if solutions are counted, those that keep equal ones apart.  `Translation.rows` turns facts into
rows: order, OFFSET and LIMIT are applied there, and a variable without a value is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from tidalog.lang.sparql.algebra import (
    Node,
    Projected,
    Query,
    TriplePattern,
    all_variables,
    columns,
    has_aggregate,
    in_scope,
)
from tidalog.lang.sparql.answers import Cut, Translation
from tidalog.lang.sparql.expressions import NO_AGGREGATES, Aggregates
from tidalog.lang.sparql.groups import Groups
from tidalog.lang.sparql.solutions import IMPOSSIBLE, UNBOUND, Rules, Solutions, is_bound
from tidalog.lang.sparql.triples import TRIPLE, Dataset, Triples
from tidalog.model.program import Atom, Call, Condition, Expression, FlatLiteral, Negation, Variable
from tidalog.model.terms import FALSE, TRUE, BlankNode, String


def translate(
    query: Query,
    name: str,
    *,
    triple: str = TRIPLE,
    counted: bool = False,
    once: bool = False,
) -> Translation:
    """The rules of a query whose answers are the facts of `name`.

    `triple` is the predicate of the triples that it reads.  With `counted`, the answers of a SELECT without
    DISTINCT keep their multiplicity: each solution is a fact.  `once`: the query is asked once, so FROM names
    graphs, and LIMIT may cut sub-queries; otherwise its answers are kept up to date, and what it reads is the
    caller's.  Raises `ProgramError` for what is not possible.
    """
    rules = Rules(name, {v.name for v in all_variables(query)}, query.span, once=once)
    translator = _Translator(Triples(rules, _dataset(query, triple, once=once)))
    translator.triples.counted = counted and query.kind == "SELECT" and not query.distinct
    return translator.translated(query)


def _dataset(query: Query, triple: str, *, once: bool) -> Dataset:
    default, named = (
        tuple(dict.fromkeys(graph.iri for graph in query.dataset if graph.kind == kind))
        for kind in ("default", "named")
    )
    with_ = tuple(graph.iri for graph in query.dataset if graph.kind == "with")
    if once and (default or named):
        return Dataset(triple, default=default, named=named)
    return Dataset(triple, default=with_ or None)


class _Translator(Groups):
    def __init__(self, triples: Triples) -> None:
        super().__init__(triples)
        self.cuts: list[Cut] = []

    def translated(self, query: Query) -> Translation:
        match query.kind:
            case "SELECT":
                return self.select(query)
            case "CONSTRUCT":
                return self.construct(query)
            case "ASK":
                return self.ask(query)
            case "DESCRIBE":
                return self.describe(query)

    def select(self, query: Query) -> Translation:
        answer, order = self._answer(query, self.rules.name)
        return Translation(
            tuple(self.rules.rules),
            self.rules.name,
            tuple(v.name for v in columns(query)),
            arity=len(answer.columns),
            counted=self.triples.counted,
            order=order,
            limit=query.limit,
            offset=query.offset,
            cuts=tuple(self.cuts),
        )

    def _answer(self, query: Query, name: str) -> tuple[Solutions, tuple[tuple[int, bool], ...]]:
        """Derives the rows of a SELECT as facts of a predicate: the graph, if there is one, the columns of
        the answer, those of ORDER BY, those that keep equal solutions apart.  Returns the predicate's
        solutions, and where ORDER BY finds its values."""
        solutions, aggregates = self.solutions(query)
        visible = (*self.triples.context, *columns(query))
        keys: list[Variable] = []
        for ordering in query.order_by:
            if isinstance(ordering.value, Variable):
                keys.append(ordering.value)
            else:
                keys.append(self.rules.fresh("order"))
                solutions = self.conditions.bind(solutions, ordering.value, keys[-1], aggregates)
        extra = tuple(dict.fromkeys(v for v in keys if v not in visible))
        hidden = (
            tuple(v for v in solutions.columns if v not in (*visible, *extra)) if self.triples.counted else ()
        )
        answer = (*visible, *extra, *hidden)
        self.rules.add(name, _cells(solutions, answer), solutions.body)
        order = tuple((answer.index(k), o.descending) for k, o in zip(keys, query.order_by, strict=True))
        found = Solutions((Atom(name, answer),), answer, solutions.certain.intersection(answer))
        return found, order

    def sub_select(self, query: Query) -> Solutions:
        """The rows of a sub-query; variables that it does not return are others than those outside."""
        around, self.conditions.outer = self.conditions.outer, None
        try:
            with self.triples.counting(self.triples.counted and not query.distinct):
                if query.limit is not None or query.offset:
                    found = self._cut(query)
                else:
                    found, _ = self._answer(replace(query, order_by=()), self.rules.helper("select"))
        finally:
            self.conditions.outer = around
        visible = (*self.triples.context, *columns(query))
        for inner in found.columns[len(visible) :]:
            found = found.renamed(inner, self.rules.fresh("inner"))
        return found if self.triples.counted else found.without(found.columns[len(visible) :])

    def _cut(self, query: Query) -> Solutions:
        """The rows that LIMIT and OFFSET leave of a sub-query, which are facts that are given."""
        what = "LIMIT" if query.limit is not None else "OFFSET"
        advice = "use MIN or MAX, or take the rows from the answer of the whole query"
        self.rules.refuse_kept(
            f"{what} in a sub-query", "which rows it takes is not a matter of rules", advice, query.span
        )
        source, target = self.rules.helper("select"), self.rules.helper("limited")
        found, order = self._answer(query, source)
        rows, arity = tuple(self.rules.rules), len(found.columns)
        self.rules.rules.clear()
        keys = len(self.triples.context)
        self.cuts.append(Cut(rows, source, target, arity, keys, order, query.limit, query.offset))
        return Solutions((Atom(target, found.columns),), found.columns, found.certain)

    def solutions(self, query: Query) -> tuple[Solutions, Aggregates]:
        """The solutions of WHERE, grouped and with the computed columns of SELECT."""
        aggregates = NO_AGGREGATES
        if has_aggregate(query):
            found, aggregates = self.grouped(query)
        else:
            found = self.where(query)
        for condition in query.having:
            found = self.conditions.filter(found, condition, aggregates)
        around, self.rules.identity = self.rules.identity, found.columns
        for item in query.projection or ():
            if item.value is not None:
                found = self.conditions.bind(found, item.value, item.variable, aggregates)
        self.rules.identity = around
        return found, aggregates

    def construct(self, query: Query) -> Translation:
        """A fact (subject, predicate, object) for each triple of the template that is one in RDF.  A blank
        node of the template follows from the solution, so each solution has its own."""
        found = self._where(query)
        name = self.rules.name
        for triple in query.template:
            given = _nodes(triple)
            nodes = [self._made(node, found) if isinstance(node, BlankNode) else node for node in given]
            if all(not isinstance(node, Variable) or node in found.columns for node in given):
                self.rules.add(name, nodes, (*found.body, *_valid(given, found)))
            else:  # a variable without a value: the predicate exists nevertheless
                self.rules.add(name, [UNBOUND] * 3, [IMPOSSIBLE])
        return self._triples()

    def _where(self, query: Query) -> Solutions:
        """The solutions that a template is for: those that differ in its variables, or all of them."""
        makes_nodes = any(isinstance(n, BlankNode) for t in query.template for n in (t.subject, t.object))
        with self.triples.counting(makes_nodes):
            if query.limit is not None or query.offset:
                names = _variables(query.template)
                select = replace(query, kind="SELECT", projection=tuple(map(Projected, names)))
                return self.sub_select(select)
            found, _ = self.solutions(query)
        found = found if makes_nodes else _of_template(found, query)
        return self.rules.stored(found, "where")

    def _made(self, node: BlankNode, found: Solutions) -> Expression:
        return Call("SKOLEM", (String(node.label), *found.columns))

    def _triples(self) -> Translation:
        names = ("subject", "predicate", "object")
        return Translation(tuple(self.rules.rules), self.rules.name, names, arity=3, cuts=tuple(self.cuts))

    def ask(self, query: Query) -> Translation:
        """One fact, true or false."""
        found, _ = self.solutions(query)
        matched = self.rules.helper("matched")
        self.rules.add(matched, (), found.body)
        self.rules.add(self.rules.name, (TRUE,), (Atom(matched, ()),))
        self.rules.add(self.rules.name, (FALSE,), (Negation(Atom(matched, ())),))
        return Translation(
            tuple(self.rules.rules), self.rules.name, ("answer",), arity=1, cuts=tuple(self.cuts)
        )

    def describe(self, query: Query) -> Translation:
        """The triples about each resource, and those about the blank nodes that they lead to."""
        resources, name = self.rules.helper("resource"), self.rules.name
        nodes = in_scope(query.where) if query.described is None else query.described
        variables = tuple(node for node in nodes if isinstance(node, Variable))
        select = replace(query, kind="SELECT", projection=tuple(map(Projected, variables)), distinct=True)
        found = self.rules.stored(self.sub_select(select), "where")
        for node in nodes:
            bound = (is_bound(node),) if isinstance(node, Variable) else ()
            self.rules.add(resources, (node,), (*found.body, *bound))
        self.rules.add(resources, (UNBOUND,), (IMPOSSIBLE,))
        subject, predicate, object_ = (self.rules.fresh(one) for one in ("subject", "predicate", "object"))
        about = Atom(resources, (subject,)), *self.triples.match(subject, predicate, object_)
        self.rules.add(resources, (object_,), (*about, Condition(Call("ISBLANK", (object_,)))))
        self.rules.add(name, (subject, predicate, object_), about)
        return self._triples()


def _nodes(triple: TriplePattern) -> tuple[Node, Node, Node]:
    """Those of a template, which has no paths."""
    return triple.subject, cast(Node, triple.predicate), triple.object


def _variables(template: tuple[TriplePattern, ...]) -> tuple[Variable, ...]:
    nodes = (node for triple in template for node in _nodes(triple))
    return tuple(dict.fromkeys(node for node in nodes if isinstance(node, Variable)))


def _of_template(found: Solutions, query: Query) -> Solutions:
    """Only the variables that the template has."""
    used = _variables(query.template)
    return found.without(v for v in found.columns if v not in used)


def _valid(nodes: tuple[object, ...], found: Solutions) -> Iterator[FlatLiteral]:
    subject, predicate, _ = nodes
    for node in dict.fromkeys(nodes):
        if isinstance(node, Variable) and node not in found.certain:
            yield is_bound(node)
    if isinstance(subject, Variable):
        yield Condition(Call("OR", (Call("ISIRI", (subject,)), Call("ISBLANK", (subject,)))))
    if isinstance(predicate, Variable):
        yield Condition(Call("ISIRI", (predicate,)))


def _cells(solutions: Solutions, answer: tuple[Variable, ...]) -> list[Expression]:
    return [v if v in solutions.columns else UNBOUND for v in answer]
