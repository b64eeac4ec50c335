"""GROUP BY and aggregates.

The solutions of WHERE are stored with every variable, and with what keeps equal ones apart, so that counts
and sums are over solutions and not over distinct values.  Each aggregate is a predicate of its own over these
rows, because it passes over other rows than its neighbours do:

    q|count1(?g, #count(?v, …)) :- q|rows1(?g, ?v, …), ?v != <|unbound|> .
    q|aggregate1(?g, ?n) :- q|count1(?g, ?n) .
    q|aggregate1(?g, 0) :- q|group1(?g), ~q|count1(?g, _) .

COUNT and SAMPLE pass over values that cannot be computed; one such value leaves SUM, AVG, MIN and MAX of its
group unbound, and so does one that
is not a number for SUM and AVG, and a blank node for GROUP_CONCAT.  Without GROUP BY there is one group,
even if it is empty: COUNT, SUM and AVG of nothing are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tidalog.lang.sparql.algebra import Aggregation, Query, aggregations, in_scope
from tidalog.lang.sparql.expressions import Aggregates, Scope, needed, quotient
from tidalog.lang.sparql.functions import CONCATENATION
from tidalog.lang.sparql.patterns import Patterns
from tidalog.lang.sparql.solutions import UNBOUND, Solutions, is_bound
from tidalog.model.program import (
    Aggregate,
    Atom,
    Call,
    Condition,
    Expression,
    FlatLiteral,
    Negation,
    Variable,
)
from tidalog.model.terms import Integer, String, Term

_OPERATORS: Final = {
    "COUNT": "count",
    "SUM": "sum",
    "AVG": "avg",
    "MIN": "min",
    "MAX": "max",
    "SAMPLE": "min",
    "GROUP_CONCAT": CONCATENATION,
}
_OF_NOTHING: Final[Mapping[str, Term]] = {
    "COUNT": Integer(0),
    "SUM": Integer(0),
    "AVG": Integer(0),
    "GROUP_CONCAT": String(""),
}
_OF_NUMBERS: Final = ("SUM", "AVG")
_OF_ANY: Final = ("MIN", "MAX", "SAMPLE")


class Groups(Patterns):
    def where(self, query: Query) -> Solutions:
        found = self.group(query.where)
        return found if query.values is None else self.rules.join(found, self.values(query.values))

    def grouped(self, query: Query) -> tuple[Solutions, Aggregates]:
        """The keys of the groups and the values of all aggregates of a query."""
        with self.triples.counting(True):
            rows = self.where(query)
        keys: list[Variable] = list(self.triples.context)
        for item in query.group_by:
            key = self.rules.fresh("key") if item.variable.anonymous else item.variable
            if item.value is not None:
                rows = self.conditions.bind(rows, item.value, key)
            if key in rows.columns and key not in keys:
                keys.append(key)
        rows = self.rules.stored(rows, "rows")
        groups: Atom | None = None
        if query.group_by:
            groups = Atom(self.rules.helper("group"), tuple(keys))
            self.rules.add(groups.predicate, keys, rows.body)
        elif self.triples.context:
            (groups,) = (literal for literal in self.triples.graphs().body if isinstance(literal, Atom))
        named = {*in_scope(query.where), *(query.values.variables if query.values else ())}
        results: dict[Aggregation, Variable] = {}
        body: list[FlatLiteral] = [] if groups is None else [groups]
        certain = set(rows.certain.intersection(keys))
        for node in dict.fromkeys(aggregations(query)):
            results[node] = self.rules.fresh("aggregate")
            distinct = [v for v in rows.columns if v in named] if node.distinct else list(rows.columns)
            predicate, sure = self._aggregate(node, rows, distinct, keys, groups)
            body.append(Atom(predicate, (*keys, results[node])))
            if sure:
                certain.add(results[node])
        return Solutions(tuple(body), (*keys, *results.values()), frozenset(certain)), results

    def _aggregate(
        self,
        node: Aggregation,
        rows: Solutions,
        columns: Sequence[Variable],
        keys: Sequence[Variable],
        groups: Atom | None,
    ) -> tuple[str, bool]:
        """The predicate that has the keys and the value of an aggregate, and whether it always has one."""
        others = [v for v in columns if v not in keys]
        body, value = rows.body, None
        if node.value is not None:
            unsure = [v for v in rows.columns if v in needed(node.value) and v not in rows.certain]
            sure = rows.with_literals(*map(is_bound, unsure), certain=unsure)
            scope = Scope(sure, self.rules)
            computed = scope.value(node.value)
            body, value = (*sure.body, *scope.steps), computed
            if isinstance(computed, Call):
                value = self.rules.fresh("value")
                body = (*body, Condition(Call("=", (value, computed))))
        name = self.rules.helper(node.operator.lower())
        computes = self._computed(name, node, keys, body, value, others)
        checked = node.operator in _OF_NUMBERS or node.operator == "GROUP_CONCAT"
        partial = body != rows.body
        if groups is not None and not partial and not checked:
            return computes, True
        return self._completed(node, rows, computes, keys, groups, partial or checked)

    def _computed(
        self,
        name: str,
        node: Aggregation,
        keys: Sequence[Variable],
        body: Sequence[FlatLiteral],
        value: Expression | None,
        others: Sequence[Variable],
    ) -> str:
        """The rule of the aggregate itself; AVG is the sum divided by the count, as SPARQL defines it."""
        arguments: tuple[Expression, ...] = tuple(others) or (Integer(1),)
        if value is not None:
            repeats = not node.distinct and node.operator not in _OF_ANY
            separator = (String(node.separator),) if node.operator == "GROUP_CONCAT" else ()
            more = [v for v in others if v != value] if repeats else []
            arguments = (value, *separator, *more)
        if node.operator != "AVG":
            self.rules.add(name, (*keys, Aggregate(_OPERATORS[node.operator], arguments)), body)
            return name
        both = self.rules.helper("sum_and_count")
        total, count = self.rules.fresh("total"), self.rules.fresh("count")
        self.rules.add(both, (*keys, Aggregate("sum", arguments), Aggregate("count", arguments)), body)
        average = self.rules.fresh("average")
        computation = Condition(Call("=", (average, quotient(total, count))))
        self.rules.add(name, (*keys, average), (Atom(both, (*keys, total, count)), computation))
        return name

    def _completed(
        self,
        node: Aggregation,
        rows: Solutions,
        computed: str,
        keys: Sequence[Variable],
        groups: Atom | None,
        fallible: bool,
    ) -> tuple[str, bool]:
        """The value of every group, also of those that have no row to aggregate or a wrong one."""
        name = self.rules.helper("aggregate")
        value = self.rules.fresh("result")
        found = Atom(computed, (*keys, value))
        every = [] if groups is None else [groups]
        fine: list[FlatLiteral] = []
        if fallible and node.operator not in ("COUNT", "SAMPLE") and node.value is not None:
            wrong = self.rules.helper("wrong")
            scope = Scope(rows, self.rules)
            outcome: Expression = Call("COALESCE", (scope.value(node.value), UNBOUND))
            test: Expression = Call("=", (outcome, UNBOUND))
            if node.operator in _OF_NUMBERS:
                test = Call("NOT", (Call("ISNUMERIC", (outcome,)),))
            elif node.operator == "GROUP_CONCAT":
                test = Call("OR", (test, Call("ISBLANK", (outcome,))))
            self.rules.add(wrong, keys, (*rows.body, *scope.steps, Condition(test)))
            self.rules.add(name, (*keys, UNBOUND), (Atom(wrong, tuple(keys)),))
            fine = [Negation(Atom(wrong, tuple(keys)))]
        self.rules.add(name, (*keys, value), (found, *fine))
        nothing = _OF_NOTHING.get(node.operator, UNBOUND)
        self.rules.add(name, (*keys, nothing), (*every, Negation(found), *fine))
        return name, node.operator == "COUNT"
