"""One file of an update table: its columns by name, and its valid rows.

Columns are found by their names, in any order and letter case: `update`, `op`, `predicate`, `arg1` … `argN`,
`time`.  Other columns are ignored; one whose name starts with `arg` is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io import update_checks
from tidalog.io.arrow_files import read_arrow, read_parquet
from tidalog.io.columns import RawTable, to_terms
from tidalog.io.delimited import Layout, fields_of, read_delimited
from tidalog.io.diagnostics import Position, WrongArity
from tidalog.io.encoding import as_bytes, decoded, without_mark
from tidalog.io.formats import Format
from tidalog.io.json_lines import read_json_lines
from tidalog.io.plain_columns import flat
from tidalog.io.result import BadRowLog, TermColumn
from tidalog.io.row_faults import CheckedColumns, RowFaults
from tidalog.io.row_scan import NO_QUOTE, scan_row, skip_empty_lines, survey
from tidalog.io.update_checks import CODES
from tidalog.io.update_diagnostics import NotAnUpdateTable, WrongColumnType
from tidalog.lang.names import has_unknown_prefix, written_name
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError
from tidalog.model.facts import Mask
from tidalog.model.term_text import STANDARD_PREFIXES, parse_any
from tidalog.model.terms import IRI
from tidalog.rdf.layout import TRIPLE

INSERT, ADD_RULE = CODES[update_checks.INSERT], CODES[update_checks.ADD_RULE]
_ARGUMENT: Final = re.compile(r"arg([1-9][0-9]{0,3})\Z")
_COLUMNS: Final = "an update table has the columns update, op, predicate, arg1, arg2, …"

Int8s = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FilePart:
    """The good rows of one file.

    `labels` are integers or text, None if the file has no column for them.  `arguments` and `time` have a
    value in every row, which is meaningless if the row has no such argument; None if no row has one.
    `rules` has name and text of the rows whose operation is about a rule; these have arity 0.
    """

    path: Path
    labels: pa.ChunkedArray | None
    op: Int8s
    codes: Int32s
    names: tuple[str, ...]
    arguments: list[TermColumn | None]
    arity: Int32s
    time: TermColumn | None
    timed: Mask
    rules: dict[int, tuple[str | None, str | None]]
    raw: RawTable
    numbers: Rows
    """The number of each row in `raw`."""
    label_field: int | None
    fields: list[int]
    """The field of each argument."""

    @property
    def rows(self) -> int:
        return len(self.op)

    def text_of(self, row: int) -> str:
        """The text of a row."""
        return self.raw.locate(int(self.numbers[row]), 0)[1]


@dataclass(frozen=True)
class Shape:
    """The field of each column in a file."""

    update: int | None
    op: int
    predicate: int
    arguments: list[int]
    time: int | None


def read_part(
    path: Path,
    buffer: pa.Buffer,
    kind: Format,
    layout: Layout,
    log: BadRowLog,
    prefixes: Mapping[str, str] = STANDARD_PREFIXES,
) -> FilePart | None:
    """The updates of one file; None if it has no rows."""
    if kind.name == "parquet":
        raw: RawTable | None = read_parquet(path, buffer)
    elif kind.name == "arrow":
        raw = read_arrow(path, buffer)
    elif kind.name == "ndjson":
        raw = read_json_lines(path, buffer, log, sparse=_is_ours)
    else:
        raw = _read_delimited(path, buffer, layout, log)
    if raw is None:
        return None
    return part_of(raw, log, text=kind.delimiter is not None, prefixes=prefixes)


def part_of(
    raw: RawTable,
    log: BadRowLog | None,
    *,
    text: bool = False,
    prefixes: Mapping[str, str] = STANDARD_PREFIXES,
) -> FilePart:
    """The updates of columns.  With `text`, empty fields of delimited text mean no value.  Bad rows go to the
    log; without a log, rows have been checked already.  Predicates may have `prefixes`."""
    shape = shape_of(raw.path, raw.names or (), text)
    return _Reader(raw, shape, text, prefixes).part(Path(raw.path), log)


def _is_ours(name: str) -> bool:
    lower = name.lower()
    return lower in ("update", "op", "predicate", "time") or lower.startswith("arg")


def _read_delimited(path: Path, buffer: pa.Buffer, layout: Layout, log: BadRowLog) -> RawTable | None:
    """Rows have as many fields as the header; if none has, the error is in the header."""
    text = without_mark(buffer, path)
    data = as_bytes(text)
    quote = ord('"') if layout.quoting else NO_QUOTE
    at, _ = skip_empty_lines(data, 0)
    if at >= len(data):
        return None
    end, after, width, _, opened = scan_row(data, at, ord(layout.delimiter), quote)
    if opened < 0:
        names = tuple(value for _, _, value in fields_of(decoded(text, int(at), int(end)), layout))
        shape_of(str(path), names, True)
        rows, wrong, opened = survey(data, after, ord(layout.delimiter), quote, width)
        if rows and wrong == rows and opened < 0:
            raise DataError(
                WrongArity(
                    path=path,
                    found=f"{counted(int(width), 'column')} in its first line",
                    wanted="no row has that many",
                    why="every row has a field for each column, which may be empty",
                    hint="",
                )
            )
    return read_delimited(path, buffer, layout, None, int(width), log)


def shape_of(path: str, names: tuple[str, ...], text: bool = False) -> Shape:
    """Finds the columns by name.  Raises `DataError` (T034) if they do not form an update table."""
    fields: dict[str, int] = {}
    arguments: dict[int, int] = {}
    for field, name in enumerate(name.lower() for name in names):
        found = _ARGUMENT.match(name)
        if found:
            known = arguments.setdefault(int(found[1]), field)
        elif name.startswith("arg"):
            raise _no_table(path, names, f"{names[field]} is not the name of a column", _COLUMNS)
        else:
            known = fields.setdefault(name, field)
        if known != field and _is_ours(name):
            raise _no_table(path, names, f"it has two columns {name}", "give each column its own name")
    for name in ("op", "predicate"):
        if name not in fields:
            hint = "the first line names the columns; " if text else ""
            raise _no_table(path, names, f"it has no column {name}", hint + _COLUMNS)
    for number in range(1, len(arguments) + 1):
        if number not in arguments:
            hint = "arguments are counted from 1 without a gap"
            raise _no_table(path, names, f"it has no column arg{number}", hint)
    ordered = [arguments[number] for number in range(1, len(arguments) + 1)]
    return Shape(fields.get("update"), fields["op"], fields["predicate"], ordered, fields.get("time"))


def _no_table(path: str, names: tuple[str, ...], problem: str, hint: str) -> DataError:
    found = ", ".join(names) if len(names) <= 12 else ", ".join(names[:12]) + ", …"
    return DataError(NotAnUpdateTable(path=path, problem=problem, found=found or "none", hint=hint))


class _Reader:
    """Reads the columns of one file.  In delimited text an empty field means no value in `update`, `op`,
    `predicate` and `time` and after the last argument; between arguments it is the empty text."""

    def __init__(self, raw: RawTable, shape: Shape, text: bool, prefixes: Mapping[str, str]) -> None:
        self.raw = raw
        self.shape = shape
        self.text = text
        self.prefixes = prefixes

    def part(self, path: Path, log: BadRowLog | None) -> FilePart:
        """Bad rows go to the log; without a log, rows have been checked already."""
        raw, shape = self.raw, self.shape
        labels = self._labels()
        operations = self._text(shape.op, "an operation is + or -")
        op = _codes(operations)
        predicates = self._text(shape.predicate, "a predicate is named by text")
        present = [self._present(field) for field in shape.arguments]
        arity = _arities(present, raw.rows)
        about_rule = np.abs(op) == ADD_RULE
        good = np.arange(raw.rows)
        names, codes = _encoded(predicates)
        if log is not None:
            foreign = np.array([*(has_unknown_prefix(name, self.prefixes) for name in names), False])
            triple = np.array([*(name == TRIPLE for name in names), False])
            columns = CheckedColumns(
                raw,
                self._fields(),
                labels,
                operations,
                op,
                predicates,
                foreign[codes],
                triple[codes] & (arity == 3),
                present,
                arity,
                self.text,
                self.prefixes,
            )
            faults = RowFaults(columns)
            if faults.bad.any():
                log.add(faults.rows(), int(np.count_nonzero(faults.bad)))
                good = np.flatnonzero(~faults.bad)
        rules = (
            {
                int(new): (predicates[int(old)].as_py(), self._rule_text(int(old), int(op[old])))
                for new, old in enumerate(good)
                if about_rule[old]
            }
            if about_rule.any()
            else {}
        )
        arity[about_rule] = 0
        timed = self._present(shape.time)[good] if shape.time is not None else np.zeros(len(good), np.bool_)
        return FilePart(
            path,
            labels if labels is None else labels.take(pa.array(good)),
            op[good],
            codes[good],
            names,
            [self._terms(field, good, arity[good] > number) for number, field in enumerate(shape.arguments)],
            arity[good],
            self._terms(shape.time, good, timed) if shape.time is not None else None,
            timed,
            rules,
            raw,
            good,
            shape.update,
            shape.arguments,
        )

    def _labels(self) -> pa.ChunkedArray | None:
        field = self.shape.update
        if field is None:
            return None
        column = self.raw.columns[field]
        if pa.types.is_integer(column.type):
            try:
                return column.cast(pa.int64())
            except pa.ArrowInvalid:
                return column.cast(pa.string())
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            return column.cast(pa.string())
        return self._text(field, "the label of an update is an integer, a text or a time")

    def _fields(self) -> dict[str, int]:
        shape = self.shape
        label = {} if shape.update is None else {"update": shape.update}
        arguments = {f"arg{number}": field for number, field in enumerate(shape.arguments, 1)}
        return {"op": shape.op, "predicate": shape.predicate, **label, **arguments}

    def _rule_text(self, row: int, op: int) -> str | None:
        if op != ADD_RULE:
            return None
        return str(self.raw.columns[self.shape.arguments[0]][row].as_py())

    def _text(self, field: int, why: str) -> pa.ChunkedArray:
        """A column of text, with null for no value."""
        column = self.raw.columns[field]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        types = pa.types
        if types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
            column = column.cast(pa.string())
        elif not types.is_string(kind):
            raise DataError(
                WrongColumnType(path=self.raw.path, field=_field(self.raw, field), type=kind, why=why)
            )
        if self.text:
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        return column

    def _present(self, field: int) -> Mask:
        column = self.raw.columns[field]
        if self.text:
            return _as_mask(pc.not_equal(column, ""))
        return ~_nulls(column)

    def _terms(self, field: int, good: Rows, given: Mask) -> TermColumn | None:
        """A column as terms; a row without a value gets that of an earlier row or the first."""
        rows = good[given]
        if len(rows) == 0:
            return None
        columns = list(self.raw.columns)
        columns[field] = columns[field].take(pa.array(rows)) if len(rows) < self.raw.rows else columns[field]
        formats = ["any" if number == field else "skip" for number in range(len(columns))]
        taken = replace(self.raw, columns=columns, rows=len(rows))
        (column,), _ = to_terms(taken, formats, None, BadRowLog("error", None))
        if len(rows) == len(good):
            return column
        positions = np.maximum(np.cumsum(given) - 1, 0)
        return TermColumn(column.array.take(pa.array(positions)), column.reading)


def _field(raw: RawTable, field: int) -> str:
    return f"{field + 1} ({raw.names[field]})" if raw.names is not None else str(field + 1)


def _nulls(column: pa.ChunkedArray) -> Mask:
    return _as_mask(flat(column).is_null())


def _as_mask(column: pa.ChunkedArray) -> Mask:
    result: Mask = column.to_numpy().astype(np.bool_, copy=False)
    return result


def _codes(operations: pa.ChunkedArray) -> Int8s:
    """The codes of operations; 0 for an unknown one."""
    found = pc.index_in(operations, value_set=pa.array(list(CODES))).fill_null(len(CODES))
    codes: Int8s = np.array([*CODES.values(), 0], dtype=np.int8)[found.to_numpy()]
    return codes


def _arities(present: list[Mask], rows: int) -> Int32s:
    """The number of arguments of each row."""
    arity = np.zeros(rows, dtype=np.int32)
    for number, given in enumerate(present, 1):
        arity[given] = number
    return arity


def _encoded(predicates: pa.ChunkedArray) -> tuple[tuple[str, ...], Int32s]:
    """The distinct predicates, and the index of each row's predicate; -1 if it has none."""
    distinct = pc.drop_null(pc.unique(predicates))
    codes = pc.index_in(predicates, value_set=distinct).fill_null(-1)
    return tuple(_predicate(text) for text in distinct.to_pylist()), codes.to_numpy().astype(np.int32)


def _predicate(text: str) -> str:
    """The one text for a name or an IRI that may have angle brackets."""
    term = parse_any(text) if text.startswith("<") else None
    return written_name(term.value) if isinstance(term, IRI) else text


def position_of_label(part: FilePart, row: int) -> tuple[Position, str]:
    """The position of a row's label, and the text of the row."""
    return part.raw.locate(int(part.numbers[row]), part.label_field or 0)


def position_of_row(part: FilePart, row: int) -> Position:
    return part.raw.locate(int(part.numbers[row]), 0)[0]
