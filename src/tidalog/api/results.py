"""Results: a table of terms, Arrow underneath.

A column has the type of its terms if all have one: integers, doubles, booleans, decimals, dates, timestamps,
times, durations, or text that strings or IRIs hold; otherwise it is text in the form that tables have (format
`any`), in which every text says which term it is.  The field's metadata tells these three kinds of text apart
(`io.term_fields`).  So a result needs nothing but its table: Python
values and terms are read from it, and inserting a result yields the same facts again.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast, overload

import numpy as np
import pyarrow as pa

from tidalog.api.shown import SHOWN_ROWS, html_table, short, text_table
from tidalog.io.term_columns import decoded
from tidalog.io.term_fields import KEY, as_terms, has_values, marks, reading_of, term_table
from tidalog.io.text_form import any_text, is_dated
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, UsageError
from tidalog.model.native import Native
from tidalog.model.term_text import TermWriter, from_python, iri_reference, parse_any, to_python
from tidalog.model.terms import IRI, String, Term, sort_key
from tidalog.model.terms import Literal as LiteralTerm

if TYPE_CHECKING:
    import pandas
    import polars
    from rich.table import Table as RichTable

    from tidalog.engine.dictionary import Dictionary
    from tidalog.model.facts import Ids

T = TypeVar("T")
Value = Native
"""A term as a Python value, if there is one that stands for the same term: numbers, booleans, strings, dates,
times, durations; else the text of a table's cell."""

_SORTED_BY_PYTHON: Final = 100_000
"""Rows up to which text is sorted in the order of terms without being asked for."""
_AT_ONCE: Final = 1 << 16
"""Rows that are converted at a time when a result is iterated over."""
_FEW: Final = 256
"""Rows up to which nothing needs `pyarrow.compute`, which takes longer to import."""


class NotInstalled(Diagnostic):
    number = "T082"
    title = "{package} is not installed"
    reason = "Tidalog itself does not need it; this conversion does"
    hint = "install it with: pip install 'tidalog[{package}]', or use to_arrow()"


class NoColumn(Diagnostic):
    number = "T160"
    title = "the result has no column {name}"
    reason = "its columns: {columns}"
    hint = "a row is found by its number, result[0], and rows by a slice, result[:10]"


class Result:
    """The rows of a query or of a predicate.  Immutable; rows have no particular order.

    `result[0]` is a row, `result[:10]` a result, `result["x"]` the values of a column.
    """

    def __init__(
        self,
        names: Sequence[str],
        columns: Sequence[pa.Array],
        rows: int,
        prefixes: Mapping[str, str] | None = None,
        readings: Sequence[str] | None = None,
    ) -> None:
        """`rows` counts if there are no columns; `prefixes` shorten IRIs that are printed; `readings` say
        what columns of text hold, strings if there are none."""
        self._prefixes = dict(prefixes or {})
        if names:
            self._table = term_table(names, columns, readings or ["string"] * len(names))
        else:
            empty = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
            self._table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(empty)])

    # --- as a table ---------------------------------------------------------------------------------

    @property
    def table(self) -> pa.Table:
        """The Arrow table."""
        return self._table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table.column_names)

    def to_arrow(self, *, terms: bool = False) -> pa.Table:
        """The Arrow table; with `terms`, every cell is text in `any` form."""
        return as_terms(self._table) if terms else self._table

    def to_pandas(self, *, terms: bool = False) -> pandas.DataFrame:
        """A pandas frame; pandas must be installed.  Its `attrs` say which text is that of IRIs or terms."""
        require("pandas")
        table = as_terms(self._table, None if terms else _pandas_holds)
        frame = table.to_pandas()
        for number, field in enumerate(table.schema):
            if reading_of(field) == "int":
                frame.isetitem(number, frame.iloc[:, number].map(int).astype(object))
        if found := marks(table.schema):
            frame.attrs[KEY] = found
        return frame

    def to_polars(self, *, terms: bool = False) -> polars.DataFrame:
        """A polars frame; polars must be installed.  It does not say which text columns hold IRIs or
        terms."""
        require("polars")
        import polars

        frame = polars.from_arrow(as_terms(self._table, None if terms else _polars_holds))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    # --- as rows ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self[start : start + _AT_ONCE].to_rows()

    @overload
    def __getitem__(self, index: int, /) -> tuple[Value, ...]: ...
    @overload
    def __getitem__(self, index: slice, /) -> Result: ...
    @overload
    def __getitem__(self, index: str, /) -> list[Value]: ...
    def __getitem__(self, index: int | slice | str, /) -> tuple[Value, ...] | Result | list[Value]:
        """A row by its number, rows by a slice, or the values of a column by its name."""
        if isinstance(index, str):
            if index not in self.columns:
                raise UsageError(NoColumn(name=index, columns=", ".join(self.columns) or "none"))
            number = self.columns.index(index)
            return _python_values(self._table.column(number), reading_of(self._table.schema.field(number)))
        if isinstance(index, slice):
            if not self.columns:
                return Result([], [], len(range(len(self))[index]), self._prefixes)
            return self._like(self._table[index])
        try:
            row = range(len(self))[index]
        except IndexError:
            rows = counted(len(self), "row")
            raise IndexError(f"there is no row {index}: the result has {rows}") from None
        return self[row : row + 1].to_rows()[0]

    def to_rows(self, *, terms: bool = False) -> list[tuple[Value, ...]]:
        """Rows of Python values; terms that no value stands for (IRIs, for one) are the text of a cell.  With
        `terms`, every term is such a text."""
        table = self.to_arrow(terms=terms)
        columns = zip(table.columns, map(reading_of, table.schema), strict=True)
        values = [c.to_pylist() if terms else _python_values(c, reading) for c, reading in columns]
        return _rows(values, len(self))

    def to_terms(self) -> list[tuple[Term, ...]]:
        """Rows of terms; None where a query leaves a variable without a value."""
        return cast("list[tuple[Term, ...]]", self._rows_of_cells())

    def _rows_of_cells(self) -> list[tuple[Term | None, ...]]:
        columns = zip(self._table.columns, map(reading_of, self._table.schema), strict=True)
        return _rows([_cells(column, reading) for column, reading in columns], len(self))

    def to_pylist(self, *, terms: bool = False) -> list[dict[str, Value]]:
        """Rows as dictionaries by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.to_rows(terms=terms)]

    def sorted(self) -> Result:
        """The same rows in the order of terms (`terms.sort_key`), by the first column, then the second …"""
        keys = [
            [(term is not None, () if term is None else sort_key(term)) for term in row]
            for row in self._rows_of_cells()
        ]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if 0 < len(order) <= _FEW:
            return self._like(pa.concat_tables([self._table.slice(row, 1) for row in order]))
        # pa.array would import pandas where it is installed, which takes longer than a small program.
        rows = pa.Array.from_buffers(pa.int64(), len(order), [None, pa.py_buffer(np.array(order, np.int64))])
        return self._like(self._table.take(rows))

    def first(self, count: int) -> Result:
        """The first rows."""
        return self[:count] if self.columns else self

    def with_column(self, name: str, column: pa.Array) -> Result:
        """One more column, which gets another name if this one is taken."""
        while name in self.columns:
            name += "_"
        columns = [known.combine_chunks() for known in self._table.columns] if self.columns else []
        readings = [reading_of(field) for field in self._table.schema] if self.columns else []
        return Result(
            [*self.columns, name], [*columns, column], len(self), self._prefixes, [*readings, "string"]
        )

    def _like(self, table: pa.Table) -> Result:
        if not self.columns:
            return self
        columns = [column.combine_chunks() for column in table.columns]
        readings = [reading_of(field) for field in table.schema]
        return Result(self.columns, columns, table.num_rows, self._prefixes, readings)

    # --- for people ---------------------------------------------------------------------------------

    def in_reading_order(self) -> Result:
        """Sorted, unless there are too many rows to read in order."""
        return self.sorted() if len(self) <= _SORTED_BY_PYTHON else self

    def as_rich_table(
        self, rows: int | None = SHOWN_ROWS, cell: Callable[[str], str] | None = None
    ) -> RichTable:
        """A table for a terminal with at most this many rows; None shows all.  `cell` may shorten texts."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        right = self._aligned_right()
        for number, name in enumerate(self.columns):
            justify: Literal["left", "right"] = "right" if number in right else "left"
            table.add_column(Text(name), justify=justify, overflow="fold")
        for row in self._shown(rows):
            table.add_row(*(Text(text if cell is None else cell(text)) for text in row))
        return table

    def lines(self, rows: int | None = SHOWN_ROWS) -> Iterator[str]:
        """The same table as lines of any length, for files, pipes and many rows."""
        return text_table(self.columns, self._shown(rows), self._aligned_right())

    def _aligned_right(self) -> set[int]:
        """Columns of numbers and booleans."""
        kinds = enumerate(self._table.schema.types)
        return {number for number, kind in kinds if has_values(kind) and not is_dated(kind)}

    def __repr__(self) -> str:
        if not self.columns:
            return "true" if len(self) else "false"
        from rich.console import Console

        out = io.StringIO()
        console = Console(file=out, width=_WIDTH, color_system=None, legacy_windows=False)
        console.print(self.as_rich_table(cell=short))
        lines = [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]
        return "\n".join([*lines, self.footer()])

    def footer(self, rows: int | None = SHOWN_ROWS) -> str:
        """How many rows there are, and how many of them a table of at most `rows` leaves out."""
        left_out = 0 if rows is None else max(0, len(self) - rows)
        return counted(len(self), "row") + (f", {left_out:,} not shown" if left_out else "")

    def _repr_html_(self) -> str:
        if not self.columns:
            return f"<p>{self!r}</p>"
        return html_table(self.columns, self._shown(SHOWN_ROWS), self.footer())

    def _shown(self, rows: int | None) -> list[tuple[str, ...]]:
        """Terms in the syntax of programs; in a column of one type, without the type."""
        shown = self if rows is None else self.first(rows)
        write = TermWriter(self._prefixes).term
        writers = [_bare(write) if has_values(kind) else write for kind in self._table.schema.types]
        return [
            tuple("" if term is None else w(term) for w, term in zip(writers, row, strict=True))
            for row in shown._rows_of_cells()
        ]


def decoded_result(
    dictionary: Dictionary,
    names: Sequence[str],
    columns: Sequence[Ids],
    rows: int,
    prefixes: Mapping[str, str],
) -> Result:
    """The result that columns of term ids stand for."""
    found = [decoded(dictionary, column) for column in columns]
    return Result(names, [array for array, _ in found], rows, prefixes, [reading for _, reading in found])


_WIDTH: Final = 110
_READ: Final[Mapping[str, Callable[[str], Term]]] = {"any": parse_any, "string": String, "iri": IRI}
"""The term of a text, by the reading of its column."""


def _bare(write: Callable[[Term], str]) -> Callable[[Term], str]:
    return lambda term: term.lexical if isinstance(term, LiteralTerm) else write(term)


def _pandas_holds(kind: pa.DataType) -> bool:
    """Times of day are Python's, which have no nanoseconds."""
    return not (pa.types.is_time64(kind) and kind.unit == "ns")


def _polars_holds(kind: pa.DataType) -> bool:
    return not pa.types.is_decimal256(kind)


def require(package: str) -> None:
    if find_spec(package) is None:
        raise UsageError(NotInstalled(package=package))


def _rows(columns: list[list[T]], rows: int) -> list[tuple[T, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * rows


def _python_values(column: pa.ChunkedArray, reading: str) -> list[Value]:
    """None where a query leaves a variable without a value."""
    if reading == "string" or _is_plain(column):
        values: list[Value] = column.to_pylist()
        return values
    if reading == "iri":
        return cast("list[Value]", _by_distinct(column, iri_reference))
    found = [None if term is None else to_python(term) for term in _cells(column, reading)]
    return cast("list[Value]", found)


def _cells(column: pa.ChunkedArray, reading: str) -> list[Term | None]:
    """Terms; None where a query leaves a variable without a value."""
    if _is_plain(column):
        return [None if value is None else from_python(value) for value in column.to_pylist()]
    if has_values(column.type):
        column, reading = any_text(column, reading), "any"
    return _by_distinct(column, _READ[reading])


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Whether a column's values in Python are those of its terms, type and all."""
    types = pa.types
    return bool(types.is_int64(column.type) or types.is_float64(column.type) or types.is_boolean(column.type))


def _by_distinct(column: pa.ChunkedArray, read: Callable[[str], T]) -> list[T | None]:
    """What `read` returns for each text, called once for each distinct one of many; None for none."""
    if len(column) <= _FEW:
        return [None if text is None else read(text) for text in column.to_pylist()]
    encoded = column.combine_chunks().dictionary_encode()
    distinct = [read(text) for text in encoded.dictionary.to_pylist()]
    return [None if number is None else distinct[number] for number in encoded.indices.to_pylist()]
