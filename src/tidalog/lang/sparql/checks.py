"""What SPARQL's grammar cannot say: where aggregates stand, which variables a query may name twice.

The checks look at one query; those of sub-queries are made when the sub-query is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidalog.lang.diagnostics import BadStatement, MisplacedAggregate
from tidalog.lang.sparql.algebra import (
    Aggregation,
    Bind,
    Element,
    Exists,
    Expression,
    Group,
    InGraph,
    Minus,
    Optional,
    Query,
    Union,
    Values,
    aggregations,
    has_aggregate,
    in_scope,
    subexpressions,
)
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Variable


def check_query(query: Query) -> Iterator[Diagnostic]:
    yield from _in_group(query.where)
    yield from _groups(query)
    yield from _projection(query)


def _in_group(group: Group) -> Iterator[Diagnostic]:
    """No aggregate in a pattern, and BIND gives a value to a variable that has none."""
    for condition in group.filters:
        yield from _no_aggregate(condition, "FILTER", "compare an aggregate in HAVING")
        yield from _inside_exists(condition)
    for number, element in enumerate(group.elements):
        if isinstance(element, Bind):
            yield from _no_aggregate(element.value, "BIND", "write (COUNT(?x) AS ?n) after SELECT")
            yield from _inside_exists(element.value)
            if element.target in in_scope(Group(group.elements[:number])):
                yield _twice(element.target, element.span, "the pattern before BIND")
        elif isinstance(element, Values):
            repeated = next((v for v in element.variables if element.variables.count(v) > 1), None)
            if repeated is not None:
                yield _twice(repeated, None, "VALUES")
        else:
            for inner in _groups_of(element):
                yield from _in_group(inner)


def _groups_of(element: Element) -> tuple[Group, ...]:
    if isinstance(element, Optional | Minus | InGraph):
        return (element.pattern,)
    return element.branches if isinstance(element, Union) else ()


def _inside_exists(expression: Expression) -> Iterator[Diagnostic]:
    for node in subexpressions(expression):
        if isinstance(node, Exists):
            yield from _in_group(node.pattern)


def _groups(query: Query) -> Iterator[Diagnostic]:
    """Outside of aggregates a query with groups names only what is one value in a group."""
    for key in query.group_by:
        if key.value is not None:
            yield from _no_aggregate(key.value, "GROUP BY", "group by a variable")
    for node in aggregations(query):
        if node.value is not None:
            yield from _no_aggregate(node.value, "an aggregate", "aggregate in a sub-query first")
    if not has_aggregate(query):
        return
    if query.projection is None and query.kind == "SELECT":
        yield _bad(
            query.span, "SELECT * with groups", "a group has several values", "name the columns of the answer"
        )
    known = {key.variable for key in query.group_by}
    for item in query.projection or ():
        used = [item.variable] if item.value is None else list(_outside_aggregates(item.value))
        for variable in used:
            if variable not in known:
                yield _bad(
                    query.span,
                    f"?{variable.name} has several values in a group",
                    "it is neither grouped by nor aggregated",
                    f"add it to GROUP BY, or write (SAMPLE(?{variable.name}) AS ?one)",
                )
        known.add(item.variable)


def _projection(query: Query) -> Iterator[Diagnostic]:
    known = set(in_scope(query.where))
    seen: set[Variable] = set()
    for item in query.projection or ():
        if item.variable in seen or (item.value is not None and item.variable in known):
            yield _twice(item.variable, query.span, "the query")
        seen.add(item.variable)


def _outside_aggregates(expression: Expression) -> Iterator[Variable]:
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Variable):
            yield node
        elif not isinstance(node, Aggregation | Exists):
            stack.extend(reversed(getattr(node, "arguments", ())))


def _no_aggregate(expression: Expression, where: str, advice: str) -> Iterator[Diagnostic]:
    for node in subexpressions(expression):
        if isinstance(node, Aggregation):
            yield MisplacedAggregate(
                node.span,
                problem=f"{node.operator} in {where}",
                why="there are no groups here",
                advice=advice,
            )


def _twice(variable: Variable, span: Span | None, where: str) -> Diagnostic:
    return _bad(
        span,
        f"?{variable.name} gets a value twice",
        f"{where} gives it a value already",
        "choose another name",
    )


def _bad(span: Span | None, problem: str, why: str, advice: str) -> Diagnostic:
    return BadStatement(span, problem=problem, why=why, advice=advice)
