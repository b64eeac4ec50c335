"""Recovery: what a store holds, and which changes of its log to apply again.

Every change up to the last one that is done is applied or skipped as it was.  After it there is at most one
change that was being applied when the writer ended, or those of a block that had not ended, which are
dropped, or updates of batches, which wait in the inbox.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tidalog.engine.dictionary import Dictionary
from tidalog.model.errors import StoreError
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate
from tidalog.storage import records
from tidalog.storage.inbox import Batch, Inbox, together
from tidalog.storage.lock import is_locked
from tidalog.storage.manifest import SnapshotEntry
from tidalog.storage.records import Record
from tidalog.storage.segments import Entry, LogTail, undecodable
from tidalog.storage.snapshot import Snapshot
from tidalog.storage.store import Store, StoreReader
from tidalog.storage.wal import WriteAheadLog

_LOG: Final = logging.getLogger("tidalog")


@dataclass(frozen=True)
class Content:
    """What a store holds: the newest intact snapshot, and the log after it."""

    snapshot: Snapshot | None
    damaged: list[tuple[SnapshotEntry, StoreError]]
    """Newer snapshots that cannot be read."""
    tail: LogTail
    has_writer: bool
    """Whether another process is writing to it."""
    truncated: int
    """Bytes of an incomplete record that are cut off."""


def read_content(reader: Store | StoreReader) -> Content:
    """Raises `StoreError` for damage.  A store that is open for writing is ready for more records."""
    has_writer = not isinstance(reader, Store) and is_locked(reader.folder)
    damaged: list[tuple[SnapshotEntry, StoreError]] = []
    snapshot, intact = None, None
    for entry in reader.manifest.snapshots:
        try:
            snapshot, intact = Snapshot(reader.folder, entry), entry
            break
        except StoreError as error:
            damaged.append((entry, error))
    try:
        tail = reader.read(intact)
    except StoreError as error:
        seen = [diagnostic for _, other in damaged for diagnostic in other.diagnostics]
        raise StoreError([*seen, *error.diagnostics]) from error
    if not isinstance(reader, Store):
        return Content(snapshot, damaged, tail, has_writer, 0)
    reader.begin(tail)
    if tail.torn is not None:
        path = reader.folder / reader.manifest.segments[-1]
        at, size = f"{tail.torn.start:,}", f"{tail.torn_size:,}"
        message = "%s: the last record was never finished (%s at byte %s); its %s bytes are cut off"
        _LOG.warning(message, path, tail.torn.why, at, size)
    return Content(snapshot, damaged, tail, has_writer, tail.torn_size)


@dataclass
class Marks:
    """What the log says about the outcome of its changes."""

    done: int = 0
    rejected: set[int] = field(default_factory=set)
    last_of: dict[int, int] = field(default_factory=dict)
    """Update → the last of those that it is applied as one with."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Marks:
        marks = cls()
        begun: dict[int, int] = {}
        """The last part of an update that is continued → its first."""
        for entry in entries:
            record = entry.record
            if record.goes_on:
                first = begun.pop(record.first - 1, record.first - 1)
                begun[record.first] = first
                marks.last_of.update(dict.fromkeys(range(first, record.first + 1), record.first))
            if record.kind == records.DONE:
                marks.done = max(marks.done, record.integer("number"))
            elif record.kind == records.REJECTED:
                marks.rejected.update(range(record.integer("first"), record.integer("last") + 1))
            elif record.kind == records.AS_ONE:
                first, last = record.integer("first"), record.integer("last")
                marks.last_of.update(dict.fromkeys(range(first, last + 1), last))
        return marks


@dataclass(frozen=True)
class Redo:
    """A change to apply again."""

    number: int
    """Its last number."""
    record: Record
    updates: Sequence[EncodedUpdate]
    is_done: bool
    """Whether it ended well; else it was being applied when the writer ended."""
    parameters: Mapping[str, Term] = field(default_factory=dict)
    """Those of a program."""


def changes_to_redo(
    entries: Sequence[Entry], log: WriteAheadLog, inbox: Inbox, dictionary: Dictionary, has_writer: bool
) -> Iterator[Redo]:
    """The changes after `log.applied_to` to apply again, in order.  Updates that were not acknowledged go to
    the inbox.  If there is a writer, a change that is not done is left to it."""
    marks = Marks.of(entries)
    gathered: list[EncodedUpdate] = []
    for entry in entries:
        record = entry.record
        if record.kind not in records.CHANGES:
            continue
        try:
            batch = _batch_of(record)
            is_applied = record.last <= log.applied_to
            updates = [] if is_applied else records.changes_of(record, dictionary)
            is_load = record.kind == records.LOAD and not is_applied
            parameters = dict(records.terms_of(record, dictionary)) if is_load else {}
        except records.UNDECODABLE as error:
            raise undecodable(log.path / entry.segment, entry.offset, error) from error
        if batch is not None:
            known = inbox.last_batch(batch.source)
            if known is None or batch.number > known:
                inbox.note_batch(batch, log.applied_to)
        if is_applied:
            continue
        if not record.has_updates:
            if record.first in marks.rejected:
                log.skip_to(record.first)
            elif record.first > marks.done and has_writer:
                return
            else:
                yield Redo(record.first, record, updates, record.first <= marks.done, parameters)
            continue
        for index, update in enumerate(updates):
            number = record.first + index
            if number <= log.applied_to:
                continue
            if number in marks.rejected:
                log.skip_to(number)
                continue
            last = marks.last_of.get(number, number)
            if batch is not None and last > marks.done:
                start = entry.segment, entry.offset
                update.accepted = True
                inbox.add(batch, index, update, start, last)
                log.read_to(number)
                continue
            if last > marks.done and has_writer:
                return
            if record.goes_on and index == 0 and gathered:
                gathered[-1] = together(gathered[-1], update)
            else:
                gathered.append(update)
            if number == last:
                now, gathered = gathered, []
                yield Redo(number, record, now, number <= marks.done)


def _batch_of(record: Record) -> Batch | None:
    if record.source is None:
        return None
    return Batch(
        record.source, record.batch, record.first, record.labels, record.contents, goes_on=record.goes_on
    )
