"""Facts from Python: rows, data frames, Arrow, numpy.

Data with an Arrow interface (pyarrow, polars, pandas, DuckDB and others, through `__arrow_c_stream__`) is
converted column by column; rows of Python values become columns first.  Text is text, whatever it looks like;
terms are used as they are.  pandas and polars are never imported here: the caller who passes a frame has
imported them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from tidalog.io.arrow_files import raw_table
from tidalog.io.columns import RawTable, columns_ignored, named_fields, shown, to_terms
from tidalog.io.diagnostics import NotRows, Position, WrongFieldCount, WrongValue
from tidalog.io.formats import column_formats
from tidalog.io.result import BadRow, BadRowLog, OnError, Reading, ReadResult, TermColumn
from tidalog.io.term_fields import KEY, text_reading
from tidalog.io.values import column_of
from tidalog.lang.names import NO_PREFIXES
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError
from tidalog.model.program import Declaration

_SOURCE: Final = "the data"
_UNITS: Final = [(unit, 1) for unit in ("D", "s", "ms", "us", "ns")]
"""Units of numpy's times that Arrow has too."""


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that exports its columns as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def from_python(
    data: object,
    arity: int | None = None,
    names: Sequence[str] | None = None,
    *,
    formats: Sequence[str] | None = None,
    on_error: OnError = "error",
    quarantine: Path | None = None,
    triples: bool = False,
    declaration: Declaration | None = None,
    prefixes: Mapping[str, str] = NO_PREFIXES,
) -> ReadResult:
    """Facts from rows (tuples, lists, mappings; plain values for one argument), a mapping of columns, a
    data frame, an Arrow table, batch or reader, or a numpy array.

    `names` picks the columns of data that has names, in that order; otherwise those of a `declaration` do, if
    the data has them all.  Its types are checked; only integers are converted, to doubles and decimals of the
    same value, and text to IRIs, which may have `prefixes`.  Raises `DataError` for data of another kind, and
    for rows that are not facts unless these are to be skipped.  With `triples`, the rows are to be inserted
    into `triple`, and literals as subject or predicate are refused.
    """
    formats = column_formats(formats)
    names = [names] if isinstance(names, str) else names
    log = BadRowLog(on_error, quarantine)
    try:
        by_name: FieldsOf | None = None
        if declaration is not None and declaration.is_named and names is None:
            by_name = partial(_fields_of, formats=formats, declaration=declaration)
        raw = _raw(data, arity, names, log, by_name)
        raw = replace(raw, prefixes=prefixes)
        if arity == 0 and not raw.columns:
            return ReadResult([], min(1, raw.rows), log.finish())
        if not raw.columns and raw.rows == 0:
            return ReadResult(_empty(arity or 0), 0, log.finish(), raw.names, declaration)
        fields = None if names is not None else named_fields(_SOURCE, raw.names, formats, declaration)
        columns, rows = to_terms(raw, formats, arity, log, declaration, fields, triples=triples)
        bad = log.finish()
        if fields is None or declaration is None:
            kept = None if names is not None else raw.names
            return ReadResult(columns, rows, bad, kept, declaration)
        ignored = columns_ignored(raw, fields, declaration)
        return ReadResult(columns, rows, bad, declaration.names, declaration, ignored)
    except BaseException:
        log.abandon()
        raise


def as_declared(
    table: ReadResult, declaration: Declaration | None, prefixes: Mapping[str, str]
) -> ReadResult:
    """Rows that were read before the declaration of their predicate was known.  Raises `DataError` if they do
    not fit; a wrong number of columns is found elsewhere."""
    if declaration is None or table.declaration == declaration or not table.columns:
        return table
    fields = named_fields(_SOURCE, table.names, None, declaration) or list(range(len(table.columns)))
    if len(fields) != declaration.arity:
        return table
    arrays, readings = [c.array for c in table.columns], [c.reading for c in table.columns]

    def locate(row: int, field: int) -> tuple[Position, str]:
        return Position(_SOURCE, row + 1, unit="row"), ""

    raw = RawTable(_SOURCE, arrays, table.rows, locate, table.names, readings, prefixes=prefixes)
    log = BadRowLog("error", None)
    columns, rows = to_terms(raw, None, None, log, declaration, fields)
    log.finish()
    return replace(table, columns=columns, rows=rows, names=declaration.names, declaration=declaration)


def _empty(arity: int) -> list[TermColumn]:
    return [TermColumn(pa.chunked_array([], pa.string()), "string") for _ in range(arity)]


FieldsOf = Callable[[Sequence[str]], list[int] | None]
"""Of the names of columns, the fields that are read; None for all."""


def _fields_of(
    names: Sequence[str], formats: Sequence[str] | None, declaration: Declaration
) -> list[int] | None:
    return named_fields(_SOURCE, names, formats, declaration)


def _raw(
    data: object, arity: int | None, names: Sequence[str] | None, log: BadRowLog, by_name: FieldsOf | None
) -> RawTable:
    module = type(data).__module__.partition(".")[0]
    if module == "pandas":
        rows = len(data) if isinstance(data, Sized) else 0
        return _from_columns(_pandas_columns(data), names, log, rows, by_name)
    if module == "polars" and callable(collect := getattr(data, "collect", None)):
        data = collect()
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _from_columns([("value", data, "string")], names, log)
    if isinstance(data, ArrowStream):
        return raw_table(_picked(_from_stream(data), names), _SOURCE)
    if isinstance(data, Mapping):
        given: list[_Column] = [(str(name), column, "string") for name, column in data.items()]
        return _from_columns(given, names, log, by_name=by_name)
    if isinstance(data, np.ndarray):
        return _from_numpy(data, log)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise DataError(
            NotRows(
                problem=f"{shown(data)} cannot be taken as facts", why=f"it is of type {type(data).__name__}"
            )
        )
    return _from_rows(data, arity, names, log, by_name)


# --- data with columns --------------------------------------------------------------------------------------


def _from_stream(data: ArrowStream) -> pa.Table:
    """A table; a stream of one column (a Series) becomes a table of one column."""
    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    try:
        return pa.table({"value": pa.chunked_array(data)})
    except pa.ArrowException as error:
        why = str(error).splitlines()[0] if str(error) else "Arrow does not know its types"
        raise DataError(
            NotRows(problem=f"this {type(data).__name__} cannot be taken as facts", why=why)
        ) from error


def _picked(table: pa.Table, names: Sequence[str] | None) -> pa.Table:
    if names is None:
        return table
    _check_names(names, table.column_names)
    return table.select(list(names))


def _check_names(names: Sequence[str], known: Sequence[str]) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise DataError(
            NotRows(problem=f"the data has no column {missing[0]}", why=f"its columns are {', '.join(known)}")
        )
    twice = [name for name in names if list(known).count(name) > 1]
    if twice:
        raise DataError(
            NotRows(problem=f"which column {twice[0]} is meant?", why="the data has several of this name")
        )


_Column = tuple[str, object, Reading]
"""Its name, its values, and how its text is read."""


def _pandas_columns(data: object) -> list[_Column]:
    """The columns of a frame, or the one of a series; the index is not a column.  What a text holds may be
    said by an attribute of the frame (`Result.to_pandas`)."""
    items = getattr(data, "items", None)
    attributes = getattr(data, "attrs", {})
    marks = attributes.get(KEY) if isinstance(attributes, Mapping) else None
    marks = marks if isinstance(marks, Mapping) else {}
    if hasattr(data, "columns") and callable(items):
        return [(str(n), _pandas_column(column), text_reading(marks.get(n))) for n, column in items()]
    name = str(getattr(data, "name", None) or "value")
    return [(name, _pandas_column(data), text_reading(marks.get(name)))]


def _pandas_column(series: object) -> object:
    """Missing values are None; in pandas NaN is a missing value too."""
    if str(getattr(series, "dtype", "")) != "object":
        try:
            return pa.Array.from_pandas(series)
        except pa.ArrowException:
            pass  # a kind of column that Arrow does not know, such as a sparse one
    assert isinstance(series, Iterable)
    return [None if isinstance(v, float) and v != v else v for v in series]


def _from_columns(
    data: Sequence[_Column],
    names: Sequence[str] | None,
    log: BadRowLog,
    rows: int = 0,
    by_name: FieldsOf | None = None,
) -> RawTable:
    """Columns with their names, which may repeat; `rows` counts if there are none."""
    known = [name for name, *_ in data]
    if names is not None:
        _check_names(names, known)
        called = {column[0]: column for column in data}
        data = [called[name] for name in names]
    chosen = [name for name, *_ in data]
    columns = [_values(column, name) for name, column, _ in data]
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise DataError(
            NotRows(
                problem="the columns are not equally long",
                why=", ".join(
                    f"{n} has {counted(len(c), 'row')}" for n, c in zip(chosen, columns, strict=True)
                ),
            )
        )
    rows = lengths.pop() if lengths else rows
    return _checked(columns, rows, tuple(chosen), log, [reading for *_, reading in data], by_name)


def _values(column: object, name: str) -> pa.ChunkedArray | Sequence[object]:
    if isinstance(column, pa.ChunkedArray):
        return column
    if isinstance(column, pa.Array):
        return pa.chunked_array([column])
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "mMU":
        # Arrow takes a unit that it does not know for integers, and cuts text at a null character
        unit = np.datetime_data(column.dtype) if column.dtype.kind != "U" else ("", 1)
        if unit not in _UNITS:
            return column.tolist() if column.dtype.kind == "U" else list(column)
    if isinstance(column, np.ndarray) and column.dtype != object and column.ndim == 1:
        mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
        try:
            return pa.chunked_array([pa.array(np.ma.getdata(column), mask=mask)])
        except pa.ArrowException:
            return list(column.tolist())  # a kind of number that Arrow does not know
    if isinstance(column, Iterable) and not isinstance(column, str | bytes):
        return list(column)
    raise DataError(
        NotRows(problem=f"column {name} is not a column", why=f"it is of type {type(column).__name__}")
    )


def _from_numpy(data: np.ndarray, log: BadRowLog) -> RawTable:
    if data.ndim not in (1, 2):
        raise DataError(
            NotRows(
                problem=f"an array of {counted(data.ndim, 'dimension')} is not a table of rows",
                why="rows have two",
            )
        )
    matrix = data.reshape(-1, 1) if data.ndim == 1 else data
    if data.dtype.names is not None:
        flat = data.reshape(-1)
        return _from_columns([(name, flat[name], "string") for name in data.dtype.names], None, log)
    columns = [_values(matrix[:, field].copy(), str(field)) for field in range(matrix.shape[1])]
    return _checked(columns, len(matrix), None, log)


# --- rows ---------------------------------------------------------------------------------------------------


def _from_rows(
    data: Iterable[object],
    arity: int | None,
    names: Sequence[str] | None,
    log: BadRowLog,
    by_name: FieldsOf | None,
) -> RawTable:
    """If rows are mappings, the columns are the keys of the first; of all, if columns are found `by_name`."""
    rows = list(data)
    width = arity
    if rows and isinstance(rows[0], Mapping):
        keys: list[object] = list(names) if names is not None else list(rows[0])
        if names is None and by_name:
            keys = list(dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row))
        known = None if names is not None else frozenset(keys)
        # A row without names has the order of the declaration, which need not be that of the keys: it is bad.
        nameless = names is None and by_name and len(keys) > 1
        rows = [
            _named_row(row, keys, known) if isinstance(row, Mapping) else (row,) if nameless else row
            for row in rows
        ]
        names = [str(key) for key in keys]
        width = len(names)
    tuples = [row if isinstance(row, tuple) else _as_row(row) for row in rows]
    if width is None:
        width = len(tuples[0]) if tuples else 0
    wrong = [number for number, row in enumerate(tuples) if len(row) != width]
    if wrong:
        log.add((_wrong_width(tuples[number], number, width) for number in wrong), len(wrong))
        tuples = [row for row in tuples if len(row) == width]
    columns: list[Sequence[object]] = list(zip(*tuples, strict=True)) if tuples else [()] * width
    found = tuple(names) if names is not None else None
    return _checked(columns, len(tuples), found, log, by_name=by_name)


def _named_row(
    row: Mapping[object, object], keys: list[object], known: frozenset[object] | None
) -> tuple[object, ...]:
    """The values of the keys.  Values of unknown keys make the row too long."""
    values = tuple(map(row.get, keys))
    if known is None or row.keys() <= known:
        return values
    return (*values, *(value for key, value in row.items() if key not in known))


def _as_row(row: object) -> tuple[object, ...]:
    """A list is a row; a plain value is a row of one."""
    return tuple(row) if isinstance(row, list) else (row,)


def _wrong_width(row: tuple[object, ...], number: int, width: int) -> BadRow:
    diagnostic = WrongFieldCount(
        Position(_SOURCE, number + 1, unit="row"),
        found=counted(len(row), "value"),
        wanted=str(width),
        why=f"the row is {shown(row)}",
        hint="",
    )
    return BadRow(diagnostic, None, repr(row))


def _checked(
    columns: Sequence[pa.ChunkedArray | Sequence[object]],
    rows: int,
    names: tuple[str, ...] | None,
    log: BadRowLog,
    texts: Sequence[Reading] | None = None,
    by_name: FieldsOf | None = None,
) -> RawTable:
    """Columns as Arrow, without the rows that contain a value that is not a term.  `texts`: how text is
    read, as strings by default.  What columns hold that are not read does not matter."""
    read = by_name(names) if by_name is not None and names is not None else None
    arrays: list[pa.ChunkedArray] = []
    readings: list[Reading] = []
    strange: dict[int, tuple[int, object]] = {}
    for field, column in enumerate(columns):
        text: Reading = texts[field] if texts is not None else "string"
        if read is not None and field not in read:
            column = pa.chunked_array([pa.repeat("", rows)])
        if isinstance(column, pa.ChunkedArray):
            arrays.append(column)
            readings.append(text)
            continue
        array, reading, odd = column_of(column, text)
        arrays.append(array)
        readings.append(reading)
        for row, value in odd.items():
            strange.setdefault(row, (field, value))
    numbers = range(rows)
    if strange:
        log.add((_no_term(row, *strange[row]) for row in sorted(strange)), len(strange))
        kept = np.array([row for row in numbers if row not in strange], dtype=np.int64)
        arrays = [array.take(pa.array(kept)) for array in arrays]
    else:
        kept = None

    def locate(row: int, field: int) -> tuple[Position, str]:
        number = int(kept[row]) if kept is not None else row
        return Position(_SOURCE, number + 1, unit="row"), repr([array[row].as_py() for array in arrays])

    return RawTable(_SOURCE, arrays, rows - len(strange), locate, names, readings)


def _no_term(row: int, field: int, value: object) -> BadRow:
    diagnostic = WrongValue(
        Position(_SOURCE, row + 1, unit="row"),
        value=shown(value),
        format="a term",
        format_name=f"a term, and this is of type {type(value).__name__}",
        field=field + 1,
        hint="terms are text, numbers, booleans, dates, times, tidalog.IRI, tidalog.Literal and their like",
    )
    return BadRow(diagnostic, field + 1, repr(value))
