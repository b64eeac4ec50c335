"""The manifest: which files make up a store.  It is replaced whole, so a store changes its files in one step.

Two lines: JSON, and the checksum of that line.
"""

from __future__ import annotations

import json
import uuid
import zlib
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Self

from tidalog.model.errors import StoreError
from tidalog.storage.diagnostics import NewerFormat, damaged
from tidalog.storage.files import replace_file

NAME: Final = "MANIFEST"
FORMAT: Final = 2
"""The format that is written.  Every earlier one can be read.  A file keeps the format it was written in;
that of a store is the highest among its files."""


@dataclass(frozen=True)
class File:
    """A file of a snapshot."""

    name: str
    size: int
    checksum: int


@dataclass(frozen=True)
class SnapshotEntry:
    """A snapshot: the state after the changes up to a number, and where the log continues."""

    folder: str
    number: int
    files: tuple[File, ...]
    segment: str
    offset: int
    format: int = FORMAT

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Manifest:
    segments: tuple[str, ...]
    """Files of the log, in order."""
    snapshots: tuple[SnapshotEntry, ...] = ()
    """The newest first; at most two."""
    store: str = field(default_factory=lambda: uuid.uuid4().hex)
    format: int = FORMAT
    writer: str = field(default_factory=lambda: version("tidalog"))

    def with_segment(self, name: str) -> Self:
        return replace(self, segments=(*self.segments, name), format=FORMAT, writer=version("tidalog"))

    def with_snapshot(self, entry: SnapshotEntry) -> Self:
        """The snapshot is the newest; the one before stays, with all of the log that it needs, or all of the
        log if there was none."""
        kept = (entry, *self.snapshots[:1])
        segments = self.segments
        if len(kept) > 1:
            segments = segments[segments.index(kept[-1].segment) :]
        return replace(self, snapshots=kept, segments=segments, format=FORMAT, writer=version("tidalog"))

    def write(self, folder: Path) -> None:
        line = json.dumps(asdict(self), separators=(",", ":")).encode()
        replace_file(folder / NAME, b"%s\n%08x\n" % (line, zlib.crc32(line)))


def read_manifest(folder: Path) -> Manifest:
    """Raises `StoreError` for one that is damaged or of a newer format."""
    path = folder / NAME
    data = path.read_bytes()
    line, _, rest = data.partition(b"\n")
    if rest.strip() != b"%08x" % zlib.crc32(line):
        raise damaged(path, "its content does not match its checksum")
    try:
        return _manifest(folder, json.loads(line))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(path, f"it cannot be read ({error})") from error


def _manifest(folder: Path, raw: dict[str, Any]) -> Manifest:
    if raw["format"] > FORMAT:
        raise StoreError(
            NewerFormat(path=folder, found=raw["format"], known=FORMAT, writer=raw.get("writer", "?"))
        )
    for entry in raw["snapshots"]:
        if min(entry["number"], entry["offset"]) < 0 or entry["segment"] not in raw["segments"]:
            raise ValueError("a snapshot has impossible numbers")
    return Manifest(
        tuple(raw["segments"]),
        tuple(
            SnapshotEntry(
                entry["folder"],
                entry["number"],
                tuple(File(**file) for file in entry["files"]),
                entry["segment"],
                entry["offset"],
                entry.get("format", 1),
            )
            for entry in raw["snapshots"]
        ),
        raw["store"],
        raw["format"],
        raw["writer"],
    )
