"""Reads data: for `insert` and `delete`, and what programs import."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidalog.api.arguments import check_fitting, check_on_error
from tidalog.api.database import Database
from tidalog.api.diagnostics import FactsDoNotFit
from tidalog.api.encoded_update import encoded_table, refuse_literals
from tidalog.api.load import Load
from tidalog.api.naming import checked_name
from tidalog.api.progress import ProgressBar, bar_for
from tidalog.api.queries import facts_of
from tidalog.api.sources import ReadProgram, import_number
from tidalog.api.update import Known
from tidalog.engine.dictionary import Dictionary
from tidalog.io.binding import read_binding
from tidalog.io.frames import from_python
from tidalog.io.rdf_objects import SOURCE, is_graph, read_graph
from tidalog.io.rdf_table import NAMES, RdfOptions, as_table
from tidalog.io.read import read_table
from tidalog.io.result import BadRowLog, OnError, ReadResult
from tidalog.io.typed_columns import checked
from tidalog.model.column_types import TYPES
from tidalog.model.errors import Diagnostic, ProgramError
from tidalog.model.facts import Facts
from tidalog.model.program import Declaration, Program
from tidalog.rdf.layout import TRIPLE
from tidalog.rdf.quads import QUAD


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The options of `KnowledgeBase.insert`."""

    format: str | None = None
    formats: Sequence[str] | None = None
    header: bool | None = None
    columns: Sequence[str] | None = None
    on_error: OnError = "error"
    quarantine: str | os.PathLike[str] | None = None
    progress: bool | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """Several paths as one piece of data."""

    paths: Sequence[str | os.PathLike[str]]


def read_data(
    name: str,
    data: object,
    arity: int | None,
    options: DataOptions,
    declaration: Declaration | None = None,
    *,
    prefixes: Mapping[str, str],
    triples: bool = False,
    dictionary: Dictionary | None = None,
) -> ReadResult:
    """Rows for a predicate; `triples` as in `from_python`, `dictionary` as in `read_table`."""
    check_on_error(options.on_error)
    from_file = isinstance(data, str | os.PathLike | Files)
    check_fitting(from_file, format=options.format, header=options.header, columns=options.columns)
    kept = Path(options.quarantine) if options.quarantine is not None else None
    if dictionary is not None and options.formats is None and is_graph(data):
        return _of_graph(data, name, arity, options, declaration, dictionary, kept)
    if not isinstance(data, str | os.PathLike | Files):
        return from_python(
            data,
            arity,
            options.columns,
            formats=options.formats,
            on_error=options.on_error,
            quarantine=kept,
            triples=triples,
            declaration=declaration,
            prefixes=prefixes,
        )
    with bar_for(options.progress) as bar:
        return read_table(
            data.paths if isinstance(data, Files) else data,
            options.format,
            formats=options.formats,
            header=options.header,
            base=options.base,
            on_error=options.on_error,
            quarantine=kept,
            arity=arity,
            progress=bar.on_read(name),
            triples=triples,
            declaration=declaration,
            prefixes=prefixes,
            dataset=name in (TRIPLE, QUAD),
            dictionary=dictionary,
        )


def _of_graph(
    graph: Iterable[object],
    name: str,
    arity: int | None,
    options: DataOptions,
    declaration: Declaration | None,
    dictionary: Dictionary,
    quarantine: Path | None,
) -> ReadResult:
    log = BadRowLog(options.on_error, quarantine)
    try:
        shape = RdfOptions(arity, name in (TRIPLE, QUAD), declaration, dictionary)
        found = as_table(read_graph(graph, dictionary, log), SOURCE, shape, dictionary, log)
        bad = log.finish()
    except BaseException:
        log.abandon()
        raise
    return ReadResult(
        found.columns, found.rows, bad, NAMES, declaration, quads=found.quads, prefixes=found.prefixes
    )


@dataclass(frozen=True, slots=True)
class EncodedData:
    """Data as facts, with warnings about it."""

    facts: list[Facts]
    notices: Sequence[Diagnostic]
    skipped: Counter[str]
    """Rows that are not facts, by predicate."""
    prefixes: Mapping[str, str]
    """What RDF files declare."""


def encoded_data(
    database: Database, predicate: str, data: object, options: DataOptions, *, inserts: bool = False
) -> EncodedData:
    """Data as facts of a predicate, to insert or to delete."""
    arity, declaration, prefixes = known_of(database, predicate)
    name = checked_name(predicate, prefixes)
    triples = inserts and name == TRIPLE
    dictionary = database.dictionary
    table = read_data(
        name, data, arity, options, declaration, prefixes=prefixes, triples=triples, dictionary=dictionary
    )
    facts = encoded_table(name, table, dictionary)
    if inserts:
        refuse_literals(facts, dictionary)
    return EncodedData(facts, table.notices, Counter({name: table.bad.count}), table.prefixes)


def known_of(database: Database, predicate: str) -> Known:
    """How many arguments the facts of a predicate have and its declaration, where that is known; and the
    prefixes."""
    name = checked_name(predicate, database.program.prefixes)
    analysis = database.analysis
    known = analysis.predicates.get(name)
    arity = None if known is None or analysis.triples.is_shorthand(name) else known.arity
    return arity, database.program.declared.get(name), database.program.prefixes


def check_known_facts(database: Database, program: Program) -> None:
    """Explicit facts fit declarations that are new.  Raises `ProgramError` (T157): terms are not
    converted."""
    old, dictionary = database.program.declared, database.dictionary
    for name, declaration in program.declared.items():
        if (
            not declaration.is_typed
            or old.get(name) == declaration
            or name not in database.analysis.predicates
        ):
            continue
        facts = facts_of(database, name, True)
        for number, (ids, kind) in enumerate(zip(facts.columns, declaration.types, strict=False)):
            distinct = np.unique(ids)
            text = pa.chunked_array([dictionary.decode_text(distinct)])
            found = checked(text, "any", kind)
            other = dictionary.encode(found.array, found.reading) != distinct
            if found.bad is not None:
                other |= found.bad
            if other.any():
                raise ProgramError(
                    FactsDoNotFit(
                        declaration.span,
                        predicate=name,
                        value=text[int(np.flatnonzero(other)[0])].as_py(),
                        column=f"{number + 1} ({declaration.names[number]})",
                        description=TYPES[kind].description,
                    )
                )


def add_imports(
    load: Load,
    written: Program,
    read: ReadProgram,
    dictionary: Dictionary,
    on_error: OnError,
    quarantine_dir: Path | None,
    bar: ProgressBar,
) -> tuple[Counter[str], list[Diagnostic], Mapping[str, str]]:
    """Adds the data that a program imports to its load.  Counts rows that are not facts, by predicate, and
    returns warnings about the data and the prefixes of RDF files.  What is read has values where the
    `written` program has parameters."""
    skipped: Counter[str] = Counter()
    notices: list[Diagnostic] = []
    declared: dict[str, str] = {}
    for own, binding in zip(written.imports, read.program.imports, strict=True):
        known = load.analysis.predicates.get(binding.predicate)
        table = read_binding(
            binding,
            read.folder,
            arity=known.arity if known is not None else None,
            on_error=on_error,
            quarantine_dir=quarantine_dir,
            number=import_number(load.program, own),
            progress=bar.on_read(binding.predicate),
            declaration=load.program.declared.get(binding.predicate),
            prefixes=load.program.prefixes,
            dictionary=dictionary,
        )
        declared = {**table.prefixes, **declared}
        notices += table.notices
        skipped[binding.predicate] += table.bad.count
        facts = encoded_table(binding.predicate, table, dictionary)
        refuse_literals(facts, dictionary)
        load.add(*facts)
    return skipped, notices, declared
