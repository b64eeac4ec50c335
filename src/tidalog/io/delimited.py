"""CSV, TSV and other delimited text.

Every field is read as text; the column's format decides what it means (columns.py).  Quotes of the file
format have no meaning of their own: `"42"` and `42` in a CSV file are the same value, and an empty field is
the empty text, quoted or not.

A compiled scan (row_scan.py) counts rows and fields first.  If every row has the right number of fields,
Arrow reads the whole file; otherwise it reads the good rows only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from tidalog.io.columns import RawTable, check_shape, named_fields, shown
from tidalog.io.diagnostics import BrokenFile, DataDiagnostic, OpenQuote, Position, WrongFieldCount
from tidalog.io.encoding import (
    as_bytes,
    decoded,
    first_invalid,
    invalid_text,
    is_utf8,
    line_text,
    position_of,
    without_mark,
)
from tidalog.io.result import BadRow, BadRowLog, Reading
from tidalog.io.row_scan import (
    NO_QUOTE,
    Positions,
    index_rows,
    scan_row,
    skip_empty_lines,
    skip_lines,
    survey,
)
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError
from tidalog.model.program import Declaration

_BLOCK: Final = 1 << 22
_MAX_BLOCK: Final = 2**31 - 1
_QUOTE: Final = '"'


@dataclass(frozen=True)
class Layout:
    """The layout of the text; `delimiter` is one ASCII character, `skip` is the number of lines to skip
    first."""

    delimiter: str = ","
    quoting: bool = True
    header: bool = False
    skip: int = 0


@dataclass(frozen=True)
class _Text:
    """The text of a file and the offset of its rows (after skipped lines and the header)."""

    path: Path
    buffer: pa.Buffer
    layout: Layout
    start: int
    line: int

    @property
    def delimiter(self) -> int:
        return ord(self.layout.delimiter)

    @property
    def quote(self) -> int:
        return ord(_QUOTE) if self.layout.quoting else NO_QUOTE


@dataclass(frozen=True)
class _Rows:
    """Offsets of rows; `good` has the numbers of those that were read, in order."""

    starts: Positions
    ends: Positions
    lines: Positions
    widths: Positions
    good: Positions


def read_delimited(
    path: Path,
    buffer: pa.Buffer,
    layout: Layout,
    formats: Sequence[str] | None,
    arity: int | None,
    log: BadRowLog,
    declaration: Declaration | None = None,
) -> RawTable | None:
    """The file's rows as text columns; None if it has no rows at all.  If the header has the names of a
    declaration, there may be more columns."""
    buffer = without_mark(buffer, path)
    data = as_bytes(buffer)
    quote = ord(_QUOTE) if layout.quoting else NO_QUOTE
    start = int(skip_lines(data, 0, layout.skip))
    line = 1 + layout.skip
    names: tuple[str, ...] | None = None
    if layout.header:
        at, breaks = skip_empty_lines(data, start)
        if at < len(data):
            end, start, _, more, opened = scan_row(data, at, ord(layout.delimiter), quote)
            if opened >= 0:
                raise DataError(OpenQuote(position_of(buffer, int(opened), str(path))))
            raw = decoded(buffer, int(at), int(end))
            names = tuple(value for _, _, value in fields_of(raw, layout))
            line += int(breaks + more)
    by_name = named_fields(str(path), names, formats, declaration) is not None
    if by_name and names is not None:
        arity = len(names)
    text = _Text(path, buffer, layout, int(start), line)
    first, _ = skip_empty_lines(data, text.start)
    if first >= len(data):
        if names is not None:
            check_shape(str(path), len(names), formats, arity)
        return None
    first_width = int(scan_row(data, first, text.delimiter, quote)[2])
    headed = first_width if names is None else len(names)
    width = len(formats) if formats is not None else arity if arity is not None else headed
    rows, wrong, opened = survey(data, text.start, text.delimiter, quote, width)
    if wrong == rows and formats is None and arity is None:
        width = first_width  # the header is not about these rows
        rows, wrong, opened = survey(data, text.start, text.delimiter, quote, width)
    if wrong == rows and opened < 0:
        _refuse_shape(text, formats, arity, first_width)
    return _read(text, width, names, int(rows), bool(wrong) or opened >= 0, log)


def _refuse_shape(text: _Text, formats: Sequence[str] | None, arity: int | None, width: int) -> None:
    """If all rows have the same wrong width, the error is about the file, not its rows."""
    if survey(as_bytes(text.buffer), text.start, text.delimiter, text.quote, width)[1] == 0:
        hint = (
            f"fields are separated by {shown(text.layout.delimiter)} here; dsv{{delimiter = …}} sets another"
        )
        check_shape(str(text.path), width, formats, arity, hint if width == 1 else None)


def _read(
    text: _Text, width: int, names: tuple[str, ...] | None, count_rows: int, suspicious: bool, log: BadRowLog
) -> RawTable:
    rows: _Rows | None = None
    content = text.buffer.slice(text.start)
    if not suspicious and not is_utf8(content):
        suspicious = True
    if suspicious:
        rows = _good_rows(text, width, count_rows, log)
        content = _only(text, rows)
    columns = _arrow_columns(text, content, width) if content.size else _no_columns(width)

    def locate(row: int, field: int) -> tuple[Position, str]:
        nonlocal rows
        if rows is None:
            rows = _index(text, count_rows)
        return _locate(text, rows, int(rows.good[row]), field)

    readings: list[Reading] = ["any"] * len(columns)
    return RawTable(str(text.path), columns, len(columns[0]), locate, names, readings, untyped=True)


def _no_columns(width: int) -> list[pa.ChunkedArray]:
    return [pa.chunked_array([], pa.string()) for _ in range(width)]


def _arrow_columns(text: _Text, content: pa.Buffer, width: int) -> list[pa.ChunkedArray]:
    names = [f"f{i}" for i in range(width)]
    block = _BLOCK
    while True:
        try:
            table = pacsv.read_csv(
                pa.BufferReader(content),
                read_options=pacsv.ReadOptions(column_names=names, block_size=block),
                parse_options=pacsv.ParseOptions(
                    delimiter=text.layout.delimiter,
                    quote_char=_QUOTE if text.layout.quoting else False,
                    newlines_in_values=text.layout.quoting,
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid as error:
            # A row longer than a block, which the scan does not detect.
            if block < min(content.size, _MAX_BLOCK):
                block = min(block * 16, _MAX_BLOCK)
                continue
            raise DataError(BrokenFile(path=text.path, format="CSV", why=str(error))) from error
        return list(table.columns)


# --- the second scan: only for files with bad rows --------------------------------------------------------


def _index(text: _Text, count_rows: int) -> _Rows:
    starts, ends, lines, widths = np.empty((4, count_rows), np.int64)
    data = as_bytes(text.buffer)
    index_rows(data, text.start, text.line, text.delimiter, text.quote, starts, ends, lines, widths)
    return _Rows(starts, ends, lines, widths, good=np.arange(count_rows, dtype=np.int64))


def _good_rows(text: _Text, width: int, count_rows: int, log: BadRowLog) -> _Rows:
    """The offsets of all rows; rows with a wrong number of fields, an open quote or broken text are
    logged."""
    rows = _index(text, count_rows)
    bad = rows.widths != width
    invalid = _invalid_rows(text, rows)
    bad[list(invalid)] = True
    opened = _open_quote(text, rows)
    if opened >= 0:
        bad[-1] = True

    def bad_rows() -> Iterator[BadRow]:
        for row in np.flatnonzero(bad):
            yield _bad_row(text, rows, int(row), width, invalid, opened)

    log.add(bad_rows(), int(np.count_nonzero(bad)))
    return _Rows(rows.starts, rows.ends, rows.lines, rows.widths, np.flatnonzero(~bad))


def _open_quote(text: _Text, rows: _Rows) -> int:
    """The row with an open quote, if any: only the last row can have one, since it extends to the end."""
    return int(scan_row(as_bytes(text.buffer), rows.starts[-1], text.delimiter, text.quote)[4])


def _invalid_rows(text: _Text, rows: _Rows) -> dict[int, int]:
    """Rows with bytes that are not UTF-8, and the offset of the first of these."""
    invalid: dict[int, int] = {}
    if is_utf8(text.buffer.slice(text.start)):
        return invalid
    at = text.start
    while True:
        at = first_invalid(text.buffer, at, text.buffer.size)
        if at < 0:
            return invalid
        row = int(np.searchsorted(rows.starts, at, side="right")) - 1
        invalid[row] = at
        at = int(rows.ends[row])


def _bad_row(text: _Text, rows: _Rows, row: int, width: int, invalid: dict[int, int], opened: int) -> BadRow:
    raw = _raw(text, rows, row)
    diagnostic: DataDiagnostic
    if row in invalid:
        diagnostic = invalid_text(text.buffer, invalid[row], text.path)
    elif opened >= 0 and row == len(rows.starts) - 1:
        diagnostic = OpenQuote(position_of(text.buffer, opened, str(text.path)))
    else:
        found = int(rows.widths[row])
        # Point at the first field too many, or at the end of a row that has too few.
        position, _ = _locate(text, rows, row, min(width, found - 1))
        if found < width:
            shown_text = position.text
            position = Position(position.file, position.line, len(shown_text) + 1, shown_text)
        diagnostic = WrongFieldCount(
            position,
            found=counted(found, "field"),
            wanted=str(width),
            why="this field is too many" if found > width else "the row ends here",
            hint="a field with a delimiter in it is put in double quotes" if found > width else "",
        )
    return BadRow(diagnostic, None, raw)


def _raw(text: _Text, rows: _Rows, row: int) -> str:
    start, end = int(rows.starts[row]), int(rows.ends[row])
    return decoded(text.buffer, start, end)


def _locate(text: _Text, rows: _Rows, row: int, field: int) -> tuple[Position, str]:
    """The position of a field.  If a row has several lines, the line where the field starts is shown."""
    raw = _raw(text, rows, row)
    start, end, _ = fields_of(raw, text.layout)[field]
    before = raw[:start].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    line_start = start - len(before[-1])
    shown_line = line_text(text.buffer, int(rows.starts[row]) + len(raw[:line_start].encode()))
    line = int(rows.lines[row]) + len(before) - 1
    return Position(str(text.path), line, start - line_start + 1, shown_line, end - start), raw


def _only(text: _Text, rows: _Rows) -> pa.Buffer:
    """The text of the good rows only, each ended by a line break."""
    view = memoryview(text.buffer)
    parts = bytearray()
    for first, last in _runs(rows.good):
        parts += view[int(rows.starts[first]) : int(rows.ends[last])]
        parts += b"\n"
    return pa.py_buffer(parts)


def _runs(numbers: Positions) -> Iterator[tuple[int, int]]:
    """Maximal runs of consecutive numbers."""
    if len(numbers) == 0:
        return
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.concatenate(([0], breaks + 1))]
    lasts = numbers[np.concatenate((breaks, [len(numbers) - 1]))]
    for first, last in zip(firsts, lasts, strict=True):
        yield int(first), int(last)


def fields_of(row: str, layout: Layout) -> list[tuple[int, int, str]]:
    """The fields of one row: their offsets in its text, and their values."""
    fields: list[tuple[int, int, str]] = []
    at = 0
    while True:
        start = at
        value = ""
        if layout.quoting and row.startswith(_QUOTE, at):
            at += 1
            while (close := row.find(_QUOTE, at)) >= 0 and row.startswith(_QUOTE, close + 1):
                value += row[at : close + 1]
                at = close + 2
            value += row[at : close if close >= 0 else len(row)]
            at = close + 1 if close >= 0 else len(row)
        end = row.find(layout.delimiter, at)
        value += row[at : end if end >= 0 else len(row)]
        fields.append((start, end if end >= 0 else len(row), value))
        if end < 0:
            return fields
        at = end + 1
