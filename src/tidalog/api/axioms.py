"""The axioms of a knowledge base: which of its explicit triples they are, and what rules they become.

`AxiomRules` holds the axioms in a knowledge base of their own, which runs the program of `owl.axiom_program`:
an axiom that comes or goes changes the values of a few templates, and these are the rules to add and to
remove.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tidalog.api.update import Update
from tidalog.engine.dictionary import Dictionary
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Rule
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.terms import Term
from tidalog.owl.axiom_program import answers_of, axiom_program, compiled_templates, stages_named
from tidalog.owl.profiles import COVERED, is_of_equality, profile_named
from tidalog.owl.residual import CompiledRules, Key
from tidalog.owl.stages import Template
from tidalog.owl.vocabulary import CLASSES, PROPERTIES, SAME_AS, Triple
from tidalog.rdf.columns import in_full
from tidalog.rdf.layout import TRIPLE, TYPE, Layout


class AxiomFilter:
    """Finds axioms among facts of a knowledge base."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._properties = dictionary.ids_of(list(PROPERTIES))
        self._classes = dictionary.ids_of(list(CLASSES))
        self._type = dictionary.id_of(TYPE)
        self._same = dictionary.id_of(SAME_AS)

    def concern(self, facts: Iterable[Facts], layout: Layout) -> bool:
        """Whether there are axioms, or things that are the same, among facts."""
        parts = self._triples(facts, layout)
        return any((self._are_axioms(columns) | (columns[1] == self._same)).any() for columns in parts)

    def axioms(self, facts: Iterable[Facts], layout: Layout) -> list[Triple]:
        """The axioms among facts, in order."""
        found: list[Triple] = []
        for columns in self._triples(facts, layout):
            rows = np.flatnonzero(self._are_axioms(columns))
            terms = [list(map(self._dictionary.term, column[rows].tolist())) for column in columns]
            found += zip(*terms, strict=True)
        return found

    def equalities(self, facts: Iterable[Facts], layout: Layout) -> set[tuple[int, int]]:
        """The pairs of explicit owl:sameAs triples."""
        return {
            pair
            for subject, property_, object_ in self._triples(facts, layout)
            for rows in [np.flatnonzero(property_ == self._same)]
            for pair in zip(subject[rows].tolist(), object_[rows].tolist(), strict=True)
        }

    def _triples(self, facts: Iterable[Facts], layout: Layout) -> Iterator[list[Ids]]:
        for part in facts:
            part = in_full(part, layout, self._dictionary)
            if part.predicate == TRIPLE and len(part.columns) == 3:
                yield part.columns

    def _are_axioms(self, columns: Sequence[Ids]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        _, property_, object_ = columns
        found = np.isin(property_, self._properties)
        typed = np.flatnonzero(property_ == self._type)  # an axiom is also what gives a class without a name
        if len(typed):
            classes = object_[typed]
            blank = ~self._dictionary.is_iri(classes) & ~self._dictionary.is_literal(classes)
            found[typed] = np.isin(classes, self._classes) | blank
        return found


class AxiomRules:
    """The rules of a set of axioms."""

    def __init__(self, profile: str, label: Callable[[Term], str]) -> None:
        from tidalog.api import open

        self._stages = stages_named(profile)
        self._prefix = f"{profile} "
        templates = list(compiled_templates(self._stages))
        self._own = {answers_of(template): template for template in templates}
        self._checks = {answers_of(template): template for template in self._stages.check_templates}
        self.compiled = CompiledRules(templates, self._stages.helpers, self._prefix, label)
        self.checks = CompiledRules(self._stages.check_templates, self._stages.helpers, self._prefix, label)
        self._equating = Counter[str]()
        self.axioms: set[Triple] = set()
        self._kb = open()
        self._kb.load(axiom_program(profile))
        self._kb.insert(TRIPLE, [])
        self.change((), ())

    @property
    def can_equate(self) -> bool:
        """Whether an axiom can make things the same."""
        return bool(+self._equating)

    def change(self, removed: Iterable[Triple], added: Iterable[Triple]) -> tuple[RuleEdit, RuleEdit]:
        """Removes axioms that are there and adds others; returns how the rules change, and the
        constraints."""
        update, gone, come = Update(), list(removed), list(added)
        self.axioms.difference_update(gone)
        self.axioms.update(come)
        for change, triples in ((update.delete, gone), (update.insert, come)):
            if triples:
                change(TRIPLE, triples)
        known = self._kb._open().run is not None
        delta = self._kb.apply(update)
        edits = []
        for templates, rules in ((self._own, self.compiled), (self._checks, self.checks)):
            went: list[Key] = []
            came: list[Key] = []
            for predicate, template in templates.items():
                if known:
                    found = delta[predicate].ids
                    old, new = self._keys(template, found.deleted), self._keys(template, found.inserted)
                else:
                    old, new = [], self._keys(template, self._kb.id_rows(predicate).columns)
                if equates(template.rule):
                    self._equating[template.name] += len(new) - len(old)
                went += old
                came += new
            edits.append(rules.change(went, came))
        return edits[0], edits[1]

    def _keys(self, template: Template, columns: Sequence[Ids]) -> list[Key]:
        term = self._kb.dictionary.term
        rows = zip(*(map(term, column.tolist()) for column in columns), strict=True)
        return [(template.name, values) for values in rows]


def equality_rules(profile: str) -> list[Rule]:
    """The rules that are needed where something can be the same as something else."""
    return [_named(rule, profile) for rule in profile_named(profile).rules if is_of_equality(rule)]


def fixed_rules(profile: str, *, compiled: bool, strict: bool) -> list[Rule]:
    """The rules that the axioms do not change, without those of equality."""
    stages, whole = stages_named(profile), profile_named(profile)
    generic = [rule for rule in whole.rules if rule.name not in COVERED]
    rules = (*stages.static, *stages.plain) if compiled else generic
    checks = stages.plain_checks if compiled else whole.checks
    chosen = (*rules, *(checks if strict else ()))
    return [_named(rule, profile) for rule in chosen if rule in checks or not is_of_equality(rule)]


def equates(rule: Rule) -> bool:
    """Whether a rule makes things the same."""
    return any(SAME_AS in head.arguments or head.predicate == SAME_AS.value for head in rule.heads)


def _named(rule: Rule, profile: str) -> Rule:
    return replace(rule, name=f"{profile} {rule.name}")
