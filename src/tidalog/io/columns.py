"""Arrow columns to term columns, by the column's type and its format.

A format (`any`, `string`, `int`, `double`, `boolean`, `iri`, `skip`) says what a column's values mean.
Conversion works on whole columns.  It never fails on a value: it returns the column with a mask of the values
that it could not convert, and `to_terms` removes and reports those rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.diagnostics import (
    DataDiagnostic,
    LiteralCell,
    MissingValue,
    NoTermForType,
    Position,
    WrongArity,
    WrongValue,
)
from tidalog.io.plain_columns import NotTerms, plain
from tidalog.io.result import BadRow, BadRowLog, Reading, TermColumn
from tidalog.io.text_form import column_text
from tidalog.io.triple_cells import misplaced_cells
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError
from tidalog.model.terms import XSD
from tidalog.rdf.shorthand import ROLES, WHY

FORMATS: Final = ("any", "string", "int", "double", "boolean", "iri", "skip")
AS_IT_COMES: Final = ""
"""The format of a column for which none is given: typed values keep their type."""
_DESCRIPTIONS: Final = {
    "int": "an integer",
    "double": "a number",
    "boolean": "true or false",
    "iri": "an IRI",
}
_HINTS: Final = {
    "int": "format any accepts every text",
    "double": "format any accepts every text",
    "boolean": "booleans are true, false, 1 and 0",
    "iri": "an IRI has no spaces, quotes or angle brackets inside",
}
_DOUBLE_LITERAL: Final = rf'^"([^"]*)"\^\^<{XSD}double>$'

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RawTable:
    """A file's columns as they were read, and how to locate a row.

    `locate(row, field)` returns the position of a field (from 0) in the file, and the text of its row.
    `readings` says how text columns become terms; without them, as strings.
    """

    path: str
    columns: list[pa.ChunkedArray]
    rows: int
    locate: Callable[[int, int], tuple[Position, str]]
    names: tuple[str, ...] | None = None
    readings: Sequence[Reading] | None = None

    def reading(self, field: int) -> Reading:
        return "string" if self.readings is None else self.readings[field]


@dataclass(frozen=True)
class _Converted:
    array: pa.ChunkedArray
    reading: Reading
    bad: Mask | None = None
    misplaced: Mask | None = None
    """Terms that a triple cannot have there; their rows are bad too."""


def to_terms(
    table: RawTable,
    formats: Sequence[str] | None,
    arity: int | None,
    log: BadRowLog,
    *,
    triples: bool = False,
) -> tuple[list[TermColumn], int]:
    """The table's columns as terms, without bad rows; and the number of rows left.  With `triples`, a literal
    as subject or predicate makes a bad row."""
    formats = check_shape(table.path, len(table.columns), formats, arity)
    kept = [field for field, name in enumerate(formats) if name != "skip"]
    converted: list[_Converted] = []
    bad: Mask | None = None
    for field in kept:
        result = _convert(table, field, formats[field])
        if triples and len(kept) == 3:
            misplaced = misplaced_cells(TermColumn(result.array, result.reading), len(converted))
            if misplaced is not None:
                found = misplaced if result.bad is None else misplaced | result.bad
                result = _Converted(result.array, result.reading, found, misplaced)
        converted.append(result)
        if result.bad is not None:
            bad = result.bad if bad is None else bad | result.bad
    if bad is None:
        return [TermColumn(c.array, c.reading) for c in converted], table.rows
    log.add(_bad_rows(table, kept, formats, converted, bad), int(np.count_nonzero(bad)))
    good = pa.array(~bad)
    return [TermColumn(c.array.filter(good), c.reading) for c in converted], len(good) - int(bad.sum())


def check_shape(
    path: str, width: int, formats: Sequence[str] | None, arity: int | None, hint: str | None = None
) -> Sequence[str]:
    """One format for each of the file's `width` columns.  The number of columns kept must be the arity of the
    predicate."""
    if formats is None:
        formats = (AS_IT_COMES,) * width
    elif len(formats) != width:
        raise DataError(
            WrongArity(
                path=path,
                found=counted(width, "column"),
                wanted=f"the format lists {len(formats)}",
                why=f"format = ({', '.join(formats)})",
                hint=hint or "the format has one entry for each column of the file; skip leaves a column out",
            )
        )
    kept = sum(name != "skip" for name in formats)
    if arity is not None and kept != arity:
        if hint is None:
            hint = "a format with skip for some columns leaves these out" if kept > arity else ""
        raise DataError(
            WrongArity(
                path=path,
                found=counted(kept, "column"),
                wanted=f"the predicate has {counted(arity, 'argument')}",
                why="every column is one argument"
                + (" (those with format skip are not)" if kept < width else ""),
                hint=hint,
            )
        )
    return formats


def _bad_rows(
    table: RawTable, kept: list[int], formats: Sequence[str], converted: list[_Converted], bad: Mask
) -> Iterator[BadRow]:
    """The first error of each bad row."""
    for row in np.flatnonzero(bad):
        for field, result in zip(kept, converted, strict=True):
            if result.bad is not None and result.bad[row]:
                role = kept.index(field) if result.misplaced is not None and result.misplaced[row] else None
                yield _bad_row(table, int(row), field, formats[field], role)
                break


def _bad_row(table: RawTable, row: int, field: int, format: str, role: int | None) -> BadRow:
    position, text = table.locate(row, field)
    value = table.columns[field][row].as_py()
    name = f"{field + 1} ({table.names[field]})" if table.names is not None else str(field + 1)
    diagnostic: DataDiagnostic
    if value is None:
        diagnostic = MissingValue(position, field=name)
    elif role is not None:
        diagnostic = LiteralCell(position, value=shown(value), role=ROLES[role], why=WHY[ROLES[role]])
    else:
        diagnostic = WrongValue(
            position,
            value=shown(value),
            format=_DESCRIPTIONS[format],
            format_name=format,
            field=name,
            hint=_HINTS[format],
        )
    return BadRow(diagnostic, field + 1, text)


def shown(value: object) -> str:
    """A value in a message: short, on one line, in quotes if it is text."""
    text = repr(value) if not isinstance(value, str) else '"' + value.replace("\n", "\\n") + '"'
    return text if len(text) <= 60 else text[:57] + "…"


# --- one column -------------------------------------------------------------------------------------------


def _convert(table: RawTable, field: int, format: str) -> _Converted:
    column = table.columns[field]
    missing: Mask | None = None
    if column.null_count:
        missing = column.is_null().to_numpy()
    try:
        values, reading = plain(column, table.reading(field))
    except NotTerms as error:
        raise _no_term_for(table, field, str(error)) from None
    if missing is not None:
        values = _filled(values)
    result = _formatted(values, reading, format)
    if missing is None:
        return result
    return _Converted(result.array, result.reading, missing if result.bad is None else missing | result.bad)


def _no_term_for(table: RawTable, field: int, what: str) -> DataError:
    return DataError(
        NoTermForType(
            path=table.path,
            field=f"{field + 1} ({table.names[field]})" if table.names is not None else field + 1,
            type=what,
            hint="leave the column out with format skip, or convert it first",
        )
    )


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with placeholders for nulls; their rows are removed later."""
    if pa.types.is_string(column.type):
        return column.fill_null("")
    return column.fill_null(pa.scalar(0).cast(column.type))


def _formatted(column: pa.ChunkedArray, reading: Reading, format: str) -> _Converted:
    is_text = pa.types.is_string(column.type)
    match format:
        case "":
            return _Converted(column, reading)
        case "any":
            return _Converted(column, "any" if reading == "string" else reading)
        case "string":
            return _Converted(column_text(column), "string")
        case "int":
            if pa.types.is_int64(column.type):
                return _Converted(column, "native")
            if pa.types.is_float64(column.type):
                return _whole_doubles(column)
            return _integers(column_text(column))
        case "double":
            if pa.types.is_floating(column.type):
                return _Converted(column, "native")
            if pa.types.is_int64(column.type):
                return _Converted(column.cast(pa.float64(), safe=False), "native")
            return _doubles(column_text(column))
        case "boolean":
            if pa.types.is_boolean(column.type):
                return _Converted(column, "native")
            return _booleans(column_text(column))
        case _:
            if is_text:
                return _iris(column)
            return _Converted(column_text(column), "iri", np.ones(len(column), dtype=np.bool_))


def _numpy(mask: pa.ChunkedArray) -> Mask:
    result: Mask = mask.to_numpy()
    return result


def _none_if_clean(bad: Mask) -> Mask | None:
    return bad if bad.any() else None


def _whole_doubles(column: pa.ChunkedArray) -> _Converted:
    values = column.to_numpy()
    good = (np.floor(values) == values) & (np.abs(values) < 2.0**63)
    whole = np.where(good, values, 0.0).astype(np.int64)
    return _Converted(pa.chunked_array([pa.array(whole)]), "native", _none_if_clean(~good))


def _integers(text: pa.ChunkedArray) -> _Converted:
    """Decimal digits with an optional sign, or 0x, 0o, 0b; beyond 64 bits they stay text in `any` form."""
    # Arrow reads hexadecimal digits too, but lets them overflow into the sign.
    if not pc.any(pc.match_substring(text, "x", ignore_case=True)).as_py():
        try:
            return _Converted(text.cast(pa.int64()), "native")
        except pa.ArrowInvalid:
            pass
    text = pc.utf8_trim_whitespace(text)
    decimal = pc.match_substring_regex(text, "^[+-]?[0-9]+$")
    canonical = pc.replace_substring_regex(text, r"^\+?(-?)0*([0-9])", r"\1\2")
    canonical = pc.if_else(pc.equal(canonical, "-0"), "0", canonical)
    based = pc.match_substring_regex(
        text, r"^[+-]?0([xX][0-9a-fA-F]{1,999}|[oO][0-7]{1,999}|[bB][01]{1,999})$"
    )
    if pc.any(based).as_py():
        distinct = pc.unique(text.filter(based))
        numbers = pa.array([str(int(t.as_py(), 0)) for t in distinct], pa.string())
        found = pc.index_in(text, distinct)
        canonical = pc.if_else(based, numbers.take(found.combine_chunks()), canonical)
    good = pc.or_(decimal, based)
    canonical = pc.if_else(good, canonical, "0")
    bad = _none_if_clean(~_numpy(good))
    try:
        return _Converted(canonical.cast(pa.int64()), "native", bad)
    except pa.ArrowInvalid:
        return _Converted(canonical, "any", bad)


def _doubles(text: pa.ChunkedArray) -> _Converted:
    try:
        return _Converted(text.cast(pa.float64()), "native")
    except pa.ArrowInvalid:
        pass
    # An exported infinity is a literal.
    text = pc.replace_substring_regex(pc.utf8_trim_whitespace(text), _DOUBLE_LITERAL, r"\1")
    good = pc.match_substring_regex(
        text, r"^(?i)([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|[+-]?nan)$"
    )
    values = pc.if_else(good, text, "0").cast(pa.float64())
    return _Converted(values, "native", _none_if_clean(~_numpy(good)))


def _booleans(text: pa.ChunkedArray) -> _Converted:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    true = pc.is_in(text, pa.array(["true", "1"]))
    good = pc.or_(true, pc.is_in(text, pa.array(["false", "0"])))
    return _Converted(true, "native", _none_if_clean(~_numpy(good)))


def _iris(text: pa.ChunkedArray) -> _Converted:
    """With or without angle brackets."""
    if pc.any(pc.starts_with(text, "<")).as_py():
        text = pc.replace_substring_regex(text, "^<(.*)>$", r"\1")
    good = pc.match_substring_regex(text, r"^[^\x00-\x20<>\"{}|^`\\]+$")
    return _Converted(text, "iri", _none_if_clean(~_numpy(good)))
