"""The golden folders and their data, read by plain means and not by the code under test."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph

from tidalog.model.program import DataBinding, Program
from tidalog.model.term_text import parse_any
from tidalog.model.terms import IRI, BlankNode, Boolean, Double, Integer, LangString, String, Term, literal

Row = tuple[Term, ...]
FOLDERS = sorted(path for path in (Path(__file__).parent / "golden").iterdir() if path.is_dir())


def imported_facts(folder: Path, program: Program) -> dict[str, set[Row]]:
    """What the imports of a golden program give."""
    data: dict[str, set[Row]] = {}
    for binding in program.imports:
        data.setdefault(binding.predicate, set()).update(_table(folder, binding))
    return data


_READERS: dict[str, Callable[[str], Term]] = {
    "any": parse_any,
    "string": String,
    "int": lambda text: Integer(int(text)),
    "double": lambda text: Double(float(text)),
    "boolean": lambda text: Boolean(text == "true"),
    "iri": IRI,
}


def _table(folder: Path, binding: DataBinding) -> Iterator[Row]:
    path = folder / str(binding.options["resource"])
    if binding.format in ("turtle", "ntriples", "rdf"):
        yield from _triples(path)
        return
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as stream:
        if binding.format == "ndjson":
            for line in stream:
                value = json.loads(line)
                yield tuple(map(_native, value.values() if isinstance(value, dict) else value))
            return
        delimiter = {"tsv": "\t"}.get(binding.format) or str(binding.options.get("delimiter", ","))
        lines = csv.reader(stream, delimiter=delimiter)
        if binding.options.get("header") or binding.options.get("ignore_headers"):
            next(lines)
        for fields in lines:
            formats = binding.options.get("format") or ("any",) * len(fields)
            assert isinstance(formats, tuple)
            yield tuple(
                _READERS[str(kind)](field)
                for kind, field in zip(formats, fields, strict=True)
                if kind != "skip"
            )


def _native(value: object) -> Term:
    match value:
        case bool():
            return Boolean(value)
        case int():
            return Integer(value)
        case float():
            return Double(value)
        case str():
            return parse_any(value)
    raise AssertionError(f"no term for {value!r}")


def _triples(path: Path) -> Iterator[Row]:
    for quad in pyoxigraph.parse(path=str(path)):
        yield _node(quad.subject), _node(quad.predicate), _node(quad.object)


def _node(node: object) -> Term:
    match node:
        case pyoxigraph.NamedNode():
            return IRI(node.value)
        case pyoxigraph.BlankNode():
            return BlankNode(node.value)
        case pyoxigraph.Literal():
            if node.language:
                return LangString(node.value, node.language)
            return literal(node.value, node.datatype.value)
    raise AssertionError(f"no term for {node!r}")
