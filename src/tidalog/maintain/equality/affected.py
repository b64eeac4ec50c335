"""Which classes may fall apart when explicit facts or rules go.

Overdeletion, the first step of DRed, over the predicates that equality depends on: a fact is affected if it
goes, or if some rule instance that derives it has an affected fact in its body.  A class of several terms is
affected if `equal(r, r)` is, for its representative r, and then so is every fact with r: what such a fact
says may have been said of another member.

Law.  If a class is not affected, every proof that its members are equal is still one.  A proof over terms
becomes one over representatives when each term is replaced by its own.  Had it used a fact or a rule that
goes, or a class that falls apart, its conclusion would be affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidalog.analysis.components import build_components, read_predicates
from tidalog.analysis.equality import below_equality, derivers_of, equality_atoms
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.answer import CompiledQuery, answer, compile_rules
from tidalog.maintain.equality.relations import EQUAL
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Variable

_AFFECTED: Final = "#affected "
_CLASSES: Final = "#affected classes"
_R: Final = Variable("@r")


@dataclass(frozen=True)
class Overdeletion:
    """Of one program, or of an edit that removes some rules of it."""

    rules: tuple[NormalRule, ...]
    """All rules of the program."""
    below: frozenset[str]
    """The predicates that equality depends on."""
    query: CompiledQuery
    removed: bool = False

    @classmethod
    def of(cls, analysis: Analysis, removed: Sequence[NormalRule] = ()) -> Overdeletion:
        atoms = list(equality_atoms(analysis.program.equalities, analysis.triples, _R, _R))
        below = below_equality(atoms, derivers_of(analysis.rules))
        rules = list(_rules(atoms, below, removed))
        known = {name for rule in rules for name in read_predicates(rule)}
        known.update(rule.head.predicate for rule in rules if rule.head is not None)
        components = [component for component in build_components(known, rules) if component.rules]
        return cls(analysis.rules, frozenset(below), compile_rules(components, _CLASSES), bool(removed))

    def classes(self, engine: EmbeddedEngine, deleted: Iterable[Facts]) -> Ids:
        """The representatives of classes that may fall apart when facts (by relation), and the rules, go.
        The engine still has everything."""
        seeds = [
            Facts(_AFFECTED + facts.predicate, facts.columns, facts.count)
            for facts in deleted
            if facts.predicate in self.below and facts.count
        ]
        if not seeds and not self.removed:
            return np.empty(0, np.int32)
        found = answer(engine, self.query, given=seeds)
        return np.unique(found.columns[0]) if found.rows else np.empty(0, np.int32)


def _rules(
    atoms: Sequence[NormalAtom], below: dict[str, list[NormalRule]], removed: Sequence[NormalRule]
) -> Iterator[NormalRule]:
    arities = {atom.predicate: len(atom.arguments) for atom in atoms}
    number = 0
    for rule in (rule for rules in below.values() for rule in rules):
        assert rule.head is not None
        arities[rule.head.predicate] = len(rule.head.arguments)
        head = _over(rule.head)
        bodies = [
            tuple(_over(atom) if at == changed else atom for at, atom in enumerate(rule.atoms))
            for changed in range(len(rule.atoms))
        ]
        if rule in removed:
            bodies.append(rule.atoms)
        for body in bodies:
            number += 1
            yield NormalRule(f"#affected {number}", head, body, (), rule.computations, rule.tests)
        arities.update((atom.predicate, len(atom.arguments)) for atom in rule.atoms)
    affected = NormalAtom(_CLASSES, (_R,))
    for at, atom in enumerate(atoms):
        yield NormalRule(f"#class {at}", affected, (_over(atom), NormalAtom(EQUAL, (_R, _R))))
    for name, arity in arities.items():
        variables = [Variable(f"x{position}") for position in range(arity)]
        for position in range(arity):
            arguments = (*variables[:position], _R, *variables[position + 1 :])
            whole = NormalAtom(name, arguments)
            yield NormalRule(f"#mentions {position} {name}", _over(whole), (affected, whole))


def _over(atom: NormalAtom) -> NormalAtom:
    return NormalAtom(_AFFECTED + atom.predicate, atom.arguments)
