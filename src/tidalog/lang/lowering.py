"""From a dialect's rule to rules of the one syntax tree.

Other dialects write aggregates and negated conjunctions inside a body; the tree has aggregates in heads
and negates single atoms.  Each nested part becomes an auxiliary predicate with a rule of its own:

    r3:  far(?x) :- p(?x), NOT (q(?x, ?y), s(?y))
    →    far(?x) :- p(?x), ~r3_negation1(?x)        r3_negation1(?x) :- q(?x, ?y), s(?y)

Names of auxiliary predicates follow from the rule's name (or its number in the text) and are the same in
every run.  Auxiliary rules come after all rules of the text, so that `r3` stays the third rule.

An aggregate is over *matches* of its body, that is, distinct bindings of all the body's variables; so its
argument list names them all.  If repetition cannot matter (`min`, `max`, DISTINCT), the value is the only
argument.  If the aggregate is the whole body and the head has just its groups, results and constants, it goes
straight into the head, without an auxiliary predicate.

Recursion here follows the nesting of bodies, which the reader of the text limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidalog.model.errors import Span
from tidalog.model.program import (
    Aggregate,
    Atom,
    Call,
    Condition,
    Expression,
    FlatLiteral,
    Negation,
    Parameter,
    Rule,
    Variable,
    flat_literals,
    variables,
)
from tidalog.model.terms import Integer


@dataclass(frozen=True, slots=True)
class NegatedBody:
    """No binding of `local` (and of the variables that occur nowhere else) matches `body`."""

    body: tuple[BodyPart, ...]
    local: tuple[Variable, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Measure:
    """`COUNT(DISTINCT ?y) AS ?n`; no value at all is `COUNT(*)`."""

    operator: str
    value: Expression | None
    result: Variable
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregatedBody:
    """The matches of `body`, grouped, measured.  Only groups and results are visible outside."""

    body: tuple[BodyPart, ...]
    groups: tuple[Variable, ...]
    measures: tuple[Measure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


BodyPart = Atom | Negation | Condition | NegatedBody | AggregatedBody


@dataclass(frozen=True, slots=True)
class DialectRule:
    """A rule of a dialect, before lowering."""

    heads: tuple[Atom, ...]
    body: tuple[BodyPart, ...]
    name: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


def lower_rules(rules: Sequence[DialectRule], taken: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules in their order, then the auxiliary ones.  No auxiliary predicate has a name in `taken`, or
    that of a predicate or rule."""
    names = set(taken)
    for rule in rules:
        names.update(_predicates(rule))
        if rule.name is not None:
            names.add(rule.name)
    lowered: list[Rule] = []
    auxiliary: list[Rule] = []
    for number, rule in enumerate(rules, 1):
        one = _Lowering(rule.name or f"r{number}", names)
        lowered.append(_number_anonymous(one.rule(rule)))
        auxiliary.extend(_number_anonymous(extra) for extra in one.auxiliary)
    return (*lowered, *auxiliary)


class _Lowering:
    """Lowers one rule; `auxiliary` collects its auxiliary rules."""

    def __init__(self, stem: str, taken: set[str]) -> None:
        self.stem = re.sub(r"\W", "_", stem)
        if not self.stem or self.stem[0].isdigit():
            self.stem = f"r{self.stem}"
        self.taken = taken
        self.auxiliary: list[Rule] = []
        self.counts: dict[str, int] = {}

    def rule(self, rule: DialectRule) -> Rule:
        if len(rule.heads) == 1 and len(rule.body) == 1:
            (part,) = rule.body
            if isinstance(part, AggregatedBody) and _fits_into_head(rule.heads[0], part):
                return self.aggregate_rule(rule.heads[0], part, rule.name, rule.span)
        outside = [v for head in rule.heads for v in variables(head)]
        return Rule(rule.heads, self.body(rule.body, outside), rule.name, rule.span)

    def body(
        self,
        parts: Sequence[BodyPart],
        outside: Iterable[Variable],
        context: tuple[FlatLiteral, ...] = (),
    ) -> tuple[FlatLiteral, ...]:
        """The parts as literals.  `outside` are the variables of the rest of the rule, `context` the positive
        literals around the parts, which hold wherever the parts are evaluated."""
        used = {*outside, *(v for literal in context for v in variables(literal))}
        for part in parts:
            used.update(_free(part))
        flat: list[FlatLiteral | NegatedBody] = [
            self.aggregate_atom(part) if isinstance(part, AggregatedBody) else part for part in parts
        ]
        positive = (*context, *(part for part in flat if isinstance(part, Atom | Condition)))
        literals: list[FlatLiteral] = []
        for index, part in enumerate(flat):
            if isinstance(part, NegatedBody):
                others = set(outside).union(*(_free(p) for i, p in enumerate(flat) if i != index))
                literals.append(self.negation(part, used, others, positive))
            else:
                literals.append(part)
        return tuple(literals)

    def negation(
        self,
        part: NegatedBody,
        used: set[Variable],
        others: set[Variable],
        positive: tuple[FlatLiteral, ...],
    ) -> Negation:
        """`part` as one negated atom.  A quantified variable whose name is also used elsewhere in the rule is
        a different variable and is renamed.  If the negated body does not bind a shared variable
        (`NOT (q(?y), FILTER(?y > ?x))`), the auxiliary rule includes the positive part around it."""
        renaming = {v: _fresh(v.name, used) for v in part.local if v in used}
        parts = tuple(_rename_part(p, renaming) for p in part.body) if renaming else part.body
        if len(parts) == 1 and isinstance(parts[0], Atom):
            used.update(variables(parts[0]))
            return Negation(parts[0], part.span)
        local = {renaming.get(v, v) for v in part.local}
        shared = [v for v in _unique(v for p in parts for v in _free(p)) if v in others and v not in local]
        head = Atom(self.name("negation"), tuple(shared), part.span)
        literals = self.body(parts, shared, positive)
        if not set(shared) <= _bound(literals):
            literals = (*positive, *literals)
        self.auxiliary.append(Rule((head,), literals, head.predicate, part.span))
        return Negation(head, part.span)

    def aggregate_atom(self, part: AggregatedBody) -> Atom:
        """The atom of an auxiliary predicate that holds the aggregate's groups and results."""
        results = tuple(measure.result for measure in part.measures)
        atom = Atom(self.name("aggregate"), (*part.groups, *results), part.span)
        # In the defining head a result that has the name of a group still needs an argument of its own.
        columns = tuple(Variable(f"#{index}") for index in range(len(results)))
        measures = tuple(replace(m, result=p) for m, p in zip(part.measures, columns, strict=True))
        head = Atom(atom.predicate, (*part.groups, *columns), part.span)
        inner = replace(part, measures=measures)
        self.auxiliary.append(self.aggregate_rule(head, inner, atom.predicate, part.span))
        return atom

    def aggregate_rule(self, head: Atom, part: AggregatedBody, name: str | None, span: Span | None) -> Rule:
        """The rule whose head has the measures instead of their results."""
        outside = [
            *part.groups,
            *(v for m in part.measures if m.value is not None for v in variables(m.value)),
        ]
        body = _name_anonymous(self.body(part.body, outside))
        matched = _unique(
            v for literal in body if not isinstance(literal, Negation) for v in variables(literal)
        )
        rest = [v for v in matched if v not in part.groups]
        columns = {
            m.result: Aggregate(m.operator, _arguments(m, rest, part.groups), m.span) for m in part.measures
        }
        arguments = tuple(columns.get(a, a) if isinstance(a, Variable) else a for a in head.arguments)
        return Rule((Atom(head.predicate, arguments, head.span),), body, name, span)

    def name(self, kind: str) -> str:
        while True:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            name = f"{self.stem}_{kind}{self.counts[kind]}"
            if name not in self.taken:
                self.taken.add(name)
                return name


def _fits_into_head(head: Atom, part: AggregatedBody) -> bool:
    variables = [a for a in head.arguments if isinstance(a, Variable)]
    results = [measure.result for measure in part.measures]
    return (
        not any(isinstance(a, Call | Aggregate | Parameter) for a in head.arguments)
        and len(set(results)) == len(results)
        and not set(results) & set(part.groups)
        and all(variables.count(result) == 1 for result in results)
        and set(variables) == {*part.groups, *results}
    )


def _arguments(
    measure: Measure, matched: Sequence[Variable], groups: Sequence[Variable]
) -> tuple[Expression, ...]:
    """The tuples that the measure aggregates; the variables of the group are constant within it."""
    if measure.value is None:
        return tuple(matched) or tuple(groups) or (Integer(1),)
    if measure.distinct or measure.operator in ("min", "max"):
        return (measure.value,)
    return (measure.value, *(v for v in matched if v != measure.value))


# --- variables --------------------------------------------------------------------------------------


def _free(part: BodyPart) -> list[Variable]:
    """The variables that a part shares with the rest of its rule, in order of occurrence."""
    if isinstance(part, AggregatedBody):
        return [*part.groups, *(m.result for m in part.measures)]
    if isinstance(part, NegatedBody):
        inner = _unique(v for p in part.body for v in _free(p))
        return [v for v in inner if v not in part.local]
    return _unique(variables(part))


def _unique(items: Iterable[Variable]) -> list[Variable]:
    return list(dict.fromkeys(items))


def _fresh(name: str, used: set[Variable]) -> Variable:
    candidate, number = Variable(name), 1
    while candidate in used:
        number += 1
        candidate = Variable(f"{name}_{number}")
    return candidate


def _bound(literals: Sequence[FlatLiteral]) -> set[Variable]:
    """The variables that positive atoms bind, and those that equations then bind."""
    bound = {v for literal in literals if isinstance(literal, Atom) for v in variables(literal)}
    equations = [
        literal.expression.arguments
        for literal in literals
        if isinstance(literal, Condition)
        and isinstance(literal.expression, Call)
        and literal.expression.function == "="
    ]
    growing = True
    while growing:
        growing = False
        for left, right in equations:
            for target, value in ((left, right), (right, left)):
                if isinstance(target, Variable) and target not in bound and set(variables(value)) <= bound:
                    bound.add(target)
                    growing = True
    return bound


def _predicates(rule: DialectRule) -> Iterator[str]:
    stack: list[BodyPart] = [*rule.heads, *rule.body]
    while stack:
        part = stack.pop()
        if isinstance(part, Atom):
            yield part.predicate
        elif isinstance(part, Negation):
            yield part.atom.predicate
        elif isinstance(part, NegatedBody | AggregatedBody):
            stack.extend(part.body)


# --- renaming ---------------------------------------------------------------------------------------

Renaming = Mapping[Variable, Variable]


def _rename_expression(node: Expression, renaming: Renaming) -> Expression:
    if isinstance(node, Variable):
        return renaming.get(node, node)
    if isinstance(node, Call):
        return Call(node.function, tuple(_rename_expression(a, renaming) for a in node.arguments), node.span)
    return node


def _rename_atom(atom: Atom, renaming: Renaming) -> Atom:
    arguments = tuple(
        Aggregate(a.operator, tuple(_rename_expression(x, renaming) for x in a.arguments), a.span)
        if isinstance(a, Aggregate)
        else _rename_expression(a, renaming)
        for a in atom.arguments
    )
    return Atom(atom.predicate, arguments, atom.span)


def _rename_literal(literal: FlatLiteral, renaming: Renaming) -> FlatLiteral:
    if isinstance(literal, Atom):
        return _rename_atom(literal, renaming)
    if isinstance(literal, Negation):
        return Negation(_rename_atom(literal.atom, renaming), literal.span)
    return Condition(_rename_expression(literal.expression, renaming), literal.span)


def _rename_part(part: BodyPart, renaming: Renaming) -> BodyPart:
    """Renames free occurrences, not variables that a nested negation quantifies or an aggregate hides."""
    if isinstance(part, NegatedBody):
        visible = {old: new for old, new in renaming.items() if old not in part.local}
        return replace(part, body=tuple(_rename_part(p, visible) for p in part.body))
    if isinstance(part, AggregatedBody):
        visible = {old: new for old, new in renaming.items() if old in part.groups}
        return AggregatedBody(
            tuple(_rename_part(p, visible) for p in part.body),
            tuple(renaming.get(v, v) for v in part.groups),
            tuple(
                replace(
                    m,
                    value=None if m.value is None else _rename_expression(m.value, visible),
                    result=renaming.get(m.result, m.result),
                )
                for m in part.measures
            ),
            part.span,
        )
    return _rename_literal(part, renaming)


def _name_anonymous(body: tuple[FlatLiteral, ...]) -> tuple[FlatLiteral, ...]:
    """Names the anonymous variables of positive atoms: they distinguish matches too."""
    used = {v for literal in body for v in variables(literal)}
    renaming: dict[Variable, Variable] = {}
    for literal in body:
        if isinstance(literal, Atom):
            for variable in variables(literal):
                if variable.anonymous and variable not in renaming:
                    renaming[variable] = _fresh("any", used | set(renaming.values()))
    return tuple(_rename_literal(literal, renaming) for literal in body) if renaming else body


def _number_anonymous(rule: Rule) -> Rule:
    """`_#1`, `_#2`, … in order of occurrence, numbered across rules."""
    occurrences = _unique(v for node in (*rule.heads, *rule.body) for v in variables(node) if v.anonymous)
    renaming = {old: Variable(f"_#{number}") for number, old in enumerate(occurrences, 1)}
    if all(old == new for old, new in renaming.items()):
        return rule
    heads = tuple(_rename_atom(head, renaming) for head in rule.heads)
    return replace(
        rule, heads=heads, body=tuple(_rename_literal(b, renaming) for b in flat_literals(rule.body))
    )
