"""From a written rule to rules with one head and a flat body.

*  Each head is a rule, and each alternative of a disjunction is one: `p :- a, (b ; c)` is `p :- a, b` and
   `p :- a, c`.
*  An aggregate is over all alternatives together: they derive a hidden predicate that the aggregate reads.
*  An aggregate inside an expression is computed by a rule of its own:

       half(?x, #count(?y) / 2) :- edge(?x, ?y)
       →  ?fold(?x, #count(?y)) :- edge(?x, ?y)        half(?x, ?n / 2) :- ?fold(?x, ?n)

The first rule has the name of the written one, the others have `name#2`, `name#3`, …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from math import prod
from typing import Final

from tidalog.analysis.rewrite import nodes, rebuilt
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Disjunction,
    Expression,
    FlatLiteral,
    Rule,
    Variable,
    flat_literals,
    variables,
)

MOST_ALTERNATIVES: Final = 256
"""Rules that one written rule may become by its disjunctions."""
Body = tuple[FlatLiteral, ...]


def count_alternatives(body: Sequence[BodyLiteral]) -> int:
    """How many flat bodies a body is."""
    return _count(with_listed_values(body))


def with_listed_values(body: Sequence[BodyLiteral]) -> Sequence[BodyLiteral]:
    """`?x IN (1, 2)` is `(?x = 1 ; ?x = 2)` where nothing else gives ?x a value."""
    if not any(_lists(literal, frozenset()) for literal in flat_literals(body)):
        return body  # as most do
    given = {v for literal in flat_literals(body) for v in _given(literal)}
    if not any(_lists(literal, given) for literal in flat_literals(body)):
        return body

    def changed(literal: BodyLiteral) -> BodyLiteral:
        if isinstance(literal, Disjunction):
            parts = tuple(tuple(map(changed, part)) for part in literal.alternatives)
            return replace(literal, alternatives=parts)
        if not _lists(literal, given):
            return literal
        assert isinstance(literal, Condition) and isinstance(literal.expression, Call)
        member, *values = literal.expression.arguments
        parts = tuple((replace(literal, expression=Call("=", (member, value))),) for value in values)
        return Disjunction(parts, literal.span) if len(parts) > 1 else parts[0][0]

    return tuple(map(changed, body))


def _given(literal: FlatLiteral) -> Iterator[Variable]:
    """Variables that a literal may give a value."""
    if isinstance(literal, Atom):
        yield from variables(literal)
    elif isinstance(literal, Condition):
        match literal.expression:
            case Call("=", sides):
                yield from (side for side in sides if isinstance(side, Variable))


def _lists(literal: FlatLiteral, given: Set[Variable]) -> bool:
    """Whether a literal lists the values of a variable."""
    expression = literal.expression if isinstance(literal, Condition) else None
    if not isinstance(expression, Call) or expression.function != "IN" or len(expression.arguments) < 2:
        return False
    return isinstance(expression.arguments[0], Variable) and expression.arguments[0] not in given


def _count(body: Sequence[BodyLiteral]) -> int:
    return prod(
        sum(map(_count, literal.alternatives)) for literal in body if isinstance(literal, Disjunction)
    )


def expanded(rule: Rule, name: str, *, alone: bool = False) -> list[Rule]:
    """The rules that a written rule stands for; with `alone`, only the first has the rule's own head.
    None if there are too many."""
    if count_alternatives(rule.body) > MOST_ALTERNATIVES:
        return []
    bodies = _alternatives(with_listed_values(rule.body))
    first: list[Rule] = []
    more: list[Rule] = []
    if not rule.heads:
        first = [replace(rule, body=body) for body in bodies]
    for number, head in enumerate(rule.heads):
        mine = bodies
        if len(bodies) > 1 and (alone or any(map(has_aggregate, head.arguments))):
            union = Atom(f"?union:{name}:{number}", tuple(dict.fromkeys(variables(head))))
            more += [Rule((union,), body, span=rule.span) for body in bodies]
            mine = [(union,)]
        if any(isinstance(argument, Call) and has_aggregate(argument) for argument in head.arguments):
            head, fold = _without_folds(head, f"?fold:{name}:{number}")
            more.append(Rule((fold,), mine[0], span=rule.span))
            mine = [(replace(fold, arguments=_columns(fold)),)]
        first += [replace(rule, heads=(head,), body=body) for body in mine]
    names = [name, *(f"{name}#{number}" for number in range(2, len(first) + len(more) + 1))]
    return [replace(one, name=own) for one, own in zip((*first, *more), names, strict=True)]


def has_aggregate(expression: Expression) -> bool:
    return any(isinstance(node, Aggregate) for node in nodes(expression))


def _alternatives(body: Sequence[BodyLiteral]) -> list[Body]:
    found: list[Body] = [()]
    for literal in body:
        if isinstance(literal, Disjunction):
            options = [flat for part in literal.alternatives for flat in _alternatives(part)]
        else:
            options = [(literal,)]
        found = [(*before, *option) for before in found for option in options]
    return found


def _without_folds(head: Atom, predicate: str) -> tuple[Atom, Atom]:
    """The head over results of aggregates, and the head of the rule that computes them.  The columns of the
    latter are `_columns`: groups first."""
    groups: dict[Expression, Variable] = {}
    folds: list[Aggregate] = []

    def group(expression: Expression) -> Variable:
        return groups.setdefault(expression, Variable(f"#group{len(groups)}"))

    def fold(aggregate: Aggregate) -> Variable:
        folds.append(aggregate)
        return Variable(f"#fold{len(folds) - 1}")

    def outer(argument: Expression) -> Expression:
        if not has_aggregate(argument):
            return group(argument)
        return rebuilt(argument, lambda leaf: group(leaf) if isinstance(leaf, Variable) else leaf, fold)

    arguments = tuple(map(outer, head.arguments))
    inner = Atom(predicate, (*groups, *folds), head.span)
    return replace(head, arguments=arguments), inner


def _columns(fold: Atom) -> tuple[Variable, ...]:
    def named() -> Iterator[Variable]:
        counts = {True: 0, False: 0}
        for argument in fold.arguments:
            folded = isinstance(argument, Aggregate)
            yield Variable(f"{'#fold' if folded else '#group'}{counts[folded]}")
            counts[folded] += 1

    return tuple(named())
