"""The formats and their options, as one table.

A format has names (`csv{…}`), the endings of its files, and its options for reading and for writing.
`@import`, `@export` and error messages all use this table.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidalog.io.diagnostics import UnknownFormat, WrongOption
from tidalog.io.files import COMPRESSIONS, base_ending
from tidalog.model.column_types import FORMATS as COLUMN_FORMATS
from tidalog.model.column_types import SKIP, similar_type, type_named
from tidalog.model.errors import DataError

_COMMON: Final = ("resource", "format")
_READ: Final = ("on_error", "quarantine", "limit")
_TEXT: Final = ("compression",)
_ROWS: Final = ("delimiter", "quoting", "header", "ignore_headers")


@dataclass(frozen=True)
class Format:
    """`delimiter` is set for delimited text, `rdf` for RDF statements."""

    name: str
    endings: tuple[str, ...]
    read_options: tuple[str, ...]
    write_options: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    delimiter: str | None = None
    rdf: bool = False
    graphs: bool = False
    """Whether RDF may be in graphs with names."""


def _delimited(name: str, endings: tuple[str, ...], delimiter: str) -> Format:
    read = (*_COMMON, *_READ, *_TEXT, *_ROWS, "skip")
    return Format(name, endings, read, (*_COMMON, *_TEXT, *_ROWS), delimiter=delimiter)


def _rdf(
    name: str, endings: tuple[str, ...], aliases: tuple[str, ...] = (), *, graphs: bool = False
) -> Format:
    read = ("resource", *_READ, *_TEXT) + (() if name in ("ntriples", "nquads") else ("base",))
    return Format(name, endings, read, ("resource", *_TEXT), aliases, rdf=True, graphs=graphs)


FORMATS: Final = (
    _delimited("csv", (".csv",), ","),
    _delimited("tsv", (".tsv", ".tab"), "\t"),
    _delimited("dsv", (".dsv", ".txt"), ","),
    Format("parquet", (".parquet", ".pq"), (*_COMMON, *_READ), (*_COMMON, *_TEXT)),
    Format(
        "ndjson",
        (".ndjson", ".jsonl", ".json"),
        (*_COMMON, *_READ, *_TEXT),
        (*_COMMON, *_TEXT),
        ("json", "jsonl"),
    ),
    Format(
        "arrow", (".arrow", ".feather", ".ipc", ".arrows"), (*_COMMON, *_READ), _COMMON, ("feather", "ipc")
    ),
    _rdf("ntriples", (".nt",), ("nt",)),
    _rdf("turtle", (".ttl",), ("ttl",)),
    _rdf("rdfxml", (".rdf", ".xml", ".owl")),
    _rdf("jsonld", (".jsonld",), graphs=True),
    _rdf("nquads", (".nq",), ("nq",), graphs=True),
    _rdf("trig", (".trig",), graphs=True),
)
PARQUET_COMPRESSIONS: Final = ("none", "snappy", "gzip", "zstd")
RDF: Final = "rdf"
"""`rdf{…}`: the RDF format that the file's ending names."""

_BY_NAME: Final = {name: f for f in FORMATS for name in (f.name, *f.aliases)}
_BY_ENDING: Final = {ending: f for f in FORMATS for ending in f.endings}


def format_named(name: str | None, path: Path) -> Format:
    """The format with a name; without one (or with `rdf`) the format of the path's ending."""
    if name is not None and name != RDF:
        found = _BY_NAME.get(name.lower())
        if found is None:
            near = difflib.get_close_matches(name.lower(), [*_BY_NAME, RDF], n=1)
            why = f"did you mean {near[0]}?" if near else "no format has this name"
            raise DataError(UnknownFormat(name=name, why=why, known=", ".join([*_BY_NAME, RDF])))
        return found
    ending = base_ending(path)
    by_ending = _BY_ENDING.get(ending)
    if by_ending is None or (name == RDF and not by_ending.rdf):
        known = [e for f in FORMATS if f.rdf or name != RDF for e in f.endings]
        kind = "RDF format" if name == RDF else "format"
        why = f"the ending of {path.name} names no {kind}; known are {' '.join(known)}"
        raise DataError(UnknownFormat(name=ending or "(none)", why=why, known=", ".join([*_BY_NAME, RDF])))
    return by_ending


def check_option(kind: Format, known: Sequence[str], name: str, value: object) -> None:
    """Refuses an option that the format does not have, and a value that the option does not accept."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        raise DataError(
            WrongOption(
                problem=f"{kind.name} has no option {name}",
                why=f"did you mean {near[0]}?" if near else "there is no such option here",
                hint=f"options of {kind.name} are {', '.join(known)}",
            )
        )
    if name == "format" and isinstance(value, tuple) and all(isinstance(v, str) for v in value):
        check_column_formats([str(v) for v in value])
    if not _takes(name, value, kind):
        raise DataError(
            WrongOption(
                problem=f"option {name} cannot be {_written(value)}",
                why=f"it is {_kind_of(name, kind)}",
                hint=f"options of {kind.name} are {', '.join(known)}",
            )
        )


_OPTION_KINDS: Final = {
    "resource": "a path, a pattern, a folder, or several of these in parentheses",
    "format": f"one of {', '.join(COLUMN_FORMATS)} for each column, in parentheses",
    "header": "true or false",
    "ignore_headers": "true or false",
    "quoting": "true or false",
    "delimiter": "one character, no quote and no line break",
    "skip": "a number of lines",
    "limit": "a number of facts",
    "compression": f"one of {', '.join(COMPRESSIONS)}",
    "on_error": '"error" or "skip"',
    "quarantine": "the path of a file",
    "base": "an absolute IRI",
}


def _kind_of(name: str, kind: Format) -> str:
    if name == "compression" and kind.name == "parquet":
        return f"one of {', '.join(PARQUET_COMPRESSIONS)}"
    return _OPTION_KINDS[name]


def _takes(name: str, value: object, kind: Format) -> bool:
    match name:
        case "resource":
            several = value if isinstance(value, tuple) else (value,)
            return bool(several) and all(isinstance(v, str) and bool(v) for v in several)
        case "format":
            return isinstance(value, tuple) and bool(value) and all(_column_format(v) for v in value)
        case "header" | "ignore_headers" | "quoting":
            return isinstance(value, bool)
        case "delimiter":
            return isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '"\r\n\0'
        case "skip" | "limit":
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case "compression":
            return value in (PARQUET_COMPRESSIONS if kind.name == "parquet" else COMPRESSIONS)
        case "on_error":
            return value in ("error", "skip")
        case "base":
            return isinstance(value, str) and ":" in value
    return isinstance(value, str)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"({', '.join(map(str, value))})"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _column_format(name: object) -> str | None:
    return None if not isinstance(name, str) else name if name == SKIP else type_named(name)


def column_formats(formats: Sequence[str] | None) -> Sequence[str] | None:
    """Formats of columns by their own names; a text is one of them.  Raises `DataError` for one that there is
    not."""
    formats = [formats] if isinstance(formats, str) else formats
    check_column_formats(formats)
    return None if formats is None else [_column_format(name) or SKIP for name in formats]


def check_column_formats(formats: Sequence[str] | None) -> None:
    for name in formats or ():
        if _column_format(name) is None:
            near = similar_type(str(name))
            raise DataError(
                WrongOption(
                    problem=f"there is no column format {name}",
                    why=f"did you mean {near}?" if near else f"formats are {', '.join(COLUMN_FORMATS)}",
                    hint=f"column formats are {', '.join(COLUMN_FORMATS)}",
                )
            )


def is_rdf_file(path: Path) -> bool:
    """Whether the ending of a name is that of an RDF format."""
    found = _BY_ENDING.get(base_ending(path))
    return found is not None and found.rdf


def endings_of(name: str | None) -> Sequence[str]:
    """The endings of files of a format; of all RDF formats for `rdf`, of all formats for None."""
    if name is not None and name.lower() in _BY_NAME:
        return _BY_NAME[name.lower()].endings
    return [e for f in FORMATS if f.rdf or name != RDF for e in f.endings]
