"""Rolls back the updates of some keys while those of the others stay.

A database rolls back a whole change.  That is not enough here: an update that violates a constraint must not
take the updates of other keys with it, which are applied together with it.  So it is rolled back by its
inverse, which costs what the updates of these keys cost and not what the batch did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from tidalog.api.transitions import parts_of, restricted
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate


def without_keys(change: PredicateDelta, keys: Ids) -> PredicateDelta:
    """A delta without some keys."""
    return restricted(change, [~np.isin(part[0], keys) for part in parts_of(change)])


def keys_of(facts: Iterable[Facts]) -> Ids:
    """The keys of facts, ascending."""
    keys = [part.columns[0] for part in facts if part.count]
    return np.unique(np.concatenate(keys)) if keys else np.empty(0, np.int32)


def update_without(change: EncodedUpdate, keys: Ids) -> EncodedUpdate:
    return EncodedUpdate(list(_other(change.deletions, keys)), list(_other(change.insertions, keys)))


def update_of(change: EncodedUpdate, keys: Ids) -> EncodedUpdate:
    deletions = list(_other(change.deletions, keys, invert=False))
    return EncodedUpdate(deletions, list(_other(change.insertions, keys, invert=False)))


def _other(facts: Iterable[Facts], keys: Ids, *, invert: bool = True) -> Iterator[Facts]:
    for part in facts:
        kept: npt.NDArray[np.bool_] = np.isin(part.columns[0], keys, invert=invert)
        if kept.any():
            yield Facts(part.predicate, [column[kept] for column in part.columns], int(kept.sum()))
