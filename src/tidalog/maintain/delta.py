"""What an update has changed: copied whole at its end, sorted out by predicate only if somebody asks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidalog.engine import undo_log as changes
from tidalog.model.facts import Ids
from tidalog.plan.lowering import is_hidden


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
        hidden = [number for number, name in enumerate(self.names) if is_hidden(name)]
        if not hidden:
            return int(np.count_nonzero(self.kinds == changes.INSERTED_IMPLICIT))
        new = self.predicates[self.kinds == changes.INSERTED_IMPLICIT]
        return int((~np.isin(new, hidden)).sum())

    def by_predicate(self) -> dict[str, PredicateDelta]:
        """Net changes by the names of relations, hidden ones left out."""
        return {
            self.names[number]: self._part(number)
            for number in np.unique(self.predicates).tolist()
            if not is_hidden(self.names[number])
        }

    def _part(self, predicate: int) -> PredicateDelta:
        mine = np.flatnonzero(self.predicates == predicate)
        how, starts = self.kinds[mine], self.starts[mine]
        rows = np.empty((self.arities[predicate], len(mine)), np.int32)
        for column in range(len(rows)):
            rows[column] = self.rows[starts + column]
        inserted, deleted = how <= changes.INSERTED_EXPLICIT, (how | 1) == changes.DELETED_EXPLICIT
        gained, lost = how == changes.NOW_EXPLICIT, how == changes.NOW_IMPLICIT
        return PredicateDelta(
            list(rows[:, inserted]),
            int(inserted.sum()),
            how[inserted] == changes.INSERTED_EXPLICIT,
            list(rows[:, deleted]),
            int(deleted.sum()),
            how[deleted] == changes.DELETED_EXPLICIT,
            list(rows[:, gained]),
            int(gained.sum()),
            list(rows[:, lost]),
            int(lost.sum()),
        )
