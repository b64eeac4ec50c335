"""Writes a table of terms to a file, atomically.

The table's columns are values, or text whose field says which terms it holds (`term_fields`); for RDF they
are three columns of text in N-Triples syntax.  Reading the file gives the same facts: delimited text has
terms in `any` form, Arrow and Parquet keep the fields, JSON has strings for strings and objects for other
terms (`json_terms`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.ipc as ipc

from tidalog import arrow_compute as pc
from tidalog.io.arrow_files import write_parquet
from tidalog.io.columns import shown
from tidalog.io.diagnostics import NeedsQuoting, NotRdf
from tidalog.io.export_form import as_formats
from tidalog.io.files import COMPRESSION_ENDINGS, AtomicFile, writing
from tidalog.io.formats import Format, check_option, format_named
from tidalog.io.json_terms import json_values
from tidalog.io.rdf_write import misfits, write_rdf
from tidalog.io.result import Reading
from tidalog.io.row_text import bytes_of, json_texts, needs_quotes, with_quotes
from tidalog.io.term_fields import as_terms, reading_of
from tidalog.io.text_form import any_text
from tidalog.model.amounts import counted
from tidalog.model.errors import DataError

_SLICE: Final = 1 << 18
"""How many rows are formatted at a time."""


@dataclass(frozen=True)
class _Target:
    table: pa.Table
    path: Path
    predicate: str
    delimiter: str
    quoting: bool
    header: bool
    prefixes: Mapping[str, str]
    terms: bool
    readings: list[Reading] | None
    """What each column holds; None if text is that of cells already, as formats ask for."""


def write_table(
    table: pa.Table,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    formats: Sequence[str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quoting: bool | None = None,
    compression: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    predicate: str = "the table",
    terms: bool = False,
) -> None:
    """Writes a table to a file; by default, the ending of its name selects the format.

    A table without columns is a predicate without arguments and is written as `true` if it has a row.
    `formats` say how each column is written (`export_form`); with `terms`, each is written so that format
    `any` reads it.  `prefixes` shorten IRIs in Turtle; messages name the `predicate`.
    """
    path = Path(path)
    kind = format_named(format, path)
    for name, value in (
        ("header", header),
        ("delimiter", delimiter),
        ("quoting", quoting),
        ("compression", compression),
    ):
        if value is not None:
            check_option(kind, kind.write_options, name, value)
    if formats is not None:
        table = as_formats(table, formats, predicate, typed=kind.name in ("parquet", "arrow"))
    elif terms and not kind.rdf:
        table = as_terms(table)
    if table.num_columns == 0:
        table = pa.table({"holds": pa.array([True] * min(1, table.num_rows), pa.bool_())})
    target = _Target(
        table,
        path,
        predicate,
        delimiter if delimiter is not None else kind.delimiter or ",",
        quoting if quoting is not None else True,
        bool(header),
        prefixes or {},
        terms,
        None if formats is not None else [reading_of(field) for field in table.schema],
    )
    file = AtomicFile(path)
    with writing(path):
        try:
            _write(target, kind, compression, file.stream)
            file.commit()
        except BaseException:
            with suppress(OSError):
                file.abandon()
            raise


def _write(target: _Target, kind: Format, compression: str | None, stream: BinaryIO) -> None:
    if kind.name == "parquet":
        write_parquet(target.table, stream, compression)
    elif kind.name == "arrow":
        with ipc.new_file(stream, target.table.schema) as writer:
            writer.write_table(target.table)
    else:
        codec = compression or COMPRESSION_ENDINGS.get(target.path.suffix.lower(), "none")
        if codec == "none":
            _write_text(target, kind, stream)
        else:
            with pa.CompressedOutputStream(stream, codec) as compressed:
                _write_text(target, kind, compressed)


def _write_text(target: _Target, kind: Format, stream: BinaryIO) -> None:
    if kind.rdf:
        write_rdf(_check_rdf(target, kind), kind.name, target.prefixes, stream, target.path)
        return
    for piece in _WRITERS.get(kind.name, _delimited_text)(target):
        stream.write(piece)


def _slices(target: _Target) -> Iterator[list[pa.ChunkedArray]]:
    for start in range(0, target.table.num_rows, _SLICE):
        columns = target.table.slice(start, _SLICE).columns
        yield [c.cast(pa.string()) if pa.types.is_large_string(c.type) else c for c in columns]


# --- delimited text -----------------------------------------------------------------------------------------


def _delimited_text(target: _Target) -> Iterator[bytes | memoryview]:
    names = pa.table({str(i): [name] for i, name in enumerate(target.table.column_names)})
    if target.header:
        yield from bytes_of(_delimited_lines(target, list(names.columns)))
    readings = target.readings or ["any"] * target.table.num_columns
    for columns in _slices(target):
        texts = [any_text(column, reading) for column, reading in zip(columns, readings, strict=True)]
        yield from bytes_of(_delimited_lines(target, texts))


def _delimited_lines(target: _Target, columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    fields = [_fields(target, text, alone=len(columns) == 1) for text in columns]
    row = pc.binary_join_element_wise(*fields, target.delimiter)
    return pc.binary_join_element_wise(row, "\n", "")


def _fields(target: _Target, text: pa.ChunkedArray, alone: bool) -> pa.ChunkedArray:
    """Fields, in quotes if necessary.  An empty line is not a row, so a single empty field needs quotes."""
    special = needs_quotes(text, target.delimiter)
    if alone:
        special = pc.or_(special, pc.equal(text, ""))
    if not target.quoting and pc.any(special).as_py():
        example = text.filter(special)[0].as_py()
        raise DataError(NeedsQuoting(path=target.path, value=shown(example)))
    return with_quotes(text, special)


# --- JSON lines ---------------------------------------------------------------------------------------------


def _json_lines(target: _Target) -> Iterator[bytes | memoryview]:
    keys = json_texts(pa.chunked_array([pa.array(target.table.column_names, pa.string())])).to_pylist()
    readings = target.readings or ["string"] * target.table.num_columns
    for columns in _slices(target):
        parts: list[object] = []
        for number, (key, column) in enumerate(zip(keys, columns, strict=True)):
            values = json_values(column, readings[number], terms=target.terms)
            parts += ["{" if number == 0 else ",", key, ":", values]
        yield from bytes_of(pc.binary_join_element_wise(*parts, "}\n", ""))


# --- RDF ----------------------------------------------------------------------------------------------------


def _check_rdf(target: _Target, kind: Format) -> list[pa.ChunkedArray]:
    """The columns of statements: three, or four if the format has graphs."""
    table = target.table
    known = (3, 4) if kind.graphs else (3,)
    if table.num_columns not in known or not all(_is_text(c) for c in table.columns):
        why = f"it has {counted(table.num_columns, 'argument')}, and {kind.name} has " + (
            "triples and their graphs" if kind.graphs else "triples"
        )
        _refuse(target, why, "write csv or parquet")
    columns = [c.cast(pa.string()) if pa.types.is_large_string(c.type) else c for c in table.columns]
    for wrong, rule in misfits(columns):
        example = " ".join(column.filter(pa.array(wrong))[0].as_py() for column in columns)
        _refuse(target, f"{rule}, and here is {shown(example)}", "leave such facts out by a rule")
    return columns


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _refuse(target: _Target, why: str, hint: str) -> None:
    raise DataError(NotRdf(predicate=target.predicate, why=why, hint=hint))


_WRITERS: Final[dict[str, Callable[[_Target], Iterator[bytes | memoryview]]]] = {"ndjson": _json_lines}
