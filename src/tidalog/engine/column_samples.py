"""What the planner knows about a column of facts: a sample of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tidalog.model.facts import Ids


@dataclass(frozen=True, slots=True)
class ColumnSample:
    facts: int
    """How many there were."""
    size: int
    times: Mapping[int, int]
    """Value → how often the sample has it."""
    distinct: float
    """Estimated values in the column."""

    def share(self, value: int) -> float:
        """Estimated share of the facts that have a value.  One that the sample has not is no more frequent
        than half a fact of it, nor than the average."""
        times = self.times.get(value)
        return min(1.0 / self.distinct, 0.5 / self.size) if times is None else times / self.size


def sample_of(values: Ids, facts: int) -> ColumnSample:
    """`values` are those of a sample of so many facts."""
    found, times = np.unique(values, return_counts=True)
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    # Values that the sample has not seen, after Chao; a sample without repetitions is of a key.
    unseen = once * (once - 1) / (2.0 * (twice + 1))
    distinct = facts if once == len(values) else len(found) + unseen
    often = times > 1
    return ColumnSample(
        facts,
        len(values),
        dict(zip(found[often].tolist(), times[often].tolist(), strict=True)),
        max(1.0, min(float(facts), distinct)),
    )
