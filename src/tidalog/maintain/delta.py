"""What an update has changed: copied at its end, and turned into deltas of predicates only on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine import finished_update as changes
from tidalog.model.facts import Ids
from tidalog.model.lazy import LazyMapping
from tidalog.plan.lowering import is_hidden

# Ways in which a fact changes; whether it is or was explicit is the lowest bit of its kind.
_INSERTED, _DELETED, _NOW_IMPLICIT, _NOW_EXPLICIT, _WAYS = range(5)
_WAY: Final = np.zeros(6, np.int64)
_WAY[[changes.INSERTED_IMPLICIT, changes.INSERTED_EXPLICIT]] = _INSERTED
_WAY[[changes.DELETED_IMPLICIT, changes.DELETED_EXPLICIT]] = _DELETED
_NO_CHANGE: Final = changes.NOW_IMPLICIT  # from here on facts were there before and still are
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
    deleted_by_time: npt.NDArray[np.bool_] | None = None
    """Which deleted facts had an expiry that has come, if that is known."""

    def put(self, way: int, columns: list[Ids], explicit: npt.NDArray[np.bool_]) -> None:
        """Adds the rows that have changed in one way."""
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
    """Every fact that changed: its predicate, how (`finished_update.INSERTED_IMPLICIT` …), where its row
    is."""

    predicates: Ids
    kinds: npt.NDArray[np.int8]
    starts: npt.NDArray[np.int64]
    rows: Ids
    ids: Ids
    """Which facts they were."""
    too_old: Sequence[Ids]
    """Some of them whose expiry had come."""


class Deltas(LazyMapping[PredicateDelta]):
    """Net changes by the names of relations, hidden ones left out.  The delta of each is built when it is
    looked at."""

    def __init__(self, changed: ChangeSet, names: Sequence[str], arities: Sequence[int]) -> None:
        """`names` and `arities` of all predicates, as they are now."""
        self._changed = changed
        self._order = np.argsort(changed.predicates, kind="stable")
        numbers, bounds = runs_of(changed.predicates[self._order])
        self._parts = {
            names[number]: (arities[number], bounds[i], bounds[i + 1])
            for i, number in enumerate(numbers)
            if not is_hidden(names[number])
        }
        super().__init__(self._parts, self._delta)
        kinds = changed.kinds
        if len(self._parts) < len(numbers):
            parts = [self._order[begin:end] for _, begin, end in self._parts.values()]
            kinds = kinds[np.concatenate(parts)] if parts else kinds[:0]
        self.counts: list[int] = np.bincount(kinds, minlength=len(_WAY)).tolist()
        """Kind of change → facts."""

    @property
    def more_facts(self) -> int:
        """How many facts there are more than before."""
        counts = self.counts
        return sum(counts[: changes.DELETED_IMPLICIT]) - sum(counts[changes.DELETED_IMPLICIT : _NO_CHANGE])

    @property
    def more_explicit(self) -> int:
        """How many explicit facts there are more than before."""
        counts = self.counts
        gained = counts[changes.INSERTED_EXPLICIT] + counts[changes.NOW_EXPLICIT]
        return gained - counts[changes.DELETED_EXPLICIT] - counts[changes.NOW_IMPLICIT]

    def _delta(self, name: str) -> PredicateDelta:
        arity, begin, end = self._parts[name]
        changed, entries = self._changed, self._order[begin:end]
        kinds = changed.kinds[entries]
        ways, result = _WAY[kinds], no_change(arity)
        for way in range(_WAYS):
            chosen = entries[ways == way]
            if len(chosen):
                starts, explicit = changed.starts[chosen], (changed.kinds[chosen] & 1) != 0
                result.put(way, [changed.rows[starts + column] for column in range(arity)], explicit)
                if way == _DELETED and changed.too_old:
                    too_old = np.concatenate(changed.too_old)
                    result.deleted_by_time = np.isin(changed.ids[chosen], too_old)
        return result


def runs_of(values: Ids) -> tuple[list[int], list[int]]:
    """The values of runs of equal ones, and where these begin; last comes where the last one ends."""
    if not len(values):
        return [], [0]
    bounds = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    found: list[int] = values[bounds[:-1]].tolist()
    return found, bounds


def no_change(arity: int) -> PredicateDelta:
    nothing = [_NO_IDS] * arity
    return PredicateDelta(nothing, 0, _NO_FLAGS, nothing, 0, _NO_FLAGS, nothing, 0, nothing, 0)
