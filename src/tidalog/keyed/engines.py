"""The engines that a process keeps, and a step of one: the batch of a bucket.

A step is bytes in and bytes out, so that it can be done in another process than the one that Spark has given
the bucket to.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tidalog.keyed.bucket import Applied, Bucket
from tidalog.keyed.packing import (
    BAD,
    BAD_ROW,
    NOW,
    REFUSED,
    WITH_RULES,
    arrow_stream,
    filled,
    packed_changes,
    row_schema,
    unpacked_rows,
)

COUNTED: Final = ("rows", "quarantined", "skipped", "refused", "expired", "updates")
TOKEN: Final = 8
"""Bytes of a token, which names one content of a bucket."""
_LEAST_LOG: Final = 2 * 2**20
"""Bytes of a log that are left alone, however small the snapshot is."""
_SHARE: Final = 2
"""A log is compacted once it is larger than one part in so many of its snapshot."""
_MOST_GARBAGE: Final = 0.5
"""The share of terms without facts from which on an engine is made anew."""


@dataclass(frozen=True)
class Asked:
    """A batch for a bucket, whose content has a token, a log and a snapshot of these sizes."""

    query: str
    number: int
    token: bytes
    log_size: int
    snapshot_size: int
    payloads: list[bytes]


@dataclass(frozen=True)
class Step:
    """What became of it."""

    token: bytes
    """Of the content now; the old one if nothing has changed."""
    holds: bool
    """Whether there is anything to keep: keys, or rules that came with the stream."""
    record: bytes
    """What makes the same of the content before."""
    snapshot: bytes
    """The whole content, if the log is to be compacted."""
    counts: str
    """In JSON; nothing if there was nothing to count."""
    others: bytes
    """Rows that are no changes; nothing if there are none."""
    changes: list[bytes]


@dataclass
class Kept:
    """An engine, and which content it has: none yet if there is no token."""

    bucket: Bucket
    token: bytes = b""


class Engines:
    """The engines of this process, by query and bucket.  Whoever works with one holds the lock: Spark's own
    thread, and one that does a step for another process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._kept: dict[tuple[str, int], Kept] = {}

    def take(self, query: str, number: int) -> Kept | None:
        """An engine that is taken is put back only if all went well."""
        return self._kept.pop((query, number), None)

    def put(self, query: str, number: int, kept: Kept) -> None:
        if kept.token:
            self._kept[query, number] = kept


ENGINES: Final = Engines()


def advance(kept: Kept, asked: Asked) -> Step:
    """Applies a batch to an engine that has the content which is asked for."""
    table = unpacked_rows(asked.payloads)
    now = pc.max(table.column(NOW)).as_py() if NOW in table.column_names else 0
    sound, has_key = pc.is_null(table.column(BAD)), pc.is_valid(table.column("key"))
    names = [name for name in table.column_names if name not in (NOW, BAD)]
    right = table.filter(pc.and_(sound, has_key)).select(names)
    others = table.filter(pc.invert(pc.and_(sound, has_key)))
    if others.num_rows:
        bad = others.filter(pc.is_valid(others.column(BAD)))
        rules = others.filter(pc.and_(pc.is_null(others.column(BAD)), pc.is_valid(others.column("op"))))
        applied = kept.bucket.apply(right, now, rules, bad)
    else:
        applied = kept.bucket.apply(right, now)
    changed = applied.rows > applied.skipped or applied.expired > 0 or applied.changes_rules
    speaks = asked.number == kept.bucket.setting.first_entry
    return Step(
        *_content(kept, asked, applied.record if changed else b""),
        _counts(applied, speaks),
        _others(kept.bucket, applied, speaks),
        list(packed_changes(applied.changes)),
    )


def take_in(kept: Kept, asked: Asked) -> Step:
    """Takes in a record that another run has left."""
    (record,) = asked.payloads
    kept.bucket.replay(record)
    return Step(*_content(kept, asked, record), "", b"", [])


def _content(kept: Kept, asked: Asked, record: bytes) -> tuple[bytes, bool, bytes, bytes]:
    """Token, whether there is content, record and snapshot, now that what is on record is done."""
    snapshot = b""
    holds = len(kept.bucket.keys) > 0 or kept.bucket.rules.moved
    if record:
        kept.token = os.urandom(TOKEN) if holds else b""
        if asked.log_size + len(record) > max(_LEAST_LOG, asked.snapshot_size // _SHARE):
            snapshot = kept.bucket.snapshot()
            if kept.bucket.garbage > _MOST_GARBAGE:
                kept.bucket = Bucket(kept.bucket.setting)
                kept.bucket.replay(snapshot)
    return kept.token, holds, record, snapshot


def _counts(applied: Applied, speaks: bool) -> str:
    """Rows about rules come to every bucket; one of them `speaks` of them."""
    bad = len(applied.bad)
    rows, skipped, refused = applied.rule_rows if speaks else (0, 0, 0)
    counts = (
        applied.rows + bad + rows,
        bad,
        applied.skipped + skipped,
        applied.refused_rows + refused,
        applied.expired,
        applied.updates,
    )
    if not any(counts) and not applied.told:
        return ""
    return json.dumps({**dict(zip(COUNTED, counts, strict=True)), "told": applied.told})


def _others(bucket: Bucket, applied: Applied, speaks: bool) -> bytes:
    schema = row_schema(bucket.setting.arguments, bucket.setting.text_labels)
    refused = applied.refused
    with_rules = [one for one in applied.refused_rules if speaks or one.key is not None]
    label = schema.field("update").type
    parts: Iterable[dict[str, object]] = (
        {
            "row": pa.repeat(REFUSED, refused.num_rows),
            "key": refused.column("key"),
            "update": refused.column("update"),
            "note": refused.column("constraint"),
        },
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
