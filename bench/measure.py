"""What one process measures about itself: time by phase, memory by moment.

CPU time is that of all threads and of ended child processes, user and system together.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil


def cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """The largest resident size so far, of this process or of its largest child.

    Linux hands `ru_maxrss` of the parent down to a new process, which would show the parent's size;
    the high-water mark in /proc starts again and is used where there is one.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return max(int(line.split()[1]) * 1024, children)
    except FileNotFoundError:
        pass
    return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, children)


@dataclass
class Phase:
    """One phase of a run.  Entering it twice adds up."""

    wall: float = 0.0
    cpu: float = 0.0


@dataclass
class Stopwatch:
    """Phases by name: `start` (imports), `load`, `evaluate`.  A runner calls `finish` when its results
    are complete, so that the memory for checking them is not counted; `notes` are figures of its own."""

    phases: dict[str, Phase] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    final_bytes: int = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        phase = self.phases.setdefault(name, Phase())
        wall, cpu = time.perf_counter(), cpu_seconds()
        try:
            yield
        finally:
            phase.wall += time.perf_counter() - wall
            phase.cpu += cpu_seconds() - cpu

    def finish(self) -> None:
        self.peak_bytes, self.final_bytes = peak_bytes(), resident_bytes()
