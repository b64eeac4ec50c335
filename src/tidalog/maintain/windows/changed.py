"""Windows that come and go while a program runs.

A new window starts with what is known of its stream: the facts that one of its windows holds, each with the
time at which it came last; or, if it has had none, all its facts, which come now.  What only a window held
that goes leaves the stream with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tidalog.maintain.windows.contents import Contents, CountContents, TimeContents
from tidalog.maintain.windows.stream_rows import Flags
from tidalog.maintain.windows.windows import Stream, Windows
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Window
from tidalog.model.window_times import expiry_of


@dataclass(frozen=True)
class WindowChange:
    """Other windows, and the explicit facts that come and go with them."""

    windows: Windows
    insertions: Sequence[Facts] = ()
    deletions: Sequence[Facts] = ()
    changed: frozenset[str] = frozenset()
    """Streams with facts whose windows change, and these windows."""


def changed_windows(
    windows: Windows, wanted: tuple[Window, ...], facts_of: Callable[[str], Facts | None]
) -> WindowChange:
    """The windows of another program.  `facts_of` has the explicit facts of a predicate, if there are any.
    What it returns shares the rows of streams with `windows`, which are not used any more."""
    if wanted == windows.windows:
        return WindowChange(windows)
    new = Windows(wanted, windows.late, windows.now, windows.by_arrival)
    insertions: list[Facts] = []
    deletions: list[Facts] = []
    touched: set[str] = set()
    for source in sorted({window.source for window in (*wanted, *windows.windows)}):
        old, own = windows.streams.get(source), new.of_source(source)
        if old is not None and windows.of_source(source) == own:
            new.streams[source] = old
            continue
        stream = old if old is not None else _of_facts(source, facts_of(source), windows.now)
        if stream is None:
            continue
        changed = _with_windows(stream, source, own, windows)
        if own:
            new.streams[source] = changed
        touched.update((source, *(window.name for window in (*own, *windows.of_source(source)))))
        before, after = _held(stream, old is None), _held(changed, is_plain=False)
        every = np.arange(len(stream.rows), dtype=np.int32)
        for name in sorted({*before, *after}):
            was, is_ = (held.get(name, np.zeros(len(every), np.bool_)) for held in (before, after))
            for rows, target in ((every[is_ & ~was], insertions), (every[was & ~is_], deletions)):
                if len(rows):
                    target.append(stream.rows.facts(name, rows))
    return WindowChange(new, insertions, deletions, frozenset(touched))


def _of_facts(source: str, facts: Facts | None, now: int) -> Stream | None:
    """A stream without windows, whose facts have come now."""
    if facts is None or not facts.count:
        return None
    stream = Stream(source, (), len(facts.columns))
    numbers = stream.rows.numbers(facts)
    stream.rows.came[numbers] = now
    return stream


def _with_windows(stream: Stream, source: str, own: Sequence[Window], windows: Windows) -> Stream:
    found = Stream(source, own, stream.rows.arity)
    found.rows = stream.rows
    known = {content.window: content for content in stream.contents}
    held = _in_any(stream)
    found.contents = [known.get(window) or _filled(window, stream, held, windows.now) for window in own]
    return found


def _in_any(stream: Stream) -> Ids:
    """The rows of a stream that one of its windows holds; all if it has none."""
    every = np.arange(len(stream.rows), dtype=np.int32)
    if not stream.contents:
        return every
    held = np.zeros(len(every), np.bool_)
    for content in stream.contents:
        held |= content.is_in(every)
    return every[held]


def _filled(window: Window, stream: Stream, held: Ids, now: int) -> Contents:
    rows = stream.rows
    came = rows.came[held]
    if window.kind != "count":
        content = TimeContents(window, rows)
        content.is_in(held)
        expiry = content.expiry[: len(rows)].copy()
        expiry[held] = [expiry_of(window, time) for time in came.tolist()]
        content.expect(expiry, now)
        return content
    last = CountContents(window, rows)
    last.is_in(held)
    newest = held[np.argsort(came, kind="stable")][-window.length :]
    last.present[newest], last.last[newest] = True, np.arange(len(newest))
    times = rows.came[newest]
    if len(newest):
        starts = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
        for start, part in zip(starts.tolist(), np.split(newest, starts[1:]), strict=True):
            last.updates.append((int(times[start]), start, part))
    last.held = last.next = len(newest)
    return last


def _held(stream: Stream, is_plain: bool) -> dict[str, Flags]:
    """Which rows the predicates of a stream and of its windows have; a plain stream has them all."""
    every = np.arange(len(stream.rows), dtype=np.int32)
    if is_plain:
        return {stream.source: np.ones(len(every), np.bool_)}
    held = {content.window.name: content.is_in(every) for content in stream.contents}
    if stream.source not in held:
        held[stream.source] = np.any([*held.values(), np.zeros(len(every), np.bool_)], axis=0)
    return held
