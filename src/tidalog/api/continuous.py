"""Continuous queries: `kb.register`, `kb.queries`, and what each of them can do.

A registered query is rules of the program, under names that no text has, and evaluations of their answers.
`register_all` registers a whole text; with `listen` any stream gets what its queries emit, batch by batch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.api.answers import query_result
from tidalog.api.change import Change
from tidalog.api.diagnostics import NameTaken, NoQuery, NotAQuery
from tidalog.api.evaluations import Emission
from tidalog.api.graphs import Graphs, background, graph_files
from tidalog.api.query_sinks import Answered, Callback, QuerySink, answered, sinks_of, written
from tidalog.api.query_source import QueryOptions, QueryPath, is_as, named, query_of
from tidalog.api.query_text import ReadQuery, components_of, read_queries, read_query, rules_of
from tidalog.api.results import Result
from tidalog.api.shown import SHOWN_PARTS, html_table, more, text_table
from tidalog.api.sources import read_program_text
from tidalog.api.times import shown_time
from tidalog.model.errors import UsageError
from tidalog.model.facts import Facts
from tidalog.model.registered import MARK, Emit, Registered, RegisteredQuery
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import duration_text
from tidalog.storage.records import QUERIES

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

_UNSHOWN: Final = re.compile(r"\s+")
_BAD_NAME: Final = re.compile(rf"[\x00-\x1f{re.escape(MARK)}\ud800-\udfff]")


class ContinuousQuery:
    """A registered query.  It stays valid when others are registered and dropped."""

    def __init__(self, kb: KnowledgeBase, name: str) -> None:
        self._kb, self.name = kb, name

    def _query(self) -> RegisteredQuery:
        return self._kb.queries._found(self.name)

    # --- what it is ---------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return self._query().text

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of its answers."""
        return rules_of(self._query()).columns

    @property
    def emit(self) -> Emit:
        """What it emits: `rstream`, `istream`, `dstream` or `changes`."""
        return self._query().emit

    @property
    def every(self) -> str | None:
        """The time from one evaluation to the next, such as `1s`; None: at every change."""
        every = self._query().every
        return None if every is None else duration_text(every)

    @property
    def paused(self) -> bool:
        return self._query().paused

    @property
    def materialised(self) -> bool:
        """Whether its answers are maintained; else they are computed when they are needed."""
        return self._query().materialised

    # --- what it does -------------------------------------------------------------------------------

    def result(self) -> Result:
        """The answers: the present ones, or of a query with a period those of its last evaluation."""
        return self._kb._lock.run(self._result)[0]

    @property
    def time(self) -> datetime | None:
        """The time of the answers that `result` has."""
        return self._kb._lock.run(self._result)[1]

    def _result(self) -> tuple[Result, datetime | None]:
        kb, query = self._kb, self._query()
        with kb._lock.at_work():
            found = kb._evaluations.looked_at(query)
            result = query_result(kb._open(), query, found.answers)
        return result, None if found.time is None else shown_time(found.time)

    def subscribe(self, callback: Callable[..., object]) -> QueryListener:
        """Calls a function with what the query emits from now on: all answers, those that came, those that
        went, or these two.  If it has a parameter `time`, that is the time of the evaluation."""
        return self.listen(Callback(callback))

    def listen(self, sink: QuerySink) -> QueryListener:
        """Writes what the query emits from now on to a sink."""
        return self._kb.queries._listen(self.name, sink)

    def pause(self) -> None:
        """Nothing is evaluated or emitted until `resume`; windows go on."""
        self._kb.queries._change(self.name, paused=True)

    def resume(self) -> None:
        self._kb.queries._change(self.name, paused=False)

    def drop(self) -> None:
        """Ends the query, and the windows that only it has."""
        self._kb.queries.drop(self.name)

    def __repr__(self) -> str:
        try:
            _, *parts = _row(self._query())
        except UsageError:
            return f"<ContinuousQuery {self.name}, dropped>"
        return f"<ContinuousQuery {self.name}: {', '.join(part for part in parts[:-1] if part)}>"

    def _repr_html_(self) -> str:
        return html_table(_HEADER, [_row(self._query())])


class QueryListener:
    """Ends with `cancel`."""

    def __init__(self, name: str, sink: QuerySink, queries: Queries) -> None:
        self.name, self.sink = name, sink
        self._queries = queries
        self.active = True

    def cancel(self) -> None:
        """Nothing more is written; a second time does nothing."""
        if self.active:
            self.active = False
            self._queries._silence(self)

    def __repr__(self) -> str:
        return f"<QueryListener of {self.name}{'' if self.active else ', cancelled'}>"


@dataclass(frozen=True)
class StreamedChange:
    """A change of the queries whose feeds a stream writes."""

    kept: Registered
    new: Sequence[tuple[ReadQuery, QueryOptions]]


class Queries(Mapping[str, ContinuousQuery]):
    """The continuous queries by name, in the order in which they were registered.  A live view."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._listeners: dict[str, list[QueryListener]] = {}
        self._files: dict[str, list[QuerySink]] = {}
        self._streamed: list[Emission] = []
        """What queries have emitted whose feeds a stream writes."""

    # --- registering --------------------------------------------------------------------------------

    def register(self, name: str | None, text: str, options: QueryOptions) -> ContinuousQuery:
        """Registers the query of a text.  Runs under the lock."""
        prefixes = dict(self._kb._open().program.prefixes)
        read = read_query(text, prefixes)
        return self._register([replace(named(read, name), text=text)], options)[0]

    def register_all(self, text: str, source: str, options: QueryOptions) -> list[ContinuousQuery]:
        """Registers the queries of a text, all or none; those that are registered already, with the same
        text, stay.  Runs under the lock."""
        prefixes = dict(self._kb._open().program.prefixes)
        found = read_queries(text, prefixes, source)
        known = {query.name: query.text for query in self._kb._open().registered}
        self._register([read for read in found if known.get(read.name or "") != read.text], options, found)
        return [ContinuousQuery(self._kb, read.name or "") for read in found]

    def changes_of_streamed(self, queries: Sequence[tuple[ReadQuery, QueryOptions]]) -> StreamedChange | None:
        """What changes if these are the queries whose feeds a stream writes: those that are registered as
        they are go on, and others of a stream end.  None if nothing does."""
        known = self._kb._open().registered
        prefixes = dict(self._kb._open().program.prefixes)
        names = [read.name or "" for read, _ in queries]
        new: list[tuple[ReadQuery, QueryOptions]] = []
        for name, (read, options) in zip(names, queries, strict=True):
            before = known.find(name)
            is_other = before is not None and before.feed is None and before.text != read.text
            if is_other or names.count(name) > 1:
                raise UsageError(NameTaken(name=name))
            if not is_as(query_of(name, read, prefixes, options), before):
                new.append((read, options))
        kept = known
        for query in known:
            if query.feed is not None and query.name not in names:
                kept = kept.without(query.name)
        return StreamedChange(kept, new) if new or kept != known else None

    def perform_streamed(self, change: StreamedChange) -> None:
        """Registers the queries of a stream, all or none."""
        self._kb._lock.run(self._add, change.kept, change.new)

    def _register(
        self, reads: Sequence[ReadQuery], options: QueryOptions, among: Sequence[ReadQuery] = ()
    ) -> list[ContinuousQuery]:
        """Registers queries, all or none, whose names are not taken, nor twice among others."""
        registered = self._kb._open().registered
        names = [read.name or "" for read in among]
        for name in (read.name or "" for read in reads):
            if registered.find(name) is not None or names.count(name) > 1:
                raise UsageError(NameTaken(name=name))
        self._add(registered, [(read, options) for read in reads])
        return [ContinuousQuery(self._kb, read.name or "") for read in reads]

    def _add(self, registered: Registered, queries: Sequence[tuple[ReadQuery, QueryOptions]]) -> None:
        """Makes these the queries, with more, or with others in the place of those with their names."""
        database, known = self._kb._open(), set(registered.graphs)
        prefixes = dict(database.program.prefixes)
        graphs: list[str] = []
        for read, options in queries:
            name = read.name or ""
            if not name.strip() or _BAD_NAME.search(name):
                why = f"{name!r} cannot be the name of a query"
                raise UsageError(NotAQuery(why=why, hint="use letters, digits and underscores"))
            registered = registered.with_query(query_of(name, read, prefixes, options))
            graphs += map(str, graph_files(read.graphs, options.folder, options.graphs))
        new = [path for path in dict.fromkeys(graphs) if path not in known]
        facts = background(database, map(Path, new))
        self._perform(replace(registered, graphs=(*registered.graphs, *new)), facts)
        for read, _ in queries:
            self._kb._warn(read.warnings)

    # --- changing -----------------------------------------------------------------------------------

    def drop(self, name: str) -> None:
        """Ends a query, and the windows that only it has."""
        self._kb._lock.run(self._drop, name)

    def _drop(self, name: str) -> None:
        self._found(name)
        self._perform(self._kb._open().registered.without(name))
        self._listeners.pop(name, None)
        self._close_files(name)
        self._kb._evaluations.listeners.pop(name, None)

    def _change(self, name: str, *, paused: bool) -> None:
        def change() -> None:
            query = self._found(name)
            if query.paused != paused:
                self._perform(self._kb._open().registered.with_query(replace(query, paused=paused)))

        self._kb._lock.run(change)

    def _perform(self, registered: Registered, facts: Sequence[Facts] = ()) -> None:
        database = self._kb._open()
        load = database.plan_queries(registered)
        for query in registered:
            if not query.materialised and not query.is_as(database.registered.find(query.name)):
                components_of(query, load.program, load.analysis, load.environment)  # it may be refused
        load.add(*facts)
        self._kb._changes.perform(Change(QUERIES, [EncodedUpdate(insertions=facts)], load))

    # --- emitting -----------------------------------------------------------------------------------

    def _listen(self, name: str, sink: QuerySink) -> QueryListener:
        def listen() -> QueryListener:
            query = self._found(name)
            listener = QueryListener(name, sink, self)
            with self._kb._lock.at_work():
                self._kb._evaluations.listened(query)
            self._listeners.setdefault(name, []).append(listener)
            return listener

        return self._kb._lock.run(listen)

    def _silence(self, listener: QueryListener) -> None:
        own = self._listeners.get(listener.name, [])
        if listener in own:
            own.remove(listener)
            self._kb._evaluations.listeners[listener.name] -= 1

    def _emit(self) -> None:
        """Hands over what was emitted.  Runs under the lock; sinks are written to when it is free."""
        kb = self._kb
        for emission in kb._evaluations.take():
            name = emission.query.name
            if emission.query.feed is not None:
                self._streamed.append(emission)
            if name not in self._files:
                self._files[name] = list(sinks_of(emission.query))
            listeners = self._listeners.get(name, [])
            sinks = [*self._files[name], *(listener.sink for listener in listeners)]
            if sinks:
                found = answered(kb._open(), emission)
                for sink in sinks:
                    kb._subscriptions.queue(partial(written, sink, found))

    def last_answers(self, name: str) -> Facts | None:
        """The answers at the last evaluation; None if there was none since the query was registered."""
        return self._kb._evaluations.last_answers(self._found(name))

    def next_label(self, name: str) -> str:
        """The label of the next evaluation in feeds, if it has the present time."""
        return self._kb._evaluations.next_label(self._found(name))

    def feeds(self) -> dict[str, str]:
        """The folders of the feeds that a stream writes, by query."""
        return {query.name: query.feed for query in self._kb._open().registered if query.feed is not None}

    def take_streamed(self) -> list[Emission]:
        """What queries of streams have emitted since the last call."""
        found, self._streamed = self._streamed, []
        return found

    def _close_files(self, name: str) -> None:
        for sink in self._files.pop(name, []):
            close = getattr(sink, "close", None)
            if close is not None:
                close()

    def close(self) -> None:
        """Closes the files of all queries."""
        for name in [*self._files]:
            self._close_files(name)

    # --- as a mapping -------------------------------------------------------------------------------

    def _found(self, name: str) -> RegisteredQuery:
        registered = self._kb._open().registered
        found = registered.find(name)
        if found is None:
            known = ", ".join(query.name for query in registered) or "none"
            raise UsageError(NoQuery(name=name, known=known))
        return found

    def __getitem__(self, name: str) -> ContinuousQuery:
        self._found(name)
        return ContinuousQuery(self._kb, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._kb._open().registered.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter([query.name for query in self._kb._open().registered])

    def __len__(self) -> int:
        return len(self._kb._open().registered.queries)

    def __repr__(self) -> str:
        rows = self._rows()
        if not rows:
            return "no queries"
        return "\n".join([*text_table(_HEADER, rows, ()), *more(len(self), SHOWN_PARTS, "queries")])

    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._rows(), *more(len(self), SHOWN_PARTS, "queries"))

    def _rows(self) -> list[tuple[str, ...]]:
        return [_row(query) for query in self._kb._open().registered.queries[:SHOWN_PARTS]]


def register_all(
    kb: KnowledgeBase,
    text: str,
    *,
    source: str = "<queries>",
    base_dir: str | os.PathLike[str] | None = None,
    graphs: Graphs | None = None,
    changes: QueryPath | None = None,
) -> list[ContinuousQuery]:
    """Registers the `REGISTER` statements of a text, all or none; relative paths start at `base_dir`.

    A query that is registered already, with the same text, stays as it is: a stream that starts again may
    call this again.  `changes` is a folder for the feed of each query.
    """
    folder = Path(base_dir) if base_dir is not None else Path()
    options = QueryOptions(graphs=graphs, folder=folder, changes=changes)
    return kb._lock.run(kb.queries.register_all, text, source, options)


def register_file(
    kb: KnowledgeBase, path: QueryPath, *, graphs: Graphs | None = None
) -> list[ContinuousQuery]:
    """Registers the `REGISTER` statements of a file; relative paths start at its folder."""
    file = Path(path)
    return register_all(kb, read_program_text(file), source=str(file), base_dir=file.parent, graphs=graphs)


_HEADER: Final = ("query", "emits", "evaluated", "answers", "state", "text")
_LONGEST: Final = 60


def _row(query: RegisteredQuery) -> tuple[str, ...]:
    text = _UNSHOWN.sub(" ", query.text).strip()
    return (
        query.name,
        query.emit,
        "at every change" if query.every is None else f"every {duration_text(query.every)}",
        "maintained" if query.materialised else "computed on demand",
        "paused" if query.paused else "",
        text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…",
    )


__all__ = [
    "Answered",
    "ContinuousQuery",
    "Queries",
    "QueryListener",
    "QueryOptions",
    "register_all",
    "register_file",
]
