"""What kernels of deletion count, and what they share."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import int64
from tidalog.engine.derivation_log import head_of_link
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.jit import inlined

Ints = npt.NDArray[np.int32]

# counters[…]: what an update has done, by the names of ALGORITHMS; see `Counters`.
DELETIONS: Final = 0  # present facts that a deletion made affected (a head found by block c, line 23)
BACKWARD: Final = 1  # instances visited to prove their head
FORWARD: Final = 2  # instances of proved facts that proved another one
DERIVATIONS: Final = 3  # all instances found
CHECKS: Final = 4  # facts checked for another proof
FROM_RECORD: Final = 5  # instances found in the derivation log
SPARED: Final = 6  # facts deleted without a search, because the derivation log had no instance left
COUNTERS: Final = 7

INSTANCES_PER_UNIT: Final = 2  # log2 of the instances that cost as much as one fact


def new_counters() -> npt.NDArray[np.int64]:
    return np.zeros(COUNTERS, np.int64)


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def spend(control: np.ndarray, budget: int, counters: np.ndarray, billed: int) -> int:
    """Takes a unit, and what the instances found since `billed` cost, from `control[budget]`; how many
    instances are billed now."""
    found = int64(counters[DERIVATIONS])
    control[budget] -= 1 + ((found - billed) >> INSTANCES_PER_UNIT)
    return found


@inlined
def recorded_head(facts: Facts, derivation_log: np.ndarray, own: np.ndarray, link: int) -> int:
    """The head of a live instance in the derivation log, if the component derives it; else -1."""
    at = head_of_link(derivation_log, link)
    head = int64(-1)
    if at >= 0 and own[facts.arguments[at - 1]] != 0:
        head = int64(facts.arguments[at - HEADER])
    return head
