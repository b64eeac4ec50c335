"""`FROM <graph>`: the files of background knowledge that queries name.  Nothing is fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from tidalog.api.database import Database
from tidalog.api.diagnostics import NoGraph
from tidalog.api.encoded_update import encoded_table, refuse_literals
from tidalog.io.formats import endings_of
from tidalog.io.read import read_table
from tidalog.model.errors import UsageError
from tidalog.model.facts import Facts
from tidalog.rdf.layout import TRIPLE

Graphs = Mapping[str, str | os.PathLike[str] | None]
"""The file of each IRI; None for a graph that is in the knowledge base already."""
_FILE: Final = "file"


def graph_files(graphs: Iterable[str], folder: Path, given: Graphs | None) -> list[Path]:
    """The files of graphs: those that are `given`, else the file that an IRI names in the folder of the
    text.  Raises `UsageError` (T181) for a graph without one."""
    found: list[Path] = []
    for iri in graphs:
        if given is None or iri not in given:
            found.append(_named(iri, folder))
        elif (path := given[iri]) is not None:
            found.append(folder / path)
    return [Path(os.path.realpath(path)) for path in found]


def _named(iri: str, folder: Path) -> Path:
    """A relative IRI is a path.  Of another one the last part names a file, whose ending may be that of
    another format."""
    parts = urlsplit(iri)
    path = Path(unquote(parts.path))
    if parts.scheme in ("", _FILE):
        wanted = folder / path
        if wanted.is_file():
            return wanted
        raise UsageError(NoGraph(iri=iri, why=f"there is no file {wanted}"))
    for name in (path.name, *(path.stem + ending for ending in endings_of("rdf"))):
        if name and (folder / name).is_file():
            return folder / name
    raise UsageError(NoGraph(iri=iri, why=f"there is no file {path.name or iri} in the folder {folder}"))


def background(database: Database, files: Iterable[Path]) -> list[Facts]:
    """The triples of files."""
    found: list[Facts] = []
    for path in files:
        prefixes, dictionary = database.program.prefixes, database.dictionary
        table = read_table(path, triples=True, prefixes=prefixes, arity=3, dictionary=dictionary)
        facts = encoded_table(TRIPLE, table, dictionary)
        refuse_literals(facts, dictionary)
        found += facts
    return found
