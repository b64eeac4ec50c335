"""Reading files: one call for every format, one file or many."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.engine.dictionary import Dictionary
from tidalog.io.arrow_files import read_arrow, read_parquet
from tidalog.io.columns import RawTable, columns_ignored, named_fields, to_terms
from tidalog.io.delimited import Layout, read_delimited
from tidalog.io.diagnostics import NotWritable, WrongArity
from tidalog.io.files import find_files, open_buffer
from tidalog.io.formats import Format, check_option, column_formats, endings_of, format_named
from tidalog.io.json_lines import read_json_lines
from tidalog.io.rdf_read import RdfSource
from tidalog.io.rdf_table import NAMES, RdfOptions, read_rdf_table
from tidalog.io.read_progress import ReadProgress
from tidalog.io.result import BadRowLog, OnError, Progress, ReadResult, TermColumn
from tidalog.io.text_form import any_text
from tidalog.lang.names import NO_PREFIXES
from tidalog.model.errors import DataError, Diagnostic
from tidalog.model.program import Declaration

Resource = str | os.PathLike[str]


@dataclass(frozen=True)
class _Options:
    """The options of a call; None is the format's own default."""

    formats: Sequence[str] | None
    arity: int | None
    header: bool | None
    delimiter: str | None
    quoting: bool | None
    skip: int | None
    compression: str | None
    base: str | None
    triples: bool
    declaration: Declaration | None
    prefixes: Mapping[str, str]
    dataset: bool
    dictionary: Dictionary | None

    def check(self, kind: Format) -> None:
        """Refuses options that the format does not have."""
        for name in ("header", "delimiter", "quoting", "skip", "compression", "base"):
            value = getattr(self, name)
            if value is not None:
                check_option(kind, kind.read_options, name, value)
        if self.formats is not None:
            check_option(kind, kind.read_options, "format", tuple(self.formats))

    def layout(self, kind: Format) -> Layout:
        return Layout(
            delimiter=self.delimiter if self.delimiter is not None else kind.delimiter or ",",
            quoting=self.quoting if self.quoting is not None else True,
            header=bool(self.header),
            skip=self.skip or 0,
        )


def read_table(
    path: Resource | Sequence[Resource],
    format: str | None = None,
    *,
    formats: Sequence[str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quoting: bool | None = None,
    skip: int | None = None,
    compression: str | None = None,
    base: str | None = None,
    on_error: OnError = "error",
    quarantine: Path | None = None,
    arity: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
    base_dir: Path | None = None,
    triples: bool = False,
    declaration: Declaration | None = None,
    prefixes: Mapping[str, str] = NO_PREFIXES,
    dataset: bool = False,
    dictionary: Dictionary | None = None,
) -> ReadResult:
    """Facts from a file, a glob, a folder, or several of these.

    `format` is a format's name (`csv`, `parquet`, `rdf` …); without it the file's ending decides.
    `formats` says what each column means (`any`, `string`, `int` …, `skip`).  Of a
    predicate with a `declaration`, columns are found by name, and untyped text and values are of its types.
    `header`: whether the first row of delimited text holds names; without it every row is data.
    `skip` is the number of lines to skip first.  `base` is the base of relative IRIs in RDF.
    `limit` is the maximal number of facts to read.  Bad rows are an error, or with `on_error="skip"` are
    counted and written to `quarantine`.  Relative paths start at `base_dir`.  With `triples`, the rows are to
    be inserted into `triple`, and those with a literal as subject or predicate are bad.  IRIs in columns of
    IRIs may have `prefixes`.  RDF of a `dataset` may have named graphs.  With a `dictionary`, RDF is read as
    its ids, and terms of files that are refused are forgotten.

    A predicate without arguments (`arity=0`) is read from a file of one boolean column: it holds if that is
    true.
    """
    if arity == 0:
        formats, arity = ("boolean",), 1
        proposition = True
    else:
        proposition = False
    formats = column_formats(formats)
    resources = [path] if isinstance(path, str | os.PathLike) else list(path)
    folder = base_dir if base_dir is not None else Path()
    files = [file for resource in resources for file in find_files(resource, folder, endings_of(format))]
    if quarantine is not None and any(_same_file(quarantine, file) for file in files):
        raise DataError(
            NotWritable(path=quarantine, why="this is the file that is read", hint="quarantine elsewhere")
        )
    kinds = [format_named(format, file) for file in files]
    options = _Options(
        formats,
        arity,
        header,
        delimiter,
        quoting,
        skip,
        compression,
        base,
        triples,
        declaration,
        prefixes,
        dataset,
        dictionary if all(kind.rdf for kind in kinds) else None,
    )
    for kind in kinds:
        options.check(kind)
    log = BadRowLog(on_error, quarantine)
    news = ReadProgress(progress, files)
    known = 0 if dictionary is None else len(dictionary)
    parts: list[_Part] = []
    try:
        for file, kind in zip(files, kinds, strict=True):
            news.begin(file)
            part = _read_file(file, kind, options, log, news)
            if limit is not None and news.rows + part.rows > limit:
                part = part.first(limit - news.rows)
            parts.append(part)
            news.end(part.rows)
            if limit is not None and news.rows >= limit:
                break
        bad = log.finish()
    except BaseException:
        log.abandon()
        if dictionary is not None:
            dictionary.truncate(known)
        raise
    notices = tuple(notice for part in parts for notice in part.notices)
    names = next((part.names for part in parts if part.names), None)
    columns = _joined([part.columns for part in parts if part.columns], files)
    if proposition:
        holds = any(bool(pc.any(column.array).as_py()) for column in columns)
        return ReadResult([], int(holds), bad)
    declared: dict[str, str] = {}
    for part in parts:
        declared = {**part.prefixes, **declared}
    quads = [part.quads for part in parts if part.quads is not None]
    return ReadResult(
        columns or _empty(formats, arity),
        sum(part.rows for part in parts) - sum(len(columns[0].array) for columns in quads),
        bad,
        names,
        declaration,
        notices,
        _joined(quads, files) if quads else None,
        declared,
    )


@dataclass(frozen=True)
class _Part:
    """What is in one file."""

    columns: list[TermColumn] = field(default_factory=list)
    rows: int = 0
    """Those in named graphs, too."""
    names: tuple[str, ...] | None = None
    notices: tuple[Diagnostic, ...] = ()
    quads: list[TermColumn] | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def first(self, rows: int) -> _Part:
        """Its first rows, those in no named graph before the others."""
        own = len(self.columns[0].array) if self.columns else 0
        quads = None if self.quads is None else _sliced(self.quads, max(0, rows - own))
        return replace(self, columns=_sliced(self.columns, rows), rows=rows, quads=quads)


def _sliced(columns: Sequence[TermColumn], rows: int) -> list[TermColumn]:
    return [TermColumn(c.array.slice(0, rows), c.reading) for c in columns]


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them does not exist
        return False


def _read_file(file: Path, kind: Format, options: _Options, log: BadRowLog, news: ReadProgress) -> _Part:
    formats, declaration = options.formats, options.declaration
    if kind.rdf:
        found = read_rdf_table(
            RdfSource(file, kind.name, options.compression, options.base),
            RdfOptions(options.arity, options.dataset, declaration, options.dictionary),
            log,
            news.part,
        )
        rows = found.rows + (len(found.quads[0].array) if found.quads else 0)
        return _Part(found.columns, rows, NAMES, (), found.quads, found.prefixes)
    buffer = open_buffer(file, options.compression)
    if kind.name == "parquet":
        raw: RawTable | None = read_parquet(file, buffer)
    elif kind.name == "arrow":
        raw = read_arrow(file, buffer)
    elif kind.name == "ndjson":
        raw = read_json_lines(file, buffer, log, declaration=declaration if formats is None else None)
    else:
        layout = options.layout(kind)
        raw = read_delimited(file, buffer, layout, formats, options.arity, log, declaration)
    if raw is None:
        return _Part()
    raw = replace(raw, prefixes=options.prefixes)
    fields = named_fields(raw.path, raw.names, formats, declaration)
    columns, rows = to_terms(raw, formats, options.arity, log, declaration, fields, triples=options.triples)
    if fields is not None and declaration is not None:
        return _Part(columns, rows, declaration.names, columns_ignored(raw, fields, declaration))
    names = raw.names
    if names is not None and formats is not None:
        names = tuple(name for name, format in zip(names, formats, strict=True) if format != "skip")
    return _Part(columns, rows, names)


def _joined(parts: list[list[TermColumn]], files: Sequence[Path]) -> list[TermColumn]:
    """The columns of all files, concatenated."""
    if len(parts) <= 1:
        return parts[0] if parts else []
    widths = {len(part) for part in parts}
    if len(widths) > 1:
        raise DataError(
            WrongArity(
                path=files[0],
                found=f"{len(parts[0])} columns",
                wanted="other files of this resource have another number",
                why="all files of a resource hold facts of one predicate",
                hint="",
            )
        )
    return [_joined_column([part[field] for part in parts]) for field in range(widths.pop())]


def _joined_column(pieces: list[TermColumn]) -> TermColumn:
    """The pieces as one column; if their types differ, all become text in `any` form."""
    types = {(piece.array.type, piece.reading) for piece in pieces}
    if len(types) == 1:
        arrays, reading = [piece.array for piece in pieces], pieces[0].reading
    else:
        arrays, reading = [any_text(piece.array, piece.reading) for piece in pieces], "any"
    chunks = [chunk for array in arrays for chunk in array.chunks]
    return TermColumn(pa.chunked_array(chunks, arrays[0].type), reading)


def _empty(formats: Sequence[str] | None, arity: int | None) -> list[TermColumn]:
    """Columns without rows, as many as are known."""
    kept = sum(name != "skip" for name in formats) if formats is not None else arity or 0
    return [TermColumn(pa.chunked_array([], pa.string()), "any") for _ in range(kept)]
