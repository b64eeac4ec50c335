"""The `format` of an @export: columns in the form that another program expects.

`any` writes the form that identifies the term.  The other formats write the plain value (the text `ann` of
the string `"ann"`, an IRI without its brackets unless it looks like a name with a prefix) and refuse a column
that has any other value, so that reading the file with the same format gives the same facts.  `skip` leaves a
column out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from tidalog.io.columns import check_shape
from tidalog.io.diagnostics import NotWritable
from tidalog.io.formats import column_formats
from tidalog.io.iri_cells import written_iris
from tidalog.io.term_fields import reading_of, term_field
from tidalog.io.text_form import any_text
from tidalog.model.column_types import TYPES, term_of_text
from tidalog.model.errors import DataError
from tidalog.model.term_text import parse_any
from tidalog.model.terms import IRI, Boolean, Double, Integer, Literal, String, Term

_TYPES: Final = {"int": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
_TERMS: Final = {"string": String, "int": Integer, "double": Double, "boolean": Boolean, "iri": IRI}


_HOLDS: Final[dict[str, Callable[[pa.DataType], bool]]] = {
    "date": pa.types.is_date,
    "dateTime": pa.types.is_timestamp,
    "time": pa.types.is_time,
    "duration": pa.types.is_duration,
}
"""Whether a column of a type has only terms of a format; decimals may be integers."""


def as_formats(table: pa.Table, formats: Sequence[str], predicate: str, *, typed: bool = False) -> pa.Table:
    """The table with each column in its format; text is the text of the cells.  If the file is `typed`,
    columns whose type is that of the format keep it."""
    formats = column_formats(formats) or ()
    check_shape(predicate, table.num_columns, formats, None)
    fields: list[pa.Field] = []
    columns: list[pa.ChunkedArray] = []
    for field, column, format in zip(table.schema, table.columns, formats, strict=True):
        if format != "skip":
            reading = reading_of(field)
            keep = typed and _holds(field.type, reading, format)
            written = column if keep else _as_format(column, reading, format, predicate)
            # the field of a typed file says that the text is an IRI
            is_name = format == "iri" and not typed and len(written) > 0
            columns.append(written_iris(written) if is_name else written)
            mark = reading if format == "any" and written is column else format
            fields.append(term_field(field.name, columns[-1].type, mark))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _holds(kind: pa.DataType, reading: str, format: str) -> bool:
    """Whether a column has only terms of a format because of its type."""
    if pa.types.is_decimal(kind):
        return format == ("int" if reading == "int" else "decimal")
    return format in _HOLDS and _HOLDS[format](kind)


def _as_format(column: pa.ChunkedArray, reading: str, format: str, predicate: str) -> pa.ChunkedArray:
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if format == "any":
        return any_text(column, reading) if is_text else column
    if len(column) == 0 or column.type == _TYPES.get(format) or (is_text and reading == format):
        return column
    if format == reading == "int":
        return any_text(column, reading)
    if format in _TYPES or (not is_text and format in _TERMS):
        raise _refusal(_first_unlike(any_text(column, reading), format), format, predicate)
    encoded = any_text(column, reading).combine_chunks().dictionary_encode()
    plain: list[str] = []
    for text in encoded.dictionary.to_pylist():
        value = _plain_text(parse_any(text), format)
        if value is None:
            raise _refusal(text, format, predicate)
        plain.append(value)
    return pa.chunked_array([pa.array(plain, pa.string()).take(encoded.indices)])


def _plain_text(term: Term, format: str) -> str | None:
    """The text from which a column of this format reads the term."""
    if format == "iri":
        return term.value if isinstance(term, IRI) else None
    value = (
        term.lexical if isinstance(term, Literal) else term.value if isinstance(term, String | IRI) else ""
    )
    return value if term_of_text(value, format) == term else None


def _first_unlike(column: pa.ChunkedArray, format: str) -> str:
    """A text of the column that is not of the format.  A column is native only if all its values are, so a
    column of another type has such a value; if none is found, the first one is shown."""
    texts = column.to_pylist()
    return str(next((text for text in texts if not isinstance(parse_any(text), _TERMS[format])), texts[0]))


def _refusal(text: str, format: str, predicate: str) -> DataError:
    return DataError(
        NotWritable(
            path=predicate,
            why=f"{text} is not {_noun(format)}, and the column is to be written as {format}",
            hint="format any writes every term",
        )
    )


def _noun(format: str) -> str:
    return (
        "a string"
        if format == "string"
        else "a boolean"
        if format == "boolean"
        else TYPES[format].description
    )
