"""Terms in N-Triples syntax to ids, straight from the text in which they stand.

Statements repeat their terms: the row before has the same subject, few properties occur again and again.  A
span with the bytes of an earlier one gets its id without a look at the dictionary.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Int32s, Int64s, Int64Table, Uint8s, int64
from tidalog.engine.cells import AS_INTEGER, AS_IRI, AS_SLOW, AS_STRING, classify
from tidalog.engine.dictionary_kernels import (
    IRI,
    STRING,
    TEXT,
    Terms,
    has_term_capacity,
    intern_hashed,
    text_hash,
)
from tidalog.engine.hash_table import table_shift
from tidalog.engine.jit import compiled, entry, prefetch

NO_TERM: Final = -1
SLOW: Final = -2
_REMEMBERED: Final = 1 << 12  # a power of two
SPANS_AT_ONCE: Final = 128
_AGAIN: Final = AS_SLOW + 1
_ABSENT: Final = AS_SLOW + 2
_END: Final = 10  # how many of its last bytes decide where a span is remembered


@compiled
def _slot(data: Uint8s, start: int, size: int) -> int:
    found = int64(size)
    for at in range(start + max(0, size - _END), start + size):
        found = found * 31 + int64(data[at])
    return found & (_REMEMBERED - 1)


@compiled
def _same(data: Uint8s, cut: Int64s, column: int, start: int, size: int) -> bool:
    """Whether a span has the bytes of a term of another statement."""
    other = cut[2 * column]
    if cut[2 * column + 1] - other != size:
        return False
    for i in range(size):
        if data[start + i] != data[other + i]:
            return False
    return True


@entry
def encode_spans(
    terms: Terms,
    data: Uint8s,
    cuts: Int64Table,
    column: int,
    begin: int,
    ids: Int32s,
    slow: Int32s,
    slow_count: Int64s,
) -> int:
    """The ids of one term of each statement, from row `begin` on; stops and says where when the dictionary
    is full.  `cuts` has the bounds of the terms; an empty span is NO_TERM.  Rows that are not plain IRIs or
    strings (blank nodes among them) are SLOW, and appended to `slow`."""
    rows = len(ids)
    last = np.full(_REMEMBERED, -1, np.int32)
    readings = np.empty(SPANS_AT_ONCE, np.uint8)
    starts, sizes = np.empty(SPANS_AT_ONCE, np.int64), np.empty(SPANS_AT_ONCE, np.int64)
    hashes = np.empty(SPANS_AT_ONCE, np.uint64)
    shift = table_shift(len(terms.slots))
    for first in range(begin, rows, SPANS_AT_ONCE):
        count = min(SPANS_AT_ONCE, rows - first)
        more = int64(0)
        for k in range(count):
            row = first + k
            start = cuts[row, 2 * column]
            size = cuts[row, 2 * column + 1] - start
            if size == 0:
                readings[k] = _ABSENT
                continue
            slot = _slot(data, start, size)
            before = int64(last[slot])
            last[slot] = row
            if before >= 0 and _same(data, cuts[before], column, start, size):
                readings[k], starts[k] = _AGAIN, before
                continue
            kind, at, size = classify(data, start, size)
            if kind != AS_IRI and kind != AS_STRING:
                readings[k] = AS_SLOW
                continue
            hashes[k] = text_hash(IRI if kind == AS_IRI else STRING, -1, data, at, size)
            readings[k], starts[k], sizes[k] = kind, at, size
            prefetch(terms.slots, hashes[k] >> shift)
            more += size
        if not has_term_capacity(terms, count) or terms.state[TEXT] + more > len(terms.text):
            return first
        for k in range(count):
            kind, row = readings[k], first + k
            if kind < AS_INTEGER:
                term_kind = IRI if kind == AS_IRI else STRING
                ids[row] = intern_hashed(terms, hashes[k], term_kind, -1, data, starts[k], sizes[k])
            elif kind == _ABSENT:
                ids[row] = NO_TERM
            else:
                ids[row] = ids[starts[k]] if kind == _AGAIN else SLOW
                if ids[row] == SLOW:
                    slow[slow_count[0]] = row
                    slow_count[0] += 1
    return rows
