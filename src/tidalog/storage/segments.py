"""Segments: the files of the write-ahead log, the last of which grows.

Invariant.  When `append` returns, its records are in the file, whole and after all earlier ones, and on disk
if that was asked for.  After a failure the file is as it was, or nothing more is appended.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from tidalog.model.errors import StoreError
from tidalog.storage import faults
from tidalog.storage.diagnostics import DamagedLog, NewerFormat, StoreNotWritable, damaged, not_writable
from tidalog.storage.files import sync_folder
from tidalog.storage.frames import Flaw, Frame, Frames, framed
from tidalog.storage.manifest import FORMAT
from tidalog.storage.records import CHANGES, DONE, KNOWN, UNDECODABLE, Record, packed, unpacked

Fsync = Literal["always", "batch", "off"]
FSYNCS: Final = ("always", "batch", "off")
When = Literal["now", "soon", "never"]
"""When a record is to be on disk: before `append` returns; within a moment, as part of a stream; with what
comes next."""
_MOMENT: Final = 0.1
_UNCHANGED: Final = "nothing was changed"
BEGIN: Final = "begin"
"""The kind of the first record of a file."""


def segment_name(number: int, *, again: bool = False) -> str:
    """The file of the log that begins with a change; `again` if one of an earlier format does, too."""
    return f"log-{number:016d}{f'-{FORMAT}' if again else ''}.wal"


def create_segment(folder: Path, name: str, number: int, store: str) -> str:
    """Creates the next file of the log, on disk, with nothing but its first record."""
    path = folder / name
    with open(path, "wb") as file:
        header = {"kind": BEGIN, "format": FORMAT, "store": store, "number": number}
        file.write(framed(packed(header, {})))
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    return name


# --- writing ----------------------------------------------------------------------------------------


class LogWriter:
    """Appends to one file."""

    def __init__(self, path: Path, fsync: Fsync) -> None:
        self.path = path
        self._fsync = fsync
        self._number = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self.size = os.lseek(self._number, 0, os.SEEK_END)
        self._synced_at = time.monotonic()
        self._is_synced = True
        self._broken = ""

    def append(self, records: Sequence[list[bytes]], when: When) -> int:
        """Appends records in one piece and returns the offset of the first.  Raises `StoreError` if it fails:
        then nothing is appended."""
        if self._broken:
            hint = "open the store again"
            raise StoreError(StoreNotWritable(path=self.path, why=self._broken, state=_UNCHANGED, hint=hint))
        data = b"".join([framed(record) for record in records])
        start = self.size
        try:
            _write_all(self._number, data)
            self._is_synced = False
            faults.at("log written")
            if when == "now" or (
                when == "soon" and (self._fsync == "always" or time.monotonic() - self._synced_at > _MOMENT)
            ):
                self.sync()
            self.size = start + len(data)
        except OSError as error:
            self._truncate(start)
            hint = "free space on the disk, then try again"
            raise not_writable(self.path, error, _UNCHANGED, hint) from error
        except StoreError:
            raise
        except BaseException:  # it will not be applied
            self._truncate(start)
            raise
        return start

    def sync(self) -> None:
        """Everything appended is on disk, if the policy wants that."""
        if self._is_synced or self._fsync == "off":
            return
        self.force()

    def force(self) -> None:
        """Everything appended is on disk."""
        try:
            os.fsync(self._number)
        except OSError as error:
            # The system may have dropped the data and never writes it later: what is on disk is unknown.
            self._broken = f"the disk failed before: {error.strerror or error}"
            state = "whether the last record is on disk will be known when the store is opened again"
            hint = "check the disk, then open the store again"
            raise not_writable(self.path, error, state, hint) from error
        self._is_synced, self._synced_at = True, time.monotonic()
        faults.at("log synced")

    def give_up(self, why: str) -> None:
        """Nothing more is appended: the log does not say what was done."""
        self._broken = why

    def _truncate(self, start: int) -> None:
        """Cuts the file off at an offset.  If that fails, nothing more is appended."""
        self._broken = "an earlier write could not be undone"
        with contextlib.suppress(OSError):
            os.ftruncate(self._number, start)
            os.lseek(self._number, start, os.SEEK_SET)
            self.size, self._broken = start, ""

    def close(self) -> None:
        """Syncs and closes the file; a second time does nothing."""
        if self._number >= 0:
            try:
                if not self._broken:
                    self.sync()
            finally:
                os.close(self._number)
                self._number = -1


def _write_all(number: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(number, rest) :]


# --- reading ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A record, and its file and offset."""

    record: Record
    segment: str
    offset: int


@dataclass
class LogTail:
    """The end of the log, from an offset on."""

    entries: list[Entry] = field(default_factory=list)
    torn: Flaw | None = None
    """What is wrong with the end of the last file."""
    end: int = 0
    """The offset at which the last intact record of the last file ends."""
    torn_size: int = 0
    """Bytes after that."""
    size: int = 0
    """Bytes of intact records."""


def read_log(folder: Path, segments: Sequence[str], segment: str | None, offset: int, after: int) -> LogTail:
    """All records from an offset in a segment on, or all there are; the first change after `after` is among
    them, if any is.  Raises `StoreError` for damage; a torn tail of the last file is not damage."""
    tail = LogTail()
    first = segments.index(segment) if segment is not None else 0
    for number, name in enumerate(segments[first:], first):
        data = _content(folder / name)
        begin = offset if number == first else 0
        if begin > len(data):
            why = "the file ends before the offset at which the snapshot says that it continues"
            raise StoreError(DamagedLog(path=folder / name, offset=len(data), why=why))
        frames = Frames(data, begin)
        tail.entries += _entries(folder / name, name, _format_of(folder / name, data, begin), frames)
        tail.size += frames.end - begin
        tail.end = frames.end
        if frames.flaw is not None:
            if not frames.flaw.is_torn or number + 1 < len(segments):
                raise StoreError(
                    DamagedLog(path=folder / name, offset=frames.flaw.start, why=frames.flaw.why)
                )
            tail.torn, tail.torn_size = frames.flaw, len(data) - frames.end
    _check_order(folder, tail.entries, after)
    return tail


def _entries(path: Path, name: str, format: int, frames: Frames) -> Iterator[Entry]:
    for frame in frames:
        record = _record(path, frame, format)
        if record.kind == BEGIN:
            continue
        if record.kind not in KNOWN:
            kinds = f"{FORMAT} with records of the kind {record.kind}"
            raise StoreError(NewerFormat(path=path, found=kinds, known=FORMAT, writer="a newer one"))
        yield Entry(record, name, frame.start)


def _format_of(path: Path, data: memoryview, begin: int) -> int:
    """The format of a segment, which its first record says; `begin` is the offset of the first one to be
    read."""
    frames = Frames(data, 0)
    first = next(iter(frames), None)
    if first is None:
        if frames.flaw is not None and begin:
            raise StoreError(DamagedLog(path=path, offset=0, why=frames.flaw.why))
        return FORMAT  # there is none to be read
    format = int(_record(path, first, FORMAT).header.get("format", FORMAT))
    if format > FORMAT:
        raise StoreError(NewerFormat(path=path, found=format, known=FORMAT, writer="a newer one"))
    return format


def _record(path: Path, frame: Frame, format: int) -> Record:
    try:
        return unpacked(frame.payload, format)
    except UNDECODABLE as error:
        raise undecodable(path, frame.start, error) from error


def undecodable(path: Path, offset: int, error: Exception) -> StoreError:
    """A record whose checksum is right, and which was never written."""
    return StoreError(DamagedLog(path=path, offset=offset, why=f"a record cannot be decoded ({error})"))


def _check_order(folder: Path, entries: Sequence[Entry], after: int) -> None:
    """Changes have consecutive numbers: none is missing between two files, or at the beginning."""
    following = after + 1
    is_first = True
    for entry in entries:
        record = entry.record
        if record.kind not in CHANGES:
            ends = ("number", "number") if record.kind == DONE else ("first", "last")
            first, last = map(record.integer, ends)
            if not 0 <= first <= last <= max(following - 1, after):
                why = f"it is about change {last:,}, and the last one before it is {following - 1:,}"
                raise StoreError(DamagedLog(path=folder / entry.segment, offset=entry.offset, why=why))
            continue
        in_order = 0 <= record.first <= following if is_first else record.first == following
        is_first = False
        if not in_order:
            why = f"change {following:,} is expected here, and it is change {record.first:,}"
            raise StoreError(DamagedLog(path=folder / entry.segment, offset=entry.offset, why=why))
        following = record.last + 1


def _content(path: Path) -> memoryview:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        raise damaged(path, "the manifest names it as a part of the log", "is missing") from None
    except OSError as error:
        raise damaged(path, error.strerror or str(error), "cannot be read") from error
