"""How much of some files has been read: rows and bytes, for a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidalog.io.result import Progress


class ReadProgress:
    """`begin` and `end` surround each file, in order; `part` may be called between them."""

    def __init__(self, progress: Progress | None, files: Sequence[Path]) -> None:
        self._progress = progress
        self._sizes = [_size(file) for file in files] if progress is not None else [0] * len(files)
        self._total, self._done, self._file = sum(self._sizes), 0, ""
        self._next = iter(self._sizes)
        self.rows = 0

    def begin(self, file: Path) -> None:
        self._file, self._size = str(file), next(self._next)

    def part(self, rows: int, done: int) -> None:
        """Rows and bytes of the file that were read."""
        if self._progress is not None:
            self._progress(self._file, self.rows + rows, self._done + done, self._total)

    def end(self, rows: int) -> None:
        self.part(rows, self._size)
        self.rows, self._done = self.rows + rows, self._done + self._size


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # which is reported when the file is read
        return 0
