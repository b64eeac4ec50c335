"""`Update`: facts to delete and to insert, by predicate, and rules to remove and to add."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from tidalog.api.times import checked_time
from tidalog.io.frames import from_python
from tidalog.io.read import read_table
from tidalog.io.result import ReadResult
from tidalog.lang.names import NO_PREFIXES
from tidalog.model.program import Declaration
from tidalog.model.update import Label
from tidalog.rdf.layout import TRIPLE
from tidalog.rdf.quads import QUAD

FactTables = Mapping[str, object]
"""Predicate → its facts: rows, a data frame, Arrow, a mapping of columns, a numpy array."""
Known = tuple[int | None, Declaration | None, Mapping[str, str]]


class Update:
    """One atomic change.  Deletions apply before insertions, so a fact in both stays; deleting what is not
    explicit changes nothing.  Rules are removed before others are added.

    Data is read when it is given: errors in it are raised then, and changing it later has no effect.  Rules
    are parsed when the update is applied, with the prefixes of the program.  `time`, for windows, is a
    datetime, an xsd:dateTime or a number of seconds.
    """

    def __init__(
        self,
        *,
        deletions: FactTables | None = None,
        insertions: FactTables | None = None,
        add_rules: str | Iterable[str] = (),
        remove_rules: str | Iterable[str] = (),
        label: Label | None = None,
        time: object = None,
    ) -> None:
        self.label = label
        self.time = None if time is None else checked_time(time)
        """When it takes place, in microseconds since 1970; None: at the present time of the windows."""
        self.rules_added: list[str] = [add_rules] if isinstance(add_rules, str) else list(add_rules)
        """Texts of rules."""
        self.rules_removed: list[str] = (
            [remove_rules] if isinstance(remove_rules, str) else list(remove_rules)
        )
        """Names of rules."""
        self.deletions: list[tuple[str, ReadResult]] = []
        self.insertions: list[tuple[str, ReadResult]] = []
        for predicate, data in (deletions or {}).items():
            self.delete(predicate, data)
        for predicate, data in (insertions or {}).items():
            self.insert(predicate, data)

    def delete(
        self,
        predicate: str,
        data: object,
        *,
        formats: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """More facts to delete; `data`, which may be the path of a file, and its options are those of
        `KnowledgeBase.insert`."""
        self.deletions.append((predicate, self._read(predicate, data, formats, columns)))
        return self

    def insert(
        self,
        predicate: str,
        data: object,
        *,
        formats: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """More facts to insert."""
        self.insertions.append((predicate, self._read(predicate, data, formats, columns, inserts=True)))
        return self

    def add_rule(self, text: str) -> Self:
        """A rule to add, or several: `far(?x) :- path(a, ?x)`, with or without a name before a colon."""
        self._check_open()
        self.rules_added.append(text)
        return self

    def remove_rule(self, name: str) -> Self:
        """A rule to remove, by its name."""
        self._check_open()
        self.rules_removed.append(name)
        return self

    @property
    def changes_rules(self) -> bool:
        return bool(self.rules_added or self.rules_removed)

    def _read(
        self,
        predicate: str,
        data: object,
        formats: Sequence[str] | None,
        columns: Sequence[str] | None,
        *,
        inserts: bool = False,
    ) -> ReadResult:
        self._check_open()
        arity, declaration, prefixes = self._known(predicate)
        if isinstance(data, str | os.PathLike):
            return read_table(
                data,
                formats=formats,
                arity=arity,
                triples=inserts and predicate == TRIPLE,
                declaration=declaration,
                prefixes=prefixes,
                dataset=predicate in (TRIPLE, QUAD),
            )
        return from_python(
            data,
            arity,
            columns,
            formats=formats,
            declaration=declaration,
            triples=inserts and predicate == TRIPLE,
            prefixes=prefixes,
        )

    def _check_open(self) -> None:
        """Raises `UsageError` if it takes no more changes."""

    def _known(self, predicate: str) -> Known:
        """How many arguments the facts of a predicate have and its declaration, where that is known; and the
        prefixes."""
        return None, None, NO_PREFIXES

    def __repr__(self) -> str:
        name = "Update" if self.label is None else f"Update {self.label}"
        inserted, deleted = (sum(t.rows for _, t in part) for part in (self.insertions, self.deletions))
        parts = [f"+{inserted:,} −{deleted:,} facts"]
        if self.changes_rules:
            parts.append(f"+{len(self.rules_added)} −{len(self.rules_removed)} rules")
        return f"<{name}: {', '.join(parts)}>"
