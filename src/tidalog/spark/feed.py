"""The change feed of a store, as a folder of Parquet files.

    _feed.json                          the store it belongs to, its predicates, its kind of labels; it is
                                        updated before a file has facts with more arguments
    changes-FIRST-LAST.parquet          what the updates FIRST to LAST of the store changed
    _failed.txt                         the error that ended the pipeline, if there was one

Invariants.  A file appears atomically and never changes, and each update of the store is in exactly one file.
So the feed itself shows which updates it has: one that is applied again after a crash is not written twice.
The first file has the facts at the start of the feed, and changes made while there was no writer are in a
file too: replaying the feed from its start always gives the facts of the store.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalog.io.change_columns import EMPTY, OPERATIONS, change_schema
from tidalog.io.files import writing
from tidalog.spark.change_rows import ChangeRows
from tidalog.spark.diagnostics import FeedOfAnotherStore, NoFeed, SparkError
from tidalog.storage import faults
from tidalog.storage.files import replace_file, sync_folder

if TYPE_CHECKING:
    from tidalog.api.delta import Delta
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.model.update import Label

ABOUT: Final = "_feed.json"
_REPEATED: Final = ["update", "op", "predicate", "kind"]
"""Columns with few distinct values; the others are written without a dictionary."""
FAILED: Final = "_failed.txt"
CHECK_DISK: Final = "check the folder's permissions and the disk"
_NAME: Final = re.compile(r"changes-(\d{16})-(\d{16})\.parquet")
MOST_ROWS: Final = 1 << 22
"""After this many rows in a file, the next update starts a new one."""


@dataclass(frozen=True, order=True)
class FeedFile:
    first: int
    last: int
    path: Path

    @staticmethod
    def named(folder: Path, first: int, last: int) -> FeedFile:
        return FeedFile(first, last, folder / f"changes-{first:016d}-{last:016d}.parquet")


@dataclass(frozen=True)
class FeedShape:
    """The content of `_feed.json`."""

    store: str
    arguments: int
    text_labels: bool
    arities: dict[str, int]
    """Predicates and their number of arguments."""
    prefixes: dict[str, str] = field(default_factory=dict)
    """The prefixes that a predicate may be named with."""
    declared: dict[str, list[str]] = field(default_factory=dict)
    """The names of the arguments of declared predicates."""
    query: str | None = None
    """The query whose answers are in the feed, as a predicate; None if it has the changes of facts."""

    def names(self, predicate: str) -> list[str]:
        """The names of a predicate's arguments: those that are declared, unless a feed has such a column."""
        names = [f"arg{number}" for number in range(1, self.arities[predicate] + 1)]
        declared = self.declared.get(predicate, names)
        counts = Counter(name.casefold() for name in ("update", "op", "kind", *declared))
        pairs = zip(declared, names, strict=True)
        return [own if counts[name.casefold()] > 1 else name for name, own in pairs]

    def schema(self) -> pa.Schema:
        return change_schema(self.arguments, text_labels=self.text_labels)


def feed_files(folder: Path) -> list[FeedFile]:
    """The files of a feed, in order."""
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.iterdir())
    return sorted(FeedFile(int(name[1]), int(name[2]), path) for path, name in found if name is not None)


def feed_shape(folder: Path) -> FeedShape | None:
    """The content of `_feed.json`; None if the folder is not a feed."""
    try:
        return FeedShape(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None


def known_shape(folder: Path) -> FeedShape:
    """The content of `_feed.json`.  Raises `SparkError` (T121) if the folder is not a feed."""
    shape = feed_shape(folder)
    if shape is None:
        why = "no pipeline has written to it"
        hint = 'write it with tidalog.spark.maintain(…).start(changes="FOLDER")'
        raise SparkError(NoFeed(path=folder, what="change feed", why=why, hint=hint))
    return shape


def failure(folder: Path) -> str | None:
    """The error that ended the writer of a feed; None if there was none."""
    try:
        return (folder / FAILED).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _declared(kb: StoredKnowledgeBase) -> dict[str, list[str]]:
    return {name: list(one.names) for name, one in kb.program.declared.items() if name in kb.predicates}


class FeedWriter:
    """Writes a feed of a store that is open for writing."""

    def __init__(self, folder: Path, kb: StoredKnowledgeBase, shape: FeedShape, *, synced: bool) -> None:
        """The shape is that of a feed that begins."""
        self.folder = folder
        self._kb = kb
        self._synced = synced
        with writing(folder, CHECK_DISK):
            folder.mkdir(parents=True, exist_ok=True)
            known = feed_shape(folder)
            if known is None:
                self._begin(known := shape)
            (folder / FAILED).unlink(missing_ok=True)
        self.shape = known
        """The content of `_feed.json`."""
        if known.store != shape.store:
            why = f"its changes are of the store {known.store[:8]}, and this one is {shape.store[:8]}"
            raise SparkError(FeedOfAnotherStore(folder=folder, why=why))
        files = feed_files(folder)
        self.last = files[-1].last if files else -1
        """The last update in the feed."""

    def _begin(self, shape: FeedShape) -> None:
        """Initialises a folder as a feed.  It may contain other files, but not those of another feed."""
        if feed_files(self.folder):
            why = f"it has files of a change feed, but no {ABOUT} that names the store"
            raise SparkError(FeedOfAnotherStore(folder=self.folder, why=why))
        replace_file(self.folder / ABOUT, json.dumps(asdict(shape)).encode())

    def _new_rows(self) -> ChangeRows:
        return ChangeRows(self._kb.dictionary, self.shape.arguments, self.shape.text_labels)

    def _take_shape(self, shape: FeedShape) -> None:
        if shape != self.shape:
            self.shape = shape
            with writing(self.folder, CHECK_DISK):
                replace_file(self.folder / ABOUT, json.dumps(asdict(self.shape)).encode())

    def fail(self, why: str) -> None:
        """Records the error for readers that wait for changes."""
        replace_file(self.folder / FAILED, why.encode())

    def _write(self, first: int, last: int, table: pa.Table) -> None:
        file = FeedFile.named(self.folder, first, last)
        part = self.folder / f".{file.path.name}.{secrets.token_hex(4)}"
        with writing(file.path, CHECK_DISK):
            try:
                pq.write_table(
                    table,
                    part,
                    compression="zstd",
                    compression_level=1,
                    use_dictionary=_REPEATED,
                    write_statistics=_REPEATED,
                )
                if self._synced:
                    sync_folder(part)
                os.replace(part, file.path)
                if self._synced:
                    sync_folder(self.folder)
            except OSError:
                part.unlink(missing_ok=True)
                raise
        self.last = last
        faults.at("feed written")


class Feed(FeedWriter):
    """The change feed of a store."""

    def __init__(
        self, folder: Path, kb: StoredKnowledgeBase, arguments: int, *, text_labels: bool, synced: bool
    ) -> None:
        label = kb.last_label()
        # After an integer all labels are integers (sequencer.py), whatever the type of their column.
        has_texts = isinstance(label, str) or (label is None and text_labels)
        arities = {name: info.arity for name, info in kb.predicates.items()}
        prefixes, texts = dict(kb.program.prefixes), text_labels or has_texts
        shape = FeedShape(store_id(kb), arguments, texts, arities, prefixes, _declared(kb))
        super().__init__(folder, kb, shape, synced=synced)
        if self.shape.query is not None:
            why = f"it has the answers of the query {self.shape.query}"
            raise SparkError(FeedOfAnotherStore(folder=folder, why=why))
        if has_texts and not self.shape.text_labels:
            why = "its labels are integers, and those of this stream may be other texts"
            raise SparkError(FeedOfAnotherStore(folder=folder, why=why))
        self._reshape()
        if self.last < kb.applied_number:
            self._catch_up(self.last >= 0)
        self._pending = self._new_rows()
        self._first: int | None = None

    # --- changes ------------------------------------------------------------------------------------

    def add(self, number: int, delta: Delta, label: Label | None = None) -> None:
        """Adds the changes of an update; `write` writes them, or this call if there are many.  An update
        without a label gets this one, or its number."""
        if number <= self.last:
            return
        if self._first is None:
            self._first = self.last + 1
        if delta.rules:
            self._apply_rules(number)
        self._pending.add(delta, number if label is None else label)
        if self._pending.rows >= MOST_ROWS:
            self.write(number)

    def write(self, last: int) -> None:
        """Writes everything that was added; the feed then extends to the update `last`."""
        if self._first is None:
            return
        self._write(self._first, last, self._pending.table())
        self._pending, self._first = self._new_rows(), None

    def _apply_rules(self, number: int) -> None:
        """Called when an update changes rules: there may be facts with more arguments than before."""
        if not self._reshape():
            return
        if self._pending.rows and number - 1 > self.last:
            self.write(number - 1)
            self._first = number
        self._pending = self._new_rows()

    def _reshape(self) -> bool:
        """Adds the predicates of the store to those of the feed.  Returns whether facts have more arguments
        than before."""
        now = {name: info.arity for name, info in self._kb.predicates.items()}
        arities = {**self.shape.arities, **now}
        widest = max([self.shape.arguments, *now.values()])
        is_wider = widest > self.shape.arguments
        prefixes = dict(self._kb.program.prefixes)
        declared = _declared(self._kb)
        self._take_shape(
            replace(self.shape, arguments=widest, arities=arities, prefixes=prefixes, declared=declared)
        )
        return is_wider

    # --- start --------------------------------------------------------------------------------------

    def _catch_up(self, has_files: bool) -> None:
        """Writes the facts at the start of a feed, or the changes since its last update, to one file."""
        kb = self._kb
        label: Label | None = kb.last_label()
        if label is None and has_files:
            label = kb.applied_number
        rows = self._new_rows()
        for name in kb.predicates:
            explicit = kb.id_rows(name, True)
            implicit = kb.id_rows(name, False)
            for facts, is_explicit in ((explicit, True), (implicit, False)):
                if facts.count:
                    rows.add_facts(label, facts, np.full(facts.count, is_explicit))
        table = rows.table()
        if has_files:
            table = _difference(facts_of_feed(self.folder), table, rows.label_of(label))
        self._write(self.last + 1, kb.applied_number, table)


def store_id(kb: StoredKnowledgeBase) -> str:
    """The id of a store."""
    from tidalog.storage.manifest import read_manifest

    return read_manifest(kb.path).store


# --- reading ----------------------------------------------------------------------------------------


def read_feed(files: Sequence[FeedFile]) -> Iterator[pa.Table]:
    """The rows of files, in order."""
    for file in files:
        yield pq.read_table(file.path, memory_map=True)


def facts_of_feed(folder: Path) -> pa.Table:
    """The facts after replaying a feed, as the rows that inserted them."""
    tables = list(read_feed(feed_files(folder)))
    whole = pa.concat_tables([known_shape(folder).schema().empty_table(), *tables], promote_options="default")
    whole = whole.filter(pc.not_equal(whole.column("op"), OPERATIONS[EMPTY]))
    keys = _keys(whole)
    numbers = pa.array(np.arange(whole.num_rows))
    indexed = pa.table([*(whole.column(key) for key in keys), numbers], names=[*keys, "row"])
    last = indexed.group_by(keys, use_threads=False).aggregate([("row", "max")]).column("row_max")
    rows = whole.take(last)
    return rows.filter(pc.equal(rows.column("op"), "+"))


def _keys(table: pa.Table) -> list[str]:
    return ["predicate", *(name for name in table.column_names if name.startswith("arg"))]


def _difference(before: pa.Table, after: pa.Table, label: Label) -> pa.Table:
    """The rows of an update that changes the facts from `before` to `after`."""
    deleted = _without(before, after)
    labels = pa.repeat(pa.scalar(label, deleted.schema.field("update").type), deleted.num_rows)
    deleted = deleted.set_column(0, deleted.schema.field("update"), labels)
    signs = pa.chunked_array([pa.repeat("-", deleted.num_rows)], pa.string())
    gone = deleted.set_column(deleted.column_names.index("op"), "op", signs)
    return pa.concat_tables([gone, _without(after, before)])


def _without(table: pa.Table, others: pa.Table) -> pa.Table:
    """The rows whose facts are not in `others`."""
    keys = _keys(table)

    def facts(rows: pa.Table) -> pa.ChunkedArray:
        """Texts that are equal only for equal facts: each part is preceded by its length."""
        parts = [rows.column(key).cast(pa.string()) for key in keys]
        lengths = [pc.fill_null(pc.binary_length(part).cast(pa.string()), "-") for part in parts]
        return pc.binary_join_element_wise(*lengths, *(pc.fill_null(part, "") for part in parts), " ")

    return table.filter(pc.invert(pc.is_in(facts(table), value_set=facts(others).combine_chunks())))
