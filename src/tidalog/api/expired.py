"""Which deleted facts of a delta are gone because time moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Expired:
    facts: Sequence[Facts] = ()
    """Explicit facts that left windows."""
    is_only_cause: Callable[[], bool] = lambda: False
    """Whether nothing else of the update can have ended a derived fact."""

    def among(self, predicate: str, change: PredicateDelta) -> Mask:
        """Which of the deleted facts of a predicate expired."""
        explicit = change.deleted_explicit
        found = np.zeros(change.deleted_rows, np.bool_)
        if not self.facts or not change.deleted_rows:
            return found
        own = [facts for facts in self.facts if facts.predicate == predicate]
        if own:
            rows = np.concatenate([facts.table for facts in own], axis=1)
            found |= explicit & np.isin(_keys(list(change.deleted)), _keys(list(rows)))
        if not np.all(explicit) and self.is_only_cause():
            found |= ~explicit
        return found


NOTHING_EXPIRED = Expired()


def _keys(columns: list[Ids]) -> npt.NDArray[np.void]:
    """A value for each row that equals that of no other."""
    rows = np.ascontiguousarray(np.stack([np.asarray(column, np.int32) for column in columns], axis=1))
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
