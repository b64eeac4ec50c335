"""A knowledge base that is a folder on disk, which `tidalog.open(path)` gives; see `storage`."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits
from tidalog.errors import UsageError
from tidalog.maintain.strategy import Options
from tidalog.session.diagnostics import BadArgument
from tidalog.session.durable_log import Position
from tidalog.session.durable_replay import Replaying, Unfinished
from tidalog.session.turns import in_turn
from tidalog.storage.lock import is_locked
from tidalog.storage.log import FSYNCS, Fsync, LogTail
from tidalog.storage.store import Store, StoreReader

_LOG: Final = logging.getLogger("tidalog")
_UNFINISHED: Final = ("apply", "reject")


@dataclass(frozen=True, slots=True)
class Recovery:
    """What opening a store did."""

    snapshot: int | None = None
    """The last change in the snapshot that was read."""
    replayed: int = 0
    """Changes of the log that were carried out again."""
    truncated: int = 0
    """Bytes at the end of the log that were part of a record and are cut off."""
    seconds: float = 0.0


class StoredKnowledgeBase(Replaying):
    """Rules, facts and what follows from them, on disk.  Use `tidalog.open(path)`."""

    recovery: Recovery
    """What opening did."""

    @in_turn
    def close(self) -> None:
        """Lets go of all facts and of the store.  Results that were handed out stay."""
        store, self._store = self._store, None
        super().close()
        if store is not None:
            store.close()

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
        tail = reader.read(None)
        if isinstance(reader, Store):
            reader.begin(tail)
        truncated = self._report_torn(reader, tail)
        replayed = self._replay(tail.entries, unfinished, has_writer, lambda _: None)
        self.recovery = Recovery(None, replayed, truncated, time.perf_counter() - start)

    def _report_torn(self, reader: Store | StoreReader, tail: LogTail) -> int:
        if tail.torn is None or not isinstance(reader, Store):
            return 0
        path = self.path / reader.manifest.segments[-1]
        _LOG.warning(
            "%s: the last record was never finished (%s at byte %s); it is cut off, %s bytes",
            path,
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
    functions: Mapping[str, PythonFunction],
    unfinished: Unfinished,
) -> StoredKnowledgeBase:
    """The knowledge base of a store, which is made if there is none."""
    _check("fsync", fsync, FSYNCS)
    _check("unfinished", unfinished, _UNFINISHED)
    if read_only:
        reader = StoreReader(path)
        kb = StoredKnowledgeBase(limits, options, path, None)
        kb._recover(reader, functions, unfinished)
        return kb
    store = Store(path, fsync)
    try:
        kb = StoredKnowledgeBase(limits, options, path, store)
        kb._recover(store, functions, unfinished)
    except BaseException:
        store.close()
        raise
    return kb


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        problem, why = f"{name}={value!r} is not known", f"it is one of {', '.join(known)}"
        raise UsageError(BadArgument(problem=problem, why=why, hint="leave it out for the usual one"))


__all__ = ["Position", "Recovery", "StoredKnowledgeBase", "open_store"]
