"""A knowledge base in a folder on disk: `tidalog.open(path)`; see `storage`.

It is a knowledge base that has a write-ahead log, an inbox and a snapshotter.  A live change is appended to
the log, applied, and its outcome appended; recovery reads the log and applies the same changes.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from tidalog.api.acceptance import Late, accept
from tidalog.api.arguments import check_batch, check_count, checked_options
from tidalog.api.change import Change, delta_of, perform
from tidalog.api.change_records import batch_record, known_digest
from tidalog.api.delta import Delta
from tidalog.api.diagnostics import bad_argument
from tidalog.api.engine import STORED, Capabilities
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.api.lock import locked
from tidalog.api.recovery import Recovery, Unfinished, apply_again, not_redone
from tidalog.api.sources import ReadProgram, only_declares
from tidalog.api.store_journal import StoreJournal, digest_of
from tidalog.api.streams import AnyUpdate
from tidalog.api.timed_changes import too_late
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.lang import parse
from tidalog.lang.printer import Printer
from tidalog.maintain.choose import Options
from tidalog.maintain.runner import Interrupted
from tidalog.maintain.windows.windows import Windows
from tidalog.model.errors import ProgramError, RunError, StoreError, TidalogError
from tidalog.model.program import DataBinding
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate, Label
from tidalog.model.window_times import NEVER
from tidalog.storage import records
from tidalog.storage.dedup import Content, Seen
from tidalog.storage.diagnostics import OtherProgram
from tidalog.storage.inbox import Batch, Inbox, PendingUpdates, Position
from tidalog.storage.manifest import FORMAT
from tidalog.storage.recovery import changes_to_redo, read_content
from tidalog.storage.snapshot import Image, Snapshot
from tidalog.storage.snapshotter import Snapshotter
from tidalog.storage.store import Store, StoreReader
from tidalog.storage.wal import WriteAheadLog

_LOG: Final = logging.getLogger("tidalog")


class StoredKnowledgeBase(KnowledgeBase):
    """Rules, facts and what follows from them, on disk.  Use `tidalog.open(path)`."""

    recovery: Recovery
    """What opening did."""

    def __init__(
        self, limits: Limits, options: Options, path: Path, store: Store | None, snapshot_after: int
    ) -> None:
        super().__init__(limits, options)
        self.path = path
        """The folder of the store."""
        self._log = WriteAheadLog(path, store)
        self._inbox = Inbox()
        self._snapshotter = Snapshotter(self._log, self._inbox, self._image, snapshot_after)
        self._journal = StoreJournal(self._log, self._inbox, self._snapshotter, self._open)
        self._changes.journal = self._journal

    @property
    def capabilities(self) -> Capabilities:
        return STORED

    @property
    def read_only(self) -> bool:
        return self._log.store is None

    @locked
    def close(self) -> None:
        """Releases all facts and the store.  Results that were returned stay valid."""
        self._changes.refuse_in_block("closing it")
        store = self._log.store
        if store is not None:
            self._snapshotter.wait()
            if not self._inbox.delivered and self._snapshotter.is_due:
                self._snapshotter.try_to_take()
        self._log.store = None
        super().close()
        if store is not None:
            store.close()

    def __repr__(self) -> str:
        return super().__repr__().replace("<KnowledgeBase", f"<KnowledgeBase {self.path}", 1)

    def _writable(self, what: str) -> None:
        """Raises an error unless the store may be written to."""
        self._open()
        self._changes.refuse_in_block(what)
        self._log.writable(what)

    # --- programs -----------------------------------------------------------------------------------

    def _has_loaded(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        if self._journal.has(read, parameters):
            own = read.program.exports
            self._exports = [(b, read.folder if b in own else folder) for b, folder in self._exports]
            return True
        self._log.writable("loading another program")
        if not self._journal.only_loaded and not only_declares(read.program):
            hint = "kb.rules adds rules, kb.insert facts; a text of @window and @declare alone can be loaded"
            raise StoreError(OtherProgram(path=self.path, hint=hint))
        return False

    def _digest(self, read: ReadProgram, parameters: Mapping[str, Term]) -> str:
        return digest_of(read, parameters)

    # --- batches ------------------------------------------------------------------------------------

    @locked
    def log_updates(
        self,
        updates: Iterable[AnyUpdate],
        *,
        source: str,
        batch: int,
        goes_on: bool = False,
        contents: Sequence[Content] | None = None,
    ) -> int | None:
        """Logs a batch of updates without applying it, and returns their number.

        `source` names where batches come from, such as the id of a streaming query; `batch` is the number of
        the batch, and numbers of a source ascend.  A batch that is there already, or is older than one that
        is, is a duplicate: nothing is logged, and None is returned.

        With `goes_on` the first of them is not an update of its own, but continues the last one that waits:
        they are applied as one.  `contents` distinguish the updates of a batch from others with the same
        labels, for `seen`.
        """
        check_batch(source, batch)
        self._writable("a batch of updates")
        last = self._inbox.last_batch(source)
        if last is not None and batch <= last:
            return None
        prepared = [self._prepared(update) for update in updates]
        if goes_on:
            self._check_goes_on(prepared)
        self._accept_all(prepared, goes_on)
        labels, first = [update.label for update in prepared], self._log.logged_to + 1
        logged = Batch(source, batch, first, labels, contents, goes_on=goes_on)
        record = batch_record(logged, prepared, self._open().dictionary)
        with self._lock.at_work():
            start = self._log.append_batch("a batch of updates", record, len(prepared))
            for index, update in enumerate(prepared):
                self._inbox.add(logged, index, update, start, until=first + index)
            self._journal.only_loaded = False
            self._inbox.note_batch(logged, self._log.applied_to)
        return len(prepared)

    @locked
    def accept_updates(
        self, updates: Sequence[EncodedUpdate], *, goes_on: bool = False, may_arrive: bool = True
    ) -> list[Late | None]:
        """Gives updates that will be logged their times, and finds those that come too late for windows.  An
        update without a time has that of its arrival, if it `may_arrive`."""
        waiting = [waiting.update for waiting in self._received().waiting]
        return accept(updates, self._open(), waiting, goes_on=goes_on, may_arrive=may_arrive)

    def _accept_all(self, updates: Sequence[EncodedUpdate], goes_on: bool) -> None:
        """Raises `UsageError` (T175) if an update comes too late."""
        if all(update.accepted for update in updates):
            return
        for found in self.accept_updates(updates, goes_on=goes_on):
            if found is not None:
                raise too_late(self._open().windows, found.time, found.now)

    def _check_goes_on(self, prepared: Sequence[EncodedUpdate]) -> None:
        waiting = self._inbox.waiting
        last = waiting[-1] if waiting else None
        if last is None or last.until != last.position.number or not prepared:
            why = "no update waits" if last is None else "it is logged as one with others, or nothing follows"
            raise bad_argument("the last update cannot be continued", why, "log it as an update of its own")

    def _received(self) -> Inbox:
        """The inbox, if the store is open."""
        self._open()
        return self._inbox

    @property
    @locked
    def pending(self) -> PendingUpdates:
        """The updates that are logged and not applied, in order."""
        return PendingUpdates(self._received().waiting)

    @property
    @locked
    def pending_rules(self) -> list[str]:
        """The texts of rules that these updates add."""
        edits = [waiting.update.rules for waiting in self._received().waiting]
        return [text for edit in edits for text, _ in records.edit_packed(edit)[0]]

    @property
    @locked
    def windows(self) -> Windows:
        """The windows of the program and their time, for reading."""
        return self._open().windows

    @property
    @locked
    def has_time(self) -> bool:
        """Whether updates have times."""
        return self._open().has_time

    @property
    @locked
    def next_evaluation(self) -> int:
        """When the next period of a query is over that may have other answers; `NEVER` if there is none."""
        due = self._evaluations.next_due
        self._open()
        return NEVER if due is None else due

    @locked
    def last_batch(self, source: str) -> int | None:
        """The last batch of a source that is logged."""
        return self._received().last_batch(source)

    @locked
    def last_applied(self, source: str) -> int | None:
        """The last batch of a source all of whose updates are applied or were refused."""
        return self._received().last_applied(source, self._log.applied_to)

    @locked
    def last_label(self, source: str | None = None) -> Label | None:
        """The label of the last update of a source, or of all sources, that is logged and has one."""
        inbox = self._received()
        if source is None:
            return inbox.last_label
        state = inbox.sources.get(source)
        return state.label if state is not None else None

    @locked
    def seen(self, label: Label, content: Content) -> Seen | None:
        """Whether an update with this label came in a batch, and with this content; None if that is
        forgotten, for labels are not kept for ever."""
        return self._received().labels.seen(label, content)

    @property
    @locked
    def sources(self) -> tuple[str, ...]:
        """Where batches have come from."""
        return tuple(self._received().sources)

    @property
    @locked
    def applied_number(self) -> int:
        """The number of the last change that is applied, or was refused."""
        self._open()
        return self._log.applied_to

    def apply_pending(
        self,
        *,
        keep: int = 0,
        look_ahead: int = 1,
        latest_only: bool = False,
        acknowledge: bool = True,
        strategy: str | None = None,
        marking: str | None = None,
        order: str | None = None,
        progress: ProgressCallback | None = None,
    ) -> Iterator[tuple[Position, Delta]]:
        """Applies updates that wait, in order, and yields the position and the delta of each, on demand.

        The last `keep` of them stay, as the upcoming updates of those before.  `look_ahead`,
        `latest_only`, `strategy`, `marking`, `order` and `progress` are those of `stream`; of updates that
        are applied as one, the position is that of the last.

        With `acknowledge=False` an update counts as done only when `acknowledge` says so; until then it waits
        again after the store is reopened.  An update that violates a constraint or exceeds a limit raises, is
        refused for good, and the next call continues after it; one that was interrupted still waits.
        """
        options = checked_options(strategy, marking, order, look_ahead, self._changes.options)
        check_count("keep", keep, "a number of updates", "write keep=1")
        self._writable("applying updates")
        return iter(partial(self._apply_next, keep, options, latest_only, acknowledge, progress), None)

    @locked
    def _apply_next(
        self,
        keep: int,
        options: Options,
        latest_only: bool,
        acknowledge: bool,
        progress: ProgressCallback | None,
    ) -> tuple[Position, Delta] | None:
        """Applies what waits, which is logged already, and logs the outcome."""
        self._writable("applying updates")
        inbox, database = self._inbox, self._open()
        count = inbox.next_count(keep, latest_only)
        if not count:
            return None
        in_sight = list(islice(inbox.waiting, count + options.look_ahead))
        taken, upcoming = in_sight[:count], [waiting.update for waiting in in_sight[count:]]
        first, last = taken[0].first, taken[-1].position
        change = Change(records.UPDATES, [waiting.update for waiting in taken])
        with self._lock.at_work():
            if count > 1 and taken[0].until != last.number:
                # Logged before they are applied: after a crash the same updates must be one change again.
                self._log.append_as_one(first, last.number)
                for waiting in taken:
                    waiting.until = last.number
            try:
                with (
                    self._log.outcome_of(first, last.number, _is_refusal),
                    self._evaluations.delivering(),
                ):
                    outcome = perform(
                        database, change, upcoming, options, progress, evaluations=self._evaluations
                    )
            except TidalogError:
                if self._log.applied_to == last.number:  # refused for good
                    inbox.drop(count)
                    if not inbox.delivered:
                        self._journal.mark_done()
                raise
            inbox.drop(count)
            if acknowledge and not inbox.delivered:
                self._journal.mark_done()
            else:
                inbox.delivered.append((first, last.number))
        self._emit()
        delta = delta_of(outcome, database, self._lock)
        self._subscriptions.publish(delta)
        return last, delta

    @locked
    def acknowledge(self, position: Position | None = None) -> None:
        """Acknowledges updates up to a position, or all that were delivered: they will not be delivered
        again."""
        self._writable("an acknowledgement")
        number = self._log.applied_to if position is None else position.number
        if number > self._log.applied_to:
            hint = "acknowledge positions that kb.apply_pending has given"
            raise bad_argument(f"update {number:,} cannot be acknowledged", "it is not applied yet", hint)
        with self._lock.at_work():
            if self._inbox.acknowledge(number):
                self._journal.mark_done()

    # --- snapshots ----------------------------------------------------------------------------------

    @locked
    def snapshot(self) -> int:
        """Writes a snapshot of everything that has been applied, from which the store is opened next time,
        and returns the number of the last change in it."""
        self._writable("a snapshot")
        self._inbox.check_acknowledged("a snapshot")
        self._snapshotter.wait()
        self._derive_for_snapshot()
        self._snapshotter.take()
        return self._log.applied_to

    def _derive_for_snapshot(self) -> None:
        try:
            self.materialise()
        except RunError as error:
            _LOG.warning("%s: the snapshot holds explicit facts alone, for %s", self.path, error)

    @locked
    def get_ready(self) -> None:
        """Builds the table of all facts, which queries do not need and updates do.  Otherwise the first
        update builds it, if the store was opened from a snapshot."""
        self._open().get_ready()

    def _image(self) -> Image:
        database = self._open()
        exports = database.program.exports
        return database.snapshot(
            {
                "exports": [[_export(b, exports), str(folder.absolute())] for b, folder in self._exports],
                "skipped": dict(self._skipped),
                "programs": self._journal.programs,
                "only loaded": self._journal.only_loaded,
                "answers": self._evaluations.to_json(),
                **self._inbox.to_json(self._log.applied_to),
            }
        )

    def _restore(self, snapshot: Snapshot) -> None:
        """Loads a snapshot."""
        database, meta = self._open(), snapshot.meta
        try:
            database.restore(snapshot)
        except ProgramError as error:
            raise not_redone(self.path, snapshot.number, True, error) from error
        self._log.skip_to(snapshot.number)
        exports = database.program.exports
        with meta.reading():
            self._exports = [
                (exports[one] if isinstance(one, int) else parse(one).exports[0], Path(folder))
                for one, folder in meta.list("exports")
            ]
            self._skipped = Counter(meta.mapping("skipped"))
            digests = meta.list("programs")
            self._journal.programs = [known_digest(digest, snapshot.format) for digest in digests]
            self._journal.only_loaded = bool(meta.optional("only loaded", bool))
            self._evaluations.restore(meta.optional("answers", dict) or {}, len(database.dictionary))
            labels = meta.optional("labels", dict)
            self._inbox.restore(meta.optional("label", int | str), labels, meta.mapping("sources"))

    # --- recovery -----------------------------------------------------------------------------------

    def _recover(
        self, reader: Store | StoreReader, functions: Mapping[str, PythonFunction], unfinished: Unfinished
    ) -> None:
        """Restores what the store holds."""
        start = time.perf_counter()
        for name, function in functions.items():
            self.register(name, function)
        found, database, redone = read_content(reader), self._open(), 0
        if found.snapshot is not None:
            self._restore(found.snapshot)
        for redo in changes_to_redo(
            found.tail.entries, self._log, self._inbox, database.dictionary, found.has_writer
        ):
            change = apply_again(
                redo, self._log, database, self._changes.options, unfinished, self._evaluations
            )
            self._evaluations.take()  # emitted before
            if change is not None:
                self._note(change)
            redone += len(redo.updates)
        self._evaluations.reopened()
        self._journal.only_loaded = self._journal.only_loaded and not self._inbox.waiting
        if isinstance(reader, Store):
            for entry, problem in found.damaged:
                _LOG.warning("%s: an earlier snapshot and more of the log are used: %s", self.path, problem)
                reader.forget_snapshot(entry)
            self._journal.mark_done()
        format = reader.manifest.format if found.snapshot is None else found.snapshot.format
        if isinstance(reader, Store) and format < FORMAT:
            self._migrate()
        number = found.snapshot.number if found.snapshot is not None else None
        problems = tuple(str(problem) for _, problem in found.damaged)
        migrated = format if format < FORMAT else None
        seconds = time.perf_counter() - start
        self.recovery = Recovery(number, redone, migrated, found.truncated, problems, seconds)

    def _migrate(self) -> None:
        """Writes a snapshot in the current format, in which the log continues.  Files of the earlier format
        are kept until a later snapshot replaces them."""
        _LOG.info("%s has an earlier format; a snapshot in the current one is written", self.path)
        self._derive_for_snapshot()
        self._snapshotter.take()


def _is_refusal(error: BaseException) -> bool:
    """Whether updates that raise an error are refused for good; after an interrupt they still wait."""
    return isinstance(error, TidalogError) and not any(
        isinstance(diagnostic, Interrupted) for diagnostic in error.diagnostics
    )


def _export(binding: DataBinding, exports: Sequence[DataBinding]) -> int | str:
    """Which export of the program this is; its text if the program computes its options."""
    return exports.index(binding) if binding in exports else Printer().binding("export", binding)
