"""Patterns as bodies of rules, from the innermost outwards as SPARQL defines them.

    { A B }           the bodies side by side; by cases where a common variable may be unbound
    { A } UNION { B } a rule for each branch, with what precedes it
    OPTIONAL          a rule for the join, and one for the solutions without a match (negation)
    MINUS, EXISTS     negation or a positive atom, of a helper predicate unless one atom is enough
    FILTER, BIND      conditions; a BIND that cannot be computed leaves its variable unbound

A group is evaluated by itself, as SPARQL asks for, but begins with the values that the solutions before it
have for its variables (`hint`), so that a helper predicate is not larger than what it is for.

Predicates are sets, and so are the solutions of a pattern; each solution of a basic pattern is different from
the others anyway.  With `counted`, columns are added that keep equal solutions apart (which branch of a
UNION, the values of variables that a sub-query does not return), as aggregates need.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidalog.lang.sparql.algebra import (
    BasicPattern,
    Bind,
    Element,
    Group,
    InGraph,
    Minus,
    Optional,
    Query,
    SubSelect,
    Union,
    Values,
    in_scope,
)
from tidalog.lang.sparql.conditions import Conditions, mentioned_in, unscoped
from tidalog.lang.sparql.paths import Paths
from tidalog.lang.sparql.solutions import IMPOSSIBLE, UNBOUND, UNIT, Solutions
from tidalog.lang.sparql.triples import Triples
from tidalog.model import program
from tidalog.model.program import Atom, Negation, Variable
from tidalog.model.terms import IRI, Integer


class Patterns:
    """Turns groups into solutions; their rules go to `rules`."""

    def __init__(self, triples: Triples) -> None:
        self.triples, self.rules = triples, triples.rules
        self.paths, self.conditions = Paths(triples), Conditions(triples, self.group)

    def sub_select(self, query: Query) -> Solutions:
        raise NotImplementedError

    # --- groups -------------------------------------------------------------------------------------

    def group(self, group: Group, start: Solutions | None = None, hint: Solutions = UNIT) -> Solutions:
        found = self._start(group) if start is None else start
        for element in group.elements:
            if found is UNIT and isinstance(element, BasicPattern) and element is group.elements[0]:
                found = self._first(element, hint)
            else:
                found = self.element(found, element)
        for condition in group.filters:
            found = self.conditions.filter(found, condition)
        return found

    def _start(self, group: Group) -> Solutions:
        """What a group begins with."""
        used = unscoped(group)
        if self.conditions.outer is not None and used.intersection(self.conditions.outer.solutions.columns):
            return self.conditions.outer.needed({*used, *in_scope(group), *self.triples.context})
        first = group.elements[0] if group.elements else None
        if self.triples.active is None or (isinstance(first, BasicPattern) and first.triples):
            return UNIT
        return self.triples.graphs()

    def _first(self, pattern: BasicPattern, hint: Solutions) -> Solutions:
        """A basic pattern that begins a group, for the values that its variables have in the hint."""
        nodes = [node for t in pattern.triples for node in (t.subject, t.predicate, t.object)]
        shared = {n for n in (*nodes, *self.triples.context) if isinstance(n, Variable) and n in hint.certain}
        if not shared:
            return self.paths.basic(UNIT, pattern)
        columns = tuple(v for v in hint.columns if v in shared)
        given = hint.atom
        if given is None or set(hint.columns) != shared:
            given = Atom(self.rules.helper("given"), columns)
            self.rules.add(given.predicate, columns, hint.body)
        return self.paths.basic(Solutions((given,), columns, frozenset(columns)), pattern)

    def element(self, before: Solutions, element: Element) -> Solutions:
        match element:
            case BasicPattern():
                return self.paths.basic(before, element)
            case Union(branches):
                return self.union(before, branches)
            case Optional(pattern):
                return self.optional(before, pattern)
            case Minus(pattern):
                return self.minus(before, pattern)
            case InGraph(graph, pattern):
                return self.in_graph(before, graph, pattern)
            case Bind(value, target):
                return self.conditions.bind(before, value, target)
            case Values():
                return self.rules.join(before, self.values(element))
            case SubSelect(query):
                return self.rules.join(before, self.sub_select(query))

    def union(self, before: Solutions, branches: Sequence[Group]) -> Solutions:
        before = self.paths.shared(before)
        hints = (UNIT if _is_plain(branch) else before for branch in branches)
        found = [self.group(branch, hint=hint) for branch, hint in zip(branches, hints, strict=True)]
        parts = [self.rules.join(before, part) for part in found]
        return parts[0] if len(parts) == 1 else self.paths.united(parts, "union")

    def values(self, values: Values) -> Solutions:
        name = self.rules.helper("values")
        tags: tuple[Variable, ...] = (self.rules.fresh("row"),) if self.triples.counted else ()
        for number, row in enumerate(values.rows, 1):
            cells = [UNBOUND if cell is None else cell for cell in row]
            self.rules.add(name, [*cells, *(Integer(number) for _ in tags)], ())
        columns = (*values.variables, *tags)
        if not values.rows:
            self.rules.add(name, [UNBOUND] * len(columns), [IMPOSSIBLE])
        certain = [
            v for n, v in enumerate(values.variables) if all(row[n] is not None for row in values.rows)
        ]
        return Solutions((Atom(name, columns),), columns, frozenset((*certain, *tags)))

    def in_graph(self, before: Solutions, graph: IRI | Variable, pattern: Group) -> Solutions:
        """Inside, a variable of its own stands for the graph: the name is only bound outside."""
        before = self.paths.shared(before)
        if isinstance(graph, IRI):
            with self.triples.about(graph):
                return self.rules.join(before, self.group(pattern, hint=before))
        context = self.rules.fresh("graph")
        with self.triples.about(context):
            found = self.group(pattern, hint=before)
            if graph not in found.columns:
                return self.rules.join(before, found.renamed(context, graph))
            name = self.rules.helper("same")
            self.rules.add(name, (context, context), self.triples.graphs().body)
        same = Solutions((Atom(name, (context, graph)),), (context, graph), frozenset((context, graph)))
        return self.rules.join(before, self.rules.join(found, same).without((context,)))

    # --- optional and minus -------------------------------------------------------------------------

    def optional(self, before: Solutions, pattern: Group) -> Solutions:
        """The filters of the pattern see the variables before it."""
        left = self.rules.stored(before, "before")
        inside = Group(pattern.elements)
        right = self.group(inside, hint=UNIT if _is_plain(inside) else left)
        copies = {v: self.rules.fresh("own") for v in left.shared(right) if v not in left.certain}
        first = self.conditions.with_copies(left, copies) if copies else left
        joined = self.rules.join(first, right)
        for condition in pattern.filters:
            joined = self.conditions.filter(joined, condition)
        mentioned = {v for condition in pattern.filters for v in mentioned_in(condition)}
        keys = [v for v in left.columns if v in right.columns or v in mentioned]
        if not pattern.filters and not left.unsure(right) and right.atom is not None:
            unmatched = self.rules.absent(right, keys, "matched")
        else:
            joined = self.rules.stored(joined, "joined")
            matched = self.rules.helper("matched")
            self.rules.add(matched, [copies.get(v, v) for v in keys], joined.body)
            unmatched = Negation(Atom(matched, tuple(keys)))
        added = tuple(v for v in right.columns if v not in left.columns)
        columns = (*left.columns, *added)
        name = self.rules.helper("optional")
        self.rules.add(name, columns, joined.body)
        self.rules.add(name, (*left.columns, *(UNBOUND for _ in added)), (*left.body, unmatched))
        return Solutions((Atom(name, columns),), columns, left.certain)

    def minus(self, before: Solutions, pattern: Group) -> Solutions:
        """Solutions that are compatible with one of the pattern, and have a variable in common, go."""
        before = self.paths.shared(before)
        with self.triples.counting(False):
            right = self.conditions.group_near(pattern, before)
        shared = before.shared(right)
        if not set(shared).difference(self.triples.context):
            return before
        if not before.unsure(right):
            return before.with_literals(self.rules.absent(right, shared, "minus"))
        left, right = self.rules.stored(before, "before"), self.rules.stored(right, "minus")
        name = self.rules.helper("removed")
        for first, second, conditions, common in self.rules.cases(
            left, right, frozenset(self.triples.context)
        ):
            if common:
                values = [v if v in program.variables(first) else UNBOUND for v in left.columns]
                self.rules.add(name, values, (first, second, *conditions))
        return left.with_literals(Negation(Atom(name, left.columns)))


def _is_plain(group: Group) -> bool:
    """Whether a group is one body: triple patterns and tests of them."""
    if not all(isinstance(element, BasicPattern) for element in group.elements):
        return False
    triples = (t for e in group.elements if isinstance(e, BasicPattern) for t in e.triples)
    return all(isinstance(triple.predicate, program.Variable | IRI) for triple in triples)
