"""The profiles: rules over triples, shipped as texts of the main dialect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from tidalog.lang import parse_with_warnings
from tidalog.model.program import Atom, Rule, Variable, variables

_CHECKED: Final = frozenset({"owl2-rl"})
"""Profiles with constraints."""
COVERED: Final = frozenset({"cax-eqc1", "cax-eqc2", "prp-eqp1", "prp-eqp2", "cls-int2", "cls-uni"})
"""What these rules of OWL 2 RL derive follows by cax-sco and prp-spo1, from what scm-eqc1, scm-eqp1, scm-int
and scm-uni derive.  Ontologies leave them out."""
_EQUALITY: Final = "eq-"
"""Begins the names of the rules that are needed only where something can be the same as something else."""


@dataclass(frozen=True)
class Profile:
    """Rules with one head each, and constraints; all have names."""

    name: str
    rules: tuple[Rule, ...]
    checks: tuple[Rule, ...]


def is_of_equality(rule: Rule) -> bool:
    return rule.name is not None and rule.name.startswith(_EQUALITY)


@cache
def profile_named(name: str) -> Profile:
    checks = map(_without_anonymous, _rules_of(f"{name}-checks")) if name in _CHECKED else ()
    return Profile(name, _rules_of(name), tuple(checks))


def profile_text(name: str) -> str:
    """The text of a profile, or `NAME-checks`."""
    return (files("tidalog.owl") / "profiles" / f"{name}.rls").read_text(encoding="utf-8")


def _rules_of(name: str) -> tuple[Rule, ...]:
    program, _ = parse_with_warnings(profile_text(name), f"{name}.rls", "main")
    return tuple(part for rule in _named(program.rules) for part in _single_headed(rule))


def _without_anonymous(rule: Rule) -> Rule:
    """A constraint whose anonymous variables have names: every triple that it reads is reported."""
    atoms = (literal for literal in rule.body if isinstance(literal, Atom))
    of = {v: Variable(f"any{v.name[2:]}") for atom in atoms for v in variables(atom) if v.anonymous}
    body = tuple(
        replace(
            literal,
            arguments=tuple(of.get(a, a) if isinstance(a, Variable) else a for a in literal.arguments),
        )
        if isinstance(literal, Atom)
        else literal
        for literal in rule.body
    )
    return replace(rule, body=body)


def _named(rules: tuple[Rule, ...]) -> list[Rule]:
    """Rules of helpers that have no name are called after them."""
    counts: dict[str, int] = {}
    found = []
    for rule in rules:
        if rule.name is None:
            helper = rule.heads[0].predicate
            counts[helper] = counts.get(helper, 0) + 1
            rule = replace(rule, name=f"{helper}-{counts[helper]}")
        found.append(rule)
    return found


def _single_headed(rule: Rule) -> list[Rule]:
    """The rule for each head: `scm-cls`, `scm-cls-2` …"""
    if len(rule.heads) < 2:
        return [rule]
    return [
        replace(rule, heads=(head,), name=rule.name if number == 1 else f"{rule.name}-{number}")
        for number, head in enumerate(rule.heads, 1)
    ]
