"""Scratch buffers of kernels, kept from one update to the next.

A fresh array costs little to ask for and much to touch for the first time: a large one is cleared by the
page, and a page may be two megabytes.  An update of ten facts must not pay for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Owner
from tidalog.engine.binding_blocks import new_blocks
from tidalog.engine.delta_scan import NEXT, new_delta_scan
from tidalog.engine.plan_code import Code

T = TypeVar("T")
_STEP: Final = 7  # levels, registers and columns of buffers are one less than a multiple of 8


class Workspace:
    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.int32]] = {}
        self._scans: dict[tuple[int, int, int, int], ScanBuffers] = {}
        self._work: dict[type, object] = {}
        self._own = np.zeros(0, np.uint8)
        self._owned: Sequence[int] = ()

    def own(self, owned: Sequence[int], predicates: int) -> npt.NDArray[np.uint8]:
        """[predicate]: whether it is one of these, the predicates of the component at work.  All components
        share one array."""
        if len(self._own) < predicates:
            self._own, self._owned = np.zeros(predicates + predicates // 2, np.uint8), ()
        if self._owned is not owned:
            own = self._own
            for number in self._owned:
                own[number] = 0
            for number in owned:
                own[number] = 1
            self._owned = owned
        return self._own

    def ids(self, name: str, capacity: int) -> npt.NDArray[np.int32]:
        """A buffer for this many facts, of any content; a name is in use once at a time."""
        array = self._arrays.get(name)
        if array is None or len(array) < capacity:
            array = self._arrays[name] = np.empty(capacity + capacity // 2, np.int32)
        return array

    def work(self, kind: type[T]) -> T:
        """The state of an algorithm, for one component at a time."""
        work = self._work.get(kind)
        if work is None:
            work = self._work[kind] = kind()
        return cast(T, work)

    def scan_buffers(self, code: Code, block: int, predicates: int) -> ScanBuffers:
        """Buffers of a delta scan in blocks of this size; plans of about one size share them."""
        shape = code.levels | _STEP, code.registers | _STEP, code.arity | _STEP, block
        buffers = self._scans.get(shape)
        if buffers is None or buffers.predicates < predicates:
            buffers = self._scans[shape] = ScanBuffers(*shape, predicates)
        return buffers

    def drop_scans(self) -> None:
        """After a run that was broken off, which leaves its state in the buffers."""
        self._scans.clear()


class ScanBuffers:
    """A binding block and a delta scan of one size; idle between two runs."""

    def __init__(self, levels: int, registers: int, arity: int, block: int, predicates: int) -> None:
        self.predicates = predicates
        self.blocks = Owner(new_blocks(levels, registers, arity, block))
        self.scan = Owner(new_delta_scan(predicates, block, 0, -1))
        self._idle_blocks = self.blocks.arrays.control.copy()
        self._idle_scan = self.scan.arrays.control.copy()

    def start(self, begin: int) -> None:
        """Every fact from an id on is to be scanned."""
        self.blocks.arrays.control[:], control = self._idle_blocks, self.scan.arrays.control
        control[:] = self._idle_scan
        control[NEXT] = begin
