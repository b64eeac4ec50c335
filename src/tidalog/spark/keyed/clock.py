"""The clock of a keyed stream: while it is idle, the time of all keys moves with it.

A file in the checkpoint has the time of the stream after the last batch, when a fact of a key expires next,
and the last advance.  The stream reads advances from it (advances.py), so one that is written is applied with
the next micro-batch, exactly once.  An advance is written only if a fact expires by it.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from tidalog.keyed.outcome import Clock
from tidalog.model.window_times import NEVER, START
from tidalog.spark.idle import IdleClock
from tidalog.storage.files import replace_file

_NAME: Final = "tidalog-clock.json"


@dataclass(frozen=True)
class ClockState:
    now: int = START
    """The time of the stream."""
    due: int = NEVER
    """When a fact of a key expires next."""
    advance: int = START
    """The time to which all keys move, or have moved."""
    written: int = 0
    """When that was written, in milliseconds since 1970."""


def read_clock(folder: Path) -> ClockState:
    try:
        return ClockState(**json.loads((folder / _NAME).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ClockState()


def copy_clock(old: Path, new: Path) -> None:
    """The clock goes on in another folder."""
    if (old / _NAME).exists():
        shutil.copy(old / _NAME, new / _NAME)


class KeyedClock:
    """Not thread-safe.  `interval` is the number of seconds without rows after which time moves."""

    def __init__(self, folder: Path, interval: float | None, *, by_arrival: bool) -> None:
        self._path = folder / _NAME
        self._state = read_clock(folder)
        self._interval = interval
        self._by_arrival = by_arrival
        self._idle: IdleClock | None = None

    def start(self, tick: Callable[[], None]) -> None:
        """`tick` is called after every interval without rows; `again` must follow."""
        if self._interval is not None:
            self._idle = IdleClock(self._interval, tick)
            self._idle.start()

    def again(self) -> None:
        if self._idle is not None:
            self._idle.start()

    def stop(self) -> None:
        if self._idle is not None:
            self._idle.stop()

    def batch_came(self, reports: Iterable[Clock], *, rows: bool) -> None:
        """A batch is applied, in which buckets reported these times; `rows` says whether it had rows."""
        reports = list(reports)
        if self._idle is not None and rows:
            self._idle.update_came(timed=bool(reports))
        if reports:
            now, due = max(one.now for one in reports), min(one.due for one in reports)
            self._write(replace(self._state, now=now, due=due))

    @property
    def is_due(self) -> bool:
        """Whether nothing has come for long enough."""
        return self._idle is not None and self._idle.is_idle

    def advance(self) -> bool:
        """Moves time if a fact expires by it, and nothing moves already; returns whether it does."""
        state, idle = self._state, self._idle
        if idle is None or state.now == START or state.advance > state.now:
            return False
        moment = idle.time_after(state.now, by_arrival=self._by_arrival)
        if state.due > moment:
            return False
        self._write(replace(state, advance=moment, written=time.time_ns() // 1_000_000))
        idle.moved()
        return True

    def _write(self, state: ClockState) -> None:
        self._state = state
        replace_file(self._path, json.dumps(asdict(state)).encode())
