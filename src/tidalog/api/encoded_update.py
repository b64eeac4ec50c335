"""Encodes updates as term ids: an `Update`, an update table, a script.

The columns of a table and the facts of a script become ids once, in bulk; an update is slices of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tidalog.analysis.declarations import fact_faults
from tidalog.analysis.edit_scripts import changed_rules
from tidalog.analysis.predicates import misplaced_in
from tidalog.api.bulk_terms import ids_of_many
from tidalog.api.load import declared_row
from tidalog.api.naming import checked_name
from tidalog.api.rules import rule_edit
from tidalog.api.update import Update
from tidalog.engine.dictionary import Dictionary
from tidalog.io.diagnostics import LiteralCell
from tidalog.io.frames import as_declared
from tidalog.io.result import ReadResult, TermColumn
from tidalog.io.update_tables import RuleRow, UpdateTable
from tidalog.lang.updates import ScriptUpdate
from tidalog.model.errors import DataError, Diagnostic, ProgramError
from tidalog.model.facts import Facts, Ids, Numbers
from tidalog.model.program import Declaration, Fact, Program
from tidalog.model.rule_edit import NO_EDIT, NamedRemoval, RuleEdit, RuleText
from tidalog.model.term_text import term_text
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate
from tidalog.rdf.columns import split
from tidalog.rdf.layout import TRIPLE, Layout
from tidalog.rdf.quads import QUAD
from tidalog.rdf.shorthand import ROLES, WHY

Prefixes = Mapping[str, str]
_STATEMENTS: Final = ((TRIPLE, 3), (QUAD, 4))


def routed_update(update: EncodedUpdate, layout: Layout, dictionary: Dictionary) -> EncodedUpdate:
    """The same update by the relations that hold its facts, worked out once per layout."""
    if not layout.active:
        return update
    if update.routed is None or update.routed[0] is not layout:
        sides = (update.deletions, update.insertions)
        deletions, insertions = (routed_facts(side, layout, dictionary) for side in sides)
        update.routed = layout, replace(update, deletions=deletions, insertions=insertions, routed=None)
    return update.routed[1]


def routed_facts(facts: Iterable[Facts], layout: Layout, dictionary: Dictionary) -> list[Facts]:
    """Facts by the relations that hold them."""
    return [part for whole in facts if whole.count for part in split(whole, layout, dictionary)]


def encoded_update(update: Update, dictionary: Dictionary, program: Program) -> EncodedUpdate:
    """An update that was built in Python.  Raises `DataError` if it does not fit the declarations."""
    insertions = _encoded_tables(update.insertions, dictionary, program)
    refuse_literals(insertions, dictionary)
    return EncodedUpdate(
        _encoded_tables(update.deletions, dictionary, program),
        insertions,
        rule_edit(update.rules_added, update.rules_removed),
        update.label,
        dictionary,
        time=update.time,
    )


def _encoded_tables(
    tables: Iterable[tuple[str, ReadResult]], dictionary: Dictionary, program: Program
) -> list[Facts]:
    named = [(checked_name(predicate, program.prefixes), table) for predicate, table in tables]
    return [
        facts
        for name, table in named
        if table.rows or table.quads
        for facts in encoded_table(
            name, as_declared(table, program.declared.get(name), program.prefixes), dictionary
        )
    ]


def encoded_table(predicate: str, table: ReadResult, dictionary: Dictionary) -> list[Facts]:
    """Rows of data as facts of a predicate; those of a dataset, as triples and quads."""
    own = Facts(predicate, _encoded(table.columns, dictionary), table.rows)
    if table.quads is None:
        return [own]
    quads = _encoded(table.quads, dictionary)
    found = [replace(own, predicate=TRIPLE), Facts(QUAD, quads, len(quads[0]))]
    return [facts for facts in found if facts.count]


def _encoded(columns: Iterable[TermColumn], dictionary: Dictionary) -> list[Ids]:
    return [dictionary.encode(column.array, column.reading) for column in columns]


def refuse_literals(insertions: Iterable[Facts], dictionary: Dictionary) -> None:
    """A triple that comes in has no literal as subject, and an IRI as predicate.  Raises `DataError`.

    Deletions, and what an earlier version has stored, are not asked: such triples may be there.
    """
    for facts in insertions:
        if (facts.predicate, len(facts.columns)) not in _STATEMENTS:
            continue
        subjects, predicates = facts.columns[:2]
        wrong = dictionary.is_literal(subjects), ~dictionary.is_iri(predicates)
        for role, column, is_wrong in zip(ROLES, facts.columns, wrong, strict=False):
            if is_wrong.any():
                term = dictionary.term(int(column[np.argmax(is_wrong)]))
                raise DataError(LiteralCell(value=term_text(term), role=role, why=WHY[role]))


def encoded_updates(table: UpdateTable, dictionary: Dictionary, prefixes: Prefixes) -> list[EncodedUpdate]:
    """The updates of a table."""
    edits = [NO_EDIT] * len(table.updates)
    for rule in table.rules:
        edits[rule.update] += _edit(rule)
    columns = [dictionary.encode(column.array, column.reading) for column in table.arguments]
    of_rows = np.repeat(np.arange(len(edits)), np.diff(table.starts))
    parts = grouped_facts(table, len(edits), of_rows, np.arange(table.rows), columns, prefixes)
    for _, insertions in parts:
        refuse_literals(insertions, dictionary)
    return [
        EncodedUpdate(deletions, insertions, edit, label, dictionary, time=time)
        for (deletions, insertions), edit, label, time in zip(
            parts, edits, table.updates, table.times, strict=True
        )
    ]


def grouped_facts(
    table: UpdateTable,
    count: int,
    updates: Numbers,
    rows: Numbers,
    columns: Sequence[Ids],
    prefixes: Prefixes,
) -> list[tuple[list[Facts], list[Facts]]]:
    """The deletions and the insertions of `count` updates: `updates` are those of some rows of a table.

    Facts of an update that agree in sign, predicate and number of arguments are one slice, and keep their
    order.  `columns` end with the arguments of the table; the columns before these are part of every fact.
    """
    parts: list[tuple[list[Facts], list[Facts]]] = [([], []) for _ in range(count)]
    if not len(rows):
        return parts
    leading = len(columns) - len(table.arguments)
    names = [checked_name(name, prefixes) for name in table.predicate.names]
    keys = [updates, *(key[rows] for key in (table.op, table.predicate.codes, table.arity))]
    order = np.lexsort(keys[::-1])
    keys, columns = [key[order] for key in keys], [column[rows[order]] for column in columns]
    changed = np.zeros(len(order), np.bool_)
    changed[0] = True
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(changed)
    ends = np.append(starts[1:], len(order))
    groups = [key[starts].tolist() for key in keys]
    for update, op, code, arity, start, end in zip(*groups, starts.tolist(), ends.tolist(), strict=True):
        own = [column[start:end] for column in columns[: leading + arity]]
        parts[update][op > 0].append(Facts(names[code], own, end - start))
    return parts


def _edit(rule: RuleRow) -> RuleEdit:
    if rule.text is not None:
        return RuleEdit(added=(RuleText(rule.text, rule.name, str(rule.position)),))
    return RuleEdit(removed=(NamedRemoval(rule.name or ""),))


def declared_script(
    script: Sequence[ScriptUpdate], declared: Mapping[str, Declaration]
) -> Sequence[ScriptUpdate]:
    """A script with facts of the declared types.  Raises `ProgramError` (T154) with all that do not fit."""
    if not any(declaration.is_typed for declaration in declared.values()):
        return script
    faults: list[Diagnostic] = []

    def fitting(fact: Fact) -> Fact:
        declaration = declared.get(fact.predicate)
        if declaration is None or declaration.arity != len(fact.arguments):
            return fact
        faults.extend(fact_faults(fact, declaration))
        return replace(fact, arguments=declared_row(fact.arguments, declaration))

    checked = [
        replace(
            update,
            deletions=tuple(map(fitting, update.deletions)),
            insertions=tuple(map(fitting, update.insertions)),
        )
        for update in script
    ]
    if faults:
        raise ProgramError(faults)
    return checked


def encoded_script(
    script: Sequence[ScriptUpdate], dictionary: Dictionary, first: int = 1
) -> list[EncodedUpdate]:
    """The updates of a script, whose labels are their numbers, from `first` on.  Raises `ProgramError` (T165)
    for triples with a literal as subject or predicate."""
    wrong = list(misplaced_in((fact for update in script for fact in update.insertions), {}))
    if wrong:
        raise ProgramError(wrong)
    updates: list[EncodedUpdate] = []
    groups: dict[tuple[str, int], _Group] = {}
    for label, update in enumerate(script, first):
        deletions: list[Facts] = []
        insertions: list[Facts] = []
        edit = RuleEdit(*changed_rules(update))
        updates.append(EncodedUpdate(deletions, insertions, edit, label, dictionary, time=update.time))
        for facts, target in ((update.deletions, deletions), (update.insertions, insertions)):
            for fact in facts:
                key = fact.predicate, len(fact.arguments)
                group = groups.get(key)
                if group is None:
                    group = groups[key] = _Group()
                group.add(fact, target)
    for (predicate, arity), group in groups.items():
        group.distribute(predicate, arity, dictionary)
    return updates


class _Group:
    """All facts of a script with one predicate and number of arguments, and where slices of them go."""

    def __init__(self) -> None:
        self._rows: list[tuple[Term, ...]] = []
        self._targets: list[list[Facts]] = []
        self._starts: list[int] = []

    def add(self, fact: Fact, target: list[Facts]) -> None:
        if not self._targets or self._targets[-1] is not target:
            self._targets.append(target)
            self._starts.append(len(self._rows))
        self._rows.append(fact.arguments)

    def distribute(self, predicate: str, arity: int, dictionary: Dictionary) -> None:
        columns = [ids_of_many(dictionary, [row[column] for row in self._rows]) for column in range(arity)]
        ends = [*self._starts[1:], len(self._rows)]
        for target, start, end in zip(self._targets, self._starts, ends, strict=True):
            target.append(Facts(predicate, [column[start:end] for column in columns], end - start))


# --- several as one -----------------------------------------------------------------------------------------


def net_update(updates: Sequence[EncodedUpdate]) -> EncodedUpdate:
    """One update that does what several do one after the other.

    The last operation on a fact wins; of an update that both deletes and inserts it, the insertion.
    """
    if len(updates) == 1:
        return updates[0]
    asked: dict[tuple[str, int], list[tuple[bool, Facts]]] = {}
    for update in updates:
        for wanted, batches in ((False, update.deletions), (True, update.insertions)):
            for batch in batches:
                if batch.count:
                    key = batch.predicate, len(batch.columns)
                    asked.setdefault(key, []).append((wanted, batch))
    deletions: list[Facts] = []
    insertions: list[Facts] = []
    for (predicate, arity), parts in asked.items():
        if not arity:
            (insertions if parts[-1][0] else deletions).append(Facts(predicate, [], 1))
            continue
        table = np.stack([np.concatenate([b.columns[c] for _, b in parts]) for c in range(arity)], axis=1)
        wanted_rows = np.repeat([wanted for wanted, _ in parts], [batch.count for _, batch in parts])
        _, from_end = np.unique(table[::-1], axis=0, return_index=True)
        last = np.sort(len(table) - 1 - from_end)
        for chosen, target in ((last[~wanted_rows[last]], deletions), (last[wanted_rows[last]], insertions)):
            if len(chosen):
                columns = [np.ascontiguousarray(table[chosen, c]) for c in range(arity)]
                target.append(Facts(predicate, columns, len(chosen)))
    return EncodedUpdate(deletions, insertions)
