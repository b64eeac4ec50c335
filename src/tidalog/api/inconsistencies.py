"""The contradictions in a knowledge base: the constraints of a profile as queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from tidalog.lang import print_rule
from tidalog.model.program import Atom, Rule, Variable
from tidalog.model.terms import IRI, Literal, Term
from tidalog.owl.axiom_program import stages_named
from tidalog.owl.datatypes import is_ill_typed
from tidalog.owl.inconsistency import Inconsistency, as_query, inconsistency
from tidalog.owl.profiles import profile_named
from tidalog.owl.residual import CompiledRules
from tidalog.rdf.layout import TRIPLE

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

_ILL_TYPED: Final = "dt-not-type"


def found_in(kb: KnowledgeBase, profile: str, checks: CompiledRules | None) -> list[Inconsistency]:
    """By the compiled constraints, or without any by those of the profile as they are."""
    whole = profile_named(profile)
    if not whole.checks:
        return []
    plain = whole.checks if checks is None else stages_named(profile).plain_checks
    found: dict[object, Inconsistency] = {}
    for rule in plain:
        for values in _answers(kb, rule):
            one = inconsistency(str(rule.name), rule.body, values)
            found.setdefault(one.key, one)
    for template, known, rule in checks.instances() if checks is not None else ():
        static = dict(zip(template.variables, known, strict=True))
        for values in _answers(kb, rule):
            one = inconsistency(template.name, template.rule.body, {**static, **values})
            found.setdefault(one.key, one)
    for one in _ill_typed(kb):
        found.setdefault(one.key, one)
    return list(found.values())


def _answers(kb: KnowledgeBase, rule: Rule) -> Iterator[dict[Variable, Term]]:
    variables, asked = as_query(rule)
    head = Atom("?", variables)
    text = print_rule(Rule((head,), asked.body), kb.program.prefixes)
    _, facts = kb._ask(text, {}, known_only=False)
    term = kb.dictionary.term
    for row in zip(*(column.tolist() for column in facts.columns), strict=True):
        yield dict(zip(variables, map(term, row), strict=True))


def _ill_typed(kb: KnowledgeBase) -> Iterator[Inconsistency]:
    facts, dictionary = kb.id_rows(TRIPLE), kb.dictionary
    objects = np.unique(facts.columns[2])
    for number in objects[dictionary.is_typed(objects)].tolist():
        term = dictionary.term(number)
        if isinstance(term, Literal) and is_ill_typed(term):
            row = int(np.argmax(facts.columns[2] == number))
            subject, property_ = (dictionary.term(int(column[row])) for column in facts.columns[:2])
            assert isinstance(property_, IRI)
            yield Inconsistency(_ILL_TYPED, (), ((subject, property_, term),))
