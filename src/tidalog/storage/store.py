"""A store: its folder, lock, manifest and log.  Nothing here knows what changes mean."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidalog.model.errors import StoreError
from tidalog.storage import faults
from tidalog.storage import lock as locks
from tidalog.storage import manifest as manifests
from tidalog.storage.diagnostics import NotAStore, damaged, not_writable
from tidalog.storage.manifest import FORMAT, Manifest, SnapshotEntry, read_manifest
from tidalog.storage.segments import Fsync, LogTail, LogWriter, When, create_segment, read_log, segment_name

FIRST: Final = 1
"""The number of the first change of a store."""
_OWN: Final = ("LOCK", "MANIFEST", "log-", "snapshot-")
_BEGINNING: Final = 256
"""Bytes that the first file of a log has at most before the first change."""


class Store:
    """A store that is open for writing."""

    def __init__(self, folder: Path, fsync: Fsync) -> None:
        _check_folder(folder)
        is_new = not (folder / manifests.NAME).exists()
        try:
            folder.mkdir(exist_ok=True)
            self._lock = locks.StoreLock(folder)
        except OSError as error:
            raise _unchanged(folder, error) from error
        try:
            self.folder = folder
            self._fsync = fsync
            self._guard = threading.Lock()
            """Of the manifest, which a snapshot in the background replaces too."""
            self.grown = 0
            """Bytes of the log since the last snapshot, or since the last try."""
            if is_new:
                self.manifest = Manifest(())
                name = create_segment(folder, segment_name(FIRST), FIRST, self.manifest.store)
                self.manifest = self.manifest.with_segment(name)
                self.manifest.write(folder)
            else:
                self.manifest = read_manifest(folder)
            self._log: LogWriter | None = None
            self._remove_others()
        except BaseException as error:
            self._lock.release()
            if isinstance(error, OSError):
                raise _unchanged(folder, error) from error
            raise

    # --- the log ------------------------------------------------------------------------------------

    def read(self, snapshot: SnapshotEntry | None) -> LogTail:
        """The log from a snapshot on."""
        return read_tail(self.folder, self.manifest, snapshot)

    def begin(self, tail: LogTail) -> None:
        """Opens the log for appending after the last intact record; a torn tail is cut off."""
        path = self.folder / self.manifest.segments[-1]
        with _writing(path):
            if tail.torn is not None:
                with open(path, "r+b") as file:
                    file.truncate(tail.end)
                    os.fsync(file.fileno())
            self._log = LogWriter(path, self._fsync)
            self.grown = tail.size

    @property
    def log(self) -> LogWriter:
        assert self._log is not None  # `begin` has opened it
        return self._log

    @property
    def end(self) -> tuple[str, int]:
        """The file and offset of the next record."""
        return self.log.path.name, self.log.size

    def append(self, records: Sequence[list[bytes]], when: When) -> tuple[str, int]:
        """Appends records to the log and returns the file and offset of the first."""
        start = self.end
        self.log.append(records, when)
        self.grown += self.log.size - start[1]
        return start

    def rotate(self, number: int) -> None:
        """Continues the log in a new file, which begins with a change."""
        name = segment_name(number)
        if name in self.manifest.segments:  # only outcomes have been appended since
            if self.manifest.format == FORMAT:
                return
            name = segment_name(number, again=True)
        with _writing(self.folder):
            self.log.force()
            create_segment(self.folder, name, number, self.manifest.store)
            with self._guard:
                self._write(self.manifest.with_segment(name))
            self.log.close()
            self._log = LogWriter(self.folder / name, self._fsync)
            self.grown = 0

    # --- snapshots ----------------------------------------------------------------------------------

    def take_snapshot(self, entry: SnapshotEntry) -> None:
        """Adds a snapshot whose files are on disk, and removes the files that are not needed any more."""
        with _writing(self.folder), self._guard:
            self._write(self.manifest.with_snapshot(entry))
        faults.at("manifest replaced")
        with self._guard:
            self._remove_others()

    def forget_snapshot(self, entry: SnapshotEntry) -> None:
        """Removes a damaged snapshot, whose content has been recovered without it."""
        with self._guard:
            rest = tuple(one for one in self.manifest.snapshots if one != entry)
            self._write(replace(self.manifest, snapshots=rest))
            self._remove_others()

    def _write(self, manifest: Manifest) -> None:
        manifest.write(self.folder)
        self.manifest = manifest

    def _remove_others(self) -> None:
        """Removes files of snapshots and logs that the manifest does not name."""
        named = {*self.manifest.segments, *(entry.folder for entry in self.manifest.snapshots)}
        for path in self.folder.iterdir():
            if path.name in named or not path.name.startswith(("log-", "snapshot-")):
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()

    def close(self) -> None:
        """A second time does nothing."""
        try:
            if self._log is not None:
                self._log.close()
        finally:
            self._lock.release()


class StoreReader:
    """A store as it is at one moment, for reading."""

    def __init__(self, folder: Path) -> None:
        _check_folder(folder)
        if not (folder / manifests.NAME).exists():
            why = "there is nothing here" if not folder.exists() else "it has no manifest"
            raise StoreError(NotAStore(path=folder, why=why, hint="open it for writing to create one"))
        self.folder = folder
        self.manifest = read_manifest(folder)

    def read(self, snapshot: SnapshotEntry | None) -> LogTail:
        return read_tail(self.folder, self.manifest, snapshot)

    def has_moved(self) -> bool:
        """Whether a writer has replaced files since."""
        return read_manifest(self.folder) != self.manifest


def read_tail(folder: Path, manifest: Manifest, snapshot: SnapshotEntry | None) -> LogTail:
    """The log from a snapshot on, or from the beginning."""
    if snapshot is not None:
        return read_log(folder, manifest.segments, snapshot.segment, snapshot.offset, snapshot.number)
    if manifest.segments[0] != segment_name(FIRST):
        why = "no snapshot is intact, and the log does not go back to the first change"
        raise damaged(folder, why, "cannot be restored")
    return read_log(folder, manifest.segments, None, 0, FIRST - 1)


def _check_folder(folder: Path) -> None:
    """Raises `StoreError` unless a folder is a store or can become one."""
    if folder.is_dir():
        if (folder / manifests.NAME).exists():
            return
        for path in sorted(folder.iterdir()):
            if path.name.startswith(("log-", "snapshot-")) and not _is_beginning(path):
                raise damaged(folder / manifests.NAME, "the folder has other files of a store", "is missing")
            if not path.name.startswith(_OWN):
                why = f"it is a folder with other files, such as {path.name}"
                hint = "name a folder that does not exist yet"
                raise StoreError(NotAStore(path=folder, why=why, hint=hint))
        return
    if folder.exists():
        hint = "name a folder; a program is loaded with kb.load"
        raise StoreError(NotAStore(path=folder, why="it is a file, and a store is a folder", hint=hint))
    if not folder.absolute().parent.is_dir():
        why = f"the folder {folder.parent} does not exist"
        raise StoreError(NotAStore(path=folder, why=why, hint="create that folder first"))


def _is_beginning(path: Path) -> bool:
    """Whether a file is all that is left of a store whose creation never finished."""
    return path.name == segment_name(FIRST) and path.stat().st_size <= _BEGINNING


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raises `StoreError` for an error of the system."""
    try:
        yield
    except OSError as error:
        raise _unchanged(path, error) from error


def _unchanged(path: Path, error: OSError) -> StoreError:
    hint = "check the permissions of the folder and the free space on the disk"
    return not_writable(path, error, "what is in the store is as it was", hint)
