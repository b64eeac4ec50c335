"""Rows of many keys in the order of their updates.

The rows of a key with one label are an update of it.  Its i-th new update in a batch belongs to round i: the
updates of one round are of different keys, do not see each other, and are applied together.

Where rules change in between, rounds begin anew: what comes before the change is in rounds before that of the
change, whatever key it is of, and what comes behind it in rounds behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.model.facts import Ids

Numbers = npt.NDArray[np.int64]
NO_CHANGES: Final[Numbers] = np.empty(0, np.int64)


@dataclass(frozen=True)
class Rounds:
    """`rows` are the new rows, those of a key together and in order; `round` is the round of each.

    The updates, one behind the other by key and round: `keys`, and `firsts`, the place in `rows` of a row of
    each, which has its label.
    """

    rows: Numbers
    round: Numbers
    keys: Ids
    rounds: Numbers
    firsts: Numbers
    skipped: int
    """Rows of updates that are not new."""
    changes: Numbers
    """The rounds in which rules change."""

    @property
    def count(self) -> int:
        return 1 + max(int(self.rounds.max(initial=-1)), int(self.changes.max(initial=-1)))

    def update_of(self, keys: Ids, rounds: Numbers) -> Numbers:
        """The update of each key in a round; it must have one."""
        width = self.count
        known = self.keys.astype(np.int64) * width + self.rounds
        result: Numbers = np.searchsorted(known, keys.astype(np.int64) * width + rounds)
        return result


def ranked(
    keys: Ids, codes: Numbers, new: npt.NDArray[np.bool_], changes: npt.NDArray[np.int64] = NO_CHANGES
) -> Rounds:
    """`codes` are numbers in the order of the labels; only rows that are `new` count.  `changes` are those of
    updates that change rules, ascending: the updates with the same label belong to them."""
    rows = np.flatnonzero(new)
    rows = rows[np.lexsort((codes[rows], keys[rows]))]
    own, label = keys[rows], codes[rows]
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return Rounds(rows, nothing, own, nothing, nothing, len(keys), np.arange(len(changes)))
    other_key = np.concatenate([[True], own[1:] != own[:-1]])
    begins = other_key.copy()
    begins[1:] |= label[1:] != label[:-1]
    update = np.cumsum(begins) - 1
    firsts = np.flatnonzero(begins)
    first_of_key = np.maximum.accumulate(np.where(other_key, update, 0))
    rounds = update - first_of_key
    at = NO_CHANGES
    if len(changes):
        rounds, at = _around(changes, label, other_key, update)
    return Rounds(rows, rounds, own[firsts], rounds[firsts], firsts, len(keys) - len(rows), at)


def _around(
    changes: Numbers, label: Numbers, other_key: npt.NDArray[np.bool_], update: Numbers
) -> tuple[Numbers, Numbers]:
    """The rounds of rows whose updates come before, with, between and behind changes of rules; and those of
    the changes."""
    part = np.searchsorted(changes, label) + np.searchsorted(changes, label, side="right")
    begins = other_key.copy()
    begins[1:] |= part[1:] != part[:-1]
    rounds = update - np.maximum.accumulate(np.where(begins, update, 0))
    lengths = np.zeros(2 * len(changes) + 1, np.int64)
    lengths[1::2] = 1
    np.maximum.at(lengths, part, rounds + 1)
    ends = np.cumsum(lengths)
    return rounds + (ends - lengths)[part], ends[1::2] - 1


def codes_of(labels: pa.Array) -> Numbers:
    """Numbers in the order of labels: integers are that themselves, of a text its place among all."""
    if not pa.types.is_integer(labels.type):
        distinct = pc.unique(labels)
        distinct = distinct.take(pc.sort_indices(distinct))
        labels = pc.index_in(labels, value_set=distinct)
    codes: Numbers = labels.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return codes
