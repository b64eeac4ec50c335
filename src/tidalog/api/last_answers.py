"""The answers of continuous queries at their last evaluation.

For a maintained query they are the present answers minus the changes since, so an evaluation costs what has
changed.

Invariant.  What has changed since is known of every update (`note`).  Before any other change `keep` gathers
the answers themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from tidalog.api.answers import Answers
from tidalog.api.database import Database
from tidalog.api.merged import composed
from tidalog.api.outcome import Outcome
from tidalog.api.query_text import rules_of
from tidalog.api.relations import without
from tidalog.maintain.delta import PredicateDelta, no_change
from tidalog.maintain.windows.saved import array_of, bytes_of
from tidalog.model.facts import Facts
from tidalog.model.registered import RegisteredQuery

_MOST: Final = 256
"""Changes kept separately before they are merged."""


@dataclass(frozen=True)
class Evaluated:
    time: int | None
    answers: Facts


@dataclass(frozen=True)
class Difference:
    """What came and went from one evaluation to the next."""

    inserted: Facts
    deleted: Facts
    is_first: bool
    """Whether there was none before; then everything came."""
    answers: Facts | None = None
    """All of them, if they are not the facts of a predicate."""

    def __bool__(self) -> bool:
        return bool(self.inserted.count or self.deleted.count)


@dataclass
class _Last:
    time: int | None
    answers: Facts | None
    """None: the present ones without `since`."""
    since: list[PredicateDelta] = field(default_factory=list)


class LastAnswers:
    """Of the queries of one database."""

    def __init__(self, database: Database, answers: Answers) -> None:
        self._database, self._answers = database, answers
        self._last: dict[str, _Last] = {}

    def of(self, query: RegisteredQuery) -> Evaluated | None:
        """None if it was not evaluated yet."""
        last = self._last.get(query.name)
        return None if last is None else Evaluated(last.time, self._answers_of(query, last))

    def begin(self, query: RegisteredQuery, time: int | None) -> None:
        """The present answers are those of the last evaluation."""
        answers = None if self._is_followed(query) else self._answers.of(query)
        self._last[query.name] = _Last(time, answers)

    def evaluate(self, query: RegisteredQuery, time: int | None) -> Difference:
        """Evaluates a query.  Returns the difference to its last evaluation."""
        last = self._last.get(query.name)
        if last is not None and last.answers is None:
            self._database.materialise()
            change = self._change(query, last)
            self._last[query.name] = _Last(time, None)
            return Difference(
                Facts(query.name, change.inserted, change.inserted_rows),
                Facts(query.name, change.deleted, change.deleted_rows),
                is_first=False,
            )
        answers = self._answers.of(query)
        before = _none_of(answers) if last is None or last.answers is None else last.answers
        self._last[query.name] = _Last(time, None if self._is_followed(query) else answers)
        return Difference(without(answers, before), without(before, answers), last is None, answers)

    def forget(self, name: str) -> None:
        self._last.pop(name, None)

    # --- around changes -----------------------------------------------------------------------------

    def note(self, outcome: Outcome) -> None:
        """An update was applied."""
        for query in self._database.registered:
            last = self._last.get(query.name)
            if last is None or last.answers is not None:
                continue
            change = outcome.by_relation.get(rules_of(query).predicate)
            if change is not None:
                last.since.append(change)
                if len(last.since) > _MOST:
                    last.since = [self._change(query, last)]

    def keep(self) -> None:
        """A change comes whose effects will not be known."""
        for query in self._database.registered:
            last = self._last.get(query.name)
            if last is not None and last.answers is None:
                self._last[query.name] = _Last(last.time, self._answers_of(query, last))

    @contextmanager
    def rolled_back(self) -> Iterator[None]:
        """Surrounds changes that are undone on any error."""
        saved = {name: replace(last, since=[*last.since]) for name, last in self._last.items()}
        try:
            yield
        except BaseException:
            self._last = saved
            raise

    # --- snapshots ----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, dict[str, object]]:
        found = {q.name: self.of(q) for q in self._database.registered if q.name in self._last}
        return {
            name: {
                "time": last.time,
                "rows": last.answers.count,
                "columns": [bytes_of(column) for column in last.answers.columns],
            }
            for name, last in found.items()
            if last is not None
        }

    def restore(self, found: Mapping[str, Any], terms: int) -> None:
        """The counterpart of `to_json`.  Raises `ValueError` or `KeyError` for anything else."""
        for name, part in found.items():
            columns = [array_of(text, np.int32, int(part["rows"])) for text in part["columns"]]
            if any(len(column) and not 0 <= column.min() <= column.max() < terms for column in columns):
                raise ValueError(f"answers of {name} are not terms")
            time = None if part["time"] is None else int(part["time"])
            self._last[name] = _Last(time, Facts(name, columns, int(part["rows"])))

    # --- answers ------------------------------------------------------------------------------------

    def _is_followed(self, query: RegisteredQuery) -> bool:
        """Whether its answers are the facts of a predicate, all and as they are."""
        meaning = rules_of(query)
        width = len(meaning.columns)
        as_they_are = not meaning.order and meaning.limit is None and not meaning.offset
        if not (width and as_they_are and query.materialised and not query.paused):
            return False
        self._database.materialise()
        return self._database.engine.arity(meaning.predicate) == width

    def _answers_of(self, query: RegisteredQuery, last: _Last) -> Facts:
        if last.answers is not None:
            return last.answers
        answers, change = self._answers.of(query), self._change(query, last)
        old = without(answers, Facts(query.name, change.inserted, change.inserted_rows))
        columns = [np.concatenate(pair) for pair in zip(old.columns, change.deleted, strict=True)]
        return Facts(query.name, columns, old.count + change.deleted_rows)

    def _change(self, query: RegisteredQuery, last: _Last) -> PredicateDelta:
        """What has changed since, as one."""
        change = composed(last.since) if last.since else None
        return change or no_change(len(rules_of(query).columns))


def _none_of(facts: Facts) -> Facts:
    return Facts(facts.predicate, [column[:0] for column in facts.columns], 0)
