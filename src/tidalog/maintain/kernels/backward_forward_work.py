"""The state of Backward/Forward over one component: lists for its sets, and a stack of searches.

Sets are bits: C CHECKED, D DELETED, V PROVED, W WAITING, Y DELAYED.  W is a stack; facts that have left it
otherwise are skipped.  V and D are queues: each fact is matched once (SATURATED and SPREAD).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Block, block_of, follow
from tidalog.engine.jit import inlined, int32_at, int64_at, uint8_at
from tidalog.engine.plan_code import Code
from tidalog.engine.tuple_executor import PLAN, STATE, new_search, search_arrays
from tidalog.maintain.kernels.counters import COUNTERS, Ints
from tidalog.maintain.workspace import Workspace

# control[…]
ORDER: Final = 0  # PAPER, OURS or LAYERS
TOP: Final = 1  # height of the stack of W
PROVEN: Final = 2  # facts in the queue of V
PROVEN_NEXT: Final = 3  # the next one to be matched
GONE: Final = 4  # facts in the queue of D, lower ones too
GONE_NEXT: Final = 5
CHECKED_COUNT: Final = 6  # facts of C in the order they came
CHECKED_NEXT: Final = 7  # the first one that block d has not visited
AFFECTED: Final = 8  # facts that are affected from the start
AFFECTED_NEXT: Final = 9
RECORD_NEXT: Final = 10  # block c: the next link of the derivation log, -1 before the first
BUDGET: Final = 11
LINKS: Final = 12  # whether proofs are noted in the log
MARKS: Final = 13  # whether proofs mark their heads
MARKED_COUNT: Final = 14
LAYER_DONE: Final = 15  # LAYERS: whether the layer is complete, and its facts are checked
CONTROL: Final = 16

# Depths of the search: block a, block c, then one for each fact on the stack.  Views: line 11, 20, 23.
MATCH_DEPTH: Final = 0
SPREAD_DEPTH: Final = 1
STACK_DEPTH: Final = 2
MATCH_VIEW: Final = 0
BACKWARD_VIEW: Final = 1
SPREAD_VIEW: Final = 2
FIRST_STACK: Final = 256


class BackwardForward(NamedTuple):
    stack: Ints
    proven: Ints
    gone: Ints
    checked: Ints
    affected: Ints
    marked: Ints
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


class BackwardForwardWork:
    """Arrays and searches of one component, kept from one update to the next with their addresses."""

    def __init__(self, codes: Sequence[Code]) -> None:
        nothing = np.empty(0, np.int32)
        control, counters = np.zeros(CONTROL, np.int64), np.zeros(COUNTERS, np.int64)
        own = np.empty(0, np.uint8)
        self.work = BackwardForward(*(nothing,) * 6, own, control, counters)
        self.search = new_search(codes, FIRST_STACK + STACK_DEPTH)
        self._rules = codes[SPREAD_VIEW].names
        self.at = block_of(self.work)
        self.search_at: Block = block_of(search_arrays(self.search))

    def start(
        self,
        order: int,
        gone: Ints,
        affected: Ints,
        own: npt.NDArray[np.uint8],
        workspace: Workspace,
        capacity: int,
    ) -> None:
        """`gone`: facts that are deleted; `affected`: facts that must be checked; `capacity`: of every list,
        the facts there are."""
        before = self.work
        queue = workspace.ids("gone", capacity + len(gone))
        queue[: len(gone)] = gone
        control = before.control
        control[:] = 0
        before.counters[:] = 0
        control[ORDER], control[GONE], control[AFFECTED] = order, len(gone), len(affected)
        control[RECORD_NEXT] = -1
        work = BackwardForward(
            before.stack,
            workspace.ids("proven", capacity),
            queue,
            workspace.ids("checked", capacity),
            affected,
            workspace.ids("marked", capacity),
            own,
            control,
            before.counters,
        )
        follow(self.at, before, work)
        self.work = work
        self.search.cursors[:STACK_DEPTH, STATE] = 0
        self.grow_stack(FIRST_STACK)

    def rule(self) -> str:
        """The rule that block c has applied last."""
        number = self.search.cursors[SPREAD_DEPTH, PLAN]
        return self._rules[number] if number < len(self._rules) else ""

    def grow_stack(self, size: int) -> None:
        """Makes the stack at least this high."""
        work, search = self.work, self.search
        if size <= len(work.stack):
            return
        stack = np.empty(size, np.int32)
        stack[: len(work.stack)] = work.stack
        self.work = work._replace(stack=stack)
        self.at = block_of(self.work)
        depth, old = size + STACK_DEPTH, len(search.registers)
        if depth > old:
            registers = np.empty((depth, search.registers.shape[1]), np.int32)
            cursors = np.empty((depth, search.cursors.shape[1]), np.int64)
            registers[:old], cursors[:old] = search.registers, search.cursors
            self.search = search._replace(registers=registers, cursors=cursors)
            self.search_at = block_of(search_arrays(self.search))


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> BackwardForward:
    return BackwardForward(
        int32_at(block[0], block[1]),
        int32_at(block[4], block[5]),
        int32_at(block[8], block[9]),
        int32_at(block[12], block[13]),
        int32_at(block[16], block[17]),
        int32_at(block[20], block[21]),
        uint8_at(block[24], block[25]),
        int64_at(block[28], block[29]),
        int64_at(block[32], block[33]),
    )
