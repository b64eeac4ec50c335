"""A knowledge base with a log: every change is noted before it is carried out, and how it ended behind it.

Invariant.  Changes are carried out in the order of the log.  `_applied_to` is the number of the last one that
was carried out or refused; what comes behind it is `_waiting`.  A change that fails is noted as rejected
before its error is raised, so that reading the log does what was done.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidalog.api.bulk_terms import ids_of_many
from tidalog.api.contents import Change
from tidalog.api.diagnostics import BadArgument
from tidalog.api.durable_labels import KnownLabels
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.api.lock import in_turn
from tidalog.api.sources import ReadProgram
from tidalog.api.update import Delta
from tidalog.api.updating import AnyUpdate
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.lang import print_program
from tidalog.maintain.choose import Options
from tidalog.model.errors import StoreError, UsageError
from tidalog.model.facts import Facts
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate, Label
from tidalog.storage import faults, records
from tidalog.storage.columns import Arrays
from tidalog.storage.diagnostics import OtherProgram, ReadOnlyStore, UpdatesWaiting
from tidalog.storage.store import Store
from tidalog.storage.wal import When
from tidalog.stream import Source

if TYPE_CHECKING:
    from tidalog.model.program import Fact


@dataclass(frozen=True, slots=True)
class Position:
    """Which update: its number among all changes of the store, and where it came from."""

    number: int
    source: str
    batch: int
    index: int
    """Its place in its batch, from 0."""
    label: Label | None


@dataclass(slots=True)
class Waiting:
    """An update that is logged and not applied."""

    position: Position
    """Of its last part, if it went on from one batch to the next."""
    update: EncodedUpdate
    first: int
    """The number of its first part."""
    place: tuple[str, int]
    """The file and offset of the record of its first part."""
    until: int
    """The number of the last update that it is one change with."""

    def going_on(self, position: Position, more: EncodedUpdate) -> Waiting:
        """The same update with the facts that the next batch has of it."""
        return Waiting(position, together(self.update, more), self.first, self.place, position.number)


@dataclass
class SourceState:
    """What is known of a source of batches."""

    logged: int
    applied: int | None = None
    label: Label | None = None
    open: deque[tuple[int, int]] = field(default_factory=deque)
    """Batches that are not known to be applied, with the number of the last update each."""


class Logging(KnowledgeBase):
    def __init__(self, limits: Limits, options: Options, path: Path, store: Store | None) -> None:
        super().__init__(limits, options)
        self.path = path
        """The folder of the store."""
        self._store = store
        """None if the store is open for reading only."""
        self._logged_to = self._applied_to = 0
        self._waiting: deque[Waiting] = deque()
        self._handed: deque[tuple[int, int]] = deque()
        """First and last number of what was handed out and is not acknowledged, ascending."""
        self._sources: dict[str, SourceState] = {}
        self._last_label: Label | None = None
        self._known_labels = KnownLabels()
        self._programs: list[str] = []
        """What identifies the programs that were loaded."""
        self._digest = ""
        """The same of the program that is being loaded."""
        self._only_loaded = True
        """Whether nothing but programs has changed the store."""
        self._pace: When = "now"

    @property
    def read_only(self) -> bool:
        return self._store is None

    def _writable(self, what: str) -> Store:
        """The store, if it may be written to."""
        self._open()
        if self._store is None:
            raise StoreError(ReadOnlyStore(path=self.path, what=what))
        return self._store

    # --- one change ---------------------------------------------------------------------------------

    @contextmanager
    def _logged(self, what: str, count: int, noted: Callable[[int], list[list[bytes]]]) -> Iterator[None]:
        """Around what carries a change out: notes it before, and how it ended behind."""
        store = self._writable(what)
        self._check_nothing_waits(what)
        first, last, place = self._logged_to + 1, self._logged_to + count, store.place
        try:
            store.append(noted(first), self._pace)
            yield
        except BaseException as error:
            if store.place != place:  # it is in the log
                self._logged_to = last
                self._reject(first, last, error)
            raise
        self._logged_to = last
        faults.at("applied")
        self._applied_to = last
        self._mark_done()

    def _check_nothing_waits(self, what: str) -> None:
        if self._waiting:
            count = len(self._waiting)
            some = "an update is" if count == 1 else f"{count:,} updates are"
            why = f"{some} logged and not applied, and changes are carried out in the order of the log"
            hint = "apply them first: for position, delta in kb.apply_pending(): …"
            raise StoreError(UpdatesWaiting(what=what, why=why, hint=hint))
        self._check_acknowledged(what)

    def _check_acknowledged(self, what: str) -> None:
        if self._handed:
            why = "what the last updates changed is not acknowledged"
            raise StoreError(
                UpdatesWaiting(what=what, why=why, hint="kb.acknowledge() when it is dealt with")
            )

    def _reject(self, first: int, last: int, error: BaseException) -> None:
        """A change has failed; whoever reads the log is to pass it over."""
        store = self._writable("this")
        why = str(error) or type(error).__name__
        header = {"kind": records.REJECTED, "first": first, "last": last, "why": why}
        try:
            store.append([records.packed(header, {})], "now")
        except BaseException:
            store.log.give_up("that a change was refused could not be noted")
            raise
        self._applied_to = last

    def _mark_done(self) -> None:
        """Everything up to the last change applied is done, or up to the first that is not acknowledged.  A
        mark that cannot be written is no harm: the next one says the same."""
        number = self._handed[0][0] - 1 if self._handed else self._applied_to
        with contextlib.suppress(StoreError):
            header = {"kind": records.DONE, "number": number}
            self._writable("this").append([records.packed(header, {})], "never")
        self._settled()

    def _settled(self) -> None:
        """A change is done: a safe point."""

    # --- changes of the knowledge base --------------------------------------------------------------

    def _made(
        self,
        updates: Sequence[EncodedUpdate],
        following: Sequence[EncodedUpdate],
        options: Options,
        progress: ProgressCallback | None,
    ) -> Delta:
        dictionary = self._open().engine.dictionary

        def noted(number: int) -> list[list[bytes]]:
            header = {"kind": records.UPDATES, "number": number}
            written = [records.changes_packed(header, updates, dictionary)]
            if len(updates) > 1:
                written.append(as_one(number, number + len(updates) - 1))
            return written

        with self._logged("an update", len(updates), noted):
            delta = super()._made(updates, following, options, progress)
            self._only_loaded = False
        return delta

    def _taken_away(self, rows: Sequence[Facts]) -> int:
        change = EncodedUpdate(rows)
        with self._logged("a deletion", 1, self._noting(records.DELETE, change)):
            count = super()._taken_away(rows)
            self._only_loaded = False
        return count

    def _noted(self, change: Change, loaded: ReadProgram | None = None) -> AbstractContextManager[None]:
        dictionary = self._open().engine.dictionary
        for name, table in change.tables:
            columns = [dictionary.encode(column.array, column.reading) for column in table.columns]
            change.rows.append(Facts(name, columns, table.rows))
        change.tables.clear()
        if loaded is None:
            whole = EncodedUpdate(insertions=change.rows)
            return self._marking_facts(self._logged("an insertion", 1, self._noting(records.INSERT, whole)))
        rows = [*self._rows_of_text(change.facts), *change.rows]
        digest = self._digest
        header = {
            "text": print_program(replace(loaded.program, facts=())),
            "name": loaded.program.source.name if loaded.program.source is not None else "<program>",
            "folder": str(loaded.folder.absolute()),
            "parameters": list(change.setting.parameters),
            "digest": digest,
        }
        named = records.terms_packed(change.setting.parameters, dictionary)
        whole = EncodedUpdate(insertions=rows)
        noting = self._noting(records.LOAD, whole, header, named)
        return self._marking_program(self._logged("loading", 1, noting), digest)

    def _noted_rules(self, edits: RuleEdit) -> AbstractContextManager[None]:
        whole = EncodedUpdate(rules=edits)
        return self._marking_facts(self._logged("a change of rules", 1, self._noting(records.RULES, whole)))

    @contextmanager
    def _marking_facts(self, logged: AbstractContextManager[None]) -> Iterator[None]:
        with logged:
            yield
            self._only_loaded = False

    @contextmanager
    def _marking_program(self, logged: AbstractContextManager[None], digest: str) -> Iterator[None]:
        with logged:
            yield
            self._programs.append(digest)

    def _noting(
        self,
        kind: str,
        change: EncodedUpdate,
        more: Mapping[str, object] | None = None,
        arrays: Arrays | None = None,
    ) -> Callable[[int], list[list[bytes]]]:
        dictionary = self._open().engine.dictionary
        return lambda number: [
            records.changes_packed(
                {"kind": kind, "number": number, **(more or {})}, [change], dictionary, arrays or {}
            )
        ]

    def _rows_of_text(self, facts: Sequence[Fact]) -> Iterator[Facts]:
        """Facts of a text by predicate and number of arguments."""
        dictionary = self._open().engine.dictionary
        grouped: dict[tuple[str, int], list[tuple[Term, ...]]] = {}
        for fact in facts:
            grouped.setdefault((fact.predicate, len(fact.arguments)), []).append(fact.arguments)
        for (predicate, arity), rows in grouped.items():
            columns = [ids_of_many(dictionary, [row[place] for row in rows]) for place in range(arity)]
            yield Facts(predicate, columns, len(rows))

    # --- programs -----------------------------------------------------------------------------------

    def _has_loaded(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        self._digest = program_digest(read, parameters)
        if self._digest in self._programs:
            own = read.program.exports
            self._exports = [(b, read.folder if b in own else folder) for b, folder in self._exports]
            return True
        self._writable("loading another program")
        if not self._only_loaded:
            hint = "kb.rules shows its rules and adds others; facts go in with kb.insert"
            raise StoreError(OtherProgram(path=self.path, hint=hint))
        return False

    # --- streams ------------------------------------------------------------------------------------

    def _streamed(
        self,
        source: Source[AnyUpdate],
        options: Options,
        wait: float,
        latest_only: bool,
        progress: ProgressCallback | None,
    ) -> Iterator[Delta]:
        """A stream is a batch to the disk: it is synced now and then, and when it ends."""
        try:
            yield from super()._streamed(source, options, wait, latest_only, progress)
        finally:
            self._in_turn(self._sync)

    @in_turn
    def _step(
        self,
        taken: Sequence[AnyUpdate],
        following: Sequence[AnyUpdate],
        options: Options,
        ready: dict[int, tuple[AnyUpdate, EncodedUpdate]],
        progress: ProgressCallback | None,
    ) -> Delta:
        self._pace = "soon"
        try:
            return super()._step(taken, following, options, ready, progress)
        finally:
            self._pace = "now"

    def _sync(self) -> None:
        if self._store is not None and self._contents is not None:
            self._store.log.sync()


def together(part: EncodedUpdate, more: EncodedUpdate) -> EncodedUpdate:
    """One update of two parts, which deletes before it inserts, as one whose rows came at once."""
    deletions, insertions = [*part.deletions, *more.deletions], [*part.insertions, *more.insertions]
    return EncodedUpdate(deletions, insertions, part.rules + more.rules, part.label, part.dictionary)


def as_one(first: int, last: int) -> list[bytes]:
    """The record which says that updates are one change."""
    return records.packed({"kind": records.AS_ONE, "first": first, "last": last}, {})


def program_digest(read: ReadProgram, parameters: Mapping[str, Term]) -> str:
    """Equal for programs that say the same, whatever their layout, with the same parameters."""
    text = print_program(read.program) + repr(sorted(parameters.items(), key=lambda item: item[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def checked_batch(source: str, batch: int) -> None:
    if not isinstance(source, str) or not source:
        problem, why = f"source={source!r} names no source", "it is the id of a query, a text"
        raise UsageError(BadArgument(problem=problem, why=why, hint='write source="orders"'))
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 0:
        problem, why = f"batch={batch!r} is no batch", "batches of a source have ascending numbers, from 0"
        raise UsageError(BadArgument(problem=problem, why=why, hint="write batch=0"))
