"""Text files in blocks of whole lines; the next block is read and decompressed while one is processed.

Memory is bounded by a few blocks, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from tidalog.io.encoding import without_mark
from tidalog.io.files import ByteStream

BLOCK: Final = 1 << 23
_TAIL: Final = 1 << 12


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, and how many bytes of the file have been read."""

    text: pa.Buffer
    done: int


def text_blocks(path: Path, compression: str | None) -> Iterator[Block]:
    """The blocks of a file."""
    blocks = _blocks(path, compression)
    with ThreadPoolExecutor(1, "tidalog-reader") as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block


def _blocks(path: Path, compression: str | None) -> Iterator[Block]:
    with ByteStream(path, compression) as stream:
        rest, is_first = b"", True
        while True:
            piece = stream.read(BLOCK)
            if is_first:
                piece, is_first = without_mark(piece, path), False
            if not piece.size:
                break
            end = _last_line_end(piece)
            if not end:
                rest += piece.to_pybytes()
                continue
            text = piece.slice(0, end)
            if rest:
                text = pa.py_buffer(rest + text.to_pybytes())
            rest = piece.slice(end).to_pybytes()
            yield Block(text, stream.done)
        if rest:
            yield Block(pa.py_buffer(rest), stream.done)


def _last_line_end(text: pa.Buffer) -> int:
    """The offset after the last line feed, or 0."""
    end = int(text.size)
    while end > 0:
        start = max(0, end - _TAIL)
        found = text.slice(start, end - start).to_pybytes().rfind(b"\n")
        if found >= 0:
            return start + int(found) + 1
        end = start
    return 0
