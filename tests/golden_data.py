"""The golden folders: their data and what they expect, read by plain means and not by the code under test.

    tests/golden/NAME/program.rls
                     expected/PREDICATE.csv      rows as in a table (LANGUAGE, section 2)
                     expected/PREDICATE.txt      facts in the main dialect, where a table reads badly
                     expected/violations.txt     the constraints that are violated, and by which values
                     expected/refused.txt        the number of the error that refuses the program
                     updates.upd                 optional: updates to apply one after the other
                     expected/after_2/…          the same files after the second update; with violations.txt
                                                 or refused.txt the update is refused and the state is the one
                                                 before

Every predicate that a rule derives has an expected file, or the program names its outputs and those have one.
The first comment of a program says what the folder is about.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph

from tidalog.lang import parse
from tidalog.model.program import DataBinding, Program
from tidalog.model.term_text import parse_any
from tidalog.model.terms import IRI, BlankNode, Boolean, Double, Integer, LangString, String, Term, literal

Row = tuple[Term, ...]
FOLDERS = sorted(path for path in (Path(__file__).parent / "golden").iterdir() if path.is_dir())

WITH_UPDATES = [folder for folder in FOLDERS if (folder / "updates.upd").exists()]


def expected_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def expected_violations(folder: Path) -> set[str]:
    """The names of the constraints that are violated."""
    return {line.partition(":")[0] for line in expected_lines(folder / "violations.txt")}


def expected_facts(folder: Path) -> Iterator[tuple[str, frozenset[Row]]]:
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            rows = [tuple(map(parse_any, row)) for row in csv.reader(path.open(newline=""))]
        elif path.suffix == ".txt" and path.stem not in ("violations", "refused"):
            rows = [fact.arguments for fact in parse(path.read_text(), path.name).facts]
        else:
            continue
        assert len(rows) == len(set(rows)), f"{path} has a row twice"
        yield path.stem, frozenset(rows)


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
            return String(value)
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
