"""A knowledge base that is a folder on disk, which `tidalog.open(path)` gives; see `storage`."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidalog.api.diagnostics import BadArgument
from tidalog.api.durable_log import Position
from tidalog.api.durable_replay import Unfinished
from tidalog.api.durable_snapshots import Snapshots
from tidalog.api.engine import STORED, Capabilities
from tidalog.api.lock import in_turn
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits
from tidalog.maintain.choose import Options
from tidalog.model.errors import ProgramError, StoreError, UsageError
from tidalog.storage.lock import is_locked
from tidalog.storage.manifest import SnapshotEntry
from tidalog.storage.snapshot import Snapshot
from tidalog.storage.store import Store, StoreReader
from tidalog.storage.wal import FSYNCS, Fsync, LogTail

_LOG: Final = logging.getLogger("tidalog")
_UNFINISHED: Final = ("apply", "reject")
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Recovery:
    """What opening a store did."""

    snapshot: int | None = None
    """The last change in the snapshot that was read."""
    replayed: int = 0
    """Changes of the log that were carried out again."""
    truncated: int = 0
    """Bytes at the end of the log that were part of a record and are cut off."""
    damaged: tuple[str, ...] = ()
    """What is wrong with snapshots that could not be read; an earlier one and more of the log was."""
    seconds: float = 0.0


class StoredKnowledgeBase(Snapshots):
    """Rules, facts and what follows from them, on disk.  Use `tidalog.open(path)`."""

    recovery: Recovery
    """What opening did."""

    @property
    def capabilities(self) -> Capabilities:
        return STORED

    @in_turn
    def close(self) -> None:
        """Lets go of all facts and of the store.  Results that were handed out stay."""
        store = self._store
        if store is not None:
            self._wait_for_snapshot()
            if not self._handed and self._is_due(store):
                self._snapshot_at_the_end()
        self._store = None
        super().close()
        if store is not None:
            store.close()

    def _snapshot_at_the_end(self) -> None:
        try:
            begun = self._begin_snapshot()
            if begun is not None:
                self._write_snapshot(*begun)
        except StoreError as error:
            self._note_failure(error)

    def __repr__(self) -> str:
        return super().__repr__().replace("<KnowledgeBase", f"<KnowledgeBase {self.path}", 1)

    def _recover(
        self, reader: Store | StoreReader, functions: Mapping[str, PythonFunction], unfinished: Unfinished
    ) -> None:
        """Brings back what the store holds."""
        start = time.perf_counter()
        for name, function in functions.items():
            self.register(name, function)
        has_writer = self._store is None and is_locked(self.path)
        found, damaged = self._usable_snapshot(reader)
        if found is not None:
            self._restored(found[1])
        try:
            tail = reader.read(found[0] if found is not None else None)
        except StoreError as error:
            seen = [diagnostic for _, other in damaged for diagnostic in other.diagnostics]
            raise StoreError([*seen, *error.diagnostics]) from error
        if isinstance(reader, Store):
            reader.begin(tail)
        truncated = self._report_torn(reader, tail)
        replayed = self._replay(tail.entries, unfinished, has_writer)
        if isinstance(reader, Store):
            for entry, problem in damaged:
                _LOG.warning("%s: an earlier snapshot and more of the log are used: %s", self.path, problem)
                reader.forget_snapshot(entry)
            self._mark_done()
        problems = tuple(str(other) for _, other in damaged)
        number = found[0].number if found is not None else None
        self.recovery = Recovery(number, replayed, truncated, problems, time.perf_counter() - start)

    def _restored(self, snapshot: Snapshot) -> None:
        try:
            self._restore(snapshot)
        except ProgramError as error:
            raise self._not_replayed(snapshot.number, True, error) from error

    def _usable_snapshot(
        self, reader: Store | StoreReader
    ) -> tuple[tuple[SnapshotEntry, Snapshot] | None, list[tuple[SnapshotEntry, StoreError]]]:
        """The newest snapshot that is whole, and those that are not."""
        damaged: list[tuple[SnapshotEntry, StoreError]] = []
        for entry in reader.manifest.snapshots:
            try:
                return (entry, Snapshot(self.path, entry)), damaged
            except StoreError as error:
                damaged.append((entry, error))
        return None, damaged

    def _report_torn(self, reader: Store | StoreReader, tail: LogTail) -> int:
        if tail.torn is None or not isinstance(reader, Store):
            return 0
        _LOG.warning(
            "%s: the last record was never finished (%s at byte %s); it is cut off, %s bytes",
            self.path / reader.manifest.segments[-1],
            tail.torn.why,
            f"{tail.torn.start:,}",
            f"{tail.torn_size:,}",
        )
        return tail.torn_size


def open_store(
    path: Path,
    limits: Limits,
    options: Options,
    *,
    fsync: Fsync,
    read_only: bool,
    snapshot_after: int,
    functions: Mapping[str, PythonFunction],
    unfinished: Unfinished,
) -> StoredKnowledgeBase:
    """The knowledge base of a store, which is made if there is none."""
    _check("fsync", fsync, FSYNCS)
    _check("unfinished", unfinished, _UNFINISHED)
    if isinstance(snapshot_after, bool) or not isinstance(snapshot_after, int) or snapshot_after < 1:
        problem = f"snapshot_after={snapshot_after!r} is no size"
        hint = "leave it out for the usual one"
        raise UsageError(BadArgument(problem=problem, why="it is bytes of the log, 1 or more", hint=hint))
    if read_only:
        return _for_reading(path, limits, options, functions, unfinished)
    store = Store(path, fsync)
    try:
        kb = StoredKnowledgeBase(limits, options, path, store, snapshot_after)
        kb._recover(store, functions, unfinished)
    except BaseException:
        store.close()
        raise
    return kb


def _for_reading(
    path: Path,
    limits: Limits,
    options: Options,
    functions: Mapping[str, PythonFunction],
    unfinished: Unfinished,
) -> StoredKnowledgeBase:
    """A writer may replace files while they are looked for; then there are new ones."""
    for attempt in range(_ATTEMPTS):
        reader = StoreReader(path)
        kb = StoredKnowledgeBase(limits, options, path, None, 1)
        try:
            kb._recover(reader, functions, unfinished)
        except StoreError:
            if attempt + 1 < _ATTEMPTS and reader.has_moved():
                continue
            raise
        return kb
    raise AssertionError


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        problem, why = f"{name}={value!r} is not known", f"it is one of {', '.join(known)}"
        raise UsageError(BadArgument(problem=problem, why=why, hint="leave it out for the usual one"))


__all__ = ["Position", "Recovery", "StoredKnowledgeBase", "open_store"]
