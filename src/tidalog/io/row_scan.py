"""The offsets of rows in delimited text: compiled scans over its bytes.

The scans read text exactly as Arrow's CSV reader does, so that the n-th row here is the n-th row there: a
field is quoted if it *starts* with a quote; two quotes inside are one; after the closing quote the field
continues to the next delimiter; `\\n`, `\\r` and `\\r\\n` end a row; empty lines are not rows.  They add what
that reader does not report: the line of a row, its number of fields, and a quote that is never closed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int64s, Uint8s
from tidalog.engine.jit import entry

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]

NO_QUOTE = -1
NO_DELIMITER = -1
_LF = 10
_CR = 13


@entry
def scan_row(data: Uint8s, start: int, delimiter: int, quote: int) -> tuple[int, int, int, int, int]:
    """The row that starts at `start`: (end of its text, start of the next text, fields, line breaks before
    it, offset of a quote that is not closed or -1)."""
    size = len(data)
    at = start
    fields = 1
    breaks = 0
    at_field_start = True
    while at < size:
        byte = data[at]
        if at_field_start and byte == quote:
            opened = at
            at += 1
            closed = False
            while at < size:
                byte = data[at]
                if byte == quote:
                    if at + 1 < size and data[at + 1] == quote:
                        at += 1
                    else:
                        closed = True
                        break
                elif byte == _LF or (byte == _CR and not (at + 1 < size and data[at + 1] == _LF)):
                    breaks += 1
                at += 1
            if not closed:
                return size, size, fields, breaks, opened
            at += 1
            at_field_start = False
            continue
        at_field_start = False
        if byte == delimiter:
            fields += 1
            at_field_start = True
        elif byte == _LF:
            return at, at + 1, fields, breaks + 1, -1
        elif byte == _CR:
            after = at + 2 if at + 1 < size and data[at + 1] == _LF else at + 1
            return at, after, fields, breaks + 1, -1
        at += 1
    return size, size, fields, breaks, -1


@entry
def skip_empty_lines(data: Uint8s, start: int) -> tuple[int, int]:
    """The first byte from `start` that is not a line break, and the number of line breaks before it."""
    size = len(data)
    at = start
    breaks = 0
    while at < size:
        byte = data[at]
        if byte == _CR:
            breaks += 1
            at += 2 if at + 1 < size and data[at + 1] == _LF else 1
        elif byte == _LF:
            breaks += 1
            at += 1
        else:
            break
    return at, breaks


@entry
def skip_lines(data: Uint8s, start: int, lines: int) -> int:
    """The offset after a number of lines."""
    size = len(data)
    at = start
    while lines > 0 and at < size:
        byte = data[at]
        at += 1
        if byte == _CR and at < size and data[at] == _LF:
            at += 1
            lines -= 1
        elif byte == _CR or byte == _LF:
            lines -= 1
    return at


@entry
def survey(data: Uint8s, start: int, delimiter: int, quote: int, width: int) -> tuple[int, int, int]:
    """(rows, rows that do not have `width` fields, offset of a quote that is not closed or -1)."""
    size = len(data)
    rows = 0
    wrong = 0
    at = start
    while at < size:
        at, _ = skip_empty_lines(data, at)
        if at >= size:
            break
        _, at, fields, _, opened = scan_row(data, at, delimiter, quote)
        rows += 1
        if fields != width:
            wrong += 1
        if opened >= 0:
            return rows, wrong, opened
    return rows, wrong, -1


@entry
def index_rows(
    data: Uint8s,
    start: int,
    line: int,
    delimiter: int,
    quote: int,
    starts: Int64s,
    ends: Int64s,
    lines: Int64s,
    widths: Int64s,
) -> None:
    """For each row: the offsets of its text, the line it starts in, its number of fields.

    `line` is the line of `start`; the arrays have the length that `survey` counted.
    """
    at = start
    for row in range(len(starts)):
        at, breaks = skip_empty_lines(data, at)
        line += breaks
        starts[row] = at
        lines[row] = line
        end, at, fields, breaks, _ = scan_row(data, at, delimiter, quote)
        ends[row] = end
        widths[row] = fields
        line += breaks
