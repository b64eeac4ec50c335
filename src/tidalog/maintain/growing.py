"""Semi-naive insertion during an update: from the new facts of lower components and of this one, and from
facts that are deleted where they are negated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tidalog.builtins import NO_FUNCTIONS, PythonFunction
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
from tidalog.engine.machine import run_frame
from tidalog.engine.sweep import CURRENT, ROUND, new_sweep, run_sweep, start_plan
from tidalog.maintain.counting import room_for_counts
from tidalog.maintain.memos import answer_all
from tidalog.maintain.node import Node
from tidalog.maintain.run import Runner
from tidalog.maintain.transaction import Transaction

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


def grow_from_deleted(node: Node, runner: Runner, change: Transaction) -> None:
    """Derives what deleted facts have forbidden.  What follows from that is for `grow` to find."""
    if not any(number in change.deleted for number in node.negated):
        return
    engine = node.engine
    code, plans = node.plans.allowing()
    for number in node.negated:
        deleted = change.deleted_of([number])
        for plan in plans.order[plans.first[number] : plans.first[number + 1]].tolist():
            for begin in range(0, len(deleted), BLOCK):
                block = np.ascontiguousarray(deleted[begin : begin + BLOCK])
                frame = _frame(node, code, BLOCK if len(block) > _SMALL_BLOCK else _SMALL_BLOCK)
                frame.control[MODE] = IN_UPDATE
                at = int(plans.starts[plan])
                start_plan(engine.store.arrays, plans.filters, plans.code, at, block, len(block), frame)
                runner.drive(
                    lambda frame=frame: int(  # type: ignore[misc]
                        run_frame(
                            engine.store.arrays,
                            engine.dictionary.arrays,
                            engine.indexes.meta,
                            plans.filters,
                            plans.code,
                            frame,
                            engine.log.arrays,
                            STATUS_NEW,
                        )
                    ),
                    code,
                    frame,
                    lambda plan=plan: code.names[plan],  # type: ignore[misc]
                    lambda: 0,
                )


def grow(
    node: Node,
    runner: Runner,
    begin: int,
    observed: int = 0,
    spared: npt.NDArray[np.uint64] = _NONE,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
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

    memos, answered = node.stage.memos, [begin] * len(node.stage.memos)
    while True:
        runner.drive(
            step,
            code,
            frame,
            lambda: code.names[control[CURRENT]] if control[CURRENT] >= 0 else "",
            lambda: int(control[ROUND]),
        )
        if not answer_all(engine, runner, functions, memos, answered, STATUS_NEW):
            break
    runner.stats.rounds += int(control[ROUND])
