"""Files: finds the files of a resource, opens them, and writes them atomically.

Input is one Arrow buffer per file, memory-mapped if it is not compressed, else decompressed into memory; or a
stream of pieces.
Output goes to a temporary file beside the target, which is renamed when everything is written; a reader never
sees half a file, and a failed export keeps the old one.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import secrets
import stat
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Self, TextIO, cast

import pyarrow as pa

from tidalog.io.diagnostics import BrokenCompression, FileNotFound, FileNotReadable, NotWritable
from tidalog.model.errors import DataError

COMPRESSION_ENDINGS: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
COMPRESSIONS: Final = ("none", *COMPRESSION_ENDINGS.values())
_MAGIC: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""First bytes that no UTF-8 text has."""
_LONGEST_MAGIC: Final = 4
_GLOB: Final = frozenset("*?[")
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.+-]+")
_REMOTE: Final = ("http://", "https://", "s3://", "gs://", "hdfs://")


def find_files(resource: str | os.PathLike[str], base: Path, endings: Sequence[str]) -> list[Path]:
    """The files of a resource, sorted by name: one file, a glob, or a folder (its files with one of the
    `endings`, compressed or not, except hidden files and those starting with `_`)."""
    text = os.fspath(resource)
    if text.startswith(_REMOTE):
        raise DataError(
            FileNotReadable(path=text, why="data is read from local files", hint="fetch the file first")
        )
    path = base / Path(text).expanduser()
    try:
        if path.is_dir():
            return _in_folder(path, endings)
        if path.exists() or not _GLOB & set(text):
            return [path] if path.exists() else _missing(path, text)
    except PermissionError as error:
        raise _not_readable(path, error) from error
    except (OSError, ValueError) as error:
        raise DataError(FileNotReadable(path=text, why=_reason(error), hint="")) from error
    anchor = Path(path.anchor) if path.anchor else Path()
    found = sorted(p for p in anchor.glob(str(path.relative_to(anchor))) if p.is_file())
    if not found:
        raise DataError(
            FileNotFound(path=text, why="no file's name matches this pattern", hint=_near(path) or "")
        )
    return found


def _in_folder(folder: Path, endings: Sequence[str]) -> list[Path]:
    compressed = ["", *COMPRESSION_ENDINGS]
    wanted = tuple(ending + c for ending in endings for c in compressed)
    found = sorted(
        p
        for p in folder.iterdir()
        if p.is_file() and p.name[0] not in "._" and p.name.lower().endswith(wanted)
    )
    if not found:
        why = f"this folder has no file ending in {' or '.join(endings)}"
        raise DataError(
            FileNotFound(path=f"to read in {folder}", why=why, hint="name the file, or use a glob")
        )
    return found


def _missing(path: Path, text: str) -> list[Path]:
    parent = path.parent
    if not parent.is_dir():
        why = f"the folder {parent} does not exist"
    else:
        why = "looked in the current folder" if parent == Path() else f"looked in {parent}"
    raise DataError(FileNotFound(path=text, why=why, hint=_near(path) or ""))


def _near(path: Path) -> str | None:
    """Names in the folder that look like the missing one."""
    try:
        names = sorted(p.name for p in path.parent.iterdir())
    except OSError:
        return None
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def writing(path: str | os.PathLike[str], hint: str = "") -> Iterator[None]:
    """Converts an `OSError` to one that names the file or folder being written."""
    try:
        yield
    except OSError as error:
        raise DataError(NotWritable(path=path, why=_reason(error), hint=hint)) from error


def free_name(text: str, taken: Container[str]) -> str:
    """A file name for a text that is not taken; characters that file names cannot have become `_`."""
    wanted = _NOT_IN_A_NAME.sub("_", text).strip("._") or "_"
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}.{number}", number + 1
    return name


def _not_readable(path: Path, error: OSError) -> DataError:
    hint = "check the file's permissions" if isinstance(error, PermissionError) else ""
    return DataError(FileNotReadable(path=path, why=_reason(error), hint=hint))


def open_buffer(path: Path, compression: str | None) -> pa.Buffer:
    """The whole content, decompressed.  If `compression` is not given, the ending or the first bytes
    decide."""
    with _reading(path):
        status = path.stat()
        _refuse_folder(path, status)
        if stat.S_ISREG(status.st_mode) and status.st_size:
            raw = pa.memory_map(str(path)).read_buffer()
        else:
            raw = pa.py_buffer(path.read_bytes())
    codec = _codec(path, compression, raw.slice(0, min(_LONGEST_MAGIC, raw.size)))
    if codec is None or raw.size == 0:
        return raw
    with _decompressing(path, codec), pa.CompressedInputStream(pa.BufferReader(raw), codec) as stream:
        return stream.read_buffer()


class ByteStream:
    """The content of a file, decompressed, piece by piece."""

    def __init__(self, path: Path, compression: str | None) -> None:
        with _reading(path):
            status = path.stat()
            _refuse_folder(path, status)
            if stat.S_ISREG(status.st_mode):
                self._raw = pa.OSFile(str(path))
            else:
                self._raw = pa.BufferReader(path.read_bytes())
            start = self._raw.read_buffer(_LONGEST_MAGIC)
            self._raw.seek(0)
        self._path, self._codec = path, _codec(path, compression, start)
        is_plain = self._codec is None or start.size == 0
        self._stream = self._raw if is_plain else pa.CompressedInputStream(self._raw, self._codec)

    def read(self, size: int) -> pa.Buffer:
        """The next bytes; none at the end."""
        with _decompressing(self._path, self._codec):
            return self._stream.read_buffer(size)

    @property
    def done(self) -> int:
        """How many bytes of the file were read."""
        return int(self._raw.tell())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _not_readable(path, error) from error


def _refuse_folder(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise DataError(FileNotReadable(path=path, why="it is a folder", hint=""))


@contextmanager
def _decompressing(path: Path, codec: str | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if codec is None:
            raise _not_readable(path, error) from error
        truncated = "truncated" in str(error).lower()
        raise DataError(
            BrokenCompression(
                path=path,
                why=f"the {codec} data ends too early" if truncated else f"it is not {codec} data",
                hint="copy or write the file again" if truncated else "compression = none reads it as it is",
            )
        ) from error


def _codec(path: Path, compression: str | None, start: pa.Buffer) -> str | None:
    """How a file is compressed, if it is; its ending or its first bytes decide."""
    codec = compression or COMPRESSION_ENDINGS.get(path.suffix.lower()) or _sniffed(start)
    return None if codec == "none" else codec


def _sniffed(start: pa.Buffer) -> str | None:
    found = start.to_pybytes()
    return next((codec for magic, codec in _MAGIC.items() if found.startswith(magic)), None)


def base_ending(path: Path) -> str:
    """The ending that names the format: `.csv` of `edges.csv.gz`."""
    if path.suffix.lower() in COMPRESSION_ENDINGS:
        path = path.with_suffix("")
    return path.suffix.lower()


class AtomicFile:
    """A file being written: the caller writes to `stream`, then `commit` renames it or `abandon` removes it.

    A target that is not a regular file (a pipe, a terminal) is written to directly.
    """

    def __init__(self, target: Path) -> None:
        self._text: TextIO | None = None
        try:
            self._target = Path(os.path.realpath(target))
            self._direct = self._target.exists() and not self._target.is_file()
            if self._target.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._part = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}.part")
            self.stream: BinaryIO = open(  # noqa: SIM115 - closed by commit or abandon
                self._target if self._direct else self._part, "wb" if self._direct else "xb"
            )
        except (OSError, ValueError) as error:
            why = _reason(error)
            if isinstance(error, FileExistsError | NotADirectoryError):
                why = f"{target.parent} is a file, not a folder"
            hint = "check the folder's permissions" if isinstance(error, PermissionError) else ""
            raise DataError(NotWritable(path=target, why=why, hint=hint)) from error

    def text(self) -> TextIO:
        """The stream as UTF-8 text."""
        if self._text is None:
            self._text = cast(TextIO, io.TextIOWrapper(self.stream, encoding="utf-8", newline=""))
        return self._text

    def commit(self) -> None:
        if self._text is not None:
            self._text.flush()
        self.stream.close()
        if not self._direct:
            os.replace(self._part, self._target)

    def abandon(self) -> None:
        self.stream.close()
        if not self._direct:
            self._part.unlink(missing_ok=True)
