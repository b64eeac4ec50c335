"""Pairs of facts that `engine.emit` notes, each one number: fact << 32 | head, both by offset."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.maintain.marks.base import Offsets

Pairs = npt.NDArray[np.uint64]

_HALF = np.uint64(32)


def facts_of(pairs: Pairs) -> Offsets:
    return (pairs >> _HALF).astype(np.uint32)


def heads_of(pairs: Pairs) -> Offsets:
    return (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
