"""`@equality` as rules: what equal terms have in common, one rule for each argument of each predicate.

    same(?y, ?x) :- same(?x, ?y).      same(?x, ?z) :- same(?x, ?y), same(?y, ?z).
    p(?y, ?b) :- p(?x, ?b), same(?x, ?y).      p(?a, ?y) :- p(?a, ?x), same(?x, ?y).

Literals are equal to nothing else.  A program with negation or aggregates differs from these rules where it
counts, compares or writes terms: `docs/equality.md` says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidalog.model.program import (
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Negation,
    Program,
    Rule,
    Variable,
    flat_literals,
)
from tidalog.reference.clauses import TRIPLE

_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")


def with_equality_rules(program: Program, arities: Iterable[tuple[str, int]] = ()) -> Program:
    """A program without `@equality` that means the same.  `arities`: further predicates that have facts."""
    if not program.equalities:
        return program
    known = dict.fromkeys([*_arities(program), *arities, *((name, 2) for name in program.equalities)])
    triples = (TRIPLE, 3) in known
    rules: list[Rule] = []
    for name in program.equalities:
        rules += _rules(
            name, [one for one in known if not (triples and ":" in one[0] and one[1] < len("spo"))]
        )
    return replace(program, rules=(*program.rules, *rules), equalities=())


def _rules(name: str, known: Iterable[tuple[str, int]]) -> Iterator[Rule]:
    def same(x: Variable, y: Variable) -> tuple[BodyLiteral, ...]:
        return (Atom(name, (x, y)), _is_individual(x), _is_individual(y))

    yield Rule((Atom(name, (_Y, _X)),), same(_X, _Y))
    yield Rule((Atom(name, (_X, _Z)),), (*same(_X, _Y), *same(_Y, _Z)))
    for predicate, arity in known:
        for position in range(arity):
            arguments = [Variable(f"a{number}") for number in range(arity)]
            given = (*arguments[:position], _X, *arguments[position + 1 :])
            derived = (*arguments[:position], _Y, *arguments[position + 1 :])
            yield Rule((Atom(predicate, derived),), (Atom(predicate, given), *same(_X, _Y)))


def _is_individual(variable: Variable) -> BodyLiteral:
    return Condition(Call("NOT", (Call("ISLITERAL", (variable,)),)))


def _arities(program: Program) -> Iterator[tuple[str, int]]:
    for fact in program.facts:
        yield fact.predicate, len(fact.arguments)
    for rule in program.rules:
        for literal in (*rule.heads, *flat_literals(rule.body)):
            atom = literal.atom if isinstance(literal, Negation) else literal
            if isinstance(atom, Atom):
                yield atom.predicate, atom.arity
