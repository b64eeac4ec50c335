"""Patterns as bodies of rules, from the innermost outwards as SPARQL defines them.

    { A B }           the bodies side by side; by cases where a common variable may be unbound
    { A } UNION { B } a rule for each branch
    OPTIONAL          a rule for the join, and one for the solutions without a match (negation)
    MINUS, EXISTS     negation or a positive atom, of a helper predicate unless one atom is enough
    FILTER, BIND      conditions; a BIND that cannot be computed leaves its variable unbound

A pattern inside EXISTS starts from the solutions outside of it, so that its filters see their variables.

Predicates are sets, and so are the solutions of a pattern; each solution of a basic pattern is different from
the others anyway.  With `counted`, columns are added that keep equal solutions apart (which branch of a
UNION, the values of variables that a sub-query does not return), as aggregates need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product

from tidalog.lang.diagnostics import BadStatement
from tidalog.lang.sparql.algebra import (
    BasicPattern,
    Bind,
    Element,
    Exists,
    Expression,
    Function,
    Group,
    Minus,
    Optional,
    Query,
    SubSelect,
    Union,
    Values,
    in_scope,
    subexpressions,
)
from tidalog.lang.sparql.expressions import (
    NO_AGGREGATES,
    Aggregates,
    Scope,
    conjuncts,
    needed,
    needed_aggregates,
)
from tidalog.lang.sparql.solutions import IMPOSSIBLE, UNBOUND, UNIT, Rules, Solutions, is_bound
from tidalog.model import program
from tidalog.model.errors import ProgramError, Span
from tidalog.model.program import Atom, Call, Condition, FlatLiteral, Negation, Variable
from tidalog.model.terms import FALSE, TRUE, Integer


class Patterns:
    """Turns groups into solutions; their rules go to `rules`.  `triple` is the predicate of triples."""

    def __init__(self, rules: Rules, triple: str) -> None:
        self.rules = rules
        self.triple = triple
        self.counted = False

    @contextmanager
    def counting(self, counted: bool) -> Iterator[None]:
        before, self.counted = self.counted, counted
        try:
            yield
        finally:
            self.counted = before

    def sub_select(self, query: Query) -> Solutions:
        raise NotImplementedError

    # --- groups -------------------------------------------------------------------------------------

    def group(self, group: Group, start: Solutions = UNIT) -> Solutions:
        found = start
        for element in group.elements:
            found = self.element(found, element)
        for condition in group.filters:
            found = self.filter(found, condition)
        return found

    def element(self, before: Solutions, element: Element) -> Solutions:
        match element:
            case BasicPattern():
                return self.rules.join(before, self.basic(element))
            case Union(branches):
                return self.union(before, branches)
            case Optional(pattern):
                return self.optional(before, pattern)
            case Minus(pattern):
                return self.minus(before, pattern)
            case Bind(value, target):
                return self.bind(before, value, target)
            case Values():
                return self.rules.join(before, self.values(element))
            case SubSelect(query):
                return self.rules.join(before, self.sub_select(query))

    def basic(self, pattern: BasicPattern) -> Solutions:
        """Blank nodes are variables that nothing else sees."""
        blanks: dict[Variable, Variable] = {}
        atoms: list[Atom] = []
        columns: dict[Variable, None] = {}
        for triple in pattern.triples:
            nodes: list[program.Expression] = []
            for node in (triple.subject, triple.predicate, triple.object):
                if isinstance(node, Variable) and node.anonymous:
                    if node not in blanks:
                        blanks[node] = self.rules.fresh("node")
                    nodes.append(blanks[node])
                else:
                    nodes.append(node)
                    if isinstance(node, Variable):
                        columns[node] = None
            atoms.append(Atom(self.triple, tuple(nodes), triple.span))
        visible = (*columns, *(blanks.values() if self.counted else ()))
        return Solutions(tuple(atoms), visible, frozenset(visible))

    def union(self, before: Solutions, branches: Sequence[Group]) -> Solutions:
        parts = [self.group(branch) for branch in branches]
        if len(parts) == 1:
            return self.rules.join(before, parts[0])
        return self.rules.join(before, self.united(parts, "union"))

    def united(self, parts: Sequence[Solutions], kind: str) -> Solutions:
        columns = tuple(dict.fromkeys(v for part in parts for v in part.columns))
        certain = frozenset.intersection(*(part.certain for part in parts))
        name = self.rules.helper(kind)
        tags: tuple[Variable, ...] = (self.rules.fresh("branch"),) if self.counted else ()
        for number, part in enumerate(parts, 1):
            values = [v if v in part.columns else UNBOUND for v in columns]
            self.rules.add(name, [*values, *(Integer(number) for _ in tags)], part.body)
        return Solutions((Atom(name, (*columns, *tags)),), (*columns, *tags), certain.union(tags))

    def values(self, values: Values) -> Solutions:
        name = self.rules.helper("values")
        tags: tuple[Variable, ...] = (self.rules.fresh("row"),) if self.counted else ()
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

    # --- optional and minus -------------------------------------------------------------------------

    def optional(self, before: Solutions, pattern: Group) -> Solutions:
        """The filters of the pattern see the variables before it."""
        left = self.rules.stored(before, "before")
        right = self.group(Group(pattern.elements))
        copies = {v: self.rules.fresh("own") for v in left.shared(right) if v not in left.certain}
        first = self._with_copies(left, copies) if copies else left
        joined = self.rules.join(first, right)
        for condition in pattern.filters:
            joined = self.filter(joined, condition)
        mentioned = {v for condition in pattern.filters for v in mentioned_in(condition)}
        keys = [v for v in left.columns if v in right.columns or v in mentioned]
        if not pattern.filters and not left.unsure(right):
            unmatched = self.rules.absent(right, keys, "matched")
        else:
            matched = self.rules.helper("matched")
            self.rules.add(matched, [copies.get(v, v) for v in keys], joined.body)
            unmatched = Negation(Atom(matched, tuple(keys)))
        added = tuple(v for v in right.columns if v not in left.columns)
        columns = (*left.columns, *added)
        name = self.rules.helper("optional")
        self.rules.add(name, columns, joined.body)
        self.rules.add(name, (*left.columns, *(UNBOUND for _ in added)), (*left.body, unmatched))
        return Solutions((Atom(name, columns),), columns, left.certain)

    def _with_copies(self, solutions: Solutions, copies: dict[Variable, Variable]) -> Solutions:
        """The solutions with a second column for variables that a join may bind."""
        name = self.rules.helper("before")
        self.rules.add(name, (*solutions.columns, *copies), solutions.body)
        columns = (*solutions.columns, *copies.values())
        return Solutions((Atom(name, columns),), columns, solutions.certain)

    def minus(self, before: Solutions, pattern: Group) -> Solutions:
        """Solutions that are compatible with one of the pattern, and have a variable in common, go."""
        with self.counting(False):
            right = self.group(pattern)
        shared = before.shared(right)
        if not shared:
            return before
        if not before.unsure(right):
            return before.with_literals(self.rules.absent(right, shared, "minus"))
        left, right = self.rules.stored(before, "before"), self.rules.stored(right, "minus")
        name = self.rules.helper("removed")
        for first, second, conditions, common in self.rules.cases(left, right):
            if common:
                values = [v if v in program.variables(first) else UNBOUND for v in left.columns]
                self.rules.add(name, values, (first, second, *conditions))
        return left.with_literals(Negation(Atom(name, left.columns)))

    # --- conditions ---------------------------------------------------------------------------------

    def filter(
        self, before: Solutions, condition: Expression, aggregates: Aggregates = NO_AGGREGATES
    ) -> Solutions:
        found = before
        for part in conjuncts(condition):
            found = self._filter_by_one(found, part, aggregates)
        return found

    def _filter_by_one(self, before: Solutions, condition: Expression, aggregates: Aggregates) -> Solutions:
        named = needed(condition) | {aggregates[a] for a in needed_aggregates(condition)}
        unsure = [v for v in before.columns if v in named and v not in before.certain]
        found = before.with_literals(*map(is_bound, unsure), certain=unsure)
        found, choices = self._choices(found, condition)
        bodies: list[tuple[FlatLiteral, ...]] = []
        for literals, exists in choices:
            scope = Scope(found, self.rules, exists, aggregates)
            truth = scope.truth(condition)
            if truth != FALSE:
                tests = () if truth == TRUE else (Condition(truth, span_of(condition)),)
                bodies.append((*literals, *scope.steps, *tests))
        if not bodies:
            return found.with_literals(IMPOSSIBLE)
        return self._with_one_of(found, found.columns, found.certain, bodies, "filter")

    def bind(
        self,
        before: Solutions,
        value: Expression,
        target: Variable,
        aggregates: Aggregates = NO_AGGREGATES,
    ) -> Solutions:
        found, choices = self._choices(before, value)
        bodies: list[tuple[FlatLiteral, ...]] = []
        certain = found.certain | {target}
        for literals, exists in choices:
            scope = Scope(found, self.rules, exists, aggregates)
            computed = scope.value(value)
            if isinstance(computed, Call):
                computed = Call("COALESCE", (computed, UNBOUND))
                certain = found.certain
            result = Condition(Call("=", (target, computed)), span_of(value))
            bodies.append((*literals, *scope.steps, result))
        return self._with_one_of(found, (*found.columns, target), certain, bodies, "bind")

    def _with_one_of(
        self,
        before: Solutions,
        columns: tuple[Variable, ...],
        certain: frozenset[Variable],
        bodies: Sequence[tuple[FlatLiteral, ...]],
        kind: str,
    ) -> Solutions:
        if len(bodies) == 1:
            return Solutions((*before.body, *bodies[0]), columns, certain)
        name = self.rules.helper(kind)
        for body in bodies:
            self.rules.add(name, columns, (*before.body, *body))
        return Solutions((Atom(name, columns),), columns, certain)

    def _choices(
        self, before: Solutions, expression: Expression
    ) -> tuple[Solutions, list[tuple[tuple[FlatLiteral, ...], dict[Exists, bool]]]]:
        """Which of the EXISTS in an expression are true, with the literals that say so: all combinations."""
        found = list(dict.fromkeys(n for n in subexpressions(expression) if isinstance(n, Exists)))
        if not found:
            return before, [((), {})]
        before = self.rules.stored(before, "before")
        absences = [self._absence(before, one.pattern) for one in found]
        choices: list[tuple[tuple[FlatLiteral, ...], dict[Exists, bool]]] = []
        for values in product((True, False), repeat=len(found)):
            literals = tuple(a.atom if v else a for a, v in zip(absences, values, strict=True))
            choices.append((literals, dict(zip(found, values, strict=True))))
        return before, choices

    def _absence(self, before: Solutions, pattern: Group) -> Negation:
        """The literal that a pattern has no match that is compatible with a solution before it."""
        with self.counting(False):
            inside = set(in_scope(pattern))
            outer = {v for v in mentioned_in_group(pattern) if v in before.columns and v not in inside}
            self._refuse_deep(pattern, outer)
            alone = self.group(pattern) if not outer else None
            if alone is not None and not before.unsure(alone):
                return self.rules.absent(alone, before.shared(alone), "exists")
            keys = [v for v in before.columns if v in inside or v in outer]
            copies = {v: self.rules.fresh("own") for v in keys if v not in before.certain}
            start = self._with_copies(before, copies) if copies else before
            matches = self.group(pattern, start)
        name = self.rules.helper("exists")
        self.rules.add(name, [copies.get(v, v) for v in keys], matches.body)
        return Negation(Atom(name, tuple(keys)))

    def _refuse_deep(self, pattern: Group, outer: set[Variable]) -> None:
        """Inside EXISTS only its own filters, and those of its OPTIONALs, see variables from outside."""
        for element in pattern.elements:
            inner = element.branches if isinstance(element, Union) else ()
            inner = (element.pattern,) if isinstance(element, Minus) else inner
            for group in inner:
                used = [v for v in mentioned_in_group(group) if v in outer]
                if used:
                    raise ProgramError(
                        BadStatement(
                            self.rules.span,
                            problem=f"not supported yet: ?{used[0].name} in a nested group of EXISTS",
                            why="a group inside EXISTS uses a variable that only the outside binds",
                            advice="move the condition out of the inner braces",
                        )
                    )


def span_of(expression: Expression) -> Span | None:
    return expression.span if isinstance(expression, Function | Exists) else None


def mentioned_in(expression: Expression) -> Iterator[Variable]:
    """The variables of an expression, those inside EXISTS included."""
    for node in subexpressions(expression):
        if isinstance(node, Variable):
            yield node
        elif isinstance(node, Exists):
            yield from mentioned_in_group(node.pattern)


def mentioned_in_group(group: Group) -> Iterator[Variable]:
    yield from in_scope(group)
    for condition in group.filters:
        yield from mentioned_in(condition)
    for element in group.elements:
        if isinstance(element, Bind):
            yield from mentioned_in(element.value)
        elif isinstance(element, Optional | Minus):
            yield from mentioned_in_group(element.pattern)
        elif isinstance(element, Union):
            for branch in element.branches:
                yield from mentioned_in_group(branch)
