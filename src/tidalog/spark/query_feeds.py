"""The feeds of continuous queries: what a query emits, as a change feed of its own.

    ANSWERS/NAME/_feed.json, changes-FIRST-LAST.parquet      as in feed.py

`update` is the time of the evaluation, and from the second one at a time on also its number; if nothing has a
time, the label of the update.  Updates at which nothing is emitted have no file.  Replaying the feed of a
query that emits changes gives its answers at its last evaluation, also if the query was replaced by another
one of its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.api.evaluations import emitted_rows
from tidalog.io.change_columns import EMPTY
from tidalog.io.files import free_name
from tidalog.lang.sparql.solutions import UNBOUND
from tidalog.model.facts import Facts
from tidalog.model.window_times import time_text
from tidalog.spark.diagnostics import FeedOfAnotherStore, NoFeed, SparkError
from tidalog.spark.feed import MOST_ROWS, FeedShape, FeedWriter, facts_of_feed, feed_shape, store_id

if TYPE_CHECKING:
    from tidalog.api.continuous import ContinuousQuery
    from tidalog.api.delta import Delta
    from tidalog.api.evaluations import Emission
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.model.update import Label

_LONGEST: Final = 60
"""Characters of a query's name in that of its folder."""


def folder_of(answers: Path, query: str, taken: Iterable[str] = ()) -> Path:
    """The folder of a query's feed: the one that has it, or a new one."""
    found = {path.name: feed_shape(path) for path in sorted(answers.iterdir())} if answers.is_dir() else {}
    for name, shape in found.items():
        if shape is not None and shape.query == query:
            return answers / name
    others = (name for name, shape in found.items() if shape is not None or not (answers / name).is_dir())
    return answers / free_name(query[:_LONGEST], {*others, *taken})


def folders_of(answers: Path, queries: Sequence[str]) -> dict[str, Path]:
    """The folders of the feeds of several queries."""
    found: dict[str, Path] = {}
    for query in queries:
        found[query] = folder_of(answers, query, [folder.name for folder in found.values()])
    return found


def known_folder(answers: Path, query: str) -> Path:
    """The folder of a feed that is there.  Raises `SparkError` (T121) if there is none."""
    folder = folder_of(answers, query)
    if feed_shape(folder) is None:
        shapes = [feed_shape(path) for path in answers.iterdir()] if answers.is_dir() else []
        known = ", ".join(sorted(shape.query for shape in shapes if shape is not None and shape.query))
        hint = f"queries are {known}" if known else "start a stream with queries=FILE, or --queries FILE"
        what = f"answers of the query {query}"
        raise SparkError(NoFeed(path=answers, what=what, why="no stream has written them", hint=hint))
    return folder


class QueryFeed(FeedWriter):
    """Writes the feed of one query."""

    def __init__(
        self, folder: Path, kb: StoredKnowledgeBase, query: ContinuousQuery, *, synced: bool
    ) -> None:
        name, columns = query.name, list(query.columns)
        width = len(columns)
        shape = FeedShape(store_id(kb), width, True, {name: width}, {}, {name: columns}, name)
        super().__init__(folder, kb, shape, synced=synced)
        if self.shape.query != name:
            why = f"it has the feed of {self.shape.query or 'all facts'}, not that of the query {name}"
            raise SparkError(FeedOfAnotherStore(folder=folder, why=why))
        # Rows of an earlier query of this name may have more columns.
        width = max(width, self.shape.arguments)
        columns += [f"arg{number}" for number in range(len(columns) + 1, width + 1)]
        self._take_shape(
            replace(self.shape, arguments=width, arities={name: width}, declared={name: columns})
        )
        self._pending = self._new_rows()
        if query.emit == "changes" and self.last < kb.applied_number:
            known = kb.queries.last_answers(name)
            if known is None and self.last >= 0:
                self._delete_all(kb.queries.next_label(name) if kb.windows.started else self._moment())
            elif known is not None and self.last < 0:  # the feed was removed
                self._pending.add_facts(self._moment(), known, np.zeros(known.count, np.bool_))
                self.write(kb.applied_number)

    def add(self, number: int, emission: Emission, label: str) -> None:
        """Adds what the query emits at an update, under this label if nothing has a time."""
        if number <= self.last:
            return
        moment = label if emission.time is None else emission.label
        for op, facts in emitted_rows(emission):
            self._pending.add_facts(moment, facts, np.zeros(facts.count, np.bool_), int(op > 0))
        if emission.is_empty:
            missing = np.array([self._kb.dictionary.id_of(UNBOUND)], np.int32)
            nothing = Facts(emission.query.name, [missing] * len(emission.inserted.columns), 1)
            self._pending.add_facts(moment, nothing, np.zeros(1, np.bool_), EMPTY)

    def write(self, last: int) -> None:
        if self._pending.rows:
            self._write(self.last + 1, last, self._without_unbound(self._pending.table()))
            self._pending = self._new_rows()

    def write_if_long(self, last: int) -> None:
        """Writes what was added up to an update, if it is much."""
        if self._pending.rows >= MOST_ROWS:
            self.write(last)

    def _without_unbound(self, table: pa.Table) -> pa.Table:
        """With null for a variable without a value."""
        dictionary = self._kb.dictionary
        unbound = dictionary.decode(np.array([dictionary.id_of(UNBOUND)], np.int32))[0]
        for index, field in enumerate(table.schema):
            if field.name.startswith("arg"):
                column = table.column(index)
                has_value = pc.not_equal(column, pa.scalar(unbound.as_py()))
                column = pc.if_else(has_value, column, pa.scalar(None, pa.string()))
                table = table.set_column(index, field, column)
        return table

    def _moment(self) -> str:
        """What the column `update` has now."""
        kb = self._kb
        if kb.windows.started:
            return time_text(kb.windows.now)
        label = kb.last_label()
        return str(kb.applied_number if label is None else label)

    def _delete_all(self, label: str) -> None:
        """A query begins where an earlier one of its name has left answers."""
        left, kb = facts_of_feed(self.folder), self._kb
        if left.num_rows:
            for name, value in (("update", label), ("op", "-")):
                index = left.column_names.index(name)
                same = pa.chunked_array([pa.repeat(value, left.num_rows)], pa.string())
                left = left.set_column(index, left.schema.field(name), same)
            self._write(self.last + 1, kb.applied_number, left)


class QueryFeeds:
    """Writes the feeds of all queries of a stream."""

    def __init__(self, kb: StoredKnowledgeBase, *, synced: bool) -> None:
        self._kb = kb
        self.folders = {name: kb.path / folder for name, folder in kb.queries.feeds().items()}
        self._feeds = {
            name: QueryFeed(folder, kb, kb.queries[name], synced=synced)
            for name, folder in self.folders.items()
        }

    def add(self, number: int, delta: Delta, label: Label | None = None) -> None:
        """Adds what queries have emitted at an update."""
        known = delta.label if delta.label is not None else label
        for emission in self._kb.queries.take_streamed():
            self._feeds[emission.query.name].add(number, emission, str(number if known is None else known))
        for feed in self._feeds.values():
            feed.write_if_long(number)

    def write(self, last: int) -> None:
        for feed in self._feeds.values():
            feed.write(last)

    def fail(self, why: str) -> None:
        for feed in self._feeds.values():
            feed.fail(why)
