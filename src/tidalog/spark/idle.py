"""The time of an idle stream.

A stream's time moves with its updates.  Where none comes for a while, it goes on with the clock: if times are
those of arrival, to the time of the clock; else from the last time that came, by as much as the clock has
moved since.  An advance is an update without facts, logged and applied like any other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from tidalog.model.window_times import SECOND

CLOCK: Final = "clock"
"""The source of advances in the store."""


class IdleClock:
    """Calls `tick` whenever no update has come for `interval` seconds."""

    def __init__(self, interval: float, tick: Callable[[], None]) -> None:
        self.interval = interval
        self._tick = tick
        self._last = time.monotonic()
        """When the last update came, or the stream began."""
        self._moved = self._last
        """When the time of the windows was right."""
        self._timer: threading.Timer | None = None

    def update_came(self, *, timed: bool) -> None:
        self._last = time.monotonic()
        if timed:
            self._moved = self._last

    def time_after(self, now: int, *, by_arrival: bool) -> int:
        """The time to which windows should move, which are at `now`."""
        if by_arrival:
            return max(now, time.time_ns() // 1000)
        return now + round((time.monotonic() - self._moved) * SECOND)

    def moved(self) -> None:
        """Windows have moved to the time of now."""
        self._moved = time.monotonic()

    @property
    def is_idle(self) -> bool:
        return time.monotonic() - self._last >= self.interval

    def start(self) -> None:
        timer = threading.Timer(self.interval, self._tick)
        timer.daemon = True
        self._timer = timer
        timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
