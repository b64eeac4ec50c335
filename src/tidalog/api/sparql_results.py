"""The results of SPARQL queries: solutions of SELECT, the truth of ASK, triples of CONSTRUCT and DESCRIBE."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyoxigraph as ox

from tidalog.api.diagnostics import bad_argument
from tidalog.api.results import Result
from tidalog.io.formats import format_named
from tidalog.io.solution_formats import csv_text, json_text, tsv_text, xml_text
from tidalog.io.write import write_table
from tidalog.model.terms import Term
from tidalog.rdf.ntriples import ntriples_text

Row = tuple[Term | None, ...]
_Writer = Callable[[tuple[str, ...], list[Row] | bool], str]
SOLUTION_FORMATS: Final[Mapping[str, _Writer]] = MappingProxyType(
    {"json": json_text, "csv": csv_text, "tsv": tsv_text, "xml": xml_text}
)
"""The formats of SPARQL 1.1 for the results of SELECT and ASK."""
TRIPLE_FORMATS: Final = ("nt", "ttl")


class Solutions(Result):
    """The solutions of a SELECT, in its order; None is a variable without a value."""

    def in_reading_order(self) -> Solutions:
        """As they are: ORDER BY says what their order is."""
        return self

    def to_text(self, format: str = "json") -> str:
        """The result in a format of SPARQL 1.1: json, csv, tsv or xml."""
        return _writer(format)(self.columns, self._rows_of_cells())


class Truth(Result):
    """The answer of an ASK: true or false."""

    def __init__(self, value: bool, prefixes: Mapping[str, str] | None = None) -> None:
        super().__init__([], [], int(value), prefixes)

    def __bool__(self) -> bool:
        return len(self) == 1

    def __eq__(self, other: object) -> bool:
        return bool(self) == bool(other) if isinstance(other, bool | Truth) else NotImplemented

    def __hash__(self) -> int:
        return hash(bool(self))

    def to_text(self, format: str = "json") -> str:
        """The result in a format of SPARQL 1.1: json or xml."""
        if format in ("csv", "tsv"):
            raise bad_argument(
                f"ASK has no {format}", "the format has rows alone", "formats are json and xml"
            )
        return _writer(format)((), bool(self))


class Triples(Result):
    """The triples of a CONSTRUCT or DESCRIBE, each once: `kb.insert("triple", …)` takes them."""

    def to_text(self, format: str = "ttl") -> str:
        """N-Triples (nt) or Turtle (ttl)."""
        if format not in TRIPLE_FORMATS:
            why = f"formats of triples are {' and '.join(TRIPLE_FORMATS)}"
            raise bad_argument(f"format={format!r} is not known", why, "leave it out for Turtle")
        lines = [" ".join(map(ntriples_text, row)) + " .\n" for row in self.to_terms()]
        text = "".join(lines)
        if format == "nt":
            return text
        parsed = ox.parse(text.encode(), ox.RdfFormat.N_TRIPLES, lenient=True)
        prefixes = {name: iri for name, iri in self._prefixes.items() if iri}
        return (ox.serialize(parsed, format=ox.RdfFormat.TURTLE, prefixes=prefixes) or b"").decode()

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Writes the triples to a file, whole or not at all; its ending names the format."""
        target = Path(path)
        table = self.table
        if format_named(format, target).rdf:
            columns = zip(*(map(ntriples_text, row) for row in self.to_terms()), strict=True)
            texts = [pa.array(column, pa.string()) for column in columns] or [pa.array([], pa.string())] * 3
            table = pa.table(texts, names=list(self.columns))
        write_table(table, target, format, prefixes=self._prefixes, predicate="the triples")
        return target


def _writer(format: str) -> _Writer:
    if format not in SOLUTION_FORMATS:
        why = f"formats are {', '.join(SOLUTION_FORMATS)}"
        raise bad_argument(f"format={format!r} is not known", why, "leave it out for JSON")
    return SOLUTION_FORMATS[format]
