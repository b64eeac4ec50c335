"""The compiled rules of an ontology, kept up to date with the values of templates.

A template with values is a rule over the classes and properties that they name.  A class without a name is a
helper predicate, `ontology_class_…`, and never a triple.  Helpers with one rule, such as the rest of a list,
are replaced by its body.

Invariant.  `rules` are the rules of all values: each once, under the name of one of the templates that give
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from zlib import crc32

from tidalog.model.program import (
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Expression,
    Rule,
    Variable,
    variables,
)
from tidalog.model.rule_edit import NamedRemoval, RuleEdit
from tidalog.model.terms import IRI, BlankNode, Integer, Term
from tidalog.owl.stages import Helpers, Template
from tidalog.rdf.layout import TRIPLE, TYPE

Values = tuple[Term, ...]
Key = tuple[str, Values]
"""A template, and the values of its variables."""

CLASS: Final = "ontology_class_"
PROPERTY: Final = "ontology_property_"
_LONGEST: Final = 12
"""A helper with a longer rule stays a predicate."""
_TRUE: Final = Condition(Call("=", (Integer(1), Integer(1))))


class CompiledRules:
    def __init__(
        self, templates: Iterable[Template], helpers: Helpers, prefix: str, label: Callable[[Term], str]
    ) -> None:
        """`prefix` begins the names of the rules; `label` writes a term in them."""
        self._templates = {template.name: template for template in templates}
        self._helpers, self._prefix, self._label = helpers, prefix, label
        self._raw: dict[Key, Rule] = {}
        self._definitions: dict[str, dict[Key, None]] = {}
        """Helper → what derives it."""
        self._readers: dict[str, dict[Key, None]] = {}
        self._of_key: dict[Key, Rule] = {}
        """The rule of each key, with canonical variables and without a name."""
        self._keys: dict[Rule, dict[Key, None]] = {}
        self.rules: dict[Rule, Rule] = {}
        """canonical form → the rule, with its name."""
        self._names: set[str] = set()

    def change(self, removed: Iterable[Key], added: Iterable[Key]) -> RuleEdit:
        """Updates the rules; returns how they changed."""
        touched: dict[Key, None] = {}
        moved: dict[str, None] = {}
        for key in removed:
            self._forget(key, touched, moved)
        for key in added:
            self._enter(key, touched, moved)
        waiting = list(moved)
        while waiting:
            helper = waiting.pop()
            for key in (*self._readers.get(helper, ()), *self._definitions.get(helper, ())):
                if key not in touched:
                    touched[key] = None
                    head = self._raw[key].heads
                    if head and self._is_helper(head[0].predicate):
                        waiting.append(head[0].predicate)
        return self._emit(touched)

    def instances(self) -> Iterator[tuple[Template, Values, Rule]]:
        """Every template with values, and the rule that it becomes, which has the variables of the
        template."""
        for (name, values), rule in self._raw.items():
            yield self._templates[name], values, rule

    # --- one template with values -------------------------------------------------------------------

    def _forget(self, key: Key, touched: dict[Key, None], moved: dict[str, None]) -> None:
        rule = self._raw.pop(key, None)
        if rule is None:
            return
        touched[key] = None
        for helper in self._read_by(rule):
            self._readers[helper].pop(key, None)
        if rule.heads and self._is_helper(rule.heads[0].predicate):
            self._definitions[rule.heads[0].predicate].pop(key)
            moved[rule.heads[0].predicate] = None

    def _enter(self, key: Key, touched: dict[Key, None], moved: dict[str, None]) -> None:
        rule = self._residual(self._templates[key[0]], key[1])
        if rule is None or any(rule.heads[0] == literal for literal in rule.body if rule.heads):
            return
        self._raw[key] = rule
        touched[key] = None
        for helper in self._read_by(rule):
            self._readers.setdefault(helper, {})[key] = None
        if rule.heads and self._is_helper(rule.heads[0].predicate):
            self._definitions.setdefault(rule.heads[0].predicate, {})[key] = None
            moved[rule.heads[0].predicate] = None

    def _read_by(self, rule: Rule) -> list[str]:
        atoms = (literal for literal in rule.body if isinstance(literal, Atom))
        return [atom.predicate for atom in atoms if self._is_helper(atom.predicate)]

    def _is_helper(self, predicate: str) -> bool:
        return predicate.partition("__")[0] in self._helpers and "__" in predicate

    def _residual(self, template: Template, values: Values) -> Rule | None:
        """The rest of a rule with values in it; None if one of them cannot be the name that it stands for."""
        of = dict(zip(template.variables, values, strict=True))
        atoms = [self._named(atom, of) for atom in template.rule.heads]
        body: list[BodyLiteral] = []
        for literal in template.dynamic:
            found = self._named(literal, of) if isinstance(literal, Atom) else _filled(literal, of)
            if found is None:
                return None
            body.append(found)
        if None in atoms:
            return None
        heads = tuple(atom for atom in atoms if atom is not None)
        return Rule(heads, tuple(body) or (_TRUE,))

    def _named(self, atom: Atom, of: Mapping[Variable, Term]) -> Atom | None:
        arguments = tuple(_term(argument, of) for argument in atom.arguments)
        if atom.predicate in self._helpers:
            bound = self._helpers[atom.predicate]
            name = "_".join(_identifier(arguments[at]) for at in sorted(bound))
            rest = tuple(argument for at, argument in enumerate(arguments) if at not in bound)
            return Atom(f"{atom.predicate}__{name}", rest)
        if atom.predicate != TRIPLE:
            return Atom(atom.predicate, arguments)
        subject, property_, object_ = arguments
        if isinstance(property_, BlankNode):
            return Atom(PROPERTY + _identifier(property_), (subject, object_))
        if property_ == TYPE and isinstance(object_, BlankNode):
            return Atom(CLASS + _identifier(object_), (subject,))
        if not isinstance(property_, IRI) or (property_ == TYPE and not isinstance(object_, IRI)):
            return None
        return Atom(TRIPLE, arguments)

    # --- rules --------------------------------------------------------------------------------------

    def _emit(self, touched: Iterable[Key]) -> RuleEdit:
        gone: dict[Rule, None] = {}
        came: dict[Rule, None] = {}
        for key in touched:
            old, new = self._of_key.get(key), self._resolved(key)
            if old == new:
                continue
            if old is not None:
                del self._of_key[key], self._keys[old][key]
                gone[old] = None
            if new is not None:
                self._of_key[key] = new
                self._keys.setdefault(new, {})[key] = None
                came[new] = None
        removed, added = [], []
        for rule in gone:
            if not self._keys[rule]:
                del self._keys[rule]
                name = str(self.rules.pop(rule).name)
                self._names.remove(name)
                removed.append(NamedRemoval(name))
        for rule in came:
            if rule in self._keys and rule not in self.rules:
                self.rules[rule] = named = replace(rule, name=self._free_name(next(iter(self._keys[rule]))))
                added.append(named)
        return RuleEdit(tuple(added), tuple(removed), exact=True)

    def _free_name(self, key: Key) -> str:
        """A name after what gives a rule; another rule may still have it from when it was given so."""
        wanted = name = " ".join([self._prefix + key[0], *map(self._label, key[1])])
        number = 1
        while name in self._names:
            number += 1
            name = f"{wanted} ({number})"
        self._names.add(name)
        return name

    def _resolved(self, key: Key) -> Rule | None:
        """The rule of a key in canonical form; None if it can derive nothing, or is put into its readers."""
        rule = self._raw.get(key)
        if rule is None:
            return None
        head = rule.heads[0] if rule.heads else None
        if head and self._is_helper(head.predicate) and self._body_of(head.predicate, set()) is not None:
            return None
        body = self._unfolded(rule.body, set())
        if body is None or (rule.heads and rule.heads[0] in body):
            return None
        return canonical(Rule(rule.heads, body))

    def _unfolded(self, body: tuple[BodyLiteral, ...], above: set[str]) -> tuple[BodyLiteral, ...] | None:
        """A body with the rules of helpers in the place of these; None if one of them has no rule."""
        found: list[BodyLiteral] = []
        for literal in body:
            if not isinstance(literal, Atom) or not self._is_helper(literal.predicate):
                found.append(literal)
                continue
            if not self._definitions.get(literal.predicate):
                return None
            definition = self._body_of(literal.predicate, above)
            if definition is None:
                found.append(literal)
                continue
            head, inner = definition
            used = {v.name for one in (*body, *found) for v in variables(one)}
            found += _renamed(head, inner, literal, used)
        return tuple(dict.fromkeys(found))

    def _body_of(self, helper: str, above: set[str]) -> tuple[Atom, tuple[BodyLiteral, ...]] | None:
        """The head and the body of the only rule of a helper, if that is to be put into its readers."""
        definitions = self._definitions.get(helper, {})
        if len(definitions) != 1 or helper in above:
            return None
        (key,) = definitions
        rule = self._raw[key]
        body = self._unfolded(rule.body, above | {helper})
        if body is None or len(body) > _LONGEST:
            return None
        return rule.heads[0], body


def canonical(rule: Rule) -> Rule:
    """A rule with the names of its variables in order: equal for rules that differ in them alone."""
    names: dict[Variable, Term | Variable] = {}
    nodes: tuple[BodyLiteral, ...] = (*rule.heads, *rule.body)
    counts: dict[Variable, int] = {}
    for node in nodes:
        for variable in variables(node):
            counts[variable] = counts.get(variable, 0) + 1
    for variable, count in counts.items():
        names[variable] = Variable(f"_#{len(names) + 1}" if count == 1 else f"x{len(names)}")
    return Rule(
        tuple(_filled_atom(head, names) for head in rule.heads),
        tuple(_filled(literal, names) for literal in rule.body),
    )


def _renamed(head: Atom, body: Iterable[BodyLiteral], wanted: Atom, used: set[str]) -> Iterator[BodyLiteral]:
    """The body of a rule whose head is the wanted atom, with new names for its other variables."""
    of: dict[Variable, Term | Variable] = {}
    for own, argument in zip(head.arguments, wanted.arguments, strict=True):
        assert isinstance(own, Variable) and isinstance(argument, Variable | Term)
        of[own] = argument
    for literal in body:
        for variable in variables(literal):
            if variable not in of:
                number = len(used)
                while f"y{number}" in used:
                    number += 1
                used.add(f"y{number}")
                of[variable] = Variable(f"y{number}")
        yield _filled(literal, of)


def _filled(literal: BodyLiteral, of: Mapping[Variable, Term | Variable]) -> BodyLiteral:
    if isinstance(literal, Atom):
        return _filled_atom(literal, of)
    assert isinstance(literal, Condition)
    return Condition(_term(literal.expression, of))


def _filled_atom(atom: Atom, of: Mapping[Variable, Term | Variable]) -> Atom:
    return Atom(atom.predicate, tuple(_term(argument, of) for argument in atom.arguments))


def _term(expression: Expression, of: Mapping[Variable, Term | Variable]) -> Expression:
    if isinstance(expression, Variable):
        return of.get(expression, expression)
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_term(argument, of) for argument in expression.arguments))
    return expression


def _identifier(term: object) -> str:
    """A part of the name of a predicate, different for different terms."""
    text = term.label if isinstance(term, BlankNode) else term.value if isinstance(term, IRI) else repr(term)
    if isinstance(term, BlankNode) and re.fullmatch(r"[A-Za-z0-9]+", text):
        return text
    local = re.sub(r"\W|_", "", re.split(r"[/#:]", text)[-1])
    return f"{local}{crc32(f'{type(term).__name__}{text}'.encode()):08x}"
