"""Which part of a rule reads axioms, and which reads data.

A rule of a profile reads or derives triples of a property, or members of a class, that a variable stands for:

    ?y a ?c :- ?p rdfs:range ?c, triple(?x, ?p, ?y)

Its *static* literals read axioms alone and bind these variables; for each answer, what remains is a rule over
one property and one class.  So is every rule split here.  A helper predicate of the profile that has static
and other literals is split too: its arguments that are bound by static literals become a part of its name.

Invariant.  A variable in the position of a property or class in `dynamic` literals or the head is among
`variables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidalog.model.program import (
    Atom,
    BodyLiteral,
    Condition,
    Negation,
    Rule,
    Variable,
    flat_literals,
    variables,
)
from tidalog.owl.profiles import Profile
from tidalog.owl.vocabulary import CLASSES, PROPERTIES
from tidalog.rdf.layout import TRIPLE, TYPE

Helpers = Mapping[str, frozenset[int]]
"""Helper predicates that read data, with the arguments that axioms bind."""


@dataclass(frozen=True)
class Template:
    """A rule that becomes one rule for each answer of its static part."""

    rule: Rule
    static: tuple[BodyLiteral, ...]
    dynamic: tuple[BodyLiteral, ...]
    variables: tuple[Variable, ...]
    """Those of the static part that the rest needs, or all of a constraint, which reports its axioms."""

    @property
    def name(self) -> str:
        return str(self.rule.name)


@dataclass(frozen=True)
class Stages:
    static: tuple[Rule, ...]
    """Rules that read and derive axioms alone."""
    templates: tuple[Template, ...]
    plain: tuple[Rule, ...]
    """Rules over data that name no property or class of an ontology."""
    check_templates: tuple[Template, ...]
    plain_checks: tuple[Rule, ...]
    helpers: Helpers


def stages_of(profile: Profile) -> Stages:
    static_helpers = frozenset(_static_helpers(profile.rules))
    helpers = _data_helpers(profile.rules, static_helpers)
    split = _Split(static_helpers, helpers)
    static: list[Rule] = []
    templates: list[Template] = []
    plain: list[Rule] = []
    for rule in profile.rules:
        template = split.template(rule)
        if template is not None:
            templates.append(template)
        elif all(map(split.is_static, (*rule.heads, *_atoms(rule.body)))):
            static.append(rule)
        else:
            plain.append(rule)
    checks = [(rule, split.template(rule)) for rule in profile.checks]
    return Stages(
        tuple(static),
        tuple(templates),
        tuple(plain),
        tuple(template for _, template in checks if template is not None),
        tuple(rule for rule, template in checks if template is None),
        helpers,
    )


def is_static_triple(atom: Atom) -> bool:
    """Whether an atom of `triple` reads axioms alone."""
    _, property_, object_ = atom.arguments
    return property_ in PROPERTIES or (property_ == TYPE and object_ in CLASSES)


@dataclass(frozen=True)
class _Split:
    static_helpers: frozenset[str]
    helpers: Helpers

    def template(self, rule: Rule) -> Template | None:
        """The template of a rule; None if it names no class or property by a variable that axioms bind."""
        static, dynamic = self._parts(rule.body)
        named = {*self._named(_atoms(dynamic)), *self._named(rule.heads)}
        bound = {variable for literal in static for variable in variables(literal)}
        if not named or not named <= bound:
            return None
        # The elements of a list stay data if they are not classes or properties.
        lists = [one for one in static if self._is_read_as_data(one, named, static)]
        if lists:
            static, dynamic = self._parts([one for one in rule.body if one not in lists])
            dynamic = [*lists, *dynamic]
        needed = {variable for part in (*rule.heads, *dynamic) for variable in variables(part)}
        bound_in_order = dict.fromkeys(variable for literal in static for variable in variables(literal))
        chosen = (
            variable
            for variable in bound_in_order
            if variable in needed or (rule.is_constraint and not variable.anonymous)
        )
        return Template(rule, tuple(static), tuple(dynamic), tuple(chosen))

    def is_static(self, atom: Atom) -> bool:
        return is_static_triple(atom) if atom.predicate == TRIPLE else atom.predicate in self.static_helpers

    def _parts(self, body: Sequence[BodyLiteral]) -> tuple[list[BodyLiteral], list[BodyLiteral]]:
        static = [one for one in body if isinstance(one, Atom) and self.is_static(one)]
        bound = {variable for atom in static for variable in variables(atom)}
        conditions = [one for one in body if isinstance(one, Condition) and bound.issuperset(variables(one))]
        chosen: list[BodyLiteral] = [one for one in body if one in static or one in conditions]
        return chosen, [one for one in body if one not in chosen]

    def _named(self, atoms: Iterable[Atom]) -> Iterator[Variable]:
        """The variables that stand for properties, classes, or the bound arguments of helpers."""
        for atom in atoms:
            chosen: Sequence[object] = ()
            if atom.predicate == TRIPLE:
                property_ = atom.arguments[1]
                chosen = [property_, *([atom.arguments[2]] if property_ == TYPE else [])]
            elif atom.predicate in self.helpers:
                chosen = [atom.arguments[position] for position in self.helpers[atom.predicate]]
            yield from (one for one in chosen if isinstance(one, Variable))

    def _is_read_as_data(
        self, literal: BodyLiteral, named: set[Variable], static: Sequence[BodyLiteral]
    ) -> bool:
        if not isinstance(literal, Atom) or literal.predicate not in self.static_helpers:
            return False
        atoms = (other for other in static if other is not literal and isinstance(other, Atom))
        others = {v for other in atoms for v in variables(other)}
        return any(v not in named and v not in others for v in variables(literal))


def _static_helpers(rules: Sequence[Rule]) -> set[str]:
    """The helper predicates whose rules read axioms alone."""
    found = {head.predicate for rule in rules for head in rule.heads if head.predicate != TRIPLE}
    while True:
        wrong = {
            rule.heads[0].predicate
            for rule in rules
            for atom in _atoms(rule.body)
            if not (is_static_triple(atom) if atom.predicate == TRIPLE else atom.predicate in found)
        } & found
        if not wrong:
            return found
        found -= wrong


def _data_helpers(rules: Sequence[Rule], static: frozenset[str]) -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for rule in rules:
        head = rule.heads[0]
        if head.predicate == TRIPLE or head.predicate in static:
            continue
        bound = {
            variable
            for atom in _atoms(rule.body)
            if (is_static_triple(atom) if atom.predicate == TRIPLE else atom.predicate in static)
            for variable in variables(atom)
        }
        positions = frozenset(at for at, argument in enumerate(head.arguments) if argument in bound)
        found[head.predicate] = found.get(head.predicate, positions) & positions
    return found


def _atoms(body: Iterable[BodyLiteral]) -> Iterator[Atom]:
    for literal in flat_literals(tuple(body)):
        if isinstance(literal, Atom | Negation):
            yield literal.atom if isinstance(literal, Negation) else literal
