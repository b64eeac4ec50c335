"""@import and @export: checks the options of a binding, and reads or writes its files.

Errors about a binding or its file are shown at the binding in the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from urllib.parse import quote

import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.io.diagnostics import DataDiagnostic, WrongOption
from tidalog.io.files import COMPRESSION_ENDINGS
from tidalog.io.formats import RDF, Format, check_option, format_named
from tidalog.io.read import read_table
from tidalog.io.result import OnError, Progress, ReadResult
from tidalog.io.write import write_table
from tidalog.lang.names import NO_PREFIXES
from tidalog.model.errors import DataError, Span
from tidalog.model.program import DataBinding, Declaration, OptionValue
from tidalog.rdf.layout import TRIPLE
from tidalog.rdf.quads import QUAD


def read_binding(
    binding: DataBinding,
    base_dir: Path,
    *,
    arity: int | None = None,
    on_error: OnError | None = None,
    quarantine_dir: Path | None = None,
    number: int = 1,
    progress: Progress | None = None,
    declaration: Declaration | None = None,
    prefixes: Mapping[str, str] = NO_PREFIXES,
    dictionary: Dictionary | None = None,
) -> ReadResult:
    """The facts that an @import names.

    `on_error` is the default for bindings without this option.  Bad rows that are skipped go to the binding's
    `quarantine` file, or to `PREDICATE.quarantine.csv` in `quarantine_dir` (`base_dir` if None); those of
    the predicate's second import (`number`) go to `PREDICATE.2.quarantine.csv`.
    """
    with _shown_at(binding.span):
        kind, options = _checked(binding, base_dir, reading=True)
        resource = options.get("resource", default_name(binding.predicate, kind, options))
        wanted = cast("OnError", options.get("on_error", on_error or "error"))
        folder = quarantine_dir if quarantine_dir is not None else base_dir
        ending = ".quarantine.csv" if number == 1 else f".{number}.quarantine.csv"
        quarantine = folder / (_file_name(binding.predicate) + ending)
        if "quarantine" in options:
            quarantine = base_dir / str(options["quarantine"])
        return read_table(
            cast("str | tuple[str, ...]", resource),
            binding.format,
            formats=cast("tuple[str, ...] | None", options.get("format")),
            header=_header(options),
            delimiter=cast("str | None", options.get("delimiter")),
            quoting=cast("bool | None", options.get("quoting")),
            skip=cast("int | None", options.get("skip")),
            compression=cast("str | None", options.get("compression")),
            base=cast("str | None", options.get("base")),
            on_error=wanted,
            quarantine=quarantine,
            arity=arity,
            limit=cast("int | None", options.get("limit")),
            progress=progress,
            base_dir=base_dir,
            triples=binding.predicate == TRIPLE,
            declaration=declaration,
            prefixes=prefixes,
            dataset=binding.predicate in (TRIPLE, QUAD),
            dictionary=dictionary,
        )


def write_binding(
    binding: DataBinding, table: pa.Table, base_dir: Path, *, prefixes: Mapping[str, str] | None = None
) -> Path:
    """Writes a table to the file of an @export; returns the path.  Without `resource` it is PREDICATE.csv, or
    with the ending of the format."""
    with _shown_at(binding.span):
        path = export_path(binding, base_dir)
        _, options = _checked(binding, base_dir, reading=False)
        write_table(
            table,
            path,
            binding.format,
            formats=cast("tuple[str, ...] | None", options.get("format")),
            header=_header(options),
            delimiter=cast("str | None", options.get("delimiter")),
            quoting=cast("bool | None", options.get("quoting")),
            compression=cast("str | None", options.get("compression")),
            prefixes=prefixes,
            predicate=binding.predicate,
        )
        return path


def export_path(binding: DataBinding, base_dir: Path) -> Path:
    """The file of an @export."""
    with _shown_at(binding.span):
        kind, options = _checked(binding, base_dir, reading=False)
        resource = options.get("resource", default_name(binding.predicate, kind, options))
        if not isinstance(resource, str):
            raise DataError(
                WrongOption(problem="an export goes to one file", why="resource names several", hint="")
            )
        return base_dir / Path(resource).expanduser()


def is_rdf(binding: DataBinding, base_dir: Path) -> bool:
    """Whether a binding reads and writes terms in N-Triples syntax."""
    with _shown_at(binding.span):
        return _kind(binding, base_dir).rdf


def default_name(predicate: str, kind: Format, options: Mapping[str, OptionValue]) -> str:
    """`PREDICATE.csv`, `PREDICATE.nt.gz` …"""
    codec = options.get("compression") if kind.name != "parquet" else None
    compressed = next((ending for ending, name in COMPRESSION_ENDINGS.items() if name == codec), "")
    return _file_name(predicate) + kind.endings[0] + compressed


def _file_name(predicate: str) -> str:
    """A predicate as a file name; characters of an IRI that file names cannot have are percent-encoded."""
    return quote(predicate, safe=" ~")


def _kind(binding: DataBinding, base_dir: Path) -> Format:
    resource = binding.options.get("resource")
    first = resource[0] if isinstance(resource, tuple) and resource else resource
    if binding.format == RDF and first is None:
        raise DataError(
            WrongOption(
                problem="rdf needs a resource",
                why="the ending of its name says which RDF format it is",
                hint='rdf{resource = "city.ttl"}, or turtle{}, ntriples{} without one',
            )
        )
    return format_named(binding.format, base_dir / str(first))


def _checked(
    binding: DataBinding, base_dir: Path, *, reading: bool
) -> tuple[Format, Mapping[str, OptionValue]]:
    kind = _kind(binding, base_dir)
    known = kind.read_options if reading else kind.write_options
    options = dict(binding.options)
    if isinstance(options.get("format"), str):
        options["format"] = (options["format"],)  # one column needs no parentheses
    for name, value in options.items():
        check_option(kind, known, name, value)
    if "header" in options and "ignore_headers" in options:
        raise DataError(
            WrongOption(
                problem="header and ignore_headers are the same option",
                why="both are given",
                hint="leave one of them out",
            )
        )
    return kind, options


def _header(options: Mapping[str, OptionValue]) -> bool | None:
    given = options.get("header", options.get("ignore_headers"))
    return given if isinstance(given, bool) else None


@contextmanager
def _shown_at(span: Span | None) -> Iterator[None]:
    """Shows messages about files at the binding that named them."""
    try:
        yield
    except DataError as error:
        placed = [d.at(span) if isinstance(d, DataDiagnostic) else d for d in error.diagnostics]
        if all(old is new for old, new in zip(error.diagnostics, placed, strict=True)):
            raise
        raise DataError(placed) from error
