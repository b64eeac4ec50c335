"""Pairs of facts that `engine.observing` notes, each one number: fact << 32 | head.

Both are named by where their rows start, which a new id does not change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.uint32]
Pairs = npt.NDArray[np.uint64]

_HALF = np.uint64(32)


def facts_of(pairs: Pairs) -> Places:
    return (pairs >> _HALF).astype(np.uint32)


def heads_of(pairs: Pairs) -> Places:
    return (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
