"""Dates and times of a column in bulk, with the numbers that they count as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.engine import value_kinds
from tidalog.model import values

Int64s = npt.NDArray[np.int64]

_DAY: Final = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_MOMENTS: Final = ((values.DATE_TIME, _DAY + _CLOCK), (values.DATE, _DAY))
"""Datatypes, and the texts in the years 1 to 9999, without a zone or in UTC, that Arrow reads exactly."""


def moments_among(cells: pa.Array) -> Iterator[tuple[Int64s, str, pa.Array, int, Int64s]]:
    """The dates and times among cells of format `any`, where Arrow can read them: their rows, datatype,
    lexical forms, what they count as, and their numbers."""
    for datatype, pattern in _MOMENTS:
        end = f'"^^<{datatype}>'
        found = pc.match_substring_regex(cells, f'^"{pattern}Z?"\\^\\^<{datatype}>$')
        mask = np.frombuffer(found.cast(pa.int8()).buffers()[1], np.int8, len(found)).astype(bool)
        if not mask.any():
            continue
        lexical = pc.utf8_slice_codeunits(cells.filter(found), 1, -len(end))
        try:
            moments = pc.utf8_rtrim(lexical, "Z").cast(pa.timestamp("us")).cast(pa.int64())
        except pa.ArrowInvalid:  # a day that the calendar does not have, or 24:00:00
            continue
        numbers = np.frombuffer(moments.buffers()[1], np.int64, len(moments))
        yield np.flatnonzero(mask), datatype, lexical, value_kinds.INSTANT_VALUE, numbers
