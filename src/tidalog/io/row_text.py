"""Rows as text: fields in quotes for delimited text, values for JSON, lines as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.text_form import column_text


def needs_quotes(text: pa.ChunkedArray, delimiter: str) -> pa.ChunkedArray:
    """The fields that have a quote, a delimiter or a line break, or begin with a byte-order mark, which would
    be taken for that of the file."""
    return pc.match_substring_regex(text, f'["\\r\\n\\x{ord(delimiter):02x}]|^\ufeff')


def with_quotes(text: pa.ChunkedArray, special: pa.ChunkedArray) -> pa.ChunkedArray:
    """The fields, the special ones in quotes."""
    if not pc.any(special).as_py():
        return text
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(special, quoted, text)


def json_texts(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as JSON strings."""
    if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]")).as_py():
        encoded = text.combine_chunks().dictionary_encode()
        words = pa.array([json.dumps(w.as_py(), ensure_ascii=False) for w in encoded.dictionary], pa.string())
        return pa.chunked_array([words.take(encoded.indices)])
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"')):
        text = pc.replace_substring(text, plain, escaped)
    return pc.binary_join_element_wise('"', text, '"', "")


def json_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers and booleans as they are; doubles that JSON has no number for as text in `any` form."""
    text = column_text(column)
    if pa.types.is_string(column.type):
        return json_texts(text)
    if not pa.types.is_float64(column.type):
        return text
    return pc.if_else(pc.is_finite(column), text, json_texts(text))


def bytes_of(lines: pa.ChunkedArray) -> Iterator[memoryview]:
    """The values of a text column, concatenated: the contents of its data buffers."""
    for chunk in lines.chunks:
        if len(chunk):
            offsets = np.frombuffer(chunk.buffers()[1], dtype=np.int32)
            start, end = offsets[chunk.offset], offsets[chunk.offset + len(chunk)]
            yield memoryview(chunk.buffers()[2])[start:end] if end > start else memoryview(b"")
