"""Updates as term ids, with their rules, ready to be applied: from an `Update`, from an update table, from a
script.

A table's columns and a script's facts become ids once, in bulk; an update is then slices of these arrays.
Ids stay what they are, so an update can be prepared long before it is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidalog.analysis import TripleLayout
from tidalog.analysis.edit_scripts import changed_rules
from tidalog.analysis.rule_edit import NamedRemoval
from tidalog.api.bulk_terms import ids_of_many
from tidalog.api.naming import checked_name
from tidalog.api.relations import Rows, routed
from tidalog.api.rule_edits import NO_EDITS, RuleEdits, RuleText, rule_edits
from tidalog.api.update import Label, Update
from tidalog.engine.dictionary import Dictionary
from tidalog.io.update_tables import RuleRow, UpdateTable
from tidalog.lang.updates import ScriptUpdate
from tidalog.maintain.maintainer import UpdateIds
from tidalog.maintain.transaction import Batch
from tidalog.model.program import Fact
from tidalog.model.terms import Term

Prefixes = Mapping[str, str]


@dataclass(slots=True)
class PreparedUpdate:
    """Facts by the predicates that people use, as ids of one dictionary; and rules."""

    dictionary: Dictionary
    label: Label | None
    deletions: list[Rows] = field(default_factory=list)
    insertions: list[Rows] = field(default_factory=list)
    rules: RuleEdits = NO_EDITS
    _routed: tuple[TripleLayout, UpdateIds] | None = None

    def ids(self, layout: TripleLayout) -> UpdateIds:
        """The same by the relations that hold the facts."""
        if self._routed is None or self._routed[0] is not layout:
            deletions = tuple(_batches(self.deletions, layout, self.dictionary))
            self._routed = (
                layout,
                UpdateIds(deletions, tuple(_batches(self.insertions, layout, self.dictionary))),
            )
        return self._routed[1]

    def __repr__(self) -> str:
        inserted, deleted = (sum(rows.rows for rows in part) for part in (self.insertions, self.deletions))
        rules = f", +{len(self.rules.added)} −{len(self.rules.removed)} rules" if self.rules else ""
        return f"<update {self.label}: +{inserted:,} −{deleted:,} facts{rules}>"

    @property
    def changes_rules(self) -> bool:
        return bool(self.rules)


def _batches(facts: Iterable[Rows], layout: TripleLayout, dictionary: Dictionary) -> Iterator[Batch]:
    for rows in facts:
        for part in routed(rows, layout, dictionary) if layout.active else (rows,):
            yield Batch(part.predicate, part.columns, part.rows)


def prepared_update(update: Update, dictionary: Dictionary, prefixes: Prefixes) -> PreparedUpdate:
    """An update that was made in Python."""
    prepared = PreparedUpdate(dictionary, update.label)
    prepared.rules = rule_edits(update.rules_added, update.rules_removed)
    for part, target in (
        (update.deletions, prepared.deletions),
        (update.insertions, prepared.insertions),
    ):
        for predicate, table in part:
            name = checked_name(predicate, prefixes)
            if table.rows:
                columns = [dictionary.encode(column.array, column.reading) for column in table.columns]
                target.append(Rows(name, columns, table.rows))
    return prepared


def prepared_table(table: UpdateTable, dictionary: Dictionary, prefixes: Prefixes) -> list[PreparedUpdate]:
    """The updates of a table.  Rows of one update that agree in sign, predicate and number of arguments are
    one slice, and keep their order."""
    updates = [PreparedUpdate(dictionary, label) for label in table.updates]
    for rule in table.rules:
        edits = _edit(rule)
        updates[rule.update].rules += edits
    if not table.rows:
        return updates
    names = [checked_name(name, prefixes) for name in table.predicate.names]
    update = np.repeat(np.arange(len(updates)), np.diff(table.starts))
    order = np.lexsort((table.arity, table.predicate.codes, table.op, update))
    columns = [dictionary.encode(column.array, column.reading)[order] for column in table.arguments]
    keys = [key[order] for key in (update, table.op, table.predicate.codes, table.arity)]
    changed = np.zeros(len(order), np.bool_)
    changed[0] = True
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(changed)
    ends = np.append(starts[1:], len(order))
    groups = [key[starts].tolist() for key in keys]
    for at, op, code, arity, start, end in zip(*groups, starts.tolist(), ends.tolist(), strict=True):
        rows = Rows(names[code], [column[start:end] for column in columns[:arity]], end - start)
        (updates[at].insertions if op > 0 else updates[at].deletions).append(rows)
    return updates


def _edit(rule: RuleRow) -> RuleEdits:
    if rule.text is not None:
        return RuleEdits(added=(RuleText(rule.text, rule.name, str(rule.place)),))
    return RuleEdits(removed=(NamedRemoval(rule.name or ""),))


def prepared_script(
    script: Sequence[ScriptUpdate], dictionary: Dictionary, first: int = 1
) -> list[PreparedUpdate]:
    """The updates of a script, which are called by their numbers, `first` and up."""
    updates: list[PreparedUpdate] = []
    groups: dict[tuple[str, int], _Group] = {}
    for label, update in enumerate(script, first):
        prepared = PreparedUpdate(dictionary, label, rules=RuleEdits(*changed_rules(update)))
        for facts, target in (
            (update.deletions, prepared.deletions),
            (update.insertions, prepared.insertions),
        ):
            for fact in facts:
                key = fact.predicate, len(fact.arguments)
                group = groups.get(key)
                if group is None:
                    group = groups[key] = _Group()
                group.add(fact, target)
        updates.append(prepared)
    for (predicate, arity), group in groups.items():
        group.hand_out(predicate, arity, dictionary)
    return updates


class _Group:
    """All facts of a script with one predicate and number of arguments, and where slices of them go."""

    def __init__(self) -> None:
        self._rows: list[tuple[Term, ...]] = []
        self._targets: list[list[Rows]] = []
        self._starts: list[int] = []

    def add(self, fact: Fact, target: list[Rows]) -> None:
        if not self._targets or self._targets[-1] is not target:
            self._targets.append(target)
            self._starts.append(len(self._rows))
        self._rows.append(fact.arguments)

    def hand_out(self, predicate: str, arity: int, dictionary: Dictionary) -> None:
        columns = [ids_of_many(dictionary, [row[place] for row in self._rows]) for place in range(arity)]
        ends = [*self._starts[1:], len(self._rows)]
        for target, start, end in zip(self._targets, self._starts, ends, strict=True):
            target.append(Rows(predicate, [column[start:end] for column in columns], end - start))


# --- several as one -----------------------------------------------------------------------------------------


def net_update(updates: Sequence[UpdateIds]) -> UpdateIds:
    """One update that does what several do one after the other.

    What the last of them that speaks of a fact asks for decides; an update that both deletes and inserts a
    fact asks for it to be there.
    """
    if len(updates) == 1:
        return updates[0]
    asked: dict[tuple[str, int], list[tuple[bool, Batch]]] = {}
    for update in updates:
        for wanted, batches in ((False, update.deletions), (True, update.insertions)):
            for batch in batches:
                if batch.rows:
                    key = batch.predicate, len(batch.columns)
                    asked.setdefault(key, []).append((wanted, batch))
    deletions: list[Batch] = []
    insertions: list[Batch] = []
    for (predicate, arity), parts in asked.items():
        if not arity:
            (insertions if parts[-1][0] else deletions).append(Batch(predicate, [], 1))
            continue
        table = np.stack([np.concatenate([b.columns[c] for _, b in parts]) for c in range(arity)], axis=1)
        wanted_rows = np.repeat([wanted for wanted, _ in parts], [batch.rows for _, batch in parts])
        _, place = np.unique(table[::-1], axis=0, return_index=True)
        last = np.sort(len(table) - 1 - place)
        for chosen, target in ((last[~wanted_rows[last]], deletions), (last[wanted_rows[last]], insertions)):
            if len(chosen):
                columns = [np.ascontiguousarray(table[chosen, c]) for c in range(arity)]
                target.append(Batch(predicate, columns, len(chosen)))
    return UpdateIds(tuple(deletions), tuple(insertions))
