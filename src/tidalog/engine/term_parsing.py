"""Texts and numbers of tables to terms, in bulk.

`cells` classifies a cell; what only `term_text.parse_any` can read is left to Python, once for each distinct
text.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Float64s, Int32s, Int64s, Uint8s, int64
from tidalog.engine.cells import (
    AS_FALSE,
    AS_INTEGER,
    AS_IRI,
    AS_SLOW,
    AS_STRING,
    AS_TRUE,
    classify,
    read_integer,
)
from tidalog.engine.dictionary_kernels import (
    BLANK,
    INTEGER,
    IRI,
    LITERAL,
    STRING,
    TERMS,
    TEXT,
    Terms,
    has_term_capacity,
    intern_boolean,
    intern_double,
    intern_hashed,
    intern_integer,
    intern_text,
    number_hash,
    text_hash,
)
from tidalog.engine.fact_kernels import CACHED, FAR_AHEAD
from tidalog.engine.hash_table import table_shift
from tidalog.engine.jit import entry, prefetch

_REMEMBERED: Final = 1 << 12  # integers whose ids are remembered; a power of two
READ_ANY: Final = AS_SLOW
READ_STRING: Final = AS_STRING
READ_IRI: Final = AS_IRI
TEXTS_AT_ONCE: Final = 128
_TERM_KINDS: Final = (IRI, BLANK, STRING)
"""Kinds of terms by readings."""


@entry
def encode_texts(
    terms: Terms,
    offsets: Int32s,
    data: Uint8s,
    begin: int,
    reading: int,
    ids: Int32s,
    slow: Int32s,
    slow_count: Int64s,
) -> int:
    """Interns the cells from `begin` on; stops and says where when the dictionary is full.  Rows that Python
    must read are appended to `slow`.

    A large dictionary lies outside the cache: a block of cells is classified and its slots are prefetched
    before the first lookup.
    """
    rows = len(ids)
    readings = np.empty(TEXTS_AT_ONCE, np.uint8)
    starts, sizes = np.empty(TEXTS_AT_ONCE, np.int64), np.empty(TEXTS_AT_ONCE, np.int64)
    hashes = np.empty(TEXTS_AT_ONCE, np.uint64)
    shift = table_shift(len(terms.slots))
    for first in range(begin, rows, TEXTS_AT_ONCE):
        count = min(TEXTS_AT_ONCE, rows - first)
        more = int64(offsets[first + count]) - int64(offsets[first])
        if not has_term_capacity(terms, count) or terms.state[TEXT] + more > len(terms.text):
            return first
        for k in range(count):
            start = int64(offsets[first + k])
            kind, at, size = reading, start, int64(offsets[first + k + 1]) - start
            if reading == READ_ANY:
                kind, at, size = classify(data, start, size)
            if kind == AS_INTEGER:
                at = read_integer(data, at, size)
                hashes[k] = number_hash(INTEGER, at)
            elif kind < AS_INTEGER:
                hashes[k] = text_hash(_TERM_KINDS[kind], -1, data, at, size)
            readings[k], starts[k], sizes[k] = kind, at, size
            if kind <= AS_INTEGER:
                prefetch(terms.slots, hashes[k] >> shift)
        for k in range(count):
            kind = readings[k]
            if kind < AS_INTEGER:
                term_kind = _TERM_KINDS[kind]
                ids[first + k] = intern_hashed(terms, hashes[k], term_kind, -1, data, starts[k], sizes[k])
            elif kind == AS_INTEGER:
                ids[first + k] = intern_integer(terms, starts[k])
            elif kind == AS_TRUE or kind == AS_FALSE:
                ids[first + k] = intern_boolean(terms, 1 if kind == AS_TRUE else 0)
            else:
                ids[first + k] = -1
                slow[slow_count[0]] = first + k
                slow_count[0] += 1
    return rows


@entry
def encode_integers(terms: Terms, values: Int64s, begin: int, ids: Int32s) -> int:
    """Interns integers from `begin` on; stops and says where when the dictionary is full.  Columns repeat
    values, and a large dictionary lies outside the cache: the last row with a value of the same low bits is
    remembered, and the slots of later values are prefetched."""
    rows = len(ids)
    last = np.full(_REMEMBERED, -1, np.int32)
    shift = table_shift(len(terms.slots))
    is_far = len(terms.slots) > CACHED
    for i in range(begin, rows):
        value = values[i]
        if is_far and i + FAR_AHEAD < rows:
            coming = values[i + FAR_AHEAD]
            before = last[coming & (_REMEMBERED - 1)]
            if before < 0 or values[before] != coming:
                prefetch(terms.slots, number_hash(INTEGER, coming) >> shift)
        slot = value & (_REMEMBERED - 1)
        before = last[slot]
        if before >= 0 and values[before] == value:
            ids[i] = ids[before]
            continue
        if not has_term_capacity(terms, 1):
            return i
        ids[i] = intern_integer(terms, value)
        last[slot] = i
    return rows


@entry
def encode_doubles(terms: Terms, values: Float64s, begin: int, ids: Int32s) -> int:
    for i in range(begin, len(ids)):
        if not has_term_capacity(terms, 1):
            return i
        ids[i] = intern_double(terms, values[i])
    return len(ids)


@entry
def encode_literals(
    terms: Terms, offsets: Int32s, data: Uint8s, extra: int, value: int, numbers: Int64s, ids: Int32s
) -> None:
    """Interns literals of the datatype `extra` that count as the kind `value`; there is capacity."""
    for i in range(len(ids)):
        start, before = int64(offsets[i]), terms.state[TERMS]
        ids[i] = intern_text(terms, LITERAL, extra, data, start, int64(offsets[i + 1]) - start)
        if ids[i] == before:
            terms.value[before] = value
            terms.number[before] = numbers[i]
