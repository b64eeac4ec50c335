"""The changes of facts over any terms, from those over representatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from tidalog.api.equal_facts import EqualFacts, GivenChange
from tidalog.api.transitions import Transitions
from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.equality.relations import (
    Classes,
    EqualTerms,
    Table,
    among,
    distinct,
    facts_of,
    table_of,
)
from tidalog.model.facts import Ids


class Replaced:
    """Which classes an update has replaced, of those before it, and by which."""

    def __init__(self) -> None:
        self.removed: dict[int, Ids] = {}
        self.added: dict[int, Ids] = {}

    def prune(self) -> None:
        """Leaves out classes that fell apart and came back."""
        for number, members in list(self.removed.items()):
            if np.array_equal(members, self.added.get(number, ())):
                del self.removed[number], self.added[number]

    def add(self, removed: Classes, added: Classes) -> None:
        for number, members in removed.items():
            if number in self.added:
                del self.added[number]
            else:
                self.removed[number] = members
        self.added.update(added)

    @property
    def representatives(self) -> Ids:
        """Of all terms whose class is another one, before and after."""
        parts = [members for classes in (self.removed, self.added) for members in classes.values()]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int32)


class Expanding:
    """The changes of facts over any terms, from those over representatives."""

    def __init__(
        self,
        facts: EqualFacts,
        net: Mapping[str, PredicateDelta],
        given: GivenChange,
        classes: Replaced,
    ) -> None:
        self._facts, self._net, self._given, self._classes = facts, net, given, classes

    def changes(self) -> dict[str, PredicateDelta]:
        changed = self._classes.representatives
        concerned = self._facts.mentioning(changed) if len(changed) else {}
        found: dict[str, PredicateDelta] = {}
        for name in sorted({*self._net, *concerned, *self._given.gone, *self._given.came}):
            change = self._change(name, concerned.get(name))
            if change is not None:
                found[name] = change
        return found

    def _change(self, name: str, concerned: Table | None) -> PredicateDelta | None:
        facts, equal, net = self._facts, self._facts.equal, self._net.get(name)
        gone, came = self._given.gone.get(name), self._given.came.get(name)
        arity = next(
            table.shape[1]
            for table in (
                concerned,
                gone,
                came,
                None if net is None else _table(net.inserted, net.inserted_rows),
            )
            if table is not None
        )
        nothing = np.empty((0, arity), np.int32)
        inserted = nothing if net is None else _table(net.inserted, net.inserted_rows)
        deleted = nothing if net is None else _table(net.deleted, net.deleted_rows)
        concerned = nothing if concerned is None else concerned
        gone, came = (nothing if table is None else table for table in (gone, came))
        after = _expanded(equal, name, np.concatenate([inserted, concerned]))
        stood = np.concatenate([deleted, concerned[~among(concerned, inserted)]])
        with self._before():
            before = _expanded(equal, name, stood)
        table = distinct(np.concatenate([after, before, gone, came]))
        with self._before():
            representing = equal.of_rows(table)
        state = Transitions.none(len(table))
        state.is_ = facts.present(name, equal.of_rows(table))
        there = facts.present(name, representing) & ~among(representing, inserted)
        state.was = there | among(representing, deleted)
        state.is_explicit = facts.explicit(name, table)
        state.was_explicit = (state.is_explicit & ~among(table, came)) | among(table, gone)
        return state.delta(table)

    @contextmanager
    def _before(self) -> Iterator[None]:
        """The classes before the update."""
        equal, classes = self._facts.equal, self._classes
        equal.replace(classes.added, classes.removed)
        try:
            yield
        finally:
            equal.replace(classes.removed, classes.added)


def _table(columns: Sequence[Ids], rows: int) -> Table:
    return np.stack(columns, axis=1) if columns else np.empty((rows, 0), np.int32)


def _expanded(equal: EqualTerms, name: str, table: Table) -> Table:
    return table_of(equal.expanded(facts_of(name, table))) if table.shape[1] else table
