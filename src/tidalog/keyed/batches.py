"""A batch of rows, split into sub-batches that are applied one after the other.

The rows of a key with one label are one update of it.  The i-th new update of a key belongs to sub-batch i:
the updates of a sub-batch are of different keys, do not see each other, and are applied together.

A rule edit has a sub-batch of its own.  Updates with lower labels, of any key, are in sub-batches before it,
those with its label in it, and all others in sub-batches after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.io.update_times import timed
from tidalog.model.facts import Ids

Numbers = npt.NDArray[np.int64]
NO_EDITS: Final[Numbers] = np.empty(0, np.int64)


@dataclass(frozen=True)
class SubBatches:
    """`rows` are the new rows, those of a key together and in order; `sub_batch` is that of each.

    The updates are sorted by key and sub-batch: `keys`, `sub_batches`, and `firsts`, the position in `rows`
    of a row of each, which has its label.
    """

    rows: Numbers
    sub_batch: Numbers
    keys: Ids
    sub_batches: Numbers
    firsts: Numbers
    skipped: int
    """Rows of updates that are not new."""
    rule_edits: Numbers
    """The sub-batches in which rules change."""

    @property
    def count(self) -> int:
        return 1 + max(int(self.sub_batches.max(initial=-1)), int(self.rule_edits.max(initial=-1)))

    def update_of(self, keys: Ids, sub_batches: Numbers) -> Numbers:
        """The update of each key in a sub-batch; it must have one."""
        width = self.count
        known = self.keys.astype(np.int64) * width + self.sub_batches
        result: Numbers = np.searchsorted(known, keys.astype(np.int64) * width + sub_batches)
        return result

    def last_updates(self) -> tuple[Ids, Numbers]:
        """The keys of the batch, ascending, and the last update of each."""
        if not len(self.keys):
            return self.keys, np.empty(0, np.int64)
        last = np.flatnonzero(np.concatenate([self.keys[1:] != self.keys[:-1], [True]]))
        return self.keys[last], last


def split_batch(
    keys: Ids, codes: Numbers, new: npt.NDArray[np.bool_], edits: npt.NDArray[np.int64] = NO_EDITS
) -> SubBatches:
    """`codes` are numbers in the order of the labels; only rows that are `new` count.  `edits` are the codes
    of updates that change rules, ascending."""
    rows = np.flatnonzero(new)
    rows = rows[np.lexsort((codes[rows], keys[rows]))]
    own, label = keys[rows], codes[rows]
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return SubBatches(rows, nothing, own, nothing, nothing, len(keys), np.arange(len(edits)))
    other_key = np.concatenate([[True], own[1:] != own[:-1]])
    begins = other_key.copy()
    begins[1:] |= label[1:] != label[:-1]
    update = np.cumsum(begins) - 1
    firsts = np.flatnonzero(begins)
    first_of_key = np.maximum.accumulate(np.where(other_key, update, 0))
    sub_batch = update - first_of_key
    of_edits = NO_EDITS
    if len(edits):
        sub_batch, of_edits = _around(edits, label, other_key, update)
    skipped = len(keys) - len(rows)
    return SubBatches(rows, sub_batch, own[firsts], sub_batch[firsts], firsts, skipped, of_edits)


def _around(
    edits: Numbers, label: Numbers, other_key: npt.NDArray[np.bool_], update: Numbers
) -> tuple[Numbers, Numbers]:
    """The sub-batches of rows before, in and after rule edits; and those of the edits."""
    part = np.searchsorted(edits, label) + np.searchsorted(edits, label, side="right")
    begins = other_key.copy()
    begins[1:] |= part[1:] != part[:-1]
    within = update - np.maximum.accumulate(np.where(begins, update, 0))
    lengths = np.zeros(2 * len(edits) + 1, np.int64)
    lengths[1::2] = 1
    np.maximum.at(lengths, part, within + 1)
    ends = np.cumsum(lengths)
    return within + (ends - lengths)[part], ends[1::2] - 1


def ranks_of(keys: Ids, times: Numbers) -> Numbers:
    """The number of each row's time, from 1, among those of its key; rows without one have the latest."""
    ranks, times = np.empty(len(keys), np.int64), timed(times, keys)
    order = np.lexsort((times, keys))
    own, times = keys[order], times[order]
    other_key = np.ones(len(own), np.bool_)
    other_key[1:] = own[1:] != own[:-1]
    begins = other_key.copy()
    begins[1:] |= times[1:] != times[:-1]
    number = np.cumsum(begins)
    ranks[order] = number - np.maximum.accumulate(np.where(other_key, number, 0)) + 1
    return ranks


def codes_of(labels: pa.Array) -> Numbers:
    """Numbers in the order of labels: an integer is its own code, a text has its rank among all."""
    if not pa.types.is_integer(labels.type):
        distinct = pc.unique(labels)
        distinct = distinct.take(pc.sort_indices(distinct))
        labels = pc.index_in(labels, value_set=distinct)
    codes: Numbers = labels.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return codes
