"""Arrow columns of any type as columns that become terms: int64, float64, bool, or text with its reading."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.result import Reading
from tidalog.io.text_form import column_text, is_dated

_PER_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_FIRST_DAY: Final = -719_162
_LAST_DAY: Final = 2_932_896
"""Days since 1970 of 0001-01-01 and of 9999-12-31."""
_MAX_CHUNK: Final = 2**31 - 1


class NotTerms(ValueError):
    """The column has values that are not terms; the message says which."""


def plain(column: pa.ChunkedArray, reading: Reading) -> tuple[pa.ChunkedArray, Reading]:
    """The column as int64, float64, bool or string; nulls stay.  `reading` is that of its field
    (`reading_of`).  Raises `NotTerms`."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain(flat(column), reading)
    if types.is_null(kind):
        return column.cast(pa.string()), "string"
    if types.is_boolean(kind):
        return column, "native"
    if types.is_integer(kind) or reading == "int":
        return _whole_numbers(column)
    if types.is_floating(kind):
        return column.cast(pa.float64()), "native"
    if types.is_decimal(kind) or is_dated(kind):
        if not in_the_calendar(column):
            raise NotTerms("dates outside the years 1 to 9999")
        if not _has_whole_days(column):
            raise NotTerms("dates with a time of day" if types.is_date(kind) else "times outside of a day")
        try:
            return column_text(column), "any"
        except TypeError:
            raise NotTerms("durations of more than 2^63 seconds") from None
    if types.is_string(kind):
        if not _is_utf8(column):
            raise NotTerms("text that is not UTF-8")
        return column, reading
    if types.is_large_string(kind) or types.is_string_view(kind) or types.is_binary(kind):
        text = _small_strings(column)
        if text is not None and _is_utf8(text):
            return text, reading
    raise NotTerms(f"values of type {kind}")


def flat(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column of a dictionary or of run ends, which may have nulls among their values; another
    column stays.  Arrow cannot take from views of text."""
    if pa.types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return flat(pa.chunked_array(chunks, column.type.value_type))
    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    if not pa.types.is_string_view(kind):
        return column.cast(kind)
    chunks = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string())


def _is_utf8(column: pa.ChunkedArray) -> bool:
    """Arrow does not validate text columns."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def in_the_calendar(column: pa.ChunkedArray) -> bool:
    """Whether all dates, if it has any, are in the years 1 to 9999."""
    kind = column.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return True
    units = 1 if pa.types.is_date32(kind) else _PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    bare = column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    bounds = pc.min_max(bare).as_py()
    if bounds["min"] is None:
        return True
    return bool(bounds["min"] // units >= _FIRST_DAY and bounds["max"] // units <= _LAST_DAY)


def _has_whole_days(column: pa.ChunkedArray) -> bool:
    """Arrow checks neither that a date has no time of day nor that a time is one of a day."""
    kind, types = column.type, pa.types
    if types.is_date64(kind):
        return bool(column.cast(pa.date32(), safe=False).cast(pa.date64()).equals(column))
    if not types.is_time(kind):
        return True
    bounds = pc.min_max(column.cast(pa.int32() if types.is_time32(kind) else pa.int64())).as_py()
    return bounds["min"] is None or bool(bounds["min"] >= 0 and bounds["max"] < _PER_DAY[kind.unit])


def _whole_numbers(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Reading]:
    """int64 if all values fit; otherwise text, so that large integers stay exact."""
    try:
        return column.cast(pa.int64()), "native"
    except pa.ArrowInvalid:
        return column.cast(pa.string()), "any"


def _small_strings(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """utf8 with 32-bit offsets, in chunks small enough for them; None if it is not UTF-8."""
    pending = list(reversed(column.chunks))
    chunks: list[pa.Array] = []
    while pending:
        chunk = pending.pop()
        if chunk.nbytes > _MAX_CHUNK and len(chunk) > 1:
            middle = len(chunk) // 2
            pending += [chunk.slice(middle), chunk.slice(0, middle)]
            continue
        try:
            chunks.append(chunk.cast(pa.string()))
        except pa.ArrowInvalid:
            return None
    return pa.chunked_array(chunks, pa.string())
