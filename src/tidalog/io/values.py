"""Columns of Python values: one Arrow column each, as narrow as the values allow.

Arrow would take 1 for 1.0 beside 2.5; a fact would not.  A column of one Python type becomes a column of that
type; a mixed one becomes text in `any` form, in which every value keeps its kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidalog.io.text_form import value_text
from tidalog.model.terms import is_text

_ARROW_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


def column_of(values: Sequence[object]) -> tuple[pa.ChunkedArray, dict[int, object]]:
    """The column, with null for None and for values that are not terms; and those values."""
    kinds = set(map(type, values))
    if not kinds:
        return pa.chunked_array([], pa.string()), {}
    if len(kinds) == 1 and (arrow_type := _ARROW_TYPES.get(next(iter(kinds)))) is not None:
        try:
            return pa.chunked_array([pa.array(values, arrow_type)]), {}
        except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
            pass  # an integer beyond 64 bits, or half a surrogate pair
    texts: list[str | None] = []
    strange: dict[int, object] = {}
    for row, value in enumerate(values):
        text = None if _missing(value) else value_text(value)
        if text is not None and not is_text(text):
            text = None
        if text is None and not _missing(value):
            strange[row] = value
        texts.append(text)
    return pa.chunked_array([pa.array(texts, pa.string())]), strange


def _missing(value: object) -> bool:
    """None, and the missing values of pandas, which are known by not being equal to anything."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")
