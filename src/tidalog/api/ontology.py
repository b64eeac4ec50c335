"""`kb.ontology(…)`: the axioms of a knowledge base, compiled into rules and kept so.

Invariant.  The axioms are explicit triples of the knowledge base like any others, and its rules named after
the profile are those of the axioms.  A change of axioms is one update: the triples, and the edit of the
rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidalog.api.axioms import AxiomFilter, AxiomRules, equality_rules, equates, fixed_rules
from tidalog.api.change import Change
from tidalog.api.delta import Delta
from tidalog.api.encoded_update import net_update
from tidalog.api.inconsistencies import found_in
from tidalog.api.ontology_text import read_axioms, same_nodes
from tidalog.api.relations import rows_of
from tidalog.api.update import Update
from tidalog.lang import print_program
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, ProgramError, UsageError
from tidalog.model.facts import Facts
from tidalog.model.program import Program, Rule
from tidalog.model.rule_edit import NO_EDIT, NamedRemoval, RuleEdit
from tidalog.model.term_text import TermWriter
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate
from tidalog.owl.diagnostics import Inconsistent, NoSuchAxiom, NotAnAxiom
from tidalog.owl.inconsistency import Inconsistency, shown_triples
from tidalog.owl.malformed import malformed
from tidalog.owl.outside import outside
from tidalog.owl.vocabulary import Triple, is_axiom
from tidalog.rdf.layout import TRIPLE
from tidalog.storage.records import DELETE, INSERT, LOAD, UPDATES

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

OntologySource = str | os.PathLike[str]


class Ontology:
    """The axioms of a knowledge base.  They are triples: `add` and `remove`, and any other update that
    inserts or deletes such triples, change the rules that follow from them."""

    def __init__(self, kb: KnowledgeBase, profile: str, *, compiled: bool, strict: bool) -> None:
        self._kb = kb
        self.profile, self.compiled, self.strict = profile, compiled, strict
        self.is_dropped = False
        self._prefix = f"{profile} "
        self._rules = AxiomRules(profile, self._label)
        self._fixed = {str(r.name): r for r in fixed_rules(profile, compiled=compiled, strict=strict)}
        self._equality = {str(r.name): r for r in equality_rules(profile)}
        self._has_equal = self._user_equates = False
        self._filter = AxiomFilter(kb.dictionary)
        self._installed: dict[str, Rule] = {}
        """What this has put into the knowledge base, by name."""
        self._written: tuple[Mapping[str, str], TermWriter] | None = None
        self._in_step = False
        """Whether `_rules` has the axioms of the knowledge base, and the knowledge base these rules."""

    # --- what it is ---------------------------------------------------------------------------------

    @property
    def axioms(self) -> tuple[Triple, ...]:
        """The axioms, as triples of terms."""
        return tuple(sorted(self._known(), key=str))

    def __len__(self) -> int:
        return len(self._known())

    @property
    def rules(self) -> str:
        """The rules that the axioms have become, as a program."""
        self._known()
        program = self._kb.program
        own = tuple(rule for rule in program.rules if rule.name in self._installed)
        return print_program(Program(rules=own, prefixes=program.prefixes))

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Axioms that are malformed, outside of the profile, or do not say all they mean."""
        axioms, writer = self.axioms, self._writer
        found = (*malformed(axioms, writer), *outside(axioms, self.profile, writer, compiled=self.compiled))
        return tuple(found)

    def __repr__(self) -> str:
        form = "compiled" if self.compiled else "generic rules"
        return f"<Ontology: {counted(len(self), 'axiom')}, {self.profile}, {form}>"

    def _known(self) -> set[Triple]:
        self._kb._lock.run(self.catch_up)
        return self._rules.axioms

    @property
    def _writer(self) -> TermWriter:
        prefixes = self._kb._open().program.prefixes
        if self._written is None or self._written[0] is not prefixes:
            self._written = prefixes, TermWriter(prefixes)
        return self._written[1]

    def _label(self, term: Term) -> str:
        return self._writer.term(term)

    # --- changing it --------------------------------------------------------------------------------

    def add(self, source: OntologySource, *, format: str | None = None) -> Delta:
        """Adds axioms: the path of a file, or a text in Turtle, which may use the prefixes of the knowledge
        base.

        Raises `ProgramError` for malformed ones, and `UsageError` for triples of a text that are no axioms.
        """
        return self._kb._lock.run(self._add, source, format)

    def _add(self, source: OntologySource, format: str | None) -> Delta:
        triples = self._read(source, format)
        self.check(triples)
        return self._kb.apply(Update().insert(TRIPLE, triples))

    def remove(self, source: OntologySource, *, format: str | None = None) -> Delta:
        """Removes axioms, given as in `add`.  A class without a name, `[ a owl:Restriction ; … ]`, is the one
        of the ontology that has the same axioms."""
        return self._kb._lock.run(self._remove, source, format)

    def _remove(self, source: OntologySource, format: str | None) -> Delta:
        known = self._known()
        triples = same_nodes(self._read(source, format), known)
        missing = [triple for triple in triples if triple not in known]
        if missing:
            raise UsageError(NoSuchAxiom(triple=shown_triples([one], self._writer)) for one in missing)
        return self._kb.apply(Update().delete(TRIPLE, triples))

    def _read(self, source: OntologySource, format: str | None) -> list[Triple]:
        found = read_axioms(source, format, self._kb)
        data = [one for one in found.triples if found.is_text and not is_axiom(one)]
        if data:
            raise UsageError(NotAnAxiom(triple=shown_triples([one], self._writer)) for one in data)
        return found.triples

    def check(self, triples: Iterable[Triple]) -> None:
        """Raises `ProgramError` if these axioms, with those that are known, are malformed."""
        known, writer = self._rules.axioms, self._writer
        found = list(malformed(known.union(filter(is_axiom, triples)), writer))
        before = {one.key for one in malformed(known, writer)} if found else set()
        if new := [one for one in found if one.key not in before]:
            raise ProgramError(new)

    def drop(self) -> None:
        """Removes the rules.  The axioms stay, as triples."""
        self._kb._lock.run(self._drop)

    def _drop(self) -> None:
        self._kb._changes.axioms = None
        self.is_dropped = True
        known = self._kb._open().rules.rules
        removed = tuple(NamedRemoval(name) for name in known if name.startswith(self._prefix))
        if removed:
            self._kb._edit_rules(RuleEdit(removed=removed, exact=True))

    # --- inconsistency ------------------------------------------------------------------------------

    def inconsistencies(self) -> list[Inconsistency]:
        """What contradicts an axiom: the rule of the profile, and the triples that cause it."""
        return self._kb._lock.run(self._inconsistencies)

    def _inconsistencies(self) -> list[Inconsistency]:
        self.catch_up()
        self._kb.materialise()
        return found_in(self._kb, self.profile, self._rules.checks if self.compiled else None)

    def inconsistency_warnings(self) -> list[Diagnostic]:
        """The same as numbered messages."""
        writer = self._writer
        return [
            Inconsistent(
                rule=one.rule,
                triples=shown_triples(one.triples, writer),
                axiom="by the axioms " + shown_triples(one.axioms, writer) if one.axioms else "",
            )
            for one in self.inconsistencies()
        ]

    # --- changes of the knowledge base --------------------------------------------------------------

    def before(self, change: Change) -> Change:
        """The change with the rule edit of the axioms in it, if it is an update."""
        if change.kind != UPDATES:
            return change
        deletions = [facts for update in change.updates for facts in update.deletions]
        insertions = [facts for update in change.updates for facts in update.insertions]
        if self._in_step and not self._concern([*deletions, *insertions]):
            return change
        update = net_update(change.updates)
        edit = self._edit_of_update(update)
        if not edit:
            return change
        own = update.rules
        both = RuleEdit(own.added + edit.added, own.removed + edit.removed, exact=True)
        return replace(change, updates=[replace(update, rules=both, routed=None)])

    def after(self, change: Change) -> RuleEdit:
        """The rule edit that is to follow a change that was no update."""
        facts: Sequence[Facts] = ()
        if change.kind == LOAD and change.load is not None:
            facts = change.load.facts
        elif change.kind in (INSERT, DELETE):
            facts = [*change.updates[0].deletions, *change.updates[0].insertions]
        if change.kind == UPDATES or (self._in_step and not self._concern(facts)):
            return NO_EDIT
        return self._resynchronised()

    def lost(self) -> None:
        """A change was not applied, or was rolled back."""
        self._in_step = False

    def catch_up(self) -> None:
        """Makes the rules those of the axioms, if they may not be."""
        while not self._in_step:
            if edit := self._resynchronised():
                self._kb._edit_rules(edit)

    def _concern(self, facts: Sequence[Facts]) -> bool:
        return self._filter.concern(facts, self._kb._open().analysis.triples)

    def _edit_of_update(self, update: EncodedUpdate) -> RuleEdit:
        """The rule edit of an update that has not been applied."""
        first = NO_EDIT if self._in_step else self._resynchronised()
        layout, known = self._kb._open().analysis.triples, self._rules.axioms
        added = set(self._filter.axioms(update.insertions, layout))
        removed = set(self._filter.axioms(update.deletions, layout)) & known - added
        edit = self._edit(removed, added - known, self._equal_after(update))
        return RuleEdit(first.added + edit.added, first.removed + edit.removed, exact=True)

    def _resynchronised(self) -> RuleEdit:
        """The rule edit that makes the rules those of the explicit triples."""
        database = self._kb._open()
        facts = self._explicit()
        layout, known = database.analysis.triples, self._rules.axioms
        there = set(self._filter.axioms(facts, layout))
        rules = database.rules.rules
        own = {name: rule for name, rule in rules.items() if name.startswith(self._prefix)}
        self._user_equates = any(equates(rule) for name, rule in rules.items() if name not in own)
        self._edit(known - there, there - known, bool(self._filter.equalities(facts, layout)))
        wanted = self._installed
        added = tuple(rule for name, rule in wanted.items() if own.get(name) != rule)
        removed = tuple(NamedRemoval(name) for name, rule in own.items() if wanted.get(name) != rule)
        # The first rules over triples make triples of the facts of properties and classes.
        self._in_step = layout.active
        return RuleEdit(added, removed, exact=True)

    def _equal_after(self, update: EncodedUpdate) -> bool:
        """Whether there are explicit owl:sameAs triples after an update."""
        layout = self._kb._open().analysis.triples
        if self._filter.equalities(update.insertions, layout):
            return True
        gone = self._filter.equalities(update.deletions, layout)
        if not gone or not self._has_equal:
            return self._has_equal
        return bool(self._filter.equalities(self._explicit(), layout) - gone)

    def _explicit(self) -> list[Facts]:
        """The explicit triples."""
        database = self._kb._open()
        known = TRIPLE in database.analysis.predicates or database.analysis.triples.active
        return [rows_of(database.engine, database.analysis, TRIPLE, True)] if known else []

    def _edit(self, removed: Iterable[Triple], added: Iterable[Triple], has_equal: bool) -> RuleEdit:
        """Changes the axioms; `has_equal`: whether there are explicit owl:sameAs triples."""
        self._has_equal = has_equal
        compiled, checks = self._rules.change(removed, added)
        edits = ([compiled] if self.compiled else []) + ([checks] if self.compiled and self.strict else [])
        gone = {removal.name for edit in edits for removal in edit.removed}
        wanted = {str(rule.name): rule for edit in edits for rule in edit.added if isinstance(rule, Rule)}
        fixed = self._fixed if not self._installed else {}
        needed = self._rules.can_equate or has_equal or self._user_equates
        if needed and self._equality.keys() - self._installed.keys():
            fixed = {**fixed, **self._equality}
        elif not needed:
            gone |= self._equality.keys() & self._installed.keys()
        for name in gone:
            del self._installed[name]
        self._installed |= fixed | wanted
        return RuleEdit(
            (*fixed.values(), *wanted.values()), tuple(map(NamedRemoval, sorted(gone))), exact=True
        )
