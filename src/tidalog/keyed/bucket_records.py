"""Records of a bucket: the updates that a batch applied or the facts of a snapshot, what is known about keys,
and the states of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.keyed.batches import Numbers
from tidalog.keyed.keys import labels_of, labels_packed
from tidalog.keyed.windows import WindowsRecord
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate
from tidalog.storage.diagnostics import damaged_state
from tidalog.storage.records import UNDECODABLE, changes_of, changes_packed, unpacked

_KEYS: Final = "keys"
"""The name of keys in a record, which no predicate there has."""
_WINDOWS: Final = "windows"
"""What the header of a record says about windows; its last change has their rows."""


@dataclass(frozen=True)
class Noted:
    """Keys with the label of the last update of each, and when that came."""

    keys: Ids
    labels: pa.Array
    seen: Numbers


@dataclass(frozen=True)
class BucketRecord:
    header: Mapping[str, Any]
    updates: list[EncodedUpdate]
    noted: Noted
    forgotten: Ids
    windows: tuple[Mapping[str, Any], EncodedUpdate, Mapping[str, Any]] | None


def packed_record(
    noted: Noted,
    forgotten: Ids,
    applied: Sequence[EncodedUpdate],
    windows: WindowsRecord | None,
    header: Mapping[str, object],
    dictionary: Dictionary,
) -> bytes:
    keys = noted.keys
    about = EncodedUpdate([Facts(_KEYS, [forgotten], len(forgotten))], [Facts(_KEYS, [keys], len(keys))])
    arrays = {"seen": noted.seen, **labels_packed(noted.labels)}
    whole, updates = {"kind": "bucket", **header}, [about, *applied]
    if windows is not None:
        whole, updates = {**whole, _WINDOWS: dict(windows.header)}, [*updates, windows.rows]
        arrays |= windows.arrays
    return b"".join(changes_packed(whole, updates, dictionary, arrays))


def read_record(record: bytes, dictionary: Dictionary) -> BucketRecord:
    """Raises `StoreError` for damage."""
    try:
        read = unpacked(memoryview(record))
        about, *updates = changes_of(read, dictionary)
        (forgotten,), (noted,) = about.deletions, about.insertions
        keys, labels = noted.columns[0], labels_of(read.arrays)
        seen = read.arrays["seen"].astype(np.int64)
        if not len(keys) == len(labels) == len(seen):
            raise ValueError("its keys do not match what is known about them")
        header: Mapping[str, Any] = read.header
        windows = (header[_WINDOWS], updates.pop(), read.arrays) if _WINDOWS in header else None
    except UNDECODABLE as error:
        raise damaged_state(f"a record cannot be decoded ({error})") from error
    return BucketRecord(header, updates, Noted(keys, labels, seen), forgotten.columns[0], windows)
