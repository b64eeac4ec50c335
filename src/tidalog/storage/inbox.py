"""The inbox of a store: batches of updates that are logged first and applied later.

An update of a batch is *logged*, then *applied*, then *acknowledged*: its receiver has processed its delta.
Recovery applies what was acknowledged and leaves the rest in the inbox, so that its deltas are delivered
again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, overload

from tidalog.model.errors import StoreError
from tidalog.model.update import EncodedUpdate, Label
from tidalog.storage.dedup import Content, KnownLabels
from tidalog.storage.diagnostics import UpdatesWaiting


@dataclass(frozen=True, slots=True)
class Position:
    """Which update: its number among all changes of the store, and where it came from."""

    number: int
    source: str
    batch: int
    index: int
    """Its index in its batch, from 0."""
    label: Label | None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of updates that is logged as one record."""

    source: str
    number: int
    """Ascending within its source."""
    first: int
    """The number of its first update among all changes of the store."""
    labels: Sequence[Label | None]
    contents: Sequence[Content] | None = None
    goes_on: bool = False
    """Whether its first update continues the last one before."""

    @property
    def last(self) -> int:
        """The number of its last update; one less than the first if there is none."""
        return self.first + len(self.labels) - 1


@dataclass(slots=True)
class Waiting:
    """An update that is logged and not applied."""

    position: Position
    """Of its last part, if the next batch continued it."""
    update: EncodedUpdate
    first: int
    """The number of its first part."""
    start: tuple[str, int]
    """The file and offset of the record of its first part."""
    until: int
    """The number of the last update that it is applied as one with."""


@dataclass
class SourceState:
    """A source of batches."""

    logged: int
    """Its last batch."""
    applied: int | None = None
    label: Label | None = None
    open: deque[tuple[int, int]] = field(default_factory=deque)
    """Batches that may not be applied yet, with the number of the last update of each."""


class PendingUpdates(Sequence[Position]):
    """The updates that wait, in order.  A live view."""

    def __init__(self, waiting: deque[Waiting]) -> None:
        self._waiting = waiting

    def __len__(self) -> int:
        return len(self._waiting)

    @overload
    def __getitem__(self, index: int, /) -> Position: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Position]: ...
    def __getitem__(self, index: int | slice, /) -> Position | list[Position]:
        if isinstance(index, slice):
            return [waiting.position for waiting in self._waiting][index]
        return self._waiting[index].position

    def __iter__(self) -> Iterator[Position]:
        return (waiting.position for waiting in self._waiting)

    def __repr__(self) -> str:
        return f"<{len(self):,} pending updates>"


class Inbox:
    def __init__(self) -> None:
        self.waiting: deque[Waiting] = deque()
        self.delivered: deque[tuple[int, int]] = deque()
        """First and last number of what was delivered and is not acknowledged, ascending."""
        self.sources: dict[str, SourceState] = {}
        self.last_label: Label | None = None
        self.labels = KnownLabels()

    def add(
        self, batch: Batch, index: int, update: EncodedUpdate, start: tuple[str, int], until: int
    ) -> None:
        """Adds an update of a batch that is logged, or continues the last one."""
        number = batch.first + index
        position = Position(number, batch.source, batch.number, index, batch.labels[index])
        if batch.goes_on and not index and self.waiting:
            last = self.waiting.pop()
            whole = together(last.update, update)
            self.waiting.append(Waiting(position, whole, last.first, last.start, until))
        else:
            self.waiting.append(Waiting(position, update, number, start, until))

    def note_batch(self, batch: Batch, applied_to: int) -> None:
        """Notes a batch that is logged."""
        self.last_applied(batch.source, applied_to)  # which drops batches that are applied
        state = self.sources.setdefault(batch.source, SourceState(batch.number))
        state.logged = batch.number
        state.open.append((batch.number, batch.last))
        for index, label in enumerate(batch.labels):
            if label is not None:
                state.label = self.last_label = label
                self.labels.note(label, batch.contents[index] if batch.contents is not None else None)

    def last_batch(self, source: str) -> int | None:
        """The last batch of a source that is logged."""
        state = self.sources.get(source)
        return state.logged if state is not None else None

    def last_applied(self, source: str, applied_to: int) -> int | None:
        """The last batch of a source all of whose updates are applied or were refused."""
        state = self.sources.get(source)
        if state is None:
            return None
        while state.open and state.open[0][1] <= applied_to:
            state.applied = state.open.popleft()[0]
        return state.applied

    def next_count(self, keep: int, latest_only: bool) -> int:
        """How many updates are applied next, as one; the last `keep` stay."""
        free = len(self.waiting) - keep
        if free <= 0:
            return 0
        first = self.waiting[0]
        if first.until != first.position.number:  # they are logged as one
            return sum(waiting.position.number <= first.until for waiting in self.waiting)
        if not latest_only or first.update.changes_rules:
            return 1
        facts_only = takewhile(lambda waiting: not waiting.update.changes_rules, self.waiting)
        return min(free, sum(1 for _ in facts_only))

    def drop(self, count: int) -> None:
        for _ in range(count):
            self.waiting.popleft()

    def done_to(self, applied_to: int) -> int:
        """The last change that is done: everything before the first that is not acknowledged."""
        return self.delivered[0][0] - 1 if self.delivered else applied_to

    def acknowledge(self, number: int) -> bool:
        """Acknowledges updates up to a number; whether there were any."""
        before = len(self.delivered)
        while self.delivered and self.delivered[0][1] <= number:
            self.delivered.popleft()
        return len(self.delivered) < before

    def check_empty(self, what: str) -> None:
        """Raises `StoreError` if updates wait; `what` is for the message."""
        if self.waiting:
            count = len(self.waiting)
            some = "an update is" if count == 1 else f"{count:,} updates are"
            why = f"{some} logged and not applied, and changes are applied in the order of the log"
            hint = "apply them first: for position, delta in kb.apply_pending(): …"
            raise StoreError(UpdatesWaiting(what=what, why=why, hint=hint))
        self.check_acknowledged(what)

    def check_acknowledged(self, what: str) -> None:
        """Raises `StoreError` if deltas are delivered and not acknowledged."""
        if self.delivered:
            why, hint = (
                "the last deltas are not acknowledged",
                "call kb.acknowledge() once they are processed",
            )
            raise StoreError(UpdatesWaiting(what=what, why=why, hint=hint))

    # --- snapshots ----------------------------------------------------------------------------------

    def to_json(self, applied_to: int) -> dict[str, object]:
        return {
            "label": self.last_label,
            **({"labels": self.labels.to_json()} if self.last_label is not None else {}),
            "sources": {
                name: {
                    "logged": state.logged,
                    "applied": self.last_applied(name, applied_to),
                    "label": state.label,
                    "open": list(state.open),
                }
                for name, state in self.sources.items()
            },
        }

    def restore(
        self, label: Label | None, labels: Mapping[str, Any] | None, sources: Mapping[str, Any]
    ) -> None:
        """The counterpart of `to_json`."""
        self.last_label = label
        if labels is None:  # an earlier version wrote none
            self.labels = KnownLabels(complete=label is None)
        else:
            self.labels = KnownLabels(labels["known"], complete=labels["complete"])
        for name, state in sources.items():
            batches = deque((batch, last) for batch, last in state["open"])
            self.sources[name] = SourceState(state["logged"], state["applied"], state["label"], batches)


def together(part: EncodedUpdate, more: EncodedUpdate) -> EncodedUpdate:
    """One update of two parts: it deletes before it inserts, as if its rows had come at once."""
    deletions, insertions = [*part.deletions, *more.deletions], [*part.insertions, *more.insertions]
    times = [one.time for one in (part, more) if one.time is not None and one.times is None]
    return EncodedUpdate(
        deletions,
        insertions,
        part.rules + more.rules,
        part.label,
        part.dictionary,
        time=max(times, default=None),
        arrived=part.arrived,
        accepted=part.accepted and more.accepted,
    )
