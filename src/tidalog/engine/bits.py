"""Status of a fact: one uint16 per fact.

bit        set by                     read by                        cleared by
EXPLICIT   insertion of data          results, re-materialisation    deletion of data
PRESENT    insertion, derivation      every plan whose filter asks   deletion
"""

from __future__ import annotations

from typing import Final

import numpy as np

EXPLICIT: Final = np.uint16(1 << 0)
PRESENT: Final = np.uint16(1 << 1)

STATUS_EXPLICIT: Final = int(EXPLICIT | PRESENT)
STATUS_DERIVED: Final = int(PRESENT)
