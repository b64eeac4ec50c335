"""Frames: pieces of a log file, each with its length and checksums.

    marker (4)   length (8)   checksum of the payload (4)   checksum of these 16 bytes (4)   payload

A file that was cut short ends in part of a frame: its *torn tail*.  A wrong frame with an intact one after it
is damage, for frames are written one after the other.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_MARKER: Final = b"TdLg"
_FIXED: Final = struct.Struct("<4sQI")
_CHECK: Final = struct.Struct("<I")
HEADER: Final = _FIXED.size + _CHECK.size


@dataclass(frozen=True, slots=True)
class Frame:
    start: int
    end: int
    payload: memoryview


@dataclass(frozen=True, slots=True)
class Flaw:
    """Where frames end before the data does, and why."""

    start: int
    why: str
    is_torn: bool
    """Whether nothing intact follows it."""


def framed(pieces: Iterable[bytes]) -> bytes:
    """A frame around a payload."""
    payload = b"".join(pieces)
    fixed = _FIXED.pack(_MARKER, len(payload), zlib.crc32(payload))
    return b"".join((fixed, _CHECK.pack(zlib.crc32(fixed)), payload))


class Frames:
    """The frames of a file's content from an offset on.  After the last one, `flaw` says what is wrong."""

    def __init__(self, data: memoryview, start: int = 0) -> None:
        self._data = data
        self._at = start
        self.flaw: Flaw | None = None

    @property
    def end(self) -> int:
        """The offset at which the last intact frame ends."""
        return self._at

    def __iter__(self) -> Iterator[Frame]:
        while self._at < len(self._data):
            found = _frame_at(self._data, self._at)
            if isinstance(found, str):
                self.flaw = Flaw(self._at, found, not _any_frame_after(self._data, self._at))
                return
            self._at = found.end
            yield found


def _frame_at(data: memoryview, at: int) -> Frame | str:
    """The frame at an offset, or what is wrong with it."""
    after = at + HEADER
    if after > len(data):
        return "a record is cut short"
    marker, length, checksum = _FIXED.unpack_from(data, at)
    fixed = data[at : at + _FIXED.size]
    if marker != _MARKER or zlib.crc32(fixed) != _CHECK.unpack_from(data, at + _FIXED.size)[0]:
        return "no record begins here"
    if after + length > len(data):
        return "a record is cut short"
    payload = data[after : after + length]
    if zlib.crc32(payload) != checksum:
        return "the checksum of a record does not match"
    return Frame(at, after + length, payload)


def _any_frame_after(data: memoryview, at: int) -> bool:
    rest = bytes(data[at + 1 :])
    found = rest.find(_MARKER)
    while found >= 0:
        if isinstance(_frame_at(data, at + 1 + found), Frame):
            return True
        found = rest.find(_MARKER, found + 1)
    return False
