"""JSON lines: one object or array per line.

Fields of objects are arguments in the order of the first object.  Text is text, numbers and booleans keep
their type, so `1` is an integer and `1.0` a double; other terms are objects (`json_terms`).  Arrow reads
files of objects with one type per field; if it cannot, or would lose that difference, lines are read one by
one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.json as pajson

from tidalog import arrow_compute as pc
from tidalog.io.columns import RawTable, named_fields, shown
from tidalog.io.diagnostics import JsonSyntax, Position, WrongFieldCount, WrongValue
from tidalog.io.encoding import as_bytes, require_utf8, without_mark
from tidalog.io.json_terms import iris_of, term_of
from tidalog.io.result import BadRow, BadRowLog, Reading
from tidalog.io.row_scan import NO_DELIMITER, NO_QUOTE, survey
from tidalog.io.update_diagnostics import NotAnObject
from tidalog.io.values import column_of
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError
from tidalog.model.program import Declaration

_BLOCK: Final = 1 << 22
_ONE_A_LINE: Final = (
    "an array in a line is one row: write one object a line, without the brackets and commas of an array"
)
Wanted = Callable[[str], bool]
"""Whether to read a field of this name."""


def read_json_lines(
    path: Path,
    buffer: pa.Buffer,
    log: BadRowLog,
    *,
    sparse: Wanted | None = None,
    declaration: Declaration | None = None,
) -> RawTable | None:
    """The rows of the file; None if it has none.  With a `declaration`, the fields of each object are found
    by name, and its other fields are not read.

    If the rows are `sparse`, every line is an object, and the columns are all wanted fields that occur in
    any of them; a missing field is null.
    """
    buffer = without_mark(buffer, path)
    require_utf8(buffer, path)
    lines = _Lines(path, buffer)
    found = _by_arrow(lines, sparse)
    if found is not None:
        return found
    return _by_line(lines, log, declaration) if sparse is None else _sparse_by_line(lines, sparse, log)


class _Lines:
    """The lines that are not blank, split on first use."""

    def __init__(self, path: Path, buffer: pa.Buffer) -> None:
        self.path = path
        self.buffer = buffer
        self._numbered: list[tuple[int, bytes]] | None = None

    def numbered(self) -> list[tuple[int, bytes]]:
        if self._numbered is None:
            split = self.buffer.to_pybytes().split(b"\n")
            self._numbered = [(number, line) for number, line in enumerate(split, 1) if line.strip()]
        return self._numbered

    def position(self, row: int, column: int = 1, width: int | None = None) -> tuple[Position, str]:
        number, line = self.numbered()[row]
        text = line.decode("utf-8", "replace").rstrip("\r")
        return Position(str(self.path), number, column, text, len(text) if width is None else width), text


def _by_arrow(lines: _Lines, sparse: Wanted | None) -> RawTable | None:
    """The table as Arrow reads it; None if the lines must be read one by one."""
    start = lines.buffer.slice(0, min(64, lines.buffer.size)).to_pybytes().lstrip()
    if not start.startswith(b"{"):
        return None
    try:
        table = _arrow_table(lines.buffer, None)
        stamps = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
        if stamps:
            # Arrow reads some texts as timestamps; in JSON they are text.
            kept = [pa.field(f.name, pa.string() if f.name in stamps else f.type) for f in table.schema]
            table = _arrow_table(lines.buffer, pa.schema(kept))
    except pa.ArrowException:
        return None
    if table.num_columns == 0 or table.num_rows != _line_count(lines.buffer):
        return None
    if sparse is not None:
        table = table.select([name for name in table.column_names if sparse(name)])
    columns: list[pa.ChunkedArray] = []
    readings: list[Reading] = []
    for column in table.columns:
        iris = iris_of(column)
        columns.append(column if iris is None else iris)
        readings.append("string" if iris is None else "iri")
        if pa.types.is_nested(columns[-1].type) or _may_hide_integers(column):
            return None
        if column.null_count and sparse is None:
            return None

    def locate(row: int, field: int) -> tuple[Position, str]:
        return lines.position(row)

    names = tuple(table.column_names)
    return RawTable(str(lines.path), columns, table.num_rows, locate, names, readings)


def _arrow_table(buffer: pa.Buffer, schema: pa.Schema | None) -> pa.Table:
    return pajson.read_json(
        pa.BufferReader(buffer),
        read_options=pajson.ReadOptions(block_size=_BLOCK),
        parse_options=pajson.ParseOptions(explicit_schema=schema),
    )


def _line_count(buffer: pa.Buffer) -> int:
    """The number of non-empty lines.  It differs from the number of rows if lines consist of spaces; the file
    is then read line by line."""
    return int(survey(as_bytes(buffer), 0, NO_DELIMITER, NO_QUOTE, 1)[0])


def _may_hide_integers(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.any(pc.equal(pc.floor(column), column)).as_py())


# --- line by line ------------------------------------------------------------------------------------------


def _values(lines: _Lines, bad: list[BadRow]) -> Iterator[tuple[int, object]]:
    """The value of each line; lines that are not JSON go to `bad`."""
    for index, (_, line) in enumerate(lines.numbered()):
        try:
            yield index, json.loads(line, object_pairs_hook=_fields)
        except (ValueError, RecursionError) as error:
            bad.append(_unreadable(lines, index, line, error))


class _TwoFields(ValueError):
    """An object has two fields of one name."""


def _fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object.  Python's own reading would keep the last of two fields of one name, silently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwoFields(next(name for name in names if names.count(name) > 1))
    return found


def _by_line(lines: _Lines, log: BadRowLog, declaration: Declaration | None) -> RawTable | None:
    names: tuple[str, ...] | None = None
    width: int | None = None
    kept: list[int] = []
    rows: list[list[object]] = []
    bad: list[BadRow] = []
    values: Iterable[tuple[int, object]] = _values(lines, bad)
    if declaration is not None and declaration.is_named:
        read = list(values)
        values = _by_name(read, declaration) or read
    for index, value in values:
        if isinstance(value, dict):
            if names is None and width is None:
                names = tuple(value)
            row = [value.get(name) for name in names] if names is not None else list(value.values())
            found = row if names is None or value.keys() <= set(names) else list(value)
        elif isinstance(value, list):
            row = found = value
        else:
            position, text = lines.position(index)
            bad.append(BadRow(JsonSyntax(position, why="it is neither an object nor an array"), None, text))
            continue
        if width is None:
            width = len(row)
        if len(found) != width:
            bad.append(_wrong_width(lines, index, len(found), width))
            continue
        kept.append(index)
        rows.append(row)
    return _table(lines, names, width, rows, kept, bad, log, "string")


def _by_name(
    values: Sequence[tuple[int, object]], declaration: Declaration
) -> list[tuple[int, object]] | None:
    """The values with objects that have the declared fields, in their order, and no others but empty ones,
    whose names are reported; None if no object has them all."""
    shapes: dict[tuple[str, ...], dict[str, str]] = {}
    for _, value in values:
        if isinstance(value, dict) and (keys := tuple(value)) not in shapes:
            try:
                fields = named_fields("", keys, None, declaration) or []
            except DataError:  # has some of them
                fields = []
            shapes[keys] = dict(zip(declaration.names, (keys[field] for field in fields), strict=False))
    if not any(shapes.values()):
        return None
    used = {key for fields in shapes.values() for key in fields.values()} | set(declaration.names)
    ignored = dict.fromkeys((key for keys in shapes for key in keys if key not in used), "")

    def named(value: object) -> object:
        if isinstance(value, list) and len(value) == declaration.arity:
            return [*value, *ignored.values()]
        if not isinstance(value, dict):
            return value
        fields = shapes[tuple(value)]
        return {name: value.get(fields.get(name, name)) for name in declaration.names} | ignored

    return [(index, named(value)) for index, value in values]


def _sparse_by_line(lines: _Lines, wanted: Wanted, log: BadRowLog) -> RawTable | None:
    kept: list[int] = []
    objects: list[dict[str, object]] = []
    bad: list[BadRow] = []
    for index, value in _values(lines, bad):
        if isinstance(value, dict):
            kept.append(index)
            objects.append(value)
        else:
            position, text = lines.position(index)
            bad.append(BadRow(NotAnObject(position, why="it is not an object"), None, text))
    names = tuple(dict.fromkeys(name for found in objects for name in found if wanted(name)))
    rows = [[found.get(name) for name in names] for found in objects]
    return _table(lines, names, len(names) if objects else None, rows, kept, bad, log, "any")


def _table(
    lines: _Lines,
    names: tuple[str, ...] | None,
    width: int | None,
    rows: list[list[object]],
    kept: list[int],
    bad: list[BadRow],
    log: BadRowLog,
    text: Reading,
) -> RawTable | None:
    """The kept rows as columns, without those that contain a value that is not a term."""
    if width is None:
        log.add(bad, len(bad))
        return None
    columns, readings, strange = _columns(rows, width, text)
    for row_number, (field, odd) in strange.items():
        bad.append(_odd_value(lines, kept[row_number], field, odd))
    log.add(bad, len(bad))
    good = [r for r in range(len(rows)) if r not in strange]
    if strange:
        columns = [column.take(pa.array(good, pa.int64())) for column in columns]

    def locate(row: int, field: int) -> tuple[Position, str]:
        return lines.position(kept[good[row]])

    return RawTable(str(lines.path), columns, len(good), locate, names, readings)


def _unreadable(lines: _Lines, index: int, line: bytes, error: ValueError | RecursionError) -> BadRow:
    if isinstance(error, json.JSONDecodeError):
        at = min(error.pos, len(line.decode("utf-8", "replace").rstrip("\r")))
        position, text = lines.position(index, at + 1, 1)
        return BadRow(JsonSyntax(position, why=error.msg[0].lower() + error.msg[1:]), None, text)
    position, text = lines.position(index)
    if isinstance(error, _TwoFields):
        why = f"an object has two fields {shown(str(error))}"
    else:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
    return BadRow(JsonSyntax(position, why=why), None, text)


def _wrong_width(lines: _Lines, index: int, found: int, width: int) -> BadRow:
    position, text = lines.position(index)
    diagnostic = WrongFieldCount(
        position,
        found=counted(found, "field"),
        wanted=str(width),
        why=f"the first row has {width}",
        hint="",
    )
    return BadRow(diagnostic, None, text)


def _columns(
    rows: list[list[object]], width: int, text: Reading
) -> tuple[list[pa.ChunkedArray], list[Reading], dict[int, tuple[int, object]]]:
    """Columns, how their text is read, and of each row with a value that is not a term the first such
    field."""
    strange: dict[int, tuple[int, object]] = {}
    columns: list[pa.ChunkedArray] = []
    readings: list[Reading] = []
    for field in range(width):
        values = [row[field] for row in rows]
        column, reading, odd = column_of([_term_or_value(value) for value in values], text)
        columns.append(column)
        readings.append(reading)
        for row, value in odd.items():
            strange.setdefault(row, (field, value))
    return columns, readings, strange


def _term_or_value(value: object) -> object:
    """The term that an object stands for; other values as they are."""
    return (term_of(value) or value) if isinstance(value, dict) else value


def _odd_value(lines: _Lines, index: int, field: int, value: object) -> BadRow:
    position, text = lines.position(index)
    diagnostic = WrongValue(
        position,
        value=shown(value),
        format="a term",
        format_name="a term",
        field=field + 1,
        hint=_ONE_A_LINE
        if isinstance(value, dict) and text.lstrip().startswith("[")
        else 'values are text, numbers, booleans, and objects such as {"@id": "http://example.org/a"}',
    )
    return BadRow(diagnostic, field + 1, text)
