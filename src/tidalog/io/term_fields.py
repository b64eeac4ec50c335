"""How a column of a table says which terms it holds.

Numbers and booleans have types of their own.  A text column holds strings, unless its field's metadata
`tidalog.terms` says otherwise: `any` for terms in the text form of tables, `iri` for IRIs without brackets.
Arrow and Parquet keep this metadata, so what they are given comes back as the same terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from tidalog.io.result import Reading

KEY: Final = "tidalog.terms"
_MARKED: Final[dict[bytes, Reading]] = {b"any": "any", b"iri": "iri"}


def term_field(name: str, kind: pa.DataType, reading: str) -> pa.Field:
    """The field of a column of a type that is read as `reading` (see `TermColumn`)."""
    return pa.field(name, kind, metadata={KEY: reading} if reading.encode() in _MARKED else None)


def reading_of(field: pa.Field) -> Reading:
    """How the column of a field is read: numbers and booleans as such, text as its metadata says."""
    kind = field.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return "native"
    return _MARKED.get((field.metadata or {}).get(KEY.encode(), b""), "string")


def term_table(names: Sequence[str], columns: Sequence[pa.Array], readings: Sequence[str]) -> pa.Table:
    """A table of columns, each with its reading."""
    fields = [
        term_field(name, column.type, reading)
        for name, column, reading in zip(names, columns, readings, strict=True)
    ]
    return pa.Table.from_arrays(list(columns), schema=pa.schema(fields))
