"""Walking and rebuilding rules.  Nothing here recurses on the depth of an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Disjunction,
    Expression,
    FlatLiteral,
    Negation,
    Rule,
    Variable,
    flat_literals,
)

Node = Expression


def placed_atoms(rule: Rule) -> Iterator[tuple[Atom, bool]]:
    """Every atom of a rule, including negated ones, and whether it is in the head."""
    for head in rule.heads:
        yield head, True
    for literal in flat_literals(rule.body):
        if isinstance(literal, Atom):
            yield literal, False
        elif isinstance(literal, Negation):
            yield literal.atom, False


def atoms(rule: Rule) -> Iterator[Atom]:
    return (atom for atom, _ in placed_atoms(rule))


def nodes(root: Node | BodyLiteral) -> Iterator[Node]:
    """Every expression and aggregate inside, outermost first, from left to right."""
    stack: list[Node | BodyLiteral] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, Negation):
            stack.append(item.atom)
        elif isinstance(item, Condition):
            stack.append(item.expression)
        elif isinstance(item, Atom):
            stack.extend(reversed(item.arguments))
        elif isinstance(item, Disjunction):
            stack.extend(reversed(list(flat_literals([item]))))
        else:
            yield item
            if isinstance(item, Call | Aggregate):
                stack.extend(reversed(item.arguments))


def rule_nodes(rule: Rule) -> Iterator[tuple[Node, FlatLiteral]]:
    """Every expression of a rule with the literal that contains it."""
    literals: tuple[FlatLiteral, ...] = (*rule.heads, *flat_literals(rule.body))
    for literal in literals:
        for node in nodes(literal):
            yield node, literal


def map_atoms(rule: Rule, change: Callable[[Atom], Atom]) -> Rule:
    """The rule with every atom replaced; the rule itself if no atom changes."""
    heads = tuple(change(head) for head in rule.heads)
    body = tuple(_map_literal(literal, change) for literal in rule.body)
    unchanged = all(a is b for a, b in zip((*heads, *body), (*rule.heads, *rule.body), strict=True))
    return rule if unchanged else replace(rule, heads=heads, body=body)


def _map_literal(literal: BodyLiteral, change: Callable[[Atom], Atom]) -> BodyLiteral:
    if isinstance(literal, Atom):
        return change(literal)
    if isinstance(literal, Negation):
        atom = change(literal.atom)
        return literal if atom is literal.atom else Negation(atom, literal.span)
    if isinstance(literal, Disjunction):
        return _map_alternatives(literal, lambda inner: _map_literal(inner, change))
    return literal


def _map_alternatives(literal: Disjunction, change: Callable[[BodyLiteral], BodyLiteral]) -> Disjunction:
    parts = tuple(tuple(map(change, part)) for part in literal.alternatives)
    same = all(
        a is b
        for old, new in zip(literal.alternatives, parts, strict=True)
        for a, b in zip(old, new, strict=True)
    )
    return literal if same else Disjunction(parts, literal.span)


def map_conditions(rule: Rule, change: Callable[[Condition], BodyLiteral]) -> Rule:
    """The rule with every condition of the body replaced; the rule itself if none changes."""

    def changed(literal: BodyLiteral) -> BodyLiteral:
        if isinstance(literal, Disjunction):
            return _map_alternatives(literal, changed)
        return change(literal) if isinstance(literal, Condition) else literal

    body = tuple(map(changed, rule.body))
    return rule if all(a is b for a, b in zip(body, rule.body, strict=True)) else replace(rule, body=body)


def map_leaves(rule: Rule, change: Callable[[Expression], Expression]) -> Rule:
    """The rule with every variable, parameter and term replaced."""
    return _map_arguments(rule, lambda argument: rebuilt(argument, change))


def map_calls(rule: Rule, change: Callable[[Call], Expression]) -> Rule:
    """The rule with every call replaced, inner ones first."""
    return _map_arguments(rule, lambda argument: rebuilt(argument, lambda leaf: leaf, call=change))


def _map_arguments(rule: Rule, change: Callable[[Expression], Expression]) -> Rule:
    def change_atom(atom: Atom) -> Atom:
        return replace(atom, arguments=tuple(map(change, atom.arguments)))

    def change_condition(literal: BodyLiteral) -> BodyLiteral:
        if isinstance(literal, Disjunction):
            return _map_alternatives(literal, change_condition)
        if not isinstance(literal, Condition):
            return literal
        return Condition(change(literal.expression), literal.span)

    changed = map_atoms(rule, change_atom)
    return replace(changed, body=tuple(change_condition(literal) for literal in changed.body))


def expression_with(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with every leaf replaced."""
    return rebuilt(expression, change)


def rebuilt(
    root: Node,
    change: Callable[[Expression], Expression],
    fold: Callable[[Aggregate], Expression] | None = None,
    call: Callable[[Call], Expression] | None = None,
) -> Node:
    """The expression with every leaf replaced; with `fold` every aggregate as a whole, with `call` every
    call, inner ones first."""
    done: list[Node] = []
    work: list[tuple[Node, bool]] = [(root, False)]
    while work:
        node, arguments_done = work.pop()
        if fold is not None and isinstance(node, Aggregate):
            done.append(fold(node))
        elif not isinstance(node, Call | Aggregate):
            done.append(change(node))
        elif not arguments_done:
            work.append((node, True))
            work.extend((argument, False) for argument in reversed(node.arguments))
        else:
            cut = len(done) - len(node.arguments)
            arguments = tuple(done[cut:])
            del done[cut:]
            changed = replace(node, arguments=arguments)
            done.append(call(changed) if call is not None and isinstance(changed, Call) else changed)
    return done[0]


def canonical_rule(rule: Rule) -> Rule:
    """The rule without its name and with variables numbered in order of occurrence: two rules are the
    same up to a renaming of variables exactly if these are equal."""
    names: dict[Variable, Variable] = {}

    def renamed(leaf: Expression) -> Expression:
        if isinstance(leaf, Variable):
            return names.setdefault(leaf, Variable(str(len(names))))
        return leaf

    return replace(map_leaves(rule, renamed), name=None)
