"""What an update did, by the names that every strategy uses."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tidalog.maintain.kernels.counters import BACKWARD, CHECKS, DELETIONS, DERIVATIONS, FORWARD, FROM_RECORD


@dataclass(slots=True)
class Counters:
    deletions: int = 0
    """Present facts that a deletion made affected (paper 001, line 23), if no mark had named them."""
    backward: int = 0
    """Instances that backward chaining looked at and that gave it at least one fact to check (line 20)."""
    forward: int = 0
    """Instances of proved facts that proved another fact (line 11)."""
    insertions: int = 0
    """Implicit facts inserted (line 28); B/F counts what it deletes and inserts in one update too."""
    marks_explicit: int = 0
    """Explicit facts that are marked when the next update starts."""
    marks_implicit: int = 0
    """Implicit facts that are marked when the next update starts."""
    marks_positive: int = 0
    """Deleted facts that are known to come back with the next update (DRed)."""
    derivations: int = 0
    """Rule instances found, in all."""
    checked: int = 0
    """Facts that were looked at for another proof."""
    rederivations: int = 0
    """Facts that other strategies deleted and derived again within the update."""
    recorded: int = 0
    """Instances of deleted facts that were on record, so that no rule was applied to find them."""
    seconds: float = 0.0

    def add(self, other: Counters) -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def add_kernel(self, found: npt.NDArray[np.int64]) -> None:
        """What a kernel counted."""
        numbers: list[int] = found.tolist()
        self.deletions += numbers[DELETIONS]
        self.backward += numbers[BACKWARD]
        self.forward += numbers[FORWARD]
        self.derivations += numbers[DERIVATIONS]
        self.checked += numbers[CHECKS]
        self.recorded += numbers[FROM_RECORD]

    def as_dict(self) -> dict[str, int | float]:
        return {one.name: getattr(self, one.name) for one in fields(self)}
