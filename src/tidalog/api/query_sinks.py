"""Where a continuous query's emissions go: callbacks, a file of its answers, a feed of changes.

`QuerySink` is what batches of any kind of stream can use: it gets emissions one after the other.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from tidalog.api.answers import query_result
from tidalog.api.database import Database
from tidalog.api.evaluations import Emission, emitted_rows
from tidalog.api.query_text import rules_of
from tidalog.api.results import Result
from tidalog.api.times import shown_time
from tidalog.io.change_feed import EMPTY, ChangeBatch, ChangeFeedWriter
from tidalog.io.files import free_name
from tidalog.io.write import write_table
from tidalog.model.registered import Emit, RegisteredQuery

_LOG: Final = logging.getLogger("tidalog")
_TIME: Final = "time"
"""The parameter of a callback that gets the time of the evaluation."""


@dataclass(frozen=True)
class Answered:
    """What a query emits, as results."""

    name: str
    emit: Emit
    time: datetime | None
    """The time of the evaluation; None if nothing has a time."""
    answers: Result | None
    """All of them, of a query that emits all or writes them to a file."""
    inserted: Result
    deleted: Result
    batches: tuple[ChangeBatch, ...] = field(repr=False, default=())
    """The rows of a change feed."""

    @property
    def emitted(self) -> tuple[Result, ...]:
        """The arguments of a callback: all answers, those that came, those that went, or these two."""
        match self.emit:
            case "rstream":
                assert self.answers is not None
                return (self.answers,)
            case "istream":
                return (self.inserted,)
            case "dstream":
                return (self.deleted,)
            case "changes":
                return (self.inserted, self.deleted)


class QuerySink(Protocol):
    def write(self, answered: Answered, /) -> object: ...


def answered(database: Database, emission: Emission) -> Answered:
    query = emission.query
    inserted, deleted = (query_result(database, query, f) for f in (emission.inserted, emission.deleted))
    answers = None if emission.answers is None else query_result(database, query, emission.answers)
    batches = tuple(_batches(database, emission))
    time = None if emission.time is None else shown_time(emission.time)
    return Answered(query.name, query.emit, time, answers, inserted, deleted, batches)


def _batches(database: Database, emission: Emission) -> Iterator[ChangeBatch]:
    for op, facts in emitted_rows(emission):
        texts = [database.dictionary.decode(column) for column in facts.columns]
        yield ChangeBatch(emission.label, op, emission.query.name, "implicit", texts, facts.count)
    if emission.is_empty:
        yield ChangeBatch(emission.label, EMPTY, emission.query.name, "implicit", [], 1)


class Callback:
    """Calls a function with what is emitted, and with `time` if it has a parameter of that name."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self._takes_time = _takes_time(function)

    def write(self, answered: Answered, /) -> None:
        more = {_TIME: answered.time} if self._takes_time else {}
        self.function(*answered.emitted, **more)


def _takes_time(function: Callable[..., object]) -> bool:
    try:
        found = inspect.signature(function).parameters.get(_TIME)
    except (TypeError, ValueError):  # some functions written in C do not say
        return False
    return found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)


class AnswerFile:
    """A file that has the answers of the last evaluation, replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, answered: Answered, /) -> None:
        assert answered.answers is not None
        write_table(answered.answers.table, self.path)


class AnswerFeed:
    """`FOLDER/NAME.csv`: what a query emits, as a change feed whose updates are evaluations.  With `append`
    a file that is there is continued."""

    def __init__(
        self, folder: Path, name: str, width: int, format: str = "csv", *, append: bool = True
    ) -> None:
        self.path = folder / f"{free_name(name, set())}.{format}"
        self._width, self._format, self._append = width, format, append
        self._writer: ChangeFeedWriter | None = None

    def open(self) -> ChangeFeedWriter:
        if self._writer is None:
            self._writer = ChangeFeedWriter(self.path, self._width, self._format, append=self._append)
        return self._writer

    def write(self, answered: Answered, /) -> None:
        writer = self.open()
        for batch in answered.batches:
            writer.write(batch)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def sinks_of(query: RegisteredQuery) -> list[AnswerFile | AnswerFeed]:
    """The files that a query was registered with."""
    found: list[AnswerFile | AnswerFeed] = []
    if query.to is not None:
        found.append(AnswerFile(Path(query.to)))
    if query.changes is not None:
        found.append(AnswerFeed(Path(query.changes), query.name, len(rules_of(query).columns)))
    return found


def written(sink: QuerySink, emission: Answered) -> None:
    """Writes to a sink; an error is logged, for the change that led to it is done."""
    try:
        sink.write(emission)
    except Exception:
        _LOG.exception("a sink of the query %s failed; the update is done", emission.name)
