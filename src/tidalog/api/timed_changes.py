"""Changes of a database with windows: a time becomes insertions and deletions (`maintain.windows`).

Invariant.  Windows and engine change together: what a window plans is applied first, then committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from tidalog.analysis import Analysis
from tidalog.api.diagnostics import FactsOfWindow, TooLate, WindowsFixed, WindowsNotKept
from tidalog.api.encoded_update import net_update
from tidalog.api.outcome import Outcome
from tidalog.engine.bits import EXPLICIT
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.value_kinds import INSTANT_VALUE
from tidalog.maintain.windows.windows import TimedPlan, Windows
from tidalog.model.errors import UsageError
from tidalog.model.facts import Facts
from tidalog.model.program import Program, Window
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import START, duration_text, time_text


def with_windows(windows: Windows, wanted: tuple[Window, ...], engine: EmbeddedEngine) -> Windows:
    """The windows of another program.  Raises `UsageError` if a predicate that has facts gets a window."""
    if wanted == windows.windows:
        return windows
    new = Windows(wanted, windows.late, windows.now, windows.by_arrival)
    for source, stream in windows.streams.items():
        if windows.of_source(source) != new.of_source(source):
            raise UsageError(WindowsFixed(predicate=source))
        new.streams[source] = stream
    known = {window.source for window in windows.windows}
    for source in sorted({window.source for window in wanted} - known):
        if len(engine.ids(source, int(EXPLICIT), int(EXPLICIT))):
            raise UsageError(WindowsFixed(predicate=source))
    return new


def read_time(update: EncodedUpdate, program: Program, dictionary: Dictionary) -> None:
    """The time of an update without one is the latest of the facts that it inserts, if they have times."""
    if update.time is not None or not program.time_arguments:
        return
    terms = dictionary.arrays
    for facts in update.insertions:
        argument = program.time_arguments.get(facts.predicate)
        if argument is None or argument >= len(facts.columns) or not facts.count:
            continue
        ids = facts.columns[argument]
        times = terms.number[ids[terms.value[ids] == INSTANT_VALUE]]
        if len(times):
            latest = int(np.clip(times.max(), START + 1, -START))
            update.time = latest if update.time is None else max(latest, update.time)


def stored_facts(windows: Windows, update: EncodedUpdate, apply: Callable[[list[Facts]], int]) -> int:
    """Insertions from which nothing is derived yet."""
    check(windows, update)
    plan = windows.plan(update)
    new = apply(list(plan.update.insertions))
    windows.commit(plan, update)
    return new


def apply_timed(
    windows: Windows,
    updates: Sequence[EncodedUpdate],
    apply: Callable[[Sequence[EncodedUpdate]], Outcome],
    restore: Callable[[Windows], None],
) -> Outcome:
    """Applies updates as one: each at its own time, which moves the windows."""
    if len(updates) == 1:
        (update,) = updates
        check(windows, update)
        plan = windows.plan(update)
        outcome = apply([plan.update])
        windows.commit(plan, update)
        return _with_expired(outcome, [plan], updates)
    before, plans = deepcopy(windows), list[TimedPlan]()
    try:
        for update in updates:
            check(windows, update)
            plans.append(windows.plan(update))
            windows.commit(plans[-1], update)
        net = net_update([plan.update for plan in plans])
        return _with_expired(apply([replace(net, label=updates[-1].label)]), plans, updates)
    except BaseException:
        restore(before)
        raise


def check(windows: Windows, update: EncodedUpdate) -> None:
    """Raises `UsageError` for an update that comes too late, or that inserts into a window."""
    names = windows.names
    for facts in (*update.insertions, *update.deletions):
        if facts.predicate in names:
            (window,) = (one for one in windows.windows if one.name == facts.predicate)
            raise UsageError(FactsOfWindow(window=window.name, source=window.source))
    if update.time is not None and not update.accepted and windows.is_too_late(update.time):
        raise too_late(windows, update.time, windows.now)


def too_late(windows: Windows, time: int, now: int) -> UsageError:
    late = f"later than {duration_text(windows.late)}" if windows.late else "earlier than that"
    return UsageError(TooLate(time=time_text(time), now=time_text(now), late=late))


def refuse_windows(program: Program, what: str) -> None:
    """Raises `UsageError` (T178) if a program has windows."""
    for window in program.windows:
        raise UsageError(WindowsNotKept(what=what, window=window.name))


def is_monotonic(analysis: Analysis) -> bool:
    """Whether a new fact can end none: no rule negates or aggregates."""
    return not any(rule.negations or rule.aggregates for rule in analysis.rules)


def _with_expired(outcome: Outcome, plans: Sequence[TimedPlan], updates: Sequence[EncodedUpdate]) -> Outcome:
    only_time = not any(update.deletions or update.rules for update in updates)
    expired = [facts for plan in plans for facts in plan.expired]
    return replace(outcome, expired=tuple(expired), only_time=only_time, time=plans[-1].now)
