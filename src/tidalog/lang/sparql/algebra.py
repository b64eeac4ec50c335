"""SPARQL queries as values: what a text says, with names resolved and abbreviations expanded.

Terms and variables are those of programs.  `;` and `,` lists, property lists in brackets and collections
are triple patterns here; a blank node of a pattern is a `Variable` that no text can name (`_#1`), since it
matches anything.  Equality is structural and ignores positions in the text.

A group keeps its elements in the order of the text, because OPTIONAL, BIND and MINUS refer to what precedes
them; its filters are apart, because they apply to the whole group wherever they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal

from tidalog.model.errors import Span
from tidalog.model.program import Variable
from tidalog.model.terms import IRI, Term

# --- expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Function:
    """`name` is an operator (`= != < <= > >= + - * /`, `neg`, `NOT`, `AND`, `OR`, `IN`), a function in upper
    case, or the IRI of a type that is used as a function."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`COUNT(DISTINCT ?x)`; no value at all is `COUNT(*)`.  `separator` is that of GROUP_CONCAT."""

    operator: str
    value: Expression | None
    distinct: bool = False
    separator: str = " "
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS { … }`; NOT EXISTS is the `NOT` of it."""

    pattern: Group
    span: Span | None = field(default=None, compare=False, repr=False)


Expression = Term | Variable | Function | Aggregation | Exists

# --- patterns ---------------------------------------------------------------------------------------

Node = Term | Variable


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """`path / path`."""

    steps: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """`path | path`."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """`path?`, `path*` or `path+`: its ends are pairs of nodes, each once."""

    path: Path
    may_be_empty: bool
    is_unlimited: bool


@dataclass(frozen=True, slots=True)
class Negated:
    """`!(p | ^q)`: any property but these, forwards and backwards; None: not in this direction."""

    forwards: tuple[IRI, ...] | None
    backwards: tuple[IRI, ...] | None


Path = IRI | Inverse | Sequence | Alternative | Repeated | Negated


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """The predicate is a path only if it is longer than one property."""

    subject: Node
    predicate: Node | Path
    object: Node
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BasicPattern:
    """Triple patterns that must all match."""

    triples: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class Optional:
    pattern: Group


@dataclass(frozen=True, slots=True)
class Minus:
    pattern: Group


@dataclass(frozen=True, slots=True)
class Union:
    """A group by itself is a union of one."""

    branches: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class InGraph:
    """`GRAPH <iri> { … }` or `GRAPH ?g { … }`."""

    graph: IRI | Variable
    pattern: Group


@dataclass(frozen=True, slots=True)
class Bind:
    value: Expression
    target: Variable
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Values:
    """Solutions that are written out; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class SubSelect:
    query: Query


Element = BasicPattern | Optional | Minus | Union | InGraph | Bind | Values | SubSelect


@dataclass(frozen=True, slots=True)
class Group:
    """`{ … }`."""

    elements: tuple[Element, ...]
    filters: tuple[Expression, ...] = ()


# --- queries ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """What a query sees of a stream: the last `width` nanoseconds, moved every `step`, or the last `triples`.

    A window that names no step moves with every triple (`step` is None); a tumbling one moves by its width.
    """

    width: int | None = None
    step: int | None = None
    triples: int | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """`FROM <iri>`, `FROM NAMED <iri>`, `FROM STREAM <iri> [RANGE 10s STEP 1s]`; of an update also `WITH
    <iri>`."""

    iri: str
    kind: Literal["default", "named", "stream", "with"] = "default"
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Projected:
    """A column of the answer: a variable, or `(expression AS ?variable)`."""

    variable: Variable
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    value: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """`projection` is None for `SELECT *` and for other kinds.  `template` has the triples of CONSTRUCT; its
    blank nodes are blank nodes.  `described` has what DESCRIBE names; None: all variables.  `values` is the
    VALUES after the query."""

    kind: Literal["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"]
    where: Group
    projection: tuple[Projected, ...] | None = None
    distinct: bool = False
    dataset: tuple[Graph, ...] = ()
    group_by: tuple[Projected, ...] = ()
    having: tuple[Expression, ...] = ()
    order_by: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    template: tuple[TriplePattern, ...] = ()
    described: tuple[Node, ...] | None = ()
    values: Values | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Registration:
    """`REGISTER QUERY name COMPUTED EVERY 1s AS …`: a continuous query, or with STREAM one whose answers are
    a stream of triples.  `every` is in nanoseconds; None: at every change.  RSTREAM answers are whole,
    ISTREAM has what came, DSTREAM what went, CHANGES both."""

    name: str
    query: Query
    every: int | None = None
    answers: Literal["RSTREAM", "ISTREAM", "DSTREAM", "CHANGES"] = "RSTREAM"
    stream: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


# --- what a part mentions ---------------------------------------------------------------------------


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """An expression and its parts in order of occurrence; not the patterns inside EXISTS."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Function):
            stack.extend(reversed(node.arguments))
        elif isinstance(node, Aggregation) and node.value is not None:
            stack.append(node.value)


def has_aggregate(query: Query) -> bool:
    """Whether the solutions of a query are those of groups."""
    return bool(query.group_by) or any(True for _ in aggregations(query))


def in_scope(group: Group) -> tuple[Variable, ...]:
    """The variables that a group may bind, in order of occurrence; not those of blank nodes."""
    found: dict[Variable, None] = {}
    for element in group.elements:
        found.update(dict.fromkeys(_bound_by(element)))
    return tuple(found)


def _bound_by(element: Element) -> Iterator[Variable]:
    if isinstance(element, BasicPattern):
        for triple in element.triples:
            for node in (triple.subject, triple.predicate, triple.object):
                if isinstance(node, Variable) and not node.anonymous:
                    yield node
    elif isinstance(element, Optional):
        yield from in_scope(element.pattern)
    elif isinstance(element, InGraph):
        yield from in_scope(element.pattern)
        if isinstance(element.graph, Variable):
            yield element.graph
    elif isinstance(element, Union):
        for branch in element.branches:
            yield from in_scope(branch)
    elif isinstance(element, Bind):
        yield element.target
    elif isinstance(element, Values):
        yield from element.variables
    elif isinstance(element, SubSelect):
        yield from columns(element.query)


def columns(query: Query) -> tuple[Variable, ...]:
    """The columns of the answer of a SELECT."""
    if query.projection is not None:
        return tuple(item.variable for item in query.projection)
    inside = in_scope(query.where)
    after = query.values.variables if query.values is not None else ()
    return tuple(dict.fromkeys((*inside, *after)))


def aggregations(query: Query) -> Iterator[Aggregation]:
    """The aggregates of a query in order of occurrence."""
    values = [item.value for item in query.projection or () if item.value is not None]
    for part in (*values, *query.having, *(one.value for one in query.order_by)):
        for node in subexpressions(part):
            if isinstance(node, Aggregation):
                yield node


def all_variables(query: Query) -> Iterator[Variable]:
    """Every variable that a query names anywhere, with repetitions."""
    stack: list[object] = [query]
    while stack:
        node = stack.pop()
        if isinstance(node, Variable):
            yield node
        elif isinstance(node, tuple):
            stack.extend(node)
        elif is_dataclass(node) and not isinstance(node, Span):
            stack.extend(getattr(node, one.name) for one in fields(node) if one.name != "span")
