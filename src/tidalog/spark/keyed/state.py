"""The state of a bucket that Spark keeps between batches.

    head       version, token, digest of the program, version and token of the snapshot, sizes
    snapshot   an earlier state of the bucket, in pieces
    log        a record for each later batch, preceded by its token

Invariant.  Every write has a new token, so that a token identifies one content.  A cached engine is current
if its token is that of the head; one with the token of the snapshot or of a record of the log applies the
later records; any other one is dropped.  So any process may have a bucket at any time, and it does not matter
whether Spark has committed what the process did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.config import BucketConfig
from tidalog.keyed.diagnostics import StateOfAnotherProgram
from tidalog.keyed.engines import TOKEN, BatchResult, CachedEngine
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
_PIECE: Final = 8 * 2**20


@dataclass(frozen=True)
class Head:
    version: int = 0
    token: bytes = b""
    digest: str = ""
    base: int = 0
    base_token: bytes = b""
    snapshot_size: int = 0
    log_size: int = 0


class BucketState:
    """The state of the bucket that Spark is processing."""

    def __init__(self, handle: StatefulProcessorHandle, config: BucketConfig) -> None:
        self._config = config
        self._head = handle.getValueState("head", HEAD)
        self._snapshot = handle.getListState("snapshot", PIECES)
        self._log = handle.getListState("log", PIECES)

    def head(self) -> Head:
        """The head; that of an empty state has no token."""
        found = self._head.get()
        if found is None:
            return Head()
        version, token, digest, base, base_token, snapshot_size, log_size = found
        if digest != self._config.digest:
            why = "its facts were derived by other rules, or spread over another number of buckets"
            raise SparkError(StateOfAnotherProgram(why=why))
        return Head(version, bytes(token), digest, base, bytes(base_token), snapshot_size, log_size)

    def restored(self, head: Head, cached: CachedEngine | None) -> CachedEngine:
        """An engine with the content of the head; the cached one if possible."""
        if not head.token:
            return CachedEngine(Bucket(self._config))
        if cached is not None and cached.token == head.token:
            return cached
        records = [bytes(piece) for (piece,) in self._log.get()]
        tokens = [head.base_token, *(record[:TOKEN] for record in records)]
        if cached is None or cached.token not in tokens:
            cached = CachedEngine(Bucket(self._config), head.base_token)
            if head.snapshot_size:
                cached.bucket.restore(b"".join(bytes(piece) for (piece,) in self._snapshot.get()))
        for record in records[tokens.index(cached.token) :]:
            cached.bucket.restore(record[TOKEN:])
        cached.token = head.token
        return cached

    def write(self, head: Head, result: BatchResult) -> None:
        """Writes the state, which becomes valid if Spark commits it."""
        if not result.record:
            return
        if not result.holds:
            for entry in (self._head, self._snapshot, self._log):
                entry.clear()
            return
        version, token, digest = head.version + 1, result.token, self._config.digest
        if result.snapshot:
            self._snapshot.put([(piece,) for piece in _pieces(result.snapshot)])
            self._log.clear()
            new = Head(version, token, digest, version, token, len(result.snapshot), 0)
        else:
            self._log.appendValue((token + result.record,))
            size = head.log_size + len(result.record)
            new = Head(version, token, digest, head.base, head.base_token, head.snapshot_size, size)
        self._head.update(tuple[Any, ...](vars(new).values()))


def _pieces(content: bytes) -> Iterator[bytes]:
    return (content[start : start + _PIECE] for start in range(0, len(content), _PIECE))
