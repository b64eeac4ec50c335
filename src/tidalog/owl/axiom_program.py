"""The program over the axioms of an ontology: their closure, and which rules follow from them.

It has the static rules of a profile (scm-*, lists), and for each template a rule whose facts are the values
of its variables.  Maintained under changes of axioms, the changes of these facts are the changes of the
compiled rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from tidalog.lang import parse_with_warnings
from tidalog.model.program import Atom, BodyLiteral, Call, Condition, Program, Rule, Variable
from tidalog.model.terms import IRI
from tidalog.owl import PROFILES
from tidalog.owl.profiles import COVERED, profile_named, profile_text
from tidalog.owl.stages import Stages, Template, stages_of
from tidalog.owl.vocabulary import DOMAIN, RANGE, SAME_AS, SUB_CLASS, SUB_PROPERTY, THING
from tidalog.rdf.layout import TRIPLE, TYPE

_DIRECT: Final[Mapping[IRI, str]] = {
    SUB_CLASS: "direct_subClassOf",
    SUB_PROPERTY: "direct_subPropertyOf",
    DOMAIN: "direct_domain",
    RANGE: "direct_range",
}
"""The predicates of `reductions.rls`."""
_REDUCED: Final = frozenset({"cax-sco", "prp-spo1", "prp-dom", "prp-rng", "rdfs9", "rdfs7", "rdfs2", "rdfs3"})
_X, _Z, _C = Variable("x"), Variable("z"), Variable("c")
_UNNAMED: Final = (Atom(TRIPLE, (_X, TYPE, _C)), Condition(Call("ISBLANK", (_C,))))
_SAME: Final = Atom(TRIPLE, (_X, SAME_AS, _Z))
_MEMBERS: Final = (
    Template(Rule(_UNNAMED[:1], _UNNAMED, "member"), _UNNAMED, (), (_X, _C)),
    Template(
        Rule((Atom(TRIPLE, (_Z, TYPE, _C)),), (*_UNNAMED, _SAME), "member-same"),
        _UNNAMED,
        (_SAME,),
        (_X, _C),
    ),
)
"""An axiom that gives an individual a class without a name is a fact of the helper of this class."""


@cache
def stages_named(profile: str) -> Stages:
    assert profile in PROFILES
    return stages_of(profile_named(profile))


def answers_of(template: Template) -> str:
    """The predicate that has the values of a template's variables."""
    return "rule_" + re.sub(r"\W", "_", template.name)


def axiom_program(profile: str) -> Program:
    stages = stages_named(profile)
    reductions, _ = parse_with_warnings(profile_text("reductions"), "reductions.rls", "main")
    rules = [*stages.static, *reductions.rules]
    templates = (*compiled_templates(stages), *stages.check_templates)
    rules += [rule for template in templates for rule in _answering(template)]
    return Program(rules=tuple(replace(rule, name=None) for rule in rules))


def compiled_templates(stages: Stages) -> Iterator[Template]:
    """The templates whose rules follow from no others, and that of members of classes without names."""
    yield from (template for template in stages.templates if template.name not in COVERED)
    yield from _MEMBERS


def _answering(template: Template) -> Iterator[Rule]:
    body: tuple[BodyLiteral, ...] = template.static
    if template.name in _REDUCED:
        body = tuple(map(_direct, body))
    if template.name == "cls-svf1":  # owl:Thing is the business of cls-svf2
        (filler,) = (v for v in template.variables if v.name == "y")
        body = (*body, Condition(Call("!=", (filler, THING))))
    yield Rule((Atom(answers_of(template), template.variables),), body)


def _direct(literal: BodyLiteral) -> BodyLiteral:
    if isinstance(literal, Atom) and literal.predicate == TRIPLE:
        subject, property_, object_ = literal.arguments
        if isinstance(property_, IRI) and property_ in _DIRECT:
            return Atom(_DIRECT[property_], (subject, object_))
    return literal
