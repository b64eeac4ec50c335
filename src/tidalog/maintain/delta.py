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
        new = self.predicates[self.kinds == changes.INSERTED_IMPLICIT]
        found, counts = np.unique(new, return_counts=True)
        pairs = zip(found.tolist(), counts.tolist(), strict=True)
        return sum(count for number, count in pairs if not is_hidden(self.names[number]))

    def by_predicate(self) -> dict[str, PredicateDelta]:
        """Net changes by the names of relations, hidden ones left out."""
        order = np.argsort(self.predicates, kind="stable")
        found, first = np.unique(self.predicates[order], return_index=True)
        bounds = [*first.tolist(), len(order)]
        return {
            self.names[number]: self._part(number, order[bounds[i] : bounds[i + 1]])
            for i, number in enumerate(found.tolist())
            if not is_hidden(self.names[number])
        }

    def _part(self, predicate: int, mine: npt.NDArray[np.int64]) -> PredicateDelta:
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
