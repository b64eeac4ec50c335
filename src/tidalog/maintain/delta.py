"""What an update has changed: copied at its end, and grouped by predicate only on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import undo_log as changes
from tidalog.model.facts import Ids
from tidalog.plan.lowering import is_hidden

# Ways in which a fact changes; whether it is or was explicit is the lowest bit of its kind.
_INSERTED, _DELETED, _NOW_IMPLICIT, _NOW_EXPLICIT, _WAYS = range(5)
_WAY: Final = np.zeros(6, np.int64)
_WAY[[changes.INSERTED_IMPLICIT, changes.INSERTED_EXPLICIT]] = _INSERTED
_WAY[[changes.DELETED_IMPLICIT, changes.DELETED_EXPLICIT]] = _DELETED
_WAY[changes.NOW_IMPLICIT], _WAY[changes.NOW_EXPLICIT] = _NOW_IMPLICIT, _NOW_EXPLICIT
_NO_IDS: Final[Ids] = np.empty(0, np.int32)
_NO_FLAGS: Final[npt.NDArray[np.bool_]] = np.empty(0, np.bool_)


@dataclass(slots=True)
class PredicateDelta:
    """Net change of a predicate's facts, as rows of term ids; whether each is or was explicit beside it."""

    inserted: list[Ids]
    inserted_rows: int
    inserted_explicit: npt.NDArray[np.bool_]
    deleted: list[Ids]
    deleted_rows: int
    deleted_explicit: npt.NDArray[np.bool_]
    became_explicit: list[Ids] = field(default_factory=list)
    became_explicit_rows: int = 0
    became_implicit: list[Ids] = field(default_factory=list)
    became_implicit_rows: int = 0

    def put(self, way: int, columns: list[Ids], explicit: npt.NDArray[np.bool_]) -> None:
        """The rows that have changed in one of the ways that there are."""
        if way == _INSERTED:
            self.inserted, self.inserted_rows, self.inserted_explicit = columns, len(explicit), explicit
        elif way == _DELETED:
            self.deleted, self.deleted_rows, self.deleted_explicit = columns, len(explicit), explicit
        elif way == _NOW_EXPLICIT:
            self.became_explicit, self.became_explicit_rows = columns, len(explicit)
        else:
            self.became_implicit, self.became_implicit_rows = columns, len(explicit)


@dataclass(slots=True)
class ChangeSet:
    """Every fact that changed: its predicate, how (`changes.INSERTED_IMPLICIT` …), where its row is."""

    predicates: Ids
    kinds: npt.NDArray[np.int8]
    starts: npt.NDArray[np.int64]
    rows: Ids
    names: list[str]
    arities: list[int]

    @property
    def insertions(self) -> int:
        """Implicit facts that are new, hidden ones left out."""
        new = self.predicates[self.kinds == changes.INSERTED_IMPLICIT]
        found, counts = np.unique(new, return_counts=True)
        pairs = zip(found.tolist(), counts.tolist(), strict=True)
        return sum(count for number, count in pairs if not is_hidden(self.names[number]))

    def by_predicate(self) -> dict[str, PredicateDelta]:
        """Net changes by the names of relations, hidden ones left out."""
        keys = self.predicates.astype(np.int64) * _WAYS + _WAY[self.kinds]
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        bounds = [*first.tolist(), len(order)]
        starts, explicit = self.starts[order], (self.kinds[order] & 1) != 0
        result: dict[str, PredicateDelta] = {}
        for i, key in enumerate(found.tolist()):
            predicate, way = divmod(key, _WAYS)
            name = self.names[predicate]
            if is_hidden(name):
                continue
            part = slice(bounds[i], bounds[i + 1])
            if name not in result:
                result[name] = no_change(self.arities[predicate])
            columns = [self.rows[starts[part] + column] for column in range(self.arities[predicate])]
            result[name].put(way, columns, explicit[part])
        return result


def no_change(arity: int) -> PredicateDelta:
    nothing = [_NO_IDS] * arity
    return PredicateDelta(nothing, 0, _NO_FLAGS, nothing, 0, _NO_FLAGS, nothing, 0, nothing, 0)
