"""The engines that a process caches, and the batches of one: bytes in and bytes out, so that the process that
has the engine can apply a batch that Spark has sent to another.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.outcome import BatchOutcome
from tidalog.keyed.packing import (
    BAD,
    BAD_ROW,
    NOW,
    OVERDUE,
    REFUSED,
    UNTIL,
    WITH_RULES,
    arrow_stream,
    filled,
    packed_changes,
    row_schema,
    unpacked_rows,
)

COUNTED: Final = ("rows", "quarantined", "skipped", "refused", "expired", "updates", "expired_facts")
TOKEN: Final = 8
"""Bytes of a token, which names one content of a bucket."""
_LEAST_LOG: Final = 2 * 2**20
"""A log of fewer bytes is not compacted, however small the snapshot is."""
_SHARE: Final = 2
"""A log is compacted once it is larger than 1 / `_SHARE` of its snapshot."""
_MOST_GARBAGE: Final = 0.5
"""An engine is rebuilt once a larger share of its terms has no facts."""


@dataclass(frozen=True)
class BatchRequest:
    """A batch for a bucket, whose content has this token, and a log and a snapshot of these sizes."""

    query: str
    number: int
    token: bytes
    log_size: int
    snapshot_size: int
    payloads: list[bytes]


@dataclass(frozen=True)
class BatchResult:
    """What a batch did."""

    token: bytes
    """Of the content after the batch; the old one if nothing has changed."""
    holds: bool
    """Whether there is anything to keep: keys, rules from the stream, or its time."""
    record: bytes
    """Applied to the content before, it restores the content after."""
    snapshot: bytes
    """The whole content, if the log is to be compacted."""
    counts: str
    """In JSON; empty if there was nothing to count."""
    others: bytes
    """Rows that are not changes; empty if there are none."""
    changes: list[bytes]


@dataclass
class CachedEngine:
    """An engine, and the token of its content; empty for a new one."""

    bucket: Bucket
    token: bytes = b""


class EngineCache:
    """The engines of this process, by query and bucket.  A thread that uses one holds the lock: that of
    Spark, or one that serves another process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._engines: dict[tuple[str, int], CachedEngine] = {}

    def take(self, query: str, number: int) -> CachedEngine | None:
        """Removes an engine; it is put back only if the batch succeeds."""
        return self._engines.pop((query, number), None)

    def put(self, query: str, number: int, cached: CachedEngine) -> None:
        if cached.token:
            self._engines[query, number] = cached


ENGINE_CACHE: Final = EngineCache()


def apply_batch(cached: CachedEngine, request: BatchRequest) -> BatchResult:
    """Applies a batch to an engine that has the content of the request."""
    table = unpacked_rows(request.payloads)
    now = pc.max(table.column(NOW)).as_py() if NOW in table.column_names else 0
    sound, has_key = pc.is_null(table.column(BAD)), pc.is_valid(table.column("key"))
    until = pc.max(table.column(UNTIL)).as_py() if UNTIL in table.column_names else None
    names = [name for name in table.column_names if name not in (NOW, BAD, UNTIL)]
    right = table.filter(pc.and_(sound, has_key)).select(names)
    others = table.filter(pc.invert(pc.and_(sound, has_key)))
    if others.num_rows:
        bad = others.filter(pc.is_valid(others.column(BAD)))
        rules = others.filter(pc.and_(pc.is_null(others.column(BAD)), pc.is_valid(others.column("op"))))
        applied = cached.bucket.apply(right, now, rules, bad, until)
    else:
        applied = cached.bucket.apply(right, now, until=until)
    changed = applied.rows > applied.skipped or applied.expired > 0 or applied.changes_rules
    changed = changed or applied.moves_time
    reports = request.number == cached.bucket.config.first_entry
    return BatchResult(
        *_content(cached, request, applied.record if changed else b""),
        _counts(applied, reports),
        _others(cached.bucket, applied, reports),
        list(packed_changes(applied.changes)),
    )


def load_record(cached: CachedEngine, request: BatchRequest) -> BatchResult:
    """Applies a record of another run."""
    (record,) = request.payloads
    cached.bucket.restore(record)
    return BatchResult(*_content(cached, request, record), "", b"", [])


def _content(cached: CachedEngine, request: BatchRequest, record: bytes) -> tuple[bytes, bool, bytes, bytes]:
    """The token, whether there is content, the record and the snapshot, after a record was applied."""
    snapshot = b""
    holds = len(cached.bucket.keys) > 0 or cached.bucket.rules.edited or cached.bucket.windows.has_content
    if record:
        cached.token = os.urandom(TOKEN) if holds else b""
        if request.log_size + len(record) > max(_LEAST_LOG, request.snapshot_size // _SHARE):
            snapshot = cached.bucket.snapshot()
            if cached.bucket.garbage > _MOST_GARBAGE:
                cached.bucket = Bucket(cached.bucket.config)
                cached.bucket.restore(snapshot)
    return cached.token, holds, record, snapshot


def _counts(applied: BatchOutcome, reports: bool) -> str:
    """Rows about rules go to every bucket; one of them `reports` them."""
    bad = len(applied.bad)
    rows, skipped, refused = applied.rule_rows if reports else (0, 0, 0)
    counts = (
        applied.rows + bad + rows,
        bad,
        applied.skipped + skipped,
        applied.refused_rows + refused,
        applied.expired,
        applied.updates,
        applied.expired_facts,
    )
    if not any(counts) and not applied.predicates and applied.clock is None:
        return ""
    found = {**dict(zip(COUNTED, counts, strict=True)), "predicates": applied.predicates}
    return json.dumps(found if applied.clock is None else {**found, "clock": asdict(applied.clock)})


def _others(bucket: Bucket, applied: BatchOutcome, reports: bool) -> bytes:
    schema = row_schema(bucket.config.arguments, bucket.config.text_labels)
    of_keys = ((REFUSED, applied.refused), (OVERDUE, applied.overdue))
    with_rules = [one for one in applied.refused_rules if reports or one.key is not None]
    label = schema.field("update").type
    parts: Iterable[dict[str, object]] = (
        *(
            {
                "row": pa.repeat(kind, table.num_rows),
                "key": table.column("key"),
                "update": table.column("update"),
                "note": table.column("constraint"),
            }
            for kind, table in of_keys
        ),
        {
            "row": pa.repeat(WITH_RULES, len(with_rules)),
            "key": pa.array([one.key for one in with_rules], pa.string()),
            "update": pa.array([one.update for one in with_rules], label),
            "note": pa.array([one.why for one in with_rules], pa.string()),
        },
        {"row": pa.repeat(BAD_ROW, len(applied.bad)), "note": pa.array(applied.bad, pa.string())},
    )
    table = pa.concat_tables([filled(part, schema) for part in parts])
    return arrow_stream(table) if table.num_rows else b""
