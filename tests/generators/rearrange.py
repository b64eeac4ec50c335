"""Changes to a program's text that change nothing of its meaning."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tidalog.model.column_types import TYPES, fitted
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Column,
    Declaration,
    Disjunction,
    Expression,
    Negation,
    Program,
    Rule,
    Variable,
)
from tidalog.model.terms import Term


def shuffle_rules(program: Program, chance: random.Random) -> Program:
    return replace(program, rules=tuple(chance.sample(program.rules, len(program.rules))))


def shuffle_facts(program: Program, chance: random.Random) -> Program:
    return replace(program, facts=tuple(chance.sample(program.facts, len(program.facts))))


def shuffle_bodies(program: Program, chance: random.Random) -> Program:
    return replace(
        program,
        rules=tuple(replace(r, body=tuple(chance.sample(r.body, len(r.body)))) for r in program.rules),
    )


def shuffle_heads(program: Program, chance: random.Random) -> Program:
    return replace(
        program,
        rules=tuple(replace(r, heads=tuple(chance.sample(r.heads, len(r.heads)))) for r in program.rules),
    )


def alpha_rename(program: Program, chance: random.Random) -> Program:
    """Every rule with its named variables renamed, one to one; some names pass from one to another."""
    return replace(program, rules=tuple(_renamed(rule, chance) for rule in program.rules))


def _renamed(rule: Rule, chance: random.Random) -> Rule:
    names: dict[str, str] = {}
    candidates = [*(f"q{number}" for number in range(60)), *"xyzuvw"]
    chance.shuffle(candidates)

    def expression(node: Expression) -> Expression:
        if isinstance(node, Variable) and not node.anonymous:
            if node.name not in names:
                names[node.name] = candidates.pop()
            return Variable(names[node.name])
        if isinstance(node, Call | Aggregate):
            return replace(node, arguments=tuple(map(expression, node.arguments)))
        return node

    def atom(node: Atom) -> Atom:
        return replace(node, arguments=tuple(map(expression, node.arguments)))

    def literal(node: BodyLiteral) -> BodyLiteral:
        if isinstance(node, Atom):
            return atom(node)
        if isinstance(node, Negation):
            return replace(node, atom=atom(node.atom))
        if isinstance(node, Disjunction):
            return Disjunction(tuple(tuple(map(literal, part)) for part in node.alternatives))
        return replace(node, expression=expression(node.expression))

    return replace(rule, heads=tuple(map(atom, rule.heads)), body=tuple(map(literal, rule.body)))


def declare(program: Program, chance: random.Random) -> Program:
    """Every predicate with a declaration: its columns are named, and some have a type of all their facts."""
    rows: dict[tuple[str, int], list[tuple[Term, ...]]] = {}
    for fact in program.facts:
        rows.setdefault((fact.predicate, len(fact.arguments)), []).append(fact.arguments)
    for rule in program.rules:
        for head in rule.heads:
            rows.setdefault((head.predicate, head.arity), [])
    found = tuple(
        Declaration(predicate, tuple(_column(number, facts, chance) for number in range(arity)))
        for (predicate, arity), facts in rows.items()
    )
    return replace(program, declarations=found)


def _column(number: int, facts: list[tuple[Term, ...]], chance: random.Random) -> Column:
    fitting = [kind for kind in TYPES if all(fitted(row[number], kind) == row[number] for row in facts)]
    return Column(f"column {number}", chance.choice(fitting))


SHUFFLES: dict[str, Callable[[Program, random.Random], Program]] = {
    "rules": shuffle_rules,
    "facts": shuffle_facts,
    "bodies": shuffle_bodies,
    "heads": shuffle_heads,
    "names of variables": alpha_rename,
    "declarations": declare,
}
