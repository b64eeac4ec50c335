"""The state of Backward/Forward over one component: lists for its sets, and a stack of searches.

Sets are bits: C CHECKED, D DELETED, V PROVED, W WAITING, Y DELAYED.  W is a stack; facts that have left it
otherwise are skipped.  V and D are queues: each fact is matched once (SATURATED and SPREAD).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Owner
from tidalog.engine.array_types import Int32s, Int64s, Uint8s
from tidalog.engine.plan_code import Code
from tidalog.engine.tuple_executor import PLAN, STATE, new_search
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
OBSERVES: Final = 12  # what is done with the bodies of proofs: MARK or LINK of `engine.emit`, or nothing
MARKED_COUNT: Final = 13
LAYER_DONE: Final = 14  # LAYERS: whether the layer is complete, and its facts are checked
CONTROL: Final = 15

# Depths of the search: block a, block c, then one for each fact on the stack.  Views: line 11, 20, 23.
MATCH_DEPTH: Final = 0
SPREAD_DEPTH: Final = 1
STACK_DEPTH: Final = 2
MATCH_VIEW: Final = 0
BACKWARD_VIEW: Final = 1
SPREAD_VIEW: Final = 2
FIRST_STACK: Final = 256


class BackwardForward(NamedTuple):
    stack: Int32s
    proven: Int32s
    gone: Int32s
    checked: Int32s
    affected: Int32s
    marked: Int32s
    own: Uint8s  # [predicate]: whether the component derives it
    control: Int64s
    counters: Int64s


class BackwardForwardWork(Owner[BackwardForward]):
    """Arrays and searches of one component, kept from one update to the next."""

    def __init__(self, codes: Sequence[Code]) -> None:
        nothing = np.empty(0, np.int32)
        control, counters = np.zeros(CONTROL, np.int64), np.zeros(COUNTERS, np.int64)
        own = np.empty(0, np.uint8)
        super().__init__(BackwardForward(*(nothing,) * 6, own, control, counters))
        self.search = Owner(new_search(codes, FIRST_STACK + STACK_DEPTH))
        self._rules = codes[SPREAD_VIEW].names

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
        before = self.arrays
        queue = workspace.ids("gone", capacity + len(gone))
        queue[: len(gone)] = gone
        control = before.control
        control[:] = 0
        before.counters[:] = 0
        control[ORDER], control[GONE], control[AFFECTED] = order, len(gone), len(affected)
        control[RECORD_NEXT] = -1
        self.replace(
            BackwardForward(
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
        )
        self.search.arrays.cursors[:STACK_DEPTH, STATE] = 0
        self.grow_stack(FIRST_STACK)

    def rule(self) -> str:
        """The rule that block c has applied last."""
        number = self.search.arrays.cursors[SPREAD_DEPTH, PLAN]
        return self._rules[number] if number < len(self._rules) else ""

    def grow_stack(self, size: int) -> None:
        """Makes the stack at least this high."""
        work, search = self.arrays, self.search.arrays
        if size <= len(work.stack):
            return
        stack = np.empty(size, np.int32)
        stack[: len(work.stack)] = work.stack
        self.replace(work._replace(stack=stack))
        depth, old = size + STACK_DEPTH, len(search.registers)
        if depth > old:
            registers = np.empty((depth, search.registers.shape[1]), np.int32)
            cursors = np.empty((depth, search.cursors.shape[1]), np.int64)
            registers[:old], cursors[:old] = search.registers, search.cursors
            self.search.replace(search._replace(registers=registers, cursors=cursors))
