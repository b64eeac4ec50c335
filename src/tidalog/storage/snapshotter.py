"""The snapshotter of a store: when a snapshot is due, and writing it, in the background if wanted.

A snapshot holds what is in memory, so it is taken only where everything applied is acknowledged: what follows
it in the log is what recovery must do again.  The arrays are copied between two changes; a thread writes them
and then replaces the manifest, while more changes are applied.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tidalog.model.errors import StoreError
from tidalog.storage import faults
from tidalog.storage.diagnostics import not_writable
from tidalog.storage.inbox import Inbox
from tidalog.storage.manifest import FORMAT
from tidalog.storage.snapshot import Image, folder_name, write_snapshot
from tidalog.storage.store import Store
from tidalog.storage.wal import WriteAheadLog

_LOG: Final = logging.getLogger("tidalog")
_SHARE: Final = 2
"""A snapshot is due once the log is larger than 1 / `_SHARE` of the last one."""


@dataclass(frozen=True)
class _Begun:
    """A copy of everything up to a change, and where the log continues."""

    store: Store
    folder: str
    image: Image
    number: int
    start: tuple[str, int]
    """The file and offset in the log of the first record after it."""

    def write(self) -> None:
        try:
            entry = write_snapshot(self.store.folder, self.folder, self.image, self.number, *self.start)
        except OSError as error:
            state, hint = "the store is as it was, with its log", "free space on the disk"
            raise not_writable(self.store.folder, error, state, hint) from error
        self.store.take_snapshot(entry)


class Snapshotter:
    def __init__(self, log: WriteAheadLog, inbox: Inbox, image: Callable[[], Image], after: int) -> None:
        self._log, self._inbox, self._image = log, inbox, image
        self._after = after
        """Bytes of the log after which a snapshot is due."""
        self._thread: threading.Thread | None = None
        self.failure: Exception | None = None
        """Of the last snapshot that could not be written."""

    @property
    def is_due(self) -> bool:
        store = self._log.store
        if store is None:
            return False
        newest = store.manifest.snapshots[0].size if store.manifest.snapshots else 0
        return store.grown >= max(self._after, newest // _SHARE)

    def take(self) -> None:
        """Writes a snapshot now, unless the last one is of the same change."""
        self.wait()
        begun = self._begin()
        if begun is not None:
            begun.write()

    def try_to_take(self) -> None:
        """The same; a failure is noted and harms nothing."""
        try:
            self.take()
        except StoreError as error:
            self._note(error)

    def take_in_background(self) -> None:
        """Copies everything now and writes it in a thread, unless one is at work."""
        if self._thread is not None and self._thread.is_alive():
            return
        try:
            begun = self._begin()
        except StoreError as error:
            self._note(error)
            return
        if begun is not None:
            self._thread = threading.Thread(target=self._write, args=[begun], name="tidalog-snapshot")
            self._thread.start()

    def wait(self) -> None:
        """Waits for the thread."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _begin(self) -> _Begun | None:
        """Copies everything and starts a new file of the log."""
        store, number = self._log.writable("a snapshot"), self._log.applied_to
        formats = [entry.format for entry in store.manifest.snapshots if entry.number == number]
        if FORMAT in formats:
            return None
        image = self._image()
        faults.at("snapshot begun")
        store.rotate(self._log.logged_to + 1)
        start = self._inbox.waiting[0].start if self._inbox.waiting else store.end
        return _Begun(store, folder_name(number, again=bool(formats)), image, number, start)

    def _write(self, begun: _Begun) -> None:
        try:
            begun.write()
        except Exception as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.failure = error
        _LOG.warning("%s: no snapshot was written, and the log stays: %s", self._log.path, error)
