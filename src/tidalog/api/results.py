"""Results: a table of terms, Arrow underneath.

A column is int64, double, boolean or plain text if every term in it is a number or boolean of that kind or a
string; otherwise it is text in the form that tables have (format `any`), in which every text says which term
it is, and its field's metadata says so (`io.term_fields`).  So a result needs nothing but its table: Python
values and terms are read from it, and inserting a result yields the same facts again.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import pyarrow as pa

from tidalog.io.term_fields import reading_of, term_table
from tidalog.model.errors import Diagnostic, UsageError
from tidalog.model.term_text import TermWriter, parse_any, to_python
from tidalog.model.terms import IRI, Boolean, Double, Integer, String, Term, sort_key

if TYPE_CHECKING:
    import pandas
    import polars
    from rich.table import Table as RichTable

    from tidalog.engine.dictionary import Dictionary
    from tidalog.model.facts import Ids

T = TypeVar("T")
Value = int | float | bool | str
"""A term as a Python value: a number, a boolean or the text of a string, else the text of a table's cell."""

SHOWN_ROWS: Final = 20
"""Rows of a result that print."""
_SORTED_BY_PYTHON: Final = 100_000
"""Rows up to which text is sorted in the order of terms without being asked for."""
_FEW: Final = 256
"""Rows up to which nothing needs `pyarrow.compute`, which takes longer to import."""


class NotInstalled(Diagnostic):
    number = "T082"
    title = "{package} is not installed"
    reason = "Tidalog itself does not need it; this conversion does"
    hint = "install it with: pip install 'tidalog[{package}]', or use to_arrow()"


class Result:
    """The rows of a query or of a predicate.  Immutable; rows have no particular order."""

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

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame; pandas must be installed."""
        _require("pandas")
        return self._table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """A polars frame; polars must be installed."""
        _require("polars")
        import polars

        frame = polars.from_arrow(self._table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    # --- as rows ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self.to_rows())

    def to_rows(self) -> list[tuple[Value, ...]]:
        """Rows of Python values: numbers, booleans and strings as such, anything else as the text of a
        cell."""
        return _rows([_python_values(*column) for column in self._with_readings()], len(self))

    def to_terms(self) -> list[tuple[Term, ...]]:
        """Rows of terms."""
        return _rows([_terms(*column) for column in self._with_readings()], len(self))

    def _with_readings(self) -> Iterator[tuple[pa.ChunkedArray, str]]:
        return zip(self._table.columns, map(reading_of, self._table.schema), strict=True)

    def to_pylist(self) -> list[dict[str, Value]]:
        """Rows as dictionaries by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.to_rows()]

    def sorted(self) -> Result:
        """The same rows in the order of terms (`terms.sort_key`), by the first column, then the second …"""
        keys = [[sort_key(term) for term in row] for row in self.to_terms()]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if 0 < len(order) <= _FEW:
            return self._like(pa.concat_tables([self._table.slice(row, 1) for row in order]))
        # pa.array would import pandas where it is installed, which takes longer than a small program.
        rows = pa.Array.from_buffers(pa.int64(), len(order), [None, pa.py_buffer(np.array(order, np.int64))])
        return self._like(self._table.take(rows))

    def first(self, count: int) -> Result:
        """The first rows."""
        return self._like(self._table.slice(0, count)) if self.columns else self

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

    def as_rich_table(self, rows: int | None = SHOWN_ROWS) -> RichTable:
        """A table for a terminal with at most this many rows; None shows all."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name, column in zip(self.columns, self._table.columns, strict=True):
            table.add_column(Text(name), justify="left" if _is_text(column) else "right", overflow="fold")
        for row in self._shown(rows):
            table.add_row(*map(Text, row))
        return table

    def lines(self, rows: int | None = SHOWN_ROWS) -> Iterator[str]:
        """The same table as lines of any length, for files, pipes and many rows."""
        right = {number for number, column in enumerate(self._table.columns) if not _is_text(column)}
        return text_table(self.columns, self._shown(rows), right)

    def __repr__(self) -> str:
        if not self.columns:
            return "true" if len(self) else "false"
        from rich.console import Console

        out = io.StringIO()
        console = Console(file=out, width=_WIDTH, color_system=None, legacy_windows=False)
        console.print(self.as_rich_table())
        lines = [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]
        return "\n".join([*lines, self.footer()])

    def footer(self, rows: int | None = SHOWN_ROWS) -> str:
        """How many rows there are, and how many of them a table of at most `rows` leaves out."""
        counted = f"{len(self):,} {'row' if len(self) == 1 else 'rows'}"
        left_out = 0 if rows is None else max(0, len(self) - rows)
        return f"{counted}, {left_out:,} not shown" if left_out else counted

    def _repr_html_(self) -> str:
        if not self.columns:
            return f"<p>{self!r}</p>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
            for row in self._shown(SHOWN_ROWS)
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(self.footer())}</p>"

    def _shown(self, rows: int | None) -> list[tuple[str, ...]]:
        shown = self if rows is None else self.first(rows)
        write = TermWriter(self._prefixes).term
        return [tuple(map(write, row)) for row in shown.to_terms()]


def decoded_result(
    dictionary: Dictionary,
    names: Sequence[str],
    columns: Sequence[Ids],
    rows: int,
    prefixes: Mapping[str, str],
) -> Result:
    """The result that columns of term ids stand for."""
    decoded = [dictionary.decode_plain(column) for column in columns]
    arrays, readings = [array for array, _ in decoded], [reading for _, reading in decoded]
    return Result(names, arrays, rows, prefixes, readings)


_WIDTH: Final = 110
_READ: Final[Mapping[str, Callable[[str], Term]]] = {"any": parse_any, "string": String, "iri": IRI}
"""The term of a text, by the reading of its column."""


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int]) -> Iterator[str]:
    """The lines of a table of texts.  Columns with a number in `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, strict=True)
        padded = (c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(cells))
        return "   ".join(padded).rstrip()

    yield line(header)
    yield "─" * (sum(widths) + 3 * (len(widths) - 1))
    yield from map(line, rows)


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _require(package: str) -> None:
    if find_spec(package) is None:
        raise UsageError(NotInstalled(package=package))


def _rows(columns: list[list[T]], rows: int) -> list[tuple[T, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * rows


def _python_values(column: pa.ChunkedArray, reading: str) -> list[Value]:
    if not _is_text(column) or reading == "string":
        values: list[Value] = column.to_pylist()
        return values
    return _by_distinct(column, lambda text: to_python(_READ[reading](text)))


def _terms(column: pa.ChunkedArray, reading: str) -> list[Term]:
    if pa.types.is_int64(column.type):
        return [Integer(value) for value in column.to_pylist()]
    if pa.types.is_float64(column.type):
        return [Double(value) for value in column.to_pylist()]
    if pa.types.is_boolean(column.type):
        return [Boolean(value) for value in column.to_pylist()]
    return _by_distinct(column, _READ[reading])


def _by_distinct(column: pa.ChunkedArray, read: Callable[[str], T]) -> list[T]:
    """What `read` returns for each text, called once for each distinct one of many."""
    if len(column) <= _FEW:
        return [read(text) for text in column.to_pylist()]
    encoded = column.combine_chunks().dictionary_encode()
    distinct = [read(text) for text in encoded.dictionary.to_pylist()]
    return [distinct[number] for number in encoded.indices.to_pylist()]
