"""Where continuous queries come from: texts, files, and what is said about their registration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tidalog.api.diagnostics import NotAQuery, bad_argument
from tidalog.api.graphs import Graphs
from tidalog.api.query_text import ReadQuery, read_queries, read_query, rules_of
from tidalog.api.sources import names_a_file, read_program_text
from tidalog.api.times import checked_duration
from tidalog.io.formats import format_named
from tidalog.model.amounts import article
from tidalog.model.errors import UsageError
from tidalog.model.registered import EMITS, Emit, RegisteredQuery

QueryPath = str | os.PathLike[str]
QueryText = str | Mapping[str, object]
"""A text, or a text with `emit` and `every`: `{"text": …, "emit": "changes"}`."""
QuerySource = QueryPath | Mapping[str, QueryText]
"""A file or a text of `REGISTER` statements, or queries by name."""
_OPTIONS: Final = {"text", "emit", "every"}


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query is registered.  What is None follows from the text, or is the default."""

    emit: str | None = None
    every: object = None
    materialise: bool | None = None
    to: QueryPath | None = None
    changes: QueryPath | None = None
    graphs: Graphs | None = None
    folder: Path = Path()
    feed: str | None = None
    """The folder of the feed that a stream writes."""


def named(read: ReadQuery, name: str | None) -> ReadQuery:
    """A query under a name.  Raises `UsageError` (T184) if it has none, or another one."""
    if name is None and read.name is None:
        raise UsageError(NotAQuery(why="it has no name", hint='write kb.register("q", text)'))
    if name is not None and read.name not in (None, name):
        why = f"the text calls it {read.name}, and it is registered as {name}"
        raise UsageError(NotAQuery(why=why, hint="leave one of the names out"))
    return replace(read, name=name or read.name)


def read_source(queries: QuerySource, prefixes: Mapping[str, str]) -> list[tuple[ReadQuery, QueryOptions]]:
    """The queries of a source.  Raises `ProgramError` and `UsageError`."""
    if isinstance(queries, Mapping):
        return [_read(name, given, prefixes) for name, given in queries.items()]
    if isinstance(queries, str) and not names_a_file(queries):
        return [(read, QueryOptions()) for read in read_queries(queries, prefixes, "<queries>")]
    if not isinstance(queries, str | os.PathLike):
        problem, why = (
            f"{article(type(queries).__name__)} has no queries",
            "they are a file, a text or texts by name",
        )
        raise bad_argument(problem, why, 'write queries={"q": "?x :- path(?x, _)"}')
    path = Path(queries).expanduser()
    found = read_queries(read_program_text(path), prefixes, str(path))
    return [(read, QueryOptions(folder=path.parent)) for read in found]


def _read(name: str, given: QueryText, prefixes: Mapping[str, str]) -> tuple[ReadQuery, QueryOptions]:
    how = dict(given) if isinstance(given, Mapping) else {"text": given}
    text, emit = how.get("text"), how.get("emit")
    is_known = isinstance(name, str) and not how.keys() - _OPTIONS
    if not is_known or not isinstance(text, str) or not isinstance(emit, str | None):
        hint = 'write {"q": "?x :- path(?x, _)"}, or {"q": {"text": …, "emit": "changes", "every": "1s"}}'
        raise UsageError(NotAQuery(why=f"{name} is not a text", hint=hint))
    read = replace(read_query(text, prefixes), text=text)
    return named(read, name), QueryOptions(emit=emit, every=how.get("every"))


def query_of(
    name: str, read: ReadQuery, prefixes: Mapping[str, str], options: QueryOptions
) -> RegisteredQuery:
    emit = _emit_of(options.emit) or read.emit or "rstream"
    every = read.every if options.every is None else checked_duration("every", options.every)
    if every == 0:
        raise UsageError(NotAQuery(why="a period of 0", hint='write every="1s", or leave it out'))
    to = None if options.to is None else _path(options.to)
    if to is not None:
        format_named(None, Path(to))
    changes = None if options.changes is None else _path(options.changes)
    query = RegisteredQuery(
        name, read.text, tuple(prefixes.items()), emit, every, True, False, to, changes, options.feed
    )
    follows = every is not None or emit != "rstream" or any((to, changes, options.feed))
    follows = follows or rules_of(query).is_stream
    return replace(query, materialised=follows if options.materialise is None else options.materialise)


def is_as(query: RegisteredQuery, before: RegisteredQuery | None) -> bool:
    """Whether a query is the one that is registered, but for how its text is written."""
    if before is None or rules_of(query) != rules_of(before):
        return False
    return replace(query, text=before.text, prefixes=before.prefixes).is_as(before)


def _emit_of(emit: str | None) -> Emit | None:
    if emit is None:
        return None
    for known in EMITS:
        if emit == known:
            return known
    raise UsageError(NotAQuery(why=f"emit={emit!r}", hint=f"emit is one of {', '.join(EMITS)}"))


def _path(path: QueryPath) -> str:
    return str(Path(path).expanduser().absolute())
