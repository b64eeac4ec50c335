"""The rules that authors wrote: their names, their order, and which of them are equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tidalog.analysis.diagnostics import UnknownRule
from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.edit_lowering import name_taken
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.predicates import free_name
from tidalog.analysis.rewrite import canonical_rule
from tidalog.analysis.rule_edit import AlreadyThere, Entry, number_of
from tidalog.analysis.suggestions import Suggestions
from tidalog.model.program import Rule
from tidalog.model.registered import is_of_query
from tidalog.model.rule_edit import NamedRemoval
from tidalog.model.undo_journal import UndoJournal

BRIDGES: Final = 1 << 62
"""Bridges between relations of triples come after all written rules."""


class WrittenRules:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._equal: dict[Rule, dict[str, None]] = {}
        """canonical form → names of the rules that have it."""
        self._positions: dict[str, tuple[int, int]] = {}
        """normal rule → the sequence number of its written rule, and which head it has."""
        self._counter = {"rules": 0}

    def text_order(self, rule: NormalRule) -> tuple[int, int]:
        """A sort key that puts normal rules in text order."""
        return self._positions.get(rule.name, (BRIDGES, 0))

    def new_entry(self, rule: Rule, canonical: Rule, after: int = 0) -> Entry:
        """A new last entry; `after` counts entries that are added before it."""
        return Entry(self._counter["rules"] + after + 1, rule, canonical, number_of(rule.name or ""))

    def enter(self, entry: Entry, journal: UndoJournal) -> None:
        journal.put(self._counter, "rules", entry.sequence)
        journal.put(self.entries, entry.name, entry)
        journal.put(self._equal.setdefault(entry.canonical, {}), entry.name, None)
        for number, name in enumerate(entry.normal_names):
            journal.put(self._positions, name, (entry.sequence, number))

    def remove(self, entry: Entry, journal: UndoJournal) -> None:
        journal.drop(self.entries, entry.name)
        journal.drop(self._equal[entry.canonical], entry.name)
        if not self._equal[entry.canonical]:
            journal.drop(self._equal, entry.canonical)
        for name in entry.normal_names:
            journal.drop(self._positions, name)

    def enter_bridges(self, names: Iterable[str], journal: UndoJournal) -> None:
        for number, name in enumerate(names):
            journal.put(self._positions, name, (BRIDGES, number))

    # --- choosing -----------------------------------------------------------------------------------

    def leaving(self, draft: Draft, removed: Iterable[str | NamedRemoval]) -> dict[str, Entry]:
        leaving: dict[str, Entry] = {}
        for removal in removed:
            name, span = (removal, None) if isinstance(removal, str) else (removal.name, removal.span)
            if name in self.entries:
                leaving[name] = self.entries[name]
            else:
                near = Suggestions(self.entries).near(name, 0.6)
                suggestion = f"did you mean {near}?" if near else "tidalog check lists the rules by name"
                draft.report(UnknownRule(span, name=name, suggestion=suggestion))
        return leaving

    def choose(
        self, draft: Draft, added: Sequence[Rule], leaving: dict[str, Entry], *, exact: bool = False
    ) -> tuple[list[Entry], tuple[AlreadyThere, ...]]:
        """Which rules are new, with their names, left in the draft without parameters; and which exist
        already: under any name, or if the edit is `exact`, under its own.  A rule that is removed and added
        again unchanged simply stays."""
        draft.rules = [WorkingRule(rule.name or "", rule, rule) for rule in added]
        substitute_parameters(draft)
        canonical_forms = [canonical_rule(working.rule) for working in draft.rules]
        for rule, canonical in zip(added, canonical_forms, strict=True):
            if rule.name in self._equal.get(canonical, {}):
                leaving.pop(rule.name, None)
        given = {rule.name for rule in added if rule.name is not None}
        chosen: dict[str, Entry] = {}
        equal: dict[Rule, str] = {}
        already_there: list[AlreadyThere] = []
        kept: list[WorkingRule] = []
        for rule, working, canonical in zip(added, draft.rules, canonical_forms, strict=True):
            names = self._equal.get(canonical, {})
            same = next((name for name in names if name not in leaving), None) or equal.get(canonical)
            if exact:
                same = rule.name if rule.name in names and rule.name not in leaving else None
            if same is not None:
                already_there.append(AlreadyThere(rule, same))
                continue
            name = rule.name or self._free_name(leaving, chosen, given)
            named = replace(rule, name=name)
            first = chosen.get(name) or (None if name in leaving else self.entries.get(name))
            working = WorkingRule(name, replace(working.rule, name=name), named)
            if first is not None:
                draft.report(name_taken(working, first.rule))
                continue
            equal[canonical] = name
            chosen[name] = self.new_entry(named, canonical, len(chosen))
            kept.append(working)
        draft.rules = kept
        return list(chosen.values()), tuple(already_there)

    def _free_name(self, leaving: Mapping[str, Entry], chosen: Mapping[str, Entry], given: set[str]) -> str:
        """`r8` in a program of seven rules, or a higher number if one is in use.  Only current rules count,
        not removed ones."""
        names = {*(self.entries.keys() - leaving.keys()), *chosen}
        names = {name for name in names if not is_of_query(name)}
        staying = [entry.number for name, entry in self.entries.items() if name not in leaving]
        numbers = (*staying, *map(number_of, chosen), *map(number_of, given))
        return free_name(f"r{max(len(names), max(numbers, default=0)) + 1}", names | given)
