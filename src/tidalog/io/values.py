"""Columns of Python values as Arrow columns of the narrowest type.

Arrow would convert 1 to 1.0 beside 2.5, but these are different terms.  A column of one Python type becomes a
column of that type; a mixed one becomes text in `any` form, in which every value keeps its type.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tidalog.io.result import Reading
from tidalog.io.text_form import value_text
from tidalog.model.terms import IRI, is_text

_TIMES: Final = ("datetime64", "timedelta64")
_FEW: Final = 1000  # values from which Arrow's own conversion pays
_ARROW_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


def column_of(
    values: Sequence[object], text: Reading = "string"
) -> tuple[pa.ChunkedArray, Reading, dict[int, object]]:
    """The column, with null for None and for values that are not terms; how its text is read; and those
    values.  `text` says how a `str` is read: as the string that it is, as an IRI, or as `any`."""
    kinds = set(map(type, values))
    if not kinds:
        return pa.chunked_array([], pa.string()), text, {}
    if len(kinds) == 1 and (arrow_type := _ARROW_TYPES.get(next(iter(kinds)))) is not None:
        try:
            return pa.chunked_array([_array(values, arrow_type)]), text, {}
        except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
            pass  # an integer beyond 64 bits, or half a surrogate pair
    texts: list[str | None] = []
    strange: dict[int, object] = {}
    for row, value in enumerate(values):
        written: str | None = None
        if isinstance(value, str) and text == "any":
            written = value
        elif not _missing(value):
            is_iri = text == "iri" and isinstance(value, str)
            written = value_text(IRI(str(value)) if is_iri else value)
        if written is not None and not is_text(written):
            written = None
        if written is None and not _missing(value):
            strange[row] = value
        texts.append(written)
    return pa.chunked_array([_array(texts, pa.string())]), "any", strange


def _array(values: Sequence[object], arrow_type: pa.DataType) -> pa.Array:
    """An Arrow array of values of one Python type; texts may be None.

    Arrow's own conversion imports pandas if it is installed, which takes longer than a small update.
    """
    if len(values) > _FEW or "pandas" in sys.modules:
        return pa.array(values, arrow_type)
    if pa.types.is_string(arrow_type):
        texts = [b"" if value is None else str(value).encode() for value in values]
        offsets = np.zeros(len(texts) + 1, np.int32)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        known = _bits([value is not None for value in values]) if None in values else None
        return pa.StringArray.from_buffers(
            len(values), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts)), known
        )
    if pa.types.is_boolean(arrow_type):
        return pa.Array.from_buffers(arrow_type, len(values), [None, _bits(values)])
    numbers = np.array(values, np.int64 if pa.types.is_integer(arrow_type) else np.float64)
    return pa.Array.from_buffers(arrow_type, len(values), [None, pa.py_buffer(numbers)])


def _bits(values: Sequence[object]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(values, np.bool_), bitorder="little"))


def _missing(value: object) -> bool:
    """None, and the missing values of pandas and numpy."""
    name = type(value).__name__
    return value is None or name in ("NAType", "NaTType") or (name in _TIMES and value != value)
