"""N-Triples and N-Quads by compiled code: splits the plain statements of a block of lines into terms.

A line is *plain* if it is one statement in the common form: IRIs without escapes, blank nodes, literals whose
escapes are single letters.  Other lines (with `\\u` escapes, comments after a statement, errors) are left to
a full parser; the scan only reports their offsets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int32s, Int64Table, Uint8s
from tidalog.engine.jit import compiled, entry

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]

_LF, _CR, _TAB, _SPACE, _HASH, _DOT = 10, 13, 9, 32, 35, 46
_LESS, _GREATER, _QUOTE, _BACKSLASH, _AT, _CARET, _UNDERSCORE, _COLON, _MINUS = (
    60,
    62,
    34,
    92,
    64,
    94,
    95,
    58,
    45,
)
_IRI_STOPS = np.zeros(256, dtype=np.bool_)
_IRI_STOPS[:33] = True
for _character in '<>"{}|^`\\':
    _IRI_STOPS[ord(_character)] = True
_NAME = np.zeros(256, dtype=np.bool_)
_NAME[128:] = True
for _character in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_":
    _NAME[ord(_character)] = True
_ESCAPE = np.zeros(256, dtype=np.bool_)
for _character in "tbnrf\"'\\":
    _ESCAPE[ord(_character)] = True
_NOT_PLAIN = -1
_LONGEST_SUBTAG = 8


@compiled
def _end_of_iri(data: Bytes, at: int, end: int) -> int:
    """`at` is on `<`.  An IRI is not empty."""
    at += 1
    first = at
    while at < end and not _IRI_STOPS[data[at]]:
        at += 1
    if at < end and data[at] == _GREATER and at > first:
        return at + 1
    return _NOT_PLAIN


@compiled
def _end_of_blank_node(data: Bytes, at: int, end: int) -> int:
    if at + 2 >= end or data[at + 1] != _COLON or not _NAME[data[at + 2]]:
        return _NOT_PLAIN
    at += 3
    while at < end and (_NAME[data[at]] or data[at] == _DOT or data[at] == _MINUS):
        at += 1
    while data[at - 1] == _DOT:
        at -= 1
    return at


@compiled
def _is_letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122


@compiled
def _end_of_language(data: Bytes, at: int, end: int) -> int:
    """Subtags of at most eight characters with hyphens between; the first has letters only."""
    first = True
    while True:
        begin = at
        while at < end and (_is_letter(data[at]) or (not first and 48 <= data[at] <= 57)):
            at += 1
        if at == begin or at - begin > _LONGEST_SUBTAG:
            return _NOT_PLAIN
        if at >= end or data[at] != _MINUS:
            return at
        at += 1
        first = False


@compiled
def _end_of_literal(data: Bytes, at: int, end: int) -> int:
    at += 1
    while at < end and data[at] != _QUOTE:
        if data[at] == _BACKSLASH:
            at += 1
            if at >= end or not _ESCAPE[data[at]]:
                return _NOT_PLAIN
        at += 1
    if at >= end:
        return _NOT_PLAIN
    at += 1
    if at < end and data[at] == _AT:
        return _end_of_language(data, at + 1, end)
    if at + 2 < end and data[at] == _CARET and data[at + 1] == _CARET and data[at + 2] == _LESS:
        return _end_of_iri(data, at + 2, end)
    return at


@compiled
def _past_blanks(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@compiled
def _cut_statement(data: Bytes, at: int, end: int, cuts: Positions, graphs: bool) -> bool:
    """Writes the bounds of the four terms of a plain statement in [at, end); returns whether it is plain.
    The span of a graph that is not named is empty."""
    for position in range(4):
        at = _past_blanks(data, at, end)
        if at >= end:
            return False
        byte = data[at]
        if position == 3 and (byte == _DOT or not graphs):
            cuts[6] = at
            cuts[7] = at
            break
        cuts[2 * position] = at
        if byte == _LESS:
            at = _end_of_iri(data, at, end)
        elif byte == _UNDERSCORE and position != 1:
            at = _end_of_blank_node(data, at, end)
        elif byte == _QUOTE and position == 2:
            at = _end_of_literal(data, at, end)
        else:
            return False
        if at == _NOT_PLAIN:
            return False
        cuts[2 * position + 1] = at
    at = _past_blanks(data, at, end)
    if at >= end or data[at] != _DOT:
        return False
    return _past_blanks(data, at + 1, end) == end


@entry
def cut_lines(
    data: Uint8s, start: int, stop: int, cuts: Int64Table, others: Int64Table, graphs: bool
) -> tuple[int, int, int, int]:
    """Splits the lines of [start, stop) into terms, until one of the tables is full.

    `cuts[i]` gets the bounds of subject, predicate, object and graph of the i-th plain statement; only with
    `graphs` may it have a graph.  `others[j]` gets the start, end and number (from 0) of the j-th line that
    is not plain, blank or a comment.  Returns the length of both, the number of lines, and where they end.
    """
    plain = 0
    other = 0
    lines = 0
    at = start
    while at < stop and plain < len(cuts) and other < len(others):
        end = at
        while end < stop and data[end] != _LF and data[end] != _CR:
            end += 1
        first = _past_blanks(data, at, end)
        if first < end and data[first] != _HASH:
            if _cut_statement(data, first, end, cuts[plain], graphs):
                plain += 1
            else:
                others[other, 0] = at
                others[other, 1] = end
                others[other, 2] = lines
                other += 1
        lines += 1
        at = end + 1
        if end + 1 < stop and data[end] == _CR and data[end + 1] == _LF:
            at += 1
    return plain, other, lines, min(at, stop)


@entry
def gather(data: Uint8s, cuts: Int64Table, column: int, rows: Int32s, offsets: Int32s, text: Uint8s) -> None:
    """Copies one term of some statements into `text`, with Arrow's `offsets`."""
    to = 0
    for row in range(len(rows)):
        for at in range(cuts[rows[row], 2 * column], cuts[rows[row], 2 * column + 1]):
            text[to] = data[at]
            to += 1
        offsets[row + 1] = to
