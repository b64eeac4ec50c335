"""What an update does to windows, as insertions and deletions of facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from tidalog.maintain.windows.stream_rows import Flags, StreamRows, Times
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate

Lives = tuple[Ids, Times]
"""Rows and when they leave a window."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """What an update changes in a window."""

    inserted: Ids
    """Rows that enter it."""
    deleted: Ids
    """Rows of it that are deleted."""
    expired: Ids
    """Rows that leave it because they are too old."""
    lives: Lives | None = None
    """Rows that leave it at another time than before, or at once, and when; None: it has no such times."""


def change_of(rows: Ids, was_in: Flags, is_in: Flags, deleted: Ids, lives: Lives | None = None) -> WindowPlan:
    """The change of rows that were in a window and that are in it, some of which are deleted."""
    gone = rows[was_in & ~is_in]
    asked = np.isin(gone, deleted)
    return WindowPlan(rows[is_in & ~was_in], gone[asked], gone[~asked], lives)


class StreamPlan(Protocol):
    @property
    def changes(self) -> Iterable[tuple[str, WindowPlan]]:
        """By predicate: the windows, and the source if it has no window of its own."""


class Stream(Protocol):
    @property
    def rows(self) -> StreamRows: ...


S = TypeVar("S", bound=Stream)
P = TypeVar("P", bound=StreamPlan)


@dataclass(frozen=True)
class PlannedUpdate(Generic[P]):
    update: EncodedUpdate
    """The same update without windows."""
    expired: Sequence[Facts]
    """Those of its deletions that are too old."""
    streams: Mapping[str, P]


def planned(
    update: EncodedUpdate,
    sources: Iterable[str],
    streams: dict[str, S],
    new_stream: Callable[[str, int], S],
    plan_of: Callable[[S, Sequence[Facts], Sequence[Facts]], P],
) -> PlannedUpdate[P]:
    """The plans of streams with these sources for their parts of an update: deletions, insertions.  A stream
    starts with its first facts, which have its arity."""
    by_source: dict[str, tuple[list[Facts], list[Facts]]] = {name: ([], []) for name in sorted(sources)}
    deletions: list[Facts] = []
    insertions: list[Facts] = []
    expired: list[Facts] = []
    for number, (given, plain) in enumerate(((update.deletions, deletions), (update.insertions, insertions))):
        for facts in given:
            own = by_source.get(facts.predicate)
            (plain if own is None else own[number]).append(facts)
    plans: dict[str, P] = {}
    for source, (gone, came) in by_source.items():
        arities = {len(facts.columns) for facts in (*gone, *came) if facts.count}
        if source not in streams:
            if not arities:
                continue
            streams[source] = new_stream(source, arities.pop())
        stream = streams[source]
        plan = plans[source] = plan_of(stream, gone, came)
        for predicate, change in plan.changes:
            for rows, target in (
                (change.inserted, insertions),
                (change.deleted, deletions),
                (change.expired, expired),
            ):
                if len(rows):
                    target.append(stream.rows.facts(predicate, rows))
    deletions += expired
    without = replace(update, deletions=deletions, insertions=insertions, routed=None)
    return PlannedUpdate(without, expired, plans)
