"""Updates that are logged before they are applied: their times, and which of them come too late."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidalog.api.database import Database
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import START


@dataclass(frozen=True)
class Late:
    """An update comes too late: its time, and that of the windows before it."""

    time: int
    now: int


def accept(
    updates: Sequence[EncodedUpdate],
    database: Database,
    waiting: Iterable[EncodedUpdate],
    *,
    goes_on: bool = False,
    may_arrive: bool = True,
) -> list[Late | None]:
    """Gives updates their times, which are logged with them, and finds those that come too late after the
    ones that wait and the ones before them.  The others are accepted for good, whatever `late` is later.

    The first one that `goes_on` is part of an update that was accepted.  Without a time of its own an update
    has that of its arrival if it `may_arrive`, and the present time otherwise."""
    windows = database.windows
    if not database.has_time:
        return [None] * len(updates)
    waiting = list(waiting)
    for update in waiting:
        database.read_time(update)
    now = max([windows.now, *(one.time for one in waiting if one.time is not None)])
    found: list[Late | None] = []
    for index, update in enumerate(updates):
        database.read_time(update)
        if may_arrive and update.time is None and database.is_timed_by_arrival(update):
            update.time, update.arrived = max(now, time.time_ns() // 1000), True
        is_part = goes_on and not index
        oldest = update.oldest
        if oldest is not None and now != START and oldest < now - windows.late and not is_part:
            found.append(Late(oldest, now))
            continue
        update.accepted = True
        now = now if update.time is None else max(now, update.time)
        found.append(None)
    return found
