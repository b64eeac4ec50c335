"""`EqualTerms`: classes of terms that are equal, each with a representative.

Facts of the engine have representatives only.  A term in no class stands for itself, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tidalog.model.facts import Facts, Ids, Mask

Classes = Mapping[int, Ids]
"""The members of classes by their representative, which is one of them; at least two."""
_ONE: Final[Ids] = np.ones(1, np.int32)


@dataclass
class EqualTerms:
    classes: dict[int, Ids] = field(default_factory=dict)
    _representative: Ids = field(default_factory=lambda: np.zeros(0, np.int32))
    """By term, up to the last one in a class."""
    _size: Ids = field(default_factory=lambda: np.zeros(0, np.int32))
    """Of the class of a representative."""

    @classmethod
    def of(cls, pairs: Facts) -> EqualTerms:
        """From pairs of a member and its representative."""
        found = cls()
        members, representatives = pairs.columns
        order = np.lexsort((members, representatives))
        members, representatives = members[order], representatives[order]
        starts = np.flatnonzero(np.diff(representatives, prepend=-1))
        parts = np.split(members, starts[1:]) if len(members) else []
        found.replace({}, dict(zip(representatives[starts].tolist(), parts, strict=True)))
        return found

    def __bool__(self) -> bool:
        """Whether any terms are equal."""
        return bool(self.classes)

    def replace(self, removed: Classes, added: Classes) -> None:
        """Takes classes away, whose members stand for themselves then, and adds others."""
        for number, members in removed.items():
            del self.classes[number]
            self._representative[members] = members
            self._size[number] = 1
        if not added:
            return
        self._grow(1 + max(int(members.max()) for members in added.values()))
        for number, members in added.items():
            self.classes[number] = members
            self._representative[members] = number
            self._size[number] = len(members)

    def _grow(self, terms: int) -> None:
        known = len(self._size)
        if terms > known:
            more = np.arange(known, max(terms, 2 * known), dtype=np.int32)
            self._representative = np.concatenate([self._representative, more])
            self._size = np.concatenate([self._size, np.ones_like(more)])

    # --- terms --------------------------------------------------------------------------------------

    def of_column(self, terms: Ids) -> Ids:
        """The representative of each term."""
        known = len(self._representative)
        if not known:
            return terms
        inside = np.minimum(terms, known - 1)
        return np.where(terms < known, self._representative[inside], terms)

    def of_rows(self, table: Ids) -> Ids:
        """A table of facts with representatives."""
        return self.of_column(table) if table.size else table

    def sizes(self, representatives: Ids) -> Ids:
        """How many terms each representative stands for."""
        known = len(self._size)
        if not known:
            return np.broadcast_to(_ONE, representatives.shape)
        inside = np.minimum(representatives, known - 1)
        return np.where(representatives < known, self._size[inside], 1).astype(np.int32)

    def mentioned(self, table: Ids) -> Mask:
        """Which rows of a table have a term that is equal to another one."""
        if not self.classes or not table.size:
            return np.zeros(len(table), np.bool_)
        return np.asarray((self.sizes(self.of_column(table)) > 1).any(axis=1))

    def some(self, table: Ids) -> SomeClasses:
        """The classes of the representatives in a table."""
        found = np.unique(table[self.sizes(table) > 1]).tolist() if self.classes and table.size else []
        return SomeClasses({number: self.classes[number] for number in found})

    # --- facts --------------------------------------------------------------------------------------

    def count(self, facts: Facts) -> int:
        """How many facts these stand for."""
        return _count(facts, self.sizes)

    def expanded(self, facts: Facts, groups: Iterable[Sequence[int]] | None = None) -> Facts:
        """All facts that these stand for; `groups` as in `expanded`."""
        return expanded(facts, self.classes, self.sizes, groups) if self.classes else facts


def expanded(
    facts: Facts,
    classes: Classes,
    sizes: Callable[[Ids], Ids],
    groups: Iterable[Sequence[int]] | None = None,
) -> Facts:
    """All facts that these stand for, with every member of a class in the place of its representative.
    Columns of one group, each alone by default, have the same member; others stay."""
    columns, count = list(facts.columns), facts.count
    for group in [[c] for c in range(len(columns))] if groups is None else groups:
        column = columns[group[0]]
        lengths = sizes(column)
        if not (lengths > 1).any():
            continue
        members = _members(column, lengths, classes)
        columns = [np.repeat(one, lengths) for one in columns]
        for number in group:
            columns[number] = members
        count = len(members)
    return Facts(facts.predicate, columns, count)


def _members(column: Ids, sizes: Ids, classes: Classes) -> Ids:
    """The members of the class of each representative, one after the other."""
    found = np.repeat(column, sizes)
    several = np.repeat(sizes > 1, sizes)
    wanted = sizes > 1
    numbers, which = np.unique(column[wanted], return_inverse=True)
    parts = [classes[number] for number in numbers.tolist()]
    starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
    lengths = sizes[wanted].astype(np.int64)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    offsets = np.arange(lengths.sum()) - first
    found[several] = np.concatenate(parts)[np.repeat(starts[which], lengths) + offsets]
    return found


class SomeClasses:
    """A copy of a few classes."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._numbers = np.array(sorted(classes), np.int32)
        self._sizes = np.array([len(classes[number]) for number in self._numbers.tolist()], np.int32)

    def sizes(self, representatives: Ids) -> Ids:
        if not len(self._numbers):
            return np.ones(representatives.shape, np.int32)
        at = np.minimum(np.searchsorted(self._numbers, representatives), len(self._numbers) - 1)
        return np.where(self._numbers[at] == representatives, self._sizes[at], 1).astype(np.int32)

    def expanded(self, facts: Facts) -> Facts:
        return expanded(facts, self._classes, self.sizes)

    def count(self, facts: Facts) -> int:
        return _count(facts, self.sizes)


def _count(facts: Facts, sizes: Callable[[Ids], Ids]) -> int:
    """How many facts these stand for."""
    found = np.ones(facts.count, np.int64)
    for column in facts.columns:
        found *= sizes(column)
    return int(found.sum())
