"""What survives a bucket's engine: an entry of Spark's state, and engines that a process keeps.

    head       version, token, digest of the program, version and token of the snapshot, sizes
    snapshot   the bucket as it was, in pieces
    log        a record for each batch since then, behind its token

Invariant.  A token is made anew whenever something is written, so that it names one content.  An engine that
a worker has kept is the bucket's exactly if its token is that of the head; one with the token of the snapshot
or of a record of the log is caught up with the records behind it; any other one is thrown away.  So it does
not matter which process has a bucket when, nor whether what it did was committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tidalog.spark.buckets.bucket import Bucket
from tidalog.spark.buckets.diagnostics import StateOfAnotherProgram
from tidalog.spark.buckets.setting import Setting
from tidalog.spark.diagnostics import SparkError

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

HEAD: Final = ", ".join(
    [
        "version long",
        "token binary",
        "digest string",
        "base long",
        "base_token binary",
        "snapshot_size long",
        "log_size long",
    ]
)
PIECES: Final = "piece binary"
TOKEN: Final = 8
"""Bytes of a token."""
_PIECE: Final = 8 * 2**20
_LEAST_LOG: Final = 2 * 2**20
"""Bytes of a log that are left alone, however small the snapshot is."""
_SHARE: Final = 2
"""A log is compacted once it is larger than one part in so many of its snapshot."""
_MOST_GARBAGE: Final = 0.5
"""The share of terms without facts from which on an engine is made anew."""


@dataclass(frozen=True)
class Head:
    version: int
    token: bytes
    digest: str
    base: int
    base_token: bytes
    snapshot_size: int
    log_size: int


@dataclass
class Kept:
    """An engine, and which state it is."""

    bucket: Bucket
    version: int = 0
    token: bytes = b""


_ENGINES: dict[tuple[str, int], Kept] = {}
"""The engines of this process, by query and bucket."""


class BucketState:
    """The entry of the bucket that Spark has handed over last."""

    def __init__(self, handle: StatefulProcessorHandle, setting: Setting) -> None:
        self._setting = setting
        self._head = handle.getValueState("head", HEAD)
        self._snapshot = handle.getListState("snapshot", PIECES)
        self._log = handle.getListState("log", PIECES)

    def open(self, query: str, number: int) -> Kept:
        """The engine of a bucket, which is taken from those that are kept: one that fails is not put back."""
        found = self._head.get()
        head = _head(found) if found is not None else None
        kept = _ENGINES.pop((query, number), None)
        if head is None:
            return Kept(Bucket(self._setting))
        if head.digest != self._setting.digest:
            why = "its facts were derived by other rules, or spread over another number of buckets"
            raise SparkError(StateOfAnotherProgram(why=why))
        if kept is not None and kept.token == head.token:
            return kept
        return self._caught_up(head, kept)

    def _caught_up(self, head: Head, kept: Kept | None) -> Kept:
        records = [bytes(piece) for (piece,) in self._log.get()]
        tokens = [head.base_token, *(record[:TOKEN] for record in records)]
        if kept is None or kept.token not in tokens:
            kept = Kept(Bucket(self._setting), head.base, head.base_token)
            if head.snapshot_size:
                kept.bucket.replay(b"".join(bytes(piece) for (piece,) in self._snapshot.get()))
        for record in records[tokens.index(kept.token) :]:
            kept.bucket.replay(record[TOKEN:])
        kept.version, kept.token = head.version, head.token
        return kept

    def write(self, query: str, number: int, kept: Kept, record: bytes) -> None:
        """A batch was applied; this is the state from now on, if Spark commits it."""
        if not len(kept.bucket.keys):
            for entry in (self._head, self._snapshot, self._log):
                entry.clear()
            return
        found = self._head.get()
        token = os.urandom(TOKEN)
        head = _head(found) if found is not None else Head(0, b"", "", 0, b"", 0, 0)
        size = head.log_size + len(record)
        version = head.version + 1
        digest = self._setting.digest
        if size > max(_LEAST_LOG, head.snapshot_size // _SHARE):
            snapshot = kept.bucket.snapshot()
            self._snapshot.put([(piece,) for piece in _pieces(snapshot)])
            self._log.clear()
            new = Head(version, token, digest, version, token, len(snapshot), 0)
            if kept.bucket.garbage > _MOST_GARBAGE:
                kept.bucket = Bucket(self._setting)
                kept.bucket.replay(snapshot)
        else:
            self._log.appendValue((token + record,))
            new = Head(version, token, digest, head.base, head.base_token, head.snapshot_size, size)
        self._head.update(tuple(vars(new).values()))
        kept.version, kept.token = version, token
        self.keep(query, number, kept)

    def keep(self, query: str, number: int, kept: Kept) -> None:
        """Nothing has changed, or it is written: the engine is the bucket's."""
        if kept.token:
            _ENGINES[query, number] = kept


def _head(row: tuple[Any, ...]) -> Head:
    version, token, digest, base, base_token, snapshot_size, log_size = row
    return Head(version, bytes(token), digest, base, bytes(base_token), snapshot_size, log_size)


def _pieces(content: bytes) -> Iterator[bytes]:
    return (content[start : start + _PIECE] for start in range(0, len(content), _PIECE))
