"""Named graphs: `quad(s, p, o, g)` is a triple of the graph g, and every quad is a triple.

The rule that says so is part of every program in which quads occur, so it shows in `tidalog check`, and a
quad that is deleted takes its triple with it, unless another graph has it or it is in none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tidalog.model.program import Atom, Fact, Negation, Program, Rule, Variable, flat_literals
from tidalog.rdf.layout import TRIPLE

QUAD: Final = "quad"
ARITY: Final = 4
_NAME: Final = "quads"
_ARGUMENTS: Final = tuple(map(Variable, "spog"))


def union_rule(name: str | None = _NAME) -> Rule:
    """Every quad is a triple."""
    return Rule((Atom(TRIPLE, _ARGUMENTS[:3]),), (Atom(QUAD, _ARGUMENTS),), name)


def with_union(program: Program, facts: Iterable[Fact] = ()) -> Program:
    """The program, with the rule if quads occur in it or among the facts."""
    imported = any(binding.predicate == QUAD for binding in program.imports)
    if not (imported or any(map(_is_quad, facts)) or any(map(mentions_quads, program.rules))):
        return program
    return with_rule(program)


def with_rule(program: Program) -> Program:
    """The program with the rule, if it does not have it."""
    if any(is_union(rule) for rule in program.rules):
        return program
    return replace(program, rules=(*program.rules, union_of(rule.name for rule in program.rules)))


def union_of(taken: Iterable[str | None]) -> Rule:
    """The rule, without its name if that is taken."""
    return union_rule(None if _NAME in taken else _NAME)


def is_union(rule: Rule) -> bool:
    """Whether a rule derives a triple from every quad."""
    own = union_rule(rule.name)
    return len(rule.heads) == 1 and (rule.heads, rule.body) == (own.heads, own.body)


def mentions_quads(rule: Rule) -> bool:
    body = (one.atom if isinstance(one, Negation) else one for one in flat_literals(rule.body))
    atoms = [*rule.heads, *(one for one in body if isinstance(one, Atom))]
    return any(atom.predicate == QUAD and atom.arity == ARITY for atom in atoms)


def _is_quad(fact: Fact) -> bool:
    return fact.predicate == QUAD and len(fact.arguments) == ARITY
