"""What survives a bucket's engine: an entry of Spark's state.

    head       version, token, digest of the program, version and token of the snapshot, sizes
    snapshot   the bucket as it was, in pieces
    log        a record for each batch since then, behind its token

Invariant.  A token is made anew whenever something is written, so that it names one content.  An engine that
a worker has kept is the bucket's exactly if its token is that of the head; one with the token of the snapshot
or of a record of the log is caught up with the records behind it; any other one is thrown away.  So it does
not matter which process has a bucket when, nor whether what it did was committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.config import Setting
from tidalog.keyed.diagnostics import StateOfAnotherProgram
from tidalog.keyed.engines import TOKEN, Kept, Step
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
    """The entry of the bucket that Spark has handed over last."""

    def __init__(self, handle: StatefulProcessorHandle, setting: Setting) -> None:
        self._setting = setting
        self._head = handle.getValueState("head", HEAD)
        self._snapshot = handle.getListState("snapshot", PIECES)
        self._log = handle.getListState("log", PIECES)

    def head(self) -> Head:
        """That of nothing has no token."""
        found = self._head.get()
        if found is None:
            return Head()
        version, token, digest, base, base_token, snapshot_size, log_size = found
        if digest != self._setting.digest:
            why = "its facts were derived by other rules, or spread over another number of buckets"
            raise SparkError(StateOfAnotherProgram(why=why))
        return Head(version, bytes(token), digest, base, bytes(base_token), snapshot_size, log_size)

    def caught_up(self, head: Head, kept: Kept | None) -> Kept:
        """An engine with the content of the head, out of one that is kept if that is of use."""
        if not head.token:
            return Kept(Bucket(self._setting))
        if kept is not None and kept.token == head.token:
            return kept
        records = [bytes(piece) for (piece,) in self._log.get()]
        tokens = [head.base_token, *(record[:TOKEN] for record in records)]
        if kept is None or kept.token not in tokens:
            kept = Kept(Bucket(self._setting), head.base_token)
            if head.snapshot_size:
                kept.bucket.replay(b"".join(bytes(piece) for (piece,) in self._snapshot.get()))
        for record in records[tokens.index(kept.token) :]:
            kept.bucket.replay(record[TOKEN:])
        kept.token = head.token
        return kept

    def write(self, head: Head, step: Step) -> None:
        """This is the state from now on, if Spark commits it."""
        if not step.record:
            return
        if not step.holds:
            for entry in (self._head, self._snapshot, self._log):
                entry.clear()
            return
        version, token, digest = head.version + 1, step.token, self._setting.digest
        if step.snapshot:
            self._snapshot.put([(piece,) for piece in _pieces(step.snapshot)])
            self._log.clear()
            new = Head(version, token, digest, version, token, len(step.snapshot), 0)
        else:
            self._log.appendValue((token + step.record,))
            size = head.log_size + len(step.record)
            new = Head(version, token, digest, head.base, head.base_token, head.snapshot_size, size)
        self._head.update(tuple[Any, ...](vars(new).values()))


def _pieces(content: bytes) -> Iterator[bytes]:
    return (content[start : start + _PIECE] for start in range(0, len(content), _PIECE))
