"""The upper half of the reader: patterns, queries and registrations of a parse tree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from tidalog.lang.diagnostics import ServiceRefused
from tidalog.lang.sparql.algebra import (
    BasicPattern,
    Bind,
    Element,
    Expression,
    Graph,
    Group,
    InGraph,
    Minus,
    Node,
    Optional,
    Ordering,
    Projected,
    Query,
    Registration,
    SubSelect,
    TriplePattern,
    Union,
    Values,
    Window,
)
from tidalog.lang.sparql.checks import check_query
from tidalog.lang.sparql.terms import TermReader
from tidalog.model.amounts import counted
from tidalog.model.errors import Span
from tidalog.model.program import Variable
from tidalog.model.terms import IRI, BlankNode, Integer, Term

_DURATION: Final = re.compile(r"([0-9.]+)\s*([a-z]+)", re.IGNORECASE)
_NANOSECONDS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_ANSWERS: Final = ("RSTREAM", "ISTREAM", "DSTREAM", "CHANGES")

QueryKind = Literal["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"]
Answers = Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"]


@dataclass(frozen=True, slots=True)
class _Filter:
    condition: Expression


@dataclass(frozen=True, slots=True)
class _Projection:
    items: tuple[Projected, ...] | None


@dataclass(frozen=True, slots=True)
class _Modifiers:
    group_by: tuple[Projected, ...] = ()
    having: tuple[Expression, ...] = ()
    order_by: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class _Described:
    nodes: tuple[Node, ...] | None


@dataclass(frozen=True, slots=True)
class _Every:
    nanoseconds: int


_Part = _Filter | Element | tuple[TriplePattern, ...] | Query


class QueryReader(TermReader):
    """Builds the query of one text."""

    # --- patterns -----------------------------------------------------------------------------------

    def group(self, children: list[_Part]) -> Group:
        """Filters stand apart; triples on both sides of one belong to the same basic pattern."""
        elements: list[Element] = []
        filters: list[Expression] = []
        for child in children:
            if isinstance(child, _Filter):
                filters.append(child.condition)
            elif isinstance(child, Query):
                elements.append(SubSelect(child))
            elif isinstance(child, tuple):
                added = _with_variables(child)
                last = elements[-1] if elements else None
                if isinstance(last, BasicPattern):
                    elements[-1] = BasicPattern((*last.triples, *added))
                else:
                    elements.append(BasicPattern(added))
            else:
                elements.append(child)
        for element in elements:
            if isinstance(element, BasicPattern):
                self._check_labels(element)
        return Group(tuple(elements), tuple(filters))

    def _check_labels(self, pattern: BasicPattern) -> None:
        """The label of a blank node belongs to one basic graph pattern."""
        found: dict[str, Span | None] = {}
        for triple in pattern.triples:
            for node in (triple.subject, triple.object):
                if isinstance(node, Variable) and node.anonymous:
                    found[node.name.removeprefix("_#")] = triple.span
        for label in sorted(found.keys() & self.labels):
            self.refuse(
                found[label] or Span(self.source, 0, 0),
                f"_:{label} in two patterns",
                "a blank node has a label within one basic graph pattern",
                "use a variable",
            )
        self.labels |= found.keys()

    def where(self, children: list[Group]) -> Group:
        return children[0]

    def filter(self, children: list[Expression]) -> _Filter:
        return _Filter(children[0])

    @v_args(meta=True, inline=True)
    def bind(self, meta: Meta, value: Expression, target: Variable) -> Bind:
        return Bind(value, target, self.span(meta))

    def optional(self, children: list[Group]) -> Optional:
        return Optional(children[0])

    def minus(self, children: list[Group]) -> Minus:
        return Minus(children[0])

    def union(self, children: list[Group]) -> Union:
        return Union(tuple(children))

    @v_args(inline=True)
    def graph(self, graph: IRI | Variable, pattern: Group) -> InGraph:
        return InGraph(graph, pattern)

    @v_args(meta=True)
    def service(self, meta: Meta, children: list[Token | Variable | IRI | Group]) -> Union:
        self.errors.append(ServiceRefused(self.span(meta)))
        return Union((cast(Group, children[-1]),))

    def values_of_one(self, children: list[Variable | Term | Token]) -> Values:
        variable, *cells = children
        rows = tuple((_cell(cell),) for cell in cells)
        return Values((cast(Variable, variable),), rows)

    @v_args(meta=True)
    def values(self, meta: Meta, children: list[Variable | tuple[Term | None, ...]]) -> Values:
        names = tuple(child for child in children if isinstance(child, Variable))
        rows = tuple(child for child in children if isinstance(child, tuple))
        for row in rows:
            if len(row) != len(names):
                self.refuse(
                    meta,
                    "a row of VALUES has the wrong length",
                    f"{counted(len(names), 'variable')}, and {counted(len(row), 'value')} in a row",
                    "write UNDEF where a variable has no value",
                )
                break
        return Values(names, rows)

    def row(self, children: list[Term | Token]) -> tuple[Term | None, ...]:
        return tuple(map(_cell, children))

    # --- datasets -----------------------------------------------------------------------------------

    def dataset(self, children: list[Graph]) -> list[Graph]:
        return children

    def from_(self, children: list[IRI]) -> Graph:
        return Graph(children[0].value)

    def from_named(self, children: list[IRI]) -> Graph:
        return Graph(children[0].value, "named")

    def from_stream(self, children: list[IRI | Window]) -> Graph:
        iri, *window = children
        return Graph(cast(IRI, iri).value, "stream", cast(Window, window[0]) if window else None)

    def sliding(self, children: list[Token]) -> Window:
        width, *step = map(self._nanoseconds, children)
        return Window(width, step[0] if step else None)

    def tumbling(self, children: list[Token]) -> Window:
        width = self._nanoseconds(children[0])
        return Window(width, width)

    @v_args(meta=True, inline=True)
    def last_triples(self, meta: Meta, count: Term) -> Window:
        number = self._count(meta, count)
        if number == 0:
            self.refuse(meta, "a window of no triples", "it would always be empty", "write [TRIPLES 1000]")
        return Window(triples=number)

    def _nanoseconds(self, token: Token) -> int:
        found = _DURATION.fullmatch(str(token))
        assert found is not None  # the grammar's terminal
        unit = found[2].lower()
        scale = _NANOSECONDS["ms" if unit.startswith(("ms", "milli")) else unit[0]]
        length = int(Decimal(found[1]) * scale)
        if length == 0:
            self.refuse(token, f"a duration of {token}", "durations are positive", "write 1s or 100ms")
        return length

    def _count(self, at: Meta, number: Term) -> int:
        if isinstance(number, Integer):
            return number.value
        self.refuse(at, "this is not a number of rows", "a whole number is needed here", "write it in digits")
        return 0

    # --- queries ------------------------------------------------------------------------------------

    def duplicates(self, children: list[Token]) -> bool:
        return children[0].type == "DISTINCT"

    @v_args(inline=True)
    def assignment(self, value: Expression, variable: Variable) -> Projected:
        return Projected(variable, value)

    def projection(self, children: list[Token | Variable | Projected]) -> _Projection:
        if isinstance(children[0], Token):
            return _Projection(None)
        items = cast("list[Variable | Projected]", children)
        return _Projection(tuple(Projected(i) if isinstance(i, Variable) else i for i in items))

    def group_by(self, children: list[Variable | Expression | Projected]) -> _Modifiers:
        """An expression without a name groups by a variable that no text can name."""
        keys = [
            item
            if isinstance(item, Projected)
            else Projected(item)
            if isinstance(item, Variable)
            else Projected(Variable(f"_#key{number}"), item)
            for number, item in enumerate(children, 1)
        ]
        return _Modifiers(group_by=tuple(keys))

    def grouping(self, children: list[Expression]) -> Expression | Projected:
        if len(children) == 1:
            return children[0]
        return Projected(cast(Variable, children[1]), children[0])

    def having(self, children: list[Expression]) -> _Modifiers:
        return _Modifiers(having=tuple(children))

    def order_by(self, children: list[Expression | Ordering]) -> _Modifiers:
        return _Modifiers(order_by=tuple(o if isinstance(o, Ordering) else Ordering(o) for o in children))

    @v_args(inline=True)
    def ordered(self, direction: Token, value: Expression) -> Ordering:
        return Ordering(value, direction.upper() == "DESC")

    @v_args(meta=True, inline=True)
    def limit(self, meta: Meta, number: Term) -> _Modifiers:
        return _Modifiers(limit=self._count(meta, number))

    @v_args(meta=True, inline=True)
    def offset(self, meta: Meta, number: Term) -> _Modifiers:
        return _Modifiers(offset=self._count(meta, number))

    def limits(self, children: list[_Modifiers]) -> _Modifiers:
        return _merged(children)

    def modifiers(self, children: list[_Modifiers]) -> _Modifiers:
        return _merged(children)

    def template(self, children: list[tuple[TriplePattern, ...]]) -> tuple[TriplePattern, ...]:
        triples = children[0] if children else ()
        for triple in triples:
            if not isinstance(triple.predicate, IRI | Variable):
                span = triple.span or Span(self.source, 0, 0)
                why = "a template says which triples there are, and a path is several"
                self.refuse(span, "a path in a template", why, "name one property")
        return triples

    @v_args(meta=True)
    def select(self, meta: Meta, children: list[object]) -> Query:
        return self._query("SELECT", meta, children)

    @v_args(meta=True)
    def construct(self, meta: Meta, children: list[object]) -> Query:
        return self._query("CONSTRUCT", meta, children)

    @v_args(meta=True)
    def construct_where(self, meta: Meta, children: list[object]) -> Query:
        """`CONSTRUCT WHERE { … }`: the pattern is the template."""
        (template,) = (child for child in children if isinstance(child, tuple))
        return self._query("CONSTRUCT", meta, [*children, self.group([template])])

    @v_args(meta=True)
    def ask(self, meta: Meta, children: list[object]) -> Query:
        return self._query("ASK", meta, children)

    def described(self, children: list[Token | Variable | IRI]) -> _Described:
        nodes = tuple(child for child in children if not isinstance(child, Token))
        return _Described(nodes or None)

    @v_args(meta=True)
    def describe(self, meta: Meta, children: list[object]) -> Query:
        return self._query("DESCRIBE", meta, children)

    def _query(self, kind: QueryKind, meta: Meta, parts: list[object]) -> Query:
        query = Query(kind, Group(()), span=self.span(meta))
        for part in parts:
            if isinstance(part, bool):
                query = replace(query, distinct=part)
            elif isinstance(part, _Projection):
                query = replace(query, projection=part.items)
            elif isinstance(part, _Described):
                query = replace(query, described=part.nodes)
            elif isinstance(part, list):
                query = replace(query, dataset=tuple(part))
            elif isinstance(part, Group):
                query = replace(query, where=part)
            elif isinstance(part, tuple):
                query = replace(query, template=part)
            elif isinstance(part, Values):
                query = replace(query, values=part)
            elif isinstance(part, _Modifiers):
                query = replace(
                    query,
                    group_by=part.group_by,
                    having=part.having,
                    order_by=part.order_by,
                    limit=part.limit,
                    offset=part.offset,
                )
        self.errors += check_query(query)
        return query

    # --- registrations ------------------------------------------------------------------------------

    def registered_name(self, children: list[Token | IRI]) -> IRI:
        """The name, as an IRI to tell it from words of the grammar."""
        (name,) = children
        return name if isinstance(name, IRI) else IRI(str(name).strip('"'))

    def every(self, children: list[Token]) -> _Every:
        return _Every(self._nanoseconds(children[0]))

    @v_args(meta=True)
    def registration(self, meta: Meta, children: list[Token | IRI | _Every | Query | None]) -> Registration:
        name, query = children[1], children[-1]
        assert isinstance(name, IRI) and isinstance(query, Query)
        self.labels.clear()
        self.prologues.append(self.names.prologue)
        words = [child.upper() for child in children if isinstance(child, Token)]
        answers = next((word for word in reversed(words) if word in _ANSWERS), "RSTREAM")
        every = next((child.nanoseconds for child in children if isinstance(child, _Every)), None)
        stream = words[0] == "STREAM"
        if stream and query.kind != "CONSTRUCT":
            why, advice = "a stream consists of triples", "write CONSTRUCT, or REGISTER QUERY"
            self.refuse(meta, f"REGISTER STREAM with {query.kind}", why, advice)
        return Registration(name.value, query, every, cast(Answers, answers), stream, self.span(meta))

    def start(self, children: list[Query | Registration | None]) -> object:
        return children[-1]

    def registrations(self, children: list[Registration | None]) -> tuple[Registration, ...]:
        return tuple(child for child in children if isinstance(child, Registration))


def _with_variables(triples: Iterable[TriplePattern]) -> tuple[TriplePattern, ...]:
    """In a pattern a blank node matches anything."""

    def variable(node: Node) -> Node:
        return Variable(f"_#{node.label}") if isinstance(node, BlankNode) else node

    return tuple(TriplePattern(variable(t.subject), t.predicate, variable(t.object), t.span) for t in triples)


def _cell(value: Term | Variable | Token) -> Term | None:
    """A value of VALUES; the word UNDEF is the only token."""
    return None if isinstance(value, Token) else cast(Term, value)


def _merged(parts: Iterable[_Modifiers]) -> _Modifiers:
    found = _Modifiers()
    for part in parts:
        found = _Modifiers(
            found.group_by or part.group_by,
            found.having or part.having,
            found.order_by or part.order_by,
            part.limit if found.limit is None else found.limit,
            found.offset or part.offset,
        )
    return found
