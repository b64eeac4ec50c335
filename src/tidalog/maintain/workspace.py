"""Lists that kernels fill, kept from one update to the next.

A fresh array costs little to ask for and much to touch for the first time: a large one is cleared by the
page, and a page may be two megabytes.  An update that looks at ten facts must not pay for that.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Workspace:
    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.int32]] = {}

    def ids(self, name: str, room: int) -> npt.NDArray[np.int32]:
        """Room for so many facts, of any content; a name is in use once at a time."""
        array = self._arrays.get(name)
        if array is None or len(array) < room:
            array = self._arrays[name] = np.empty(room + room // 2, np.int32)
        return array
