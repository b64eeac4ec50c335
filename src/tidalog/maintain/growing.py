"""Semi-naive insertion during an update: from the new facts of lower components and of this one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.engine.bits import STATUS_NEW
from tidalog.engine.compile import Code
from tidalog.engine.frame import (
    BLOCK,
    COUNTED,
    IN_UPDATE,
    LEVEL,
    MODE,
    OBSERVED,
    SPARED,
    SPARED_AT,
    Frame,
    new_frame,
)
from tidalog.engine.sweep import CURRENT, ROUND, new_sweep, run_sweep
from tidalog.maintain.counting import room_for_counts
from tidalog.maintain.node import Node
from tidalog.maintain.run import Runner

_NONE: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
_SMALL_BLOCK = 512  # updates are small, and a frame's memory is touched for the first time in each


def _frame(node: Node, code: Code, block: int) -> Frame:
    """A frame of this size, used again: its memory has been touched."""
    shape = code.levels, code.registers, code.arity, block
    if shape not in node.frames:
        node.frames[shape] = new_frame(*shape)
    frame = node.frames[shape]
    frame.control[:] = 0
    frame.control[LEVEL] = -1
    return frame


def grow(
    node: Node,
    runner: Runner,
    begin: int,
    observed: int = 0,
    spared: npt.NDArray[np.uint64] = _NONE,
) -> None:
    """Derives what follows from the facts with ids from `begin` on; where derivations are counted, these are
    too.  `spared`: hashes of facts that get no mark, see `engine.passing`."""
    engine = node.engine
    code, plans = node.plans.growing(observed != 0)
    block = BLOCK if len(engine.store) - begin > _SMALL_BLOCK else _SMALL_BLOCK
    frame = _frame(node, code, block)
    frame.control[MODE], frame.control[OBSERVED] = IN_UPDATE, observed
    frame.control[SPARED_AT], frame.control[SPARED] = spared.ctypes.data, len(spared)
    sweep = new_sweep(len(engine.names) + 1, block, begin, -1)
    control = sweep.control

    def step() -> int:
        frame.control[COUNTED] = room_for_counts(node) if node.counted else 0
        return int(
            run_sweep(
                engine.store.arrays,
                engine.dictionary.arrays,
                engine.indexes.meta,
                plans,
                frame,
                sweep,
                engine.log.arrays,
                STATUS_NEW,
            )
        )

    runner.drive(
        step,
        code,
        frame,
        lambda: code.names[control[CURRENT]] if control[CURRENT] >= 0 else "",
        lambda: int(control[ROUND]),
    )
    runner.stats.rounds += int(control[ROUND])
