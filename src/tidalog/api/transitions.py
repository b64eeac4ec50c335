"""What facts were before a change and are after it, and the delta that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids, Mask
from tidalog.model.update import EncodedUpdate

Table = npt.NDArray[np.int32]


@dataclass(slots=True)
class Transitions:
    """Of the rows of a table, each a fact: whether it was there, and explicit; whether it is."""

    was: Mask
    was_explicit: Mask
    is_: Mask
    is_explicit: Mask

    @classmethod
    def none(cls, rows: int) -> Self:
        """Facts that were not there and are not."""
        return cls(*(np.zeros(rows, np.bool_) for _ in range(4)))

    def delta(self, table: Table) -> PredicateDelta | None:
        """The net change; None if there is none."""
        stays = self.was & self.is_
        masks = (
            self.is_ & ~self.was,
            self.was & ~self.is_,
            stays & self.is_explicit & ~self.was_explicit,
            stays & self.was_explicit & ~self.is_explicit,
        )
        if not any(mask.any() for mask in masks):
            return None
        columns = range(table.shape[1])
        parts = [[np.ascontiguousarray(table[mask, column]) for column in columns] for mask in masks]
        return _delta(parts, masks, self.is_explicit[masks[0]], self.was_explicit[masks[1]])


def parts_of(change: PredicateDelta) -> tuple[list[Ids], ...]:
    """The facts that were inserted, were deleted, became explicit and became implicit."""
    return change.inserted, change.deleted, change.became_explicit, change.became_implicit


def restricted(
    change: PredicateDelta, masks: Sequence[Mask], columns: Sequence[int] | None = None
) -> PredicateDelta:
    """A delta of the facts that masks choose, one for each of `parts_of`; of these arguments alone, if they
    are given."""
    parts = [
        [column[mask] for column in (part if columns is None else [part[c] for c in columns])]
        for part, mask in zip(parts_of(change), masks, strict=True)
    ]
    inserted, deleted = change.inserted_explicit[masks[0]], change.deleted_explicit[masks[1]]
    return _delta(parts, masks, inserted, deleted)


def _delta(
    parts: Sequence[list[Ids]], masks: Sequence[Mask], inserted_explicit: Mask, deleted_explicit: Mask
) -> PredicateDelta:
    inserted, deleted, gained, lost = (int(mask.sum()) for mask in masks)
    return PredicateDelta(
        parts[0],
        inserted,
        inserted_explicit,
        parts[1],
        deleted,
        deleted_explicit,
        parts[2],
        gained,
        parts[3],
        lost,
    )


def inverse(delta: Mapping[str, PredicateDelta], keys: Ids | None = None) -> EncodedUpdate:
    """The update that undoes what a delta did to the explicit facts, or to those of some keys: the first
    arguments."""
    deletions: list[Facts] = []
    insertions: list[Facts] = []
    for name, change in delta.items():
        for target, columns, rows, flags in (
            (deletions, change.inserted, change.inserted_rows, change.inserted_explicit),
            (deletions, change.became_explicit, change.became_explicit_rows, None),
            (insertions, change.deleted, change.deleted_rows, change.deleted_explicit),
            (insertions, change.became_implicit, change.became_implicit_rows, None),
        ):
            if not rows:
                continue
            mine = np.ones(rows, np.bool_) if keys is None else np.isin(columns[0], keys)
            mine = mine if flags is None else mine & flags
            if mine.any():
                target.append(Facts(name, [column[mine] for column in columns], int(mine.sum())))
    return EncodedUpdate(tuple(deletions), tuple(insertions))
