"""The keys of a bucket: the label of the last update of each, and when that came.

Keys are ids of the bucket's dictionary, ascending.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.model.facts import Ids
from tidalog.storage.columns import Arrays

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass
class KeyTable:
    ids: Ids
    labels: pa.Array
    """int64 or string."""
    seen: Numbers
    """Milliseconds since 1970."""

    @classmethod
    def empty(cls, text_labels: bool) -> KeyTable:
        kind = pa.string() if text_labels else pa.int64()
        return cls(np.empty(0, np.int32), pa.array([], kind), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, keys: Ids) -> Numbers:
        """The position of each key in the table; -1 for an unknown one."""
        if not len(self.ids):
            return np.full(len(keys), -1, np.int64)
        found = np.searchsorted(self.ids, keys)
        found[found == len(self.ids)] = 0
        return np.where(self.ids[found] == keys, found, -1)

    def last_labels(self, keys: Ids) -> pa.Array:
        """The label of each key's last update; null if there is none."""
        positions = self.positions(keys)
        return self.labels.take(pa.array(positions, mask=positions < 0))

    def later(self, keys: Ids, labels: pa.Array) -> Mask:
        """Which labels are above the last one of their keys."""
        compared = pc.fill_null(pc.greater(labels, self.last_labels(keys)), True)
        result: Mask = compared.to_numpy(zero_copy_only=False)
        return result

    def note(self, keys: Ids, labels: pa.Array, seen: Numbers) -> None:
        """Notes the last updates of keys, which are ascending and each once."""
        old = ~np.isin(self.ids, keys)
        kept = np.flatnonzero(old)
        ids = np.concatenate([self.ids[kept], keys])
        order = np.argsort(ids, kind="stable")
        both = pa.concat_arrays([self.labels.take(pa.array(kept)), labels.cast(self.labels.type)])
        self.ids = ids[order]
        self.labels = both.take(pa.array(order))
        self.seen = np.concatenate([self.seen[kept], seen])[order]

    def forget(self, keys: Ids) -> None:
        kept = np.flatnonzero(~np.isin(self.ids, keys))
        self.ids, self.seen = self.ids[kept], self.seen[kept]
        self.labels = self.labels.take(pa.array(kept))

    def expired(self, before: int) -> Ids:
        """Keys without an update since."""
        return self.ids[self.seen <= before]


def labels_packed(labels: pa.Array) -> Arrays:
    """Labels as arrays of a record."""
    if pa.types.is_integer(labels.type):
        return {"labels": labels.to_numpy(zero_copy_only=False)}
    cells = labels.cast(pa.large_string())
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    text = np.frombuffer(data or b"", np.uint8)[int(ends[0]) : int(ends[-1])]
    return {"label_ends": ends - ends[0], "label_text": text}


def labels_of(arrays: Arrays) -> pa.Array:
    """The counterpart of `labels_packed`."""
    if "labels" in arrays:
        return pa.array(np.array(arrays["labels"]), pa.int64())
    ends = np.array(arrays["label_ends"])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.array(arrays["label_text"]))]
    labels = pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)
    labels.validate(full=True)
    return labels.cast(pa.string())
