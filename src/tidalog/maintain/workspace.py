"""Scratch buffers of kernels, kept from one update to the next.

A fresh array costs little to ask for and much to touch for the first time: a large one is cleared by the
page, and a page may be two megabytes.  An update that looks at ten facts must not pay for that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import block_of
from tidalog.engine.binding_blocks import LEVEL, new_blocks
from tidalog.engine.delta_scan import CURRENT, LIMIT, NEXT, new_delta_scan
from tidalog.engine.plan_compiler import Code

_STEP: Final = 8  # levels, registers and columns by which buffers differ


class Workspace:
    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.int32]] = {}
        self._scans: dict[tuple[int, int, int, int], ScanBuffers] = {}

    def ids(self, name: str, capacity: int) -> npt.NDArray[np.int32]:
        """A buffer for this many facts, of any content; a name is in use once at a time."""
        array = self._arrays.get(name)
        if array is None or len(array) < capacity:
            array = self._arrays[name] = np.empty(capacity + capacity // 2, np.int32)
        return array

    def scan_buffers(self, code: Code, block: int, predicates: int) -> ScanBuffers:
        """Buffers of a delta scan in blocks of this size; plans of about one size share them."""
        shape = _rounded(code.levels), _rounded(code.registers), _rounded(code.arity), block
        buffers = self._scans.get(shape)
        if buffers is None or buffers.predicates < predicates:
            buffers = self._scans[shape] = ScanBuffers(*shape, predicates)
        return buffers

    def drop_scans(self) -> None:
        """After a run that was broken off, which leaves its state in the buffers."""
        self._scans.clear()


def _rounded(size: int) -> int:
    return -(-size // _STEP) * _STEP


class ScanBuffers:
    """A binding block and a delta scan of one size, with their addresses; idle between two runs."""

    def __init__(self, levels: int, registers: int, arity: int, block: int, predicates: int) -> None:
        self.predicates = predicates
        self.blocks = new_blocks(levels, registers, arity, block)
        self.scan = new_delta_scan(predicates, block, 0, -1)
        self.blocks_at, self.scan_at = block_of(self.blocks), block_of(self.scan)

    def start(self, begin: int) -> None:
        """Every fact from an id on is to be scanned."""
        control = self.blocks.control
        control[:] = 0
        control[LEVEL] = -1
        control = self.scan.control
        control[:] = 0
        control[NEXT], control[LIMIT], control[CURRENT] = begin, -1, -1
