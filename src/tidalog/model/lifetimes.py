"""The expiries of explicit facts that an update sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.model.facts import Facts

Times = npt.NDArray[np.int64]
NEVER_TIME: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Lifetimes:
    now: int
    """The time after the update."""
    changed: Sequence[tuple[Facts, Times]]
    """Explicit facts of windows by time that have other expiries than before, the last of several counts: a
    time that is not after now says that the fact is explicit no longer."""
    everything: Callable[[str], Sequence[tuple[Facts, Times]]]
    """All facts of such a window, as they were at some time since the update before."""
    predicates: frozenset[str]
    """The windows whose facts all expire."""
    counted: frozenset[str] = frozenset()
    """Windows by count: when a fact leaves is not known."""
    restarted: frozenset[str] = frozenset()
    """Streams and windows whose facts may all have other expiries, for windows have come or gone."""
    wanted: bool = False
    """Whether a user asks for expiries, so that they are worked out wherever they can be."""
