"""Changes of a database with windows: a time becomes insertions and deletions (`maintain.windows`).

Invariant.  Windows and engine change together: what a window plans is applied first, then committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np

from tidalog.analysis import Analysis
from tidalog.analysis.diagnostics import WindowDerived, WindowOfTriples
from tidalog.api.diagnostics import FactsOfWindow, TooLate, WindowsNotKept
from tidalog.api.encoded_update import net_update
from tidalog.api.outcome import Outcome
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.windows.changed import WindowChange, changed_windows
from tidalog.maintain.windows.foresight import NOTHING_AHEAD, Ahead, coming
from tidalog.maintain.windows.stream_rows import Times
from tidalog.maintain.windows.windows import TimedPlan, Windows
from tidalog.model.errors import ProgramError, UsageError
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Program, Window
from tidalog.model.undo_journal import UndoJournal
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import START, duration_text, time_text
from tidalog.rdf.layout import Layout


def with_windows(windows: Windows, wanted: tuple[Window, ...], engine: EmbeddedEngine) -> WindowChange:
    """The windows of another program, and what becomes explicit or ceases to be with them."""

    def facts_of(source: str) -> Facts | None:
        return engine.facts(source, explicit=True) if engine.has(source) else None

    return changed_windows(windows, wanted, facts_of)


def check_new_windows(windows: Windows, program: Program, analysis: Analysis, engine: EmbeddedEngine) -> None:
    """Raises `ProgramError` (T173) for a new window whose name has facts already."""
    known = {window.name for window in windows.windows}
    wrong = [
        WindowDerived(window.span, name=analysis.label(window.name), source=analysis.label(window.source))
        for window in program.windows
        if window.name not in known and window.name != window.source
        if engine.has(window.name) and engine.facts(window.name, explicit=True).count
    ]
    if wrong:
        raise ProgramError(wrong)


def read_time(update: EncodedUpdate, program: Program, dictionary: Dictionary) -> None:
    """Facts that an update without a time inserts come at the times that they have; the latest of these is
    that of the update, and of its other facts."""
    if update.time is not None or not program.time_arguments:
        return
    found = dict[str, list[Times]]()
    for facts in update.insertions:
        argument = program.time_arguments.get(facts.predicate)
        if argument is None or argument >= len(facts.columns) or not facts.count:
            continue
        found.setdefault(facts.predicate, []).append(times_of(dictionary, facts.columns[argument]))
    latest = max((int(times.max()) for parts in found.values() for times in parts), default=START)
    if latest != START:
        joined = {name: np.concatenate(parts) for name, parts in found.items()}
        update.time = latest
        update.times = {name: np.where(times == START, latest, times) for name, times in joined.items()}


def times_of(dictionary: Dictionary, ids: Ids) -> Times:
    """The points in time that terms are; START for others."""
    times = np.clip(dictionary.instants(ids), START + 1, -START)
    return np.where(dictionary.is_instant(ids), times, START)


def stored_facts(
    windows: Windows, layout: Layout, update: EncodedUpdate, apply: Callable[[EncodedUpdate], int]
) -> int:
    """Stores insertions, removes what leaves the windows and derives nothing; returns how many are new."""
    check(windows, layout, update)
    plan = windows.plan(update)
    new = apply(plan.update)
    windows.commit(plan, update)
    windows.compact()
    return new


def apply_timed(
    windows: Windows,
    layout: Layout,
    updates: Sequence[EncodedUpdate],
    apply: Callable[[Sequence[EncodedUpdate], Sequence[EncodedUpdate]], Outcome],
    outer: UndoJournal | None = None,
    ahead: Ahead = NOTHING_AHEAD,
) -> Outcome:
    """Applies updates as one: each at its own time, which moves the windows.  An `outer` journal can undo
    that.  `apply` gets what they do, and what the next ones do, as far as marks can use that."""
    journal, plans, before = UndoJournal(), list[TimedPlan](), windows.now if windows.started else None
    updates = joined(windows, updates)
    try:
        for update in updates:
            check(windows, layout, update)
            plans.append(windows.plan(update, journal))
            if len(updates) > 1:
                windows.commit(plans[-1], update, journal)
        net = net_update([plan.update for plan in plans])
        net.label = updates[-1].label
        lives = [part for plan in plans for part in plan.lives]
        net.lifetimes = windows.lifetimes(plans[-1].now, lives)
        if len(updates) == 1:
            windows.commit(plans[0], updates[0], journal)
        pace = 0 if before is None else plans[-1].now - before
        following = coming(windows, ahead, plans[-1], pace, partial(_is_one, windows, layout))
        outcome = apply([net], following)
    except BaseException:
        journal.roll_back()
        raise
    if outer is None:
        windows.compact()
    else:
        outer.on_rollback(journal.roll_back)
    return _with_expired(outcome, plans)


def joined(windows: Windows, updates: Sequence[EncodedUpdate]) -> Sequence[EncodedUpdate]:
    """The same updates, of which those that only insert and follow each other in time are one, whose facts
    have times of their own."""
    if len(updates) == 1 or not windows.started:
        return updates
    found = list[EncodedUpdate]()
    for _, run in groupby(updates, _Runs()):
        found += _joined(list(run))
    return found


class _Runs:
    """A number for each update, the same for those that are one."""

    def __init__(self) -> None:
        self._run, self._last = 0, EncodedUpdate()

    def __call__(self, update: EncodedUpdate) -> int:
        last, self._last = self._last, update
        if (
            last.time is None
            or update.time is None
            or update.time < last.time
            or any(one.deletions or one.rules or one.times is not None for one in (last, update))
            or (last.arrived, last.accepted) != (update.arrived, update.accepted)
        ):
            self._run += 1
        return self._run


def _joined(updates: list[EncodedUpdate]) -> Sequence[EncodedUpdate]:
    if len(updates) == 1:
        return updates
    parts = dict[tuple[str, int], list[tuple[Facts, int]]]()
    for update in updates:
        assert update.time is not None
        for facts in update.insertions:
            if facts.count:
                parts.setdefault((facts.predicate, len(facts.columns)), []).append((facts, update.time))
    if len({name for name, _ in parts}) < len(parts):
        return updates  # one of them does not fit
    insertions, times = list[Facts](), dict[str, Times]()
    for (name, arity), own in parts.items():
        counts = [facts.count for facts, _ in own]
        columns = [np.concatenate([facts.columns[c] for facts, _ in own]) for c in range(arity)]
        insertions.append(Facts(name, columns, sum(counts)))
        times[name] = np.repeat(np.array([time for _, time in own], np.int64), counts)
    return [replace(updates[-1], insertions=insertions, times=times, routed=None)]


def _is_one(windows: Windows, layout: Layout, update: EncodedUpdate) -> bool:
    """Whether windows will take a coming update."""
    for facts in (*update.deletions, *update.insertions):
        stream = windows.streams.get(facts.predicate)
        if stream is not None and facts.count and len(facts.columns) != stream.rows.arity:
            return False
    try:
        check(windows, layout, update)
    except UsageError:
        return False
    return True


def check(windows: Windows, layout: Layout, update: EncodedUpdate) -> None:
    """Raises `UsageError` for an update that comes too late, or that inserts into a window, and for facts of
    a stream that stand for triples."""
    names, sources = windows.names, windows.sources
    for facts in (*update.insertions, *update.deletions):
        if facts.predicate in names:
            (window,) = (one for one in windows.windows if one.name == facts.predicate)
            raise UsageError(FactsOfWindow(window=window.name, source=window.source))
        if len(facts.columns) < 3 and facts.predicate in sources and layout.is_shorthand(facts.predicate):
            raise UsageError(WindowOfTriples(name=f"<{facts.predicate}>"))
    check_time(windows, update)


def check_time(windows: Windows, update: EncodedUpdate) -> None:
    """Raises `UsageError` (T175) for an update that comes too late, or a fact of which does."""
    oldest = update.oldest
    if oldest is not None and not update.accepted and windows.is_too_late(oldest):
        raise too_late(windows, oldest, windows.now)


def too_late(windows: Windows, time: int, now: int) -> UsageError:
    late = f"later than {duration_text(windows.late)}" if windows.late else "earlier than that"
    return UsageError(TooLate(time=time_text(time), now=time_text(now), late=late))


def refuse_windows(program: Program, what: str) -> None:
    """Raises `UsageError` (T178) if a program has windows."""
    for window in program.windows:
        raise UsageError(WindowsNotKept(what=what, window=window.name))


def _with_expired(outcome: Outcome, plans: Sequence[TimedPlan]) -> Outcome:
    expired = [facts for plan in plans for facts in plan.expired]
    return replace(outcome, expired=tuple(expired), time=plans[-1].now)
