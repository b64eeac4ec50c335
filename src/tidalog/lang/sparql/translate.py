"""A query as rules, so that its answers are evaluated and kept up to date as any predicate is.

The answer predicate has the query's name.  Its columns are those of the answer, then those that ORDER BY
needs, then, if solutions are counted, those that keep equal ones apart.  `Translation.rows` turns facts into
rows: order, OFFSET and LIMIT are applied there, and a variable without a value is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidalog.lang.diagnostics import BadStatement
from tidalog.lang.sparql.algebra import Query, all_variables, columns, has_aggregate
from tidalog.lang.sparql.answers import Translation
from tidalog.lang.sparql.expressions import NO_AGGREGATES, Aggregates
from tidalog.lang.sparql.groups import Groups
from tidalog.lang.sparql.solutions import IMPOSSIBLE, UNBOUND, Rules, Solutions, is_bound
from tidalog.model.errors import ProgramError
from tidalog.model.program import Atom, Call, Condition, Expression, FlatLiteral, Negation, Variable
from tidalog.model.terms import FALSE, TRUE, BlankNode

TRIPLE = "triple"


def translate(query: Query, name: str, *, triple: str = TRIPLE, counted: bool = False) -> Translation:
    """The rules of a query whose answers are the facts of `name`.

    `triple` is the predicate of the triples that it reads.  With `counted`, the answers of a SELECT without
    DISTINCT keep their multiplicity: each solution is a fact.  Raises `ProgramError` for what is not
    supported yet.
    """
    rules = Rules(name, {v.name for v in all_variables(query)}, query.span)
    translator = _Translator(rules, triple)
    translator.counted = counted and query.kind == "SELECT" and not query.distinct
    match query.kind:
        case "SELECT":
            return translator.select(query)
        case "CONSTRUCT":
            return translator.construct(query)
        case "ASK":
            return translator.ask(query)


class _Translator(Groups):
    def select(self, query: Query) -> Translation:
        solutions, aggregates = self.solutions(query)
        visible = columns(query)
        keys: list[Variable] = []
        for ordering in query.order_by:
            if isinstance(ordering.value, Variable):
                keys.append(ordering.value)
            else:
                keys.append(self.rules.fresh("order"))
                solutions = self.bind(solutions, ordering.value, keys[-1], aggregates)
        extra = tuple(dict.fromkeys(v for v in keys if v not in visible))
        hidden = tuple(v for v in solutions.columns if v not in (*visible, *extra)) if self.counted else ()
        answer = (*visible, *extra, *hidden)
        self.rules.add(self.rules.name, _cells(solutions, answer), solutions.body)
        return Translation(
            tuple(self.rules.rules),
            self.rules.name,
            tuple(v.name for v in visible),
            arity=len(answer),
            counted=self.counted,
            order=tuple((answer.index(k), o.descending) for k, o in zip(keys, query.order_by, strict=True)),
            limit=query.limit,
            offset=query.offset,
        )

    def sub_select(self, query: Query) -> Solutions:
        if query.limit is not None or query.offset:
            raise ProgramError(
                BadStatement(
                    query.span,
                    problem="not supported yet: LIMIT in a sub-query",
                    why="which rows it takes is not a matter of rules",
                    advice="use MIN or MAX, or take the rows from the answer of the whole query",
                )
            )
        with self.counting(self.counted and not query.distinct):
            solutions, _ = self.solutions(query)
            visible = columns(query)
            rest = [v for v in solutions.columns if v not in visible] if self.counted else []
        name = self.rules.helper("select")
        self.rules.add(name, _cells(solutions, (*visible, *rest)), solutions.body)
        answer = (*visible, *(self.rules.fresh("inner") for _ in rest))
        certain = frozenset(
            new for old, new in zip((*visible, *rest), answer, strict=True) if old in solutions.certain
        )
        return Solutions((Atom(name, answer),), answer, certain)

    def solutions(self, query: Query) -> tuple[Solutions, Aggregates]:
        """The solutions of WHERE, grouped and with the computed columns of SELECT."""
        aggregates = NO_AGGREGATES
        if has_aggregate(query):
            found, aggregates = self.grouped(query)
        else:
            found = self.where(query)
        for condition in query.having:
            found = self.filter(found, condition, aggregates)
        for item in query.projection or ():
            if item.value is not None:
                found = self.bind(found, item.value, item.variable, aggregates)
        return found, aggregates

    def construct(self, query: Query) -> Translation:
        """A fact (subject, predicate, object) for each triple of the template that is one in RDF."""
        found, _ = self.solutions(query)
        found = self.rules.stored(_of_template(found, query), "where")
        for triple in query.template:
            nodes = (triple.subject, triple.predicate, triple.object)
            if any(isinstance(node, BlankNode) for node in nodes):
                raise ProgramError(
                    BadStatement(
                        triple.span or query.span,
                        problem="not supported yet: blank nodes in CONSTRUCT",
                        why="each solution would make a new node",
                        advice='build an IRI from what it depends on: BIND(IRI(CONCAT("http://…", …)) AS ?n)',
                    )
                )
            if all(not isinstance(node, Variable) or node in found.columns for node in nodes):
                self.rules.add(self.rules.name, nodes, (*found.body, *_valid(nodes, found)))
            else:  # a variable without a value: the predicate exists nevertheless
                self.rules.add(self.rules.name, [UNBOUND] * 3, [IMPOSSIBLE])
        return Translation(
            tuple(self.rules.rules), self.rules.name, ("subject", "predicate", "object"), arity=3
        )

    def ask(self, query: Query) -> Translation:
        """One fact, true or false."""
        found, _ = self.solutions(query)
        matched = self.rules.helper("matched")
        self.rules.add(matched, (), found.body)
        self.rules.add(self.rules.name, (TRUE,), (Atom(matched, ()),))
        self.rules.add(self.rules.name, (FALSE,), (Negation(Atom(matched, ())),))
        return Translation(tuple(self.rules.rules), self.rules.name, ("answer",), arity=1)


def _of_template(found: Solutions, query: Query) -> Solutions:
    """Only the variables that the template has."""
    used = {n for t in query.template for n in (t.subject, t.predicate, t.object) if isinstance(n, Variable)}
    return replace(found, columns=tuple(v for v in found.columns if v in used))


def _valid(nodes: tuple[Expression, ...], found: Solutions) -> Iterator[FlatLiteral]:
    subject, predicate, _ = nodes
    for node in dict.fromkeys(nodes):
        if isinstance(node, Variable) and node not in found.certain:
            yield is_bound(node)
    if isinstance(subject, Variable):
        yield Condition(Call("NOT", (Call("ISLITERAL", (subject,)),)))
    if isinstance(predicate, Variable):
        yield Condition(Call("ISIRI", (predicate,)))


def _cells(solutions: Solutions, answer: tuple[Variable, ...]) -> list[Expression]:
    return [v if v in solutions.columns else UNBOUND for v in answer]
