"""Lists that kernels fill, kept from one update to the next.

A fresh array costs little to ask for and much to touch for the first time: a large one is cleared by the
page, and a page may be two megabytes.  An update that looks at ten facts must not pay for that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import block_of
from tidalog.engine.binding_blocks import LEVEL, new_frame
from tidalog.engine.delta_scan import CURRENT, LIMIT, NEXT, new_sweep
from tidalog.engine.plan_compiler import Code

_STEP: Final = 8  # levels, registers and columns by which rooms differ


class Workspace:
    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.int32]] = {}
        self._rooms: dict[tuple[int, int, int, int], SweepRoom] = {}

    def ids(self, name: str, room: int) -> npt.NDArray[np.int32]:
        """Room for so many facts, of any content; a name is in use once at a time."""
        array = self._arrays.get(name)
        if array is None or len(array) < room:
            array = self._arrays[name] = np.empty(room + room // 2, np.int32)
        return array

    def sweep_room(self, code: Code, block: int, predicates: int) -> SweepRoom:
        """Room to sweep by some plans, in blocks of this size; the same for plans of about one size."""
        shape = _rounded(code.levels), _rounded(code.registers), _rounded(code.arity), block
        room = self._rooms.get(shape)
        if room is None or room.predicates < predicates:
            room = self._rooms[shape] = SweepRoom(*shape, predicates)
        return room

    def forget_rooms(self) -> None:
        """A run that was broken off has left its traces there."""
        self._rooms.clear()


def _rounded(size: int) -> int:
    return -(-size // _STEP) * _STEP


class SweepRoom:
    """A frame and a sweep of one size, with their addresses; nothing is under way between two runs."""

    def __init__(self, levels: int, registers: int, arity: int, block: int, predicates: int) -> None:
        self.predicates = predicates
        self.frame = new_frame(levels, registers, arity, block)
        self.sweep = new_sweep(predicates, block, 0, -1)
        self.frame_at, self.sweep_at = block_of(self.frame), block_of(self.sweep)

    def start(self, begin: int) -> None:
        """Everything from an id on is to be swept."""
        control = self.frame.control
        control[:] = 0
        control[LEVEL] = -1
        control = self.sweep.control
        control[:] = 0
        control[NEXT], control[LIMIT], control[CURRENT] = begin, -1, -1
