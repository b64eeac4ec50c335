"""What the next updates will do to windows, for marks.

Announced updates become what they will do at their times.  Where none is announced, the next are expected
to come as fast as the last one did, and to bring nothing: what windows lose by then is known.  If time goes
on otherwise, or facts come again, that was wrong, and marks only cost something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tidalog.maintain.marks.base import Marks
from tidalog.maintain.windows.windows import TimedPlan, Windows
from tidalog.model.undo_journal import UndoJournal
from tidalog.model.update import EncodedUpdate


@dataclass(frozen=True)
class Ahead:
    """What is known of the next updates, and who can use it."""

    announced: Sequence[EncodedUpdate] = ()
    marks: Marks | None = None
    foresees: bool = False
    """Whether marks that are not announced are worth their price."""


NOTHING_AHEAD: Final = Ahead()


def coming(
    windows: Windows, ahead: Ahead, last: TimedPlan, pace: int, fits: Callable[[EncodedUpdate], bool]
) -> list[EncodedUpdate]:
    """What the updates do that come next, without times and windows.  The windows have the content after the
    `last` update, which moved time by `pace`, and keep it.  `fits`: whether an announced update is one."""
    marks = ahead.marks
    if marks is None or not marks.looks_ahead or not marks.look_ahead:
        return []
    next_ones = list(ahead.announced[: marks.look_ahead])
    if not next_ones and ahead.foresees:
        next_ones = _foreseen(marks, last, pace)
    found, journal = list[EncodedUpdate](), UndoJournal()
    try:
        for update in next_ones:
            if not fits(update):
                break
            if update.time is None and windows.by_arrival:
                update = replace(update, time=windows.now + pace)
            plan = windows.plan(update)
            found.append(plan.update)
            windows.commit(plan, update, journal)
    finally:
        journal.roll_back()
    return found


def _foreseen(marks: Marks, last: TimedPlan, pace: int) -> list[EncodedUpdate]:
    """Updates that only move time, as far as windows lose something by that which marks can use."""
    if marks.foresees == "nothing" or pace <= 0:
        return []
    times = [last.now + pace * number for number in range(1, marks.look_ahead + 1)]
    if marks.foresees == "new" and not any(
        ((last.now < when) & (when <= times[-1])).any() for _, when in last.lives
    ):
        return []
    return [EncodedUpdate(time=time, accepted=True) for time in times]
