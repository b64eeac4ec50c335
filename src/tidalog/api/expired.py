"""Which deleted facts of a delta are gone because time moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids, Mask


@dataclass(frozen=True)
class Expired:
    facts: Sequence[Facts] = ()
    """Explicit facts that left windows."""
    is_only_cause: Callable[[], bool] = lambda: False
    """Whether nothing else of the update can have ended a derived fact."""

    def among(self, predicate: str, change: PredicateDelta) -> Mask:
        """Which of the deleted facts of a predicate expired."""
        explicit = change.deleted_explicit
        found = rows_among(predicate, change.deleted, explicit, self.facts)
        if self.facts and not np.all(explicit) and self.is_only_cause():
            found |= ~explicit
        return found


def rows_among(predicate: str, columns: Sequence[Ids], explicit: Mask, facts: Sequence[Facts]) -> Mask:
    """Which explicit ones of some rows of a predicate are among facts."""
    own = [part for part in facts if part.predicate == predicate and part.count]
    if not own or not len(explicit):
        return np.zeros(len(explicit), np.bool_)
    table = np.concatenate([part.table for part in own], axis=1)
    found: Mask = explicit & np.isin(_keys(list(columns)), _keys(list(table)))
    return found


NOTHING_EXPIRED = Expired()


def _keys(columns: list[Ids]) -> npt.NDArray[np.void]:
    """A value for each row that equals that of no other."""
    rows = np.ascontiguousarray(np.stack([np.asarray(column, np.int32) for column in columns], axis=1))
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
