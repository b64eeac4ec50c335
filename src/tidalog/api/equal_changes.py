"""The changes of facts over any terms, from those over representatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidalog.api.equal_facts import EqualFacts, GivenChange
from tidalog.api.transitions import Transitions
from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.equality.relations import (
    Classes,
    SomeClasses,
    Table,
    among,
    distinct,
    facts_of,
    table_of,
)
from tidalog.model.facts import Ids, Mask
from tidalog.model.lazy import LazyMapping


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


_AT_ONCE: Final = 1 << 14
"""Facts up to which a change is worked out before it is looked at."""


@dataclass
class _Change:
    """Of one predicate: what is worked out while the engine is as the update left it.  A fact about large
    classes stands for very many facts, so these are built on demand."""

    after: Table
    """Facts over representatives that are there now, if they or their classes have changed."""
    before: Table
    """Those that were there."""
    classes: SomeClasses
    classes_before: SomeClasses
    explicit: Table
    """Explicit facts that `after` stands for."""
    gone: Table
    came: Table
    given: Table
    """Both of these, with what they were and are."""
    was: Mask
    is_: Mask

    @property
    def counts(self) -> tuple[int, int]:
        """How many facts there were, and are."""
        before = self.classes_before.count(facts_of("", self.before))
        return before, self.classes.count(facts_of("", self.after))

    def delta(self) -> PredicateDelta | None:
        after = _expanded(self.classes, self.after)
        before = _expanded(self.classes_before, self.before)
        table = distinct(np.concatenate([after, before, self.given]))
        state = Transitions.none(len(table))
        state.is_ = among(table, np.concatenate([after, self.given[self.is_]]))
        state.was = among(table, np.concatenate([before, self.given[self.was]]))
        came = among(table, self.came)
        state.is_explicit = among(table, self.explicit) | came
        state.was_explicit = (state.is_explicit & ~came) | among(table, self.gone)
        return state.delta(table)


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
        self.more_facts = 0
        """How many facts there are more than before."""

    def changes(self) -> Mapping[str, PredicateDelta]:
        changed = self._classes.representatives
        concerned = self._facts.mentioning(changed) if len(changed) else {}
        waiting: dict[str, _Change] = {}
        found: dict[str, PredicateDelta | None] = {}
        for name in sorted({*self._net, *concerned, *self._given.gone, *self._given.came}):
            change = self._change(name, concerned.get(name))
            before, after = change.counts
            self.more_facts += after - before
            if before == after or before + after <= _AT_ONCE:
                delta = change.delta()
                if delta is not None:
                    found[name] = delta
            else:
                found[name], waiting[name] = None, change
        return LazyMapping(found, lambda name: _built(found[name] or waiting[name].delta()))

    def _change(self, name: str, concerned: Table | None) -> _Change:
        facts, equal, net = self._facts, self._facts.equal, self._net.get(name)
        inserted = None if net is None else _table(net.inserted, net.inserted_rows)
        deleted = None if net is None else _table(net.deleted, net.deleted_rows)
        gone, came = self._given.gone.get(name), self._given.came.get(name)
        arity = next(t.shape[1] for t in (concerned, gone, came, inserted) if t is not None)
        inserted, deleted, concerned, gone, came = (
            np.empty((0, arity), np.int32) if table is None else table
            for table in (inserted, deleted, concerned, gone, came)
        )
        after = distinct(np.concatenate([inserted, concerned]))
        before = distinct(np.concatenate([deleted, concerned[~among(concerned, inserted)]]))
        given = distinct(np.concatenate([gone, came]))
        with self._before():
            classes, representing = equal.some(before), equal.of_rows(given)
        there = facts.present(name, representing) & ~among(representing, inserted)
        return _Change(
            after,
            before,
            equal.some(after),
            classes,
            facts.explicit_of(name, after),
            gone,
            came,
            given,
            there | among(representing, deleted),
            facts.present(name, equal.of_rows(given)),
        )

    @contextmanager
    def _before(self) -> Iterator[None]:
        """The classes before the update."""
        equal, classes = self._facts.equal, self._classes
        equal.replace(classes.added, classes.removed)
        try:
            yield
        finally:
            equal.replace(classes.removed, classes.added)


def _built(delta: PredicateDelta | None) -> PredicateDelta:
    assert delta is not None, "another number of facts is a change"
    return delta


def _table(columns: Sequence[Ids], rows: int) -> Table:
    return np.stack(columns, axis=1) if columns else np.empty((rows, 0), np.int32)


def _expanded(classes: SomeClasses, table: Table) -> Table:
    return table_of(classes.expanded(facts_of("", table))) if table.shape[1] else table
