"""UTF-8: whether bytes are valid text, the first invalid byte, and the line of an offset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.io.diagnostics import Position, WrongEncoding
from tidalog.model.errors import DataError

_UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_PIECE: Final = 1 << 24


def without_mark(buffer: pa.Buffer, path: Path) -> pa.Buffer:
    """The buffer without its byte-order mark.  Text in UTF-16 is refused."""
    start = buffer.slice(0, min(3, buffer.size)).to_pybytes()
    if start.startswith(_UTF16_BOMS):
        raise DataError(WrongEncoding(path=path, why="it starts like a file in UTF-16"))
    return buffer.slice(3) if start == _UTF8_BOM else buffer


def is_utf8(buffer: pa.Buffer) -> bool:
    """Checked by Arrow without a copy."""
    ends = pa.py_buffer(np.array([0, buffer.size], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, buffer]).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def first_invalid(buffer: pa.Buffer, start: int, end: int) -> int:
    """The offset of the first byte in [start, end) that is not UTF-8, or -1.  `start` begins a character."""
    while start < end:
        stop = min(start + _PIECE, end)
        piece = buffer.slice(start, stop - start).to_pybytes()
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError as error:
            cut_off = error.end == len(piece) and stop < end and len(piece) - error.start < 4
            if not cut_off or error.start == 0:
                return start + error.start
            start += error.start
            continue
        start = stop
    return -1


def position_of(buffer: pa.Buffer, offset: int, file: str) -> Position:
    """Line and column of an offset.  Reads the text from its beginning: for errors only."""
    line, start = 1, 0
    for found in _LINE_END.finditer(memoryview(buffer), 0, offset):
        line, start = line + 1, found.end()
    text = line_text(buffer, start)
    before = decoded(buffer, start, offset)
    return Position(file, line, len(before) + 1, text)


def decoded(buffer: pa.Buffer, start: int, end: int) -> str:
    """The text of [start, end), with replacement characters for bytes that are not text."""
    piece: bytes = buffer.slice(start, end - start).to_pybytes()
    return piece.decode("utf-8", "replace")


def line_text(buffer: pa.Buffer, start: int) -> str:
    """The line that starts at an offset, without its end."""
    found = _LINE_END.search(memoryview(buffer), start)
    end = found.start() if found is not None else buffer.size
    return decoded(buffer, start, end)


def require_utf8(buffer: pa.Buffer, path: Path) -> None:
    """Raises with the position of the first byte that is not UTF-8."""
    if not is_utf8(buffer):
        offset = first_invalid(buffer, 0, buffer.size)
        raise DataError(invalid_text(buffer, offset, path))


def invalid_text(buffer: pa.Buffer, offset: int, path: Path) -> WrongEncoding:
    byte = buffer.slice(offset, 1).to_pybytes()[0]
    return WrongEncoding(
        position_of(buffer, offset, str(path)),
        path=path,
        why=f"byte 0x{byte:02X} does not belong in UTF-8 here",
    )


def as_bytes(buffer: pa.Buffer) -> npt.NDArray[np.uint8]:
    return np.frombuffer(buffer, dtype=np.uint8)
