"""A knowledge base that is a folder on disk, which `tidalog.open(path)` gives; see `storage`.

It is a knowledge base that has a write-ahead log, an inbox and a snapshotter.  A live change is appended to
the log, applied, and its outcome appended; recovery reads the log and applies the same changes.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from tidalog.api.change import Change, delta_of, perform
from tidalog.api.delta import Delta
from tidalog.api.diagnostics import BadArgument
from tidalog.api.engine import STORED, Capabilities
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.api.lock import locked
from tidalog.api.recovery import (
    EARLIER,
    Recovery,
    Unfinished,
    change_of,
    is_refusal,
    known_digest,
    not_redone,
)
from tidalog.api.sources import ReadProgram, says_nothing_new
from tidalog.api.streams import AnyUpdate
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.lang import print_program
from tidalog.maintain.choose import Options
from tidalog.maintain.runner import Interrupted
from tidalog.model.errors import ProgramError, RunError, StoreError, TidalogError, UsageError
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate, Label
from tidalog.storage import faults, records
from tidalog.storage.dedup import Content, Seen
from tidalog.storage.diagnostics import OtherProgram, UpdatesWaiting
from tidalog.storage.inbox import Inbox, PendingUpdates, Position
from tidalog.storage.lock import is_locked
from tidalog.storage.manifest import FORMAT, SnapshotEntry
from tidalog.storage.recovery import Redo, changes_to_redo
from tidalog.storage.segments import LogTail, When
from tidalog.storage.snapshot import Image, Snapshot
from tidalog.storage.snapshotter import Snapshotter
from tidalog.storage.store import Store, StoreReader
from tidalog.storage.wal import WriteAheadLog, as_one

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
        self._programs: list[str] = []
        """Digests of the programs that were loaded."""
        self._only_loaded = True
        """Whether nothing but programs has changed the store."""

    @property
    def capabilities(self) -> Capabilities:
        return STORED

    @property
    def read_only(self) -> bool:
        return self._log.store is None

    @locked
    def close(self) -> None:
        """Lets go of all facts and of the store.  Results that were handed out stay."""
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

    # --- one change ---------------------------------------------------------------------------------

    @contextmanager
    def _logged(self, change: Change, when: When) -> Iterator[None]:
        """Write-ahead: append the change, apply it, append the outcome."""
        self._writable(change.name)
        self._check_nothing_waits(change.name)
        with self._log.change(change.name, len(change.updates), lambda n: self._records(change, n), when):
            yield
        self._mark_done()

    def _records(self, change: Change, number: int) -> list[list[bytes]]:
        dictionary = self._open().dictionary
        header: dict[str, object] = {"kind": change.kind, "number": number}
        if change.load is None or change.read is None:
            written = [records.changes_packed(header, change.updates, dictionary)]
            if len(change.updates) > 1:
                written.append(as_one(number, number + len(change.updates) - 1))
            return written
        program, parameters = change.read.program, change.load.environment.parameters
        header |= {
            "text": print_program(replace(program, facts=())),
            "name": program.source.name if program.source is not None else "<program>",
            "folder": str(change.read.folder.absolute()),
            "parameters": list(parameters),
            "digest": change.digest,
        }
        named = records.terms_packed(parameters, dictionary)
        return [records.changes_packed(header, change.updates, dictionary, named)]

    def _note(self, change: Change) -> None:
        super()._note(change)
        if change.kind == records.LOAD:
            self._programs.append(change.digest)
        else:
            self._only_loaded = False

    def _mark_done(self) -> None:
        """Logs what is done, which is a safe point for a snapshot."""
        self._log.mark_done(self._inbox.done_to(self._log.applied_to))
        if not self._inbox.delivered and self._open().run is not None and self._snapshotter.is_due:
            self._snapshotter.take_in_background()

    def _writable(self, what: str) -> Store:
        """The store, if it may be written to."""
        self._open()
        return self._log.writable(what)

    def _check_nothing_waits(self, what: str) -> None:
        if self._inbox.waiting:
            count = len(self._inbox.waiting)
            some = "an update is" if count == 1 else f"{count:,} updates are"
            why = f"{some} logged and not applied, and changes are applied in the order of the log"
            hint = "apply them first: for position, delta in kb.apply_pending(): …"
            raise StoreError(UpdatesWaiting(what=what, why=why, hint=hint))
        self._check_acknowledged(what)

    def _check_acknowledged(self, what: str) -> None:
        if self._inbox.delivered:
            why = "what the last updates changed is not acknowledged"
            raise StoreError(
                UpdatesWaiting(what=what, why=why, hint="kb.acknowledge() when it is dealt with")
            )

    def _flush(self) -> None:
        if self._database is not None:
            self._log.sync()

    # --- programs -----------------------------------------------------------------------------------

    def _has_loaded(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        if self._is_loaded(read, parameters):
            own = read.program.exports
            self._exports = [(b, read.folder if b in own else folder) for b, folder in self._exports]
            return True
        self._writable("loading another program")
        if not self._only_loaded:
            hint = "kb.rules shows its rules and adds others; facts go in with kb.insert"
            raise StoreError(OtherProgram(path=self.path, hint=hint))
        return False

    def _is_loaded(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        """Whether a program was loaded.  Of those that were loaded in an earlier format no digest of today is
        known: then a program that would add nothing to the rules is one of them."""
        digest = self._digest(read, parameters)
        if digest in self._programs:
            return True
        if not any(known.startswith(EARLIER) for known in self._programs):
            return False
        given = self._open().environment.parameters
        if not says_nothing_new(self._open().program, read.program) or any(
            given.get(name) != term for name, term in parameters.items()
        ):
            return False
        self._programs.append(digest)
        return True

    def _digest(self, read: ReadProgram, parameters: Mapping[str, Term]) -> str:
        """Equal for programs that say the same, whatever their layout, with the same parameters."""
        text = print_program(read.program) + repr(sorted(parameters.items(), key=lambda item: item[0]))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

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
        """Makes a batch of updates durable without applying it, and returns their number.

        `source` names where batches come from, such as the id of a streaming query; `batch` is the number of
        the batch, and numbers of a source ascend.  A batch that is there already, or is older than one that
        is, is a duplicate: nothing is logged, and None is returned.

        With `goes_on` the first of them is not an update of its own, but more of the last one that waits:
        they are applied as one.  `contents` tell the updates of a batch from others with the same labels, for
        `seen`.
        """
        checked_batch(source, batch)
        store = self._writable("a batch of updates")
        last = self._inbox.last_batch(source)
        if last is not None and batch <= last:
            return None
        prepared = [self._prepared(update) for update in updates]
        first = self._log.logged_to + 1
        header: dict[str, object] = {
            "kind": records.UPDATES,
            "number": first,
            "source": source,
            "batch": batch,
        }
        if goes_on:
            self._check_goes_on(prepared)
            header["goes on"] = True
        if contents is not None:
            header["contents"] = contents
        place = store.place
        labels = [update.label for update in prepared]
        record = records.changes_packed(header, prepared, self._open().dictionary)
        try:
            store.append([record], "now")
        finally:
            if store.place != place:  # it is in the log, even if an exception came in between
                for number, update in enumerate(prepared, first):
                    position = Position(number, source, batch, number - first, update.label)
                    self._inbox.add(position, update, place, number, goes_on and number == first)
                    self._log.logged_to = number
                self._only_loaded = False
                self._inbox.note_batch(
                    source, batch, self._log.logged_to, labels, contents, self._log.applied_to
                )
        return len(prepared)

    def _check_goes_on(self, prepared: Sequence[EncodedUpdate]) -> None:
        waiting = self._inbox.waiting
        last = waiting[-1] if waiting else None
        if last is None or last.until != last.position.number or not prepared:
            problem = "an update cannot go on"
            why = "there is no update that waits" if last is None else "it is being applied, or there is none"
            raise UsageError(BadArgument(problem=problem, why=why, hint="log it as an update of its own"))

    @property
    @locked
    def pending(self) -> PendingUpdates:
        """The updates that are logged and not applied, in order."""
        self._open()
        return PendingUpdates(self._inbox.waiting)

    @property
    @locked
    def pending_rules(self) -> list[str]:
        """The texts of rules that these updates add."""
        self._open()
        edits = [waiting.update.rules for waiting in self._inbox.waiting]
        return [text for edit in edits for text, _ in records.edit_packed(edit)[0]]

    @locked
    def last_batch(self, source: str) -> int | None:
        """The last batch of a source that is logged."""
        self._open()
        return self._inbox.last_batch(source)

    @locked
    def last_applied(self, source: str) -> int | None:
        """The last batch of a source all of whose updates are applied or were refused."""
        self._open()
        return self._inbox.last_applied(source, self._log.applied_to)

    @locked
    def last_label(self, source: str | None = None) -> Label | None:
        """The label of the last update of a source, or of all sources, that is logged and has one."""
        self._open()
        if source is None:
            return self._inbox.last_label
        state = self._inbox.sources.get(source)
        return state.label if state is not None else None

    @locked
    def seen(self, label: Label, content: Content) -> Seen | None:
        """Whether an update with this label came in a batch, and with this content; None if that is
        forgotten, for labels are not kept for ever."""
        self._open()
        return self._inbox.labels.seen(label, content)

    @property
    @locked
    def sources(self) -> tuple[str, ...]:
        """Where batches have come from."""
        self._open()
        return tuple(self._inbox.sources)

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

        The last `keep` of them stay, to be looked at in advance when more have come.  `look_ahead`,
        `latest_only`, `strategy`, `marking`, `order` and `progress` are those of `stream`; of updates that
        are applied as one, the position is that of the last.

        With `acknowledge=False` an update counts as done only when `acknowledge` says so; until then it waits
        again after the store is reopened.  An update that violates a constraint or exceeds a limit raises, is
        refused for good, and the next call goes on after it; one that was interrupted still waits.
        """
        options = self._options_with(strategy, marking, order, look_ahead)
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
            problem = f"keep={keep!r} is not a number of updates"
            raise UsageError(BadArgument(problem=problem, why="it is 0 or more", hint="write keep=1"))
        self._writable("applying updates")
        return self._apply_all(keep, options, latest_only, acknowledge, progress)

    def _apply_all(
        self,
        keep: int,
        options: Options,
        latest_only: bool,
        acknowledge: bool,
        progress: ProgressCallback | None,
    ) -> Iterator[tuple[Position, Delta]]:
        while (done := self._apply_next(keep, options, latest_only, acknowledge, progress)) is not None:
            yield done

    @locked
    def _apply_next(
        self,
        keep: int,
        options: Options,
        latest_only: bool,
        acknowledge: bool,
        progress: ProgressCallback | None,
    ) -> tuple[Position, Delta] | None:
        """Applies what waits, which is logged already, and appends the outcome."""
        store, inbox, database = self._writable("applying updates"), self._inbox, self._open()
        count = inbox.next_count(keep, latest_only)
        if not count:
            return None
        in_sight = list(islice(inbox.waiting, count + options.look_ahead))
        taken, following = in_sight[:count], in_sight[count:]
        first, last = taken[0].first, taken[-1].position
        if count > 1 and taken[0].until != last.number:
            # Before it is applied: after a crash the same updates are to be one change again.
            store.append([as_one(first, last.number)], "now")
            for waiting in taken:
                waiting.until = last.number
        change = Change(records.UPDATES, [waiting.update for waiting in taken])
        try:
            with self._lock.at_work():
                upcoming = [waiting.update for waiting in following]
                outcome = perform(database, change, upcoming, options, progress)
        except TidalogError as error:
            if not any(isinstance(diagnostic, Interrupted) for diagnostic in error.diagnostics):
                self._log.reject(first, last.number, error)
                inbox.drop(count)
                if not inbox.delivered:
                    self._mark_done()
            raise
        faults.at("applied")
        inbox.drop(count)
        self._log.applied_to = last.number
        if acknowledge and not inbox.delivered:
            self._mark_done()
        else:
            inbox.delivered.append((first, last.number))
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
            problem = f"update {number:,} cannot be acknowledged"
            hint = "acknowledge positions that kb.apply_pending has given"
            raise UsageError(BadArgument(problem=problem, why="it is not applied yet", hint=hint))
        if self._inbox.acknowledge(number):
            self._mark_done()

    # --- snapshots ----------------------------------------------------------------------------------

    @locked
    def snapshot(self) -> int:
        """Writes a snapshot of everything that has been applied, so that opening the store begins there, and
        returns the number of the last change in it."""
        self._writable("a snapshot")
        self._check_acknowledged("a snapshot")
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
                "exports": [[exports.index(b), str(folder.absolute())] for b, folder in self._exports],
                "skipped": dict(self._skipped),
                "programs": self._programs,
                "only loaded": self._only_loaded,
                **self._inbox.to_json(self._log.applied_to),
            }
        )

    def _restore(self, snapshot: Snapshot) -> None:
        """Takes over a snapshot."""
        database, meta = self._open(), snapshot.meta
        try:
            database.restore(snapshot)
        except ProgramError as error:
            raise not_redone(self.path, snapshot.number, True, error) from error
        exports = database.program.exports
        self._exports = [(exports[index], Path(folder)) for index, folder in meta.list("exports")]
        self._skipped = Counter(meta.mapping("skipped"))
        self._log.applied_to = self._log.logged_to = snapshot.number
        self._programs = [known_digest(digest, snapshot.format) for digest in meta.list("programs")]
        self._only_loaded = bool(meta.optional("only loaded", bool))
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
        has_writer = self._log.store is None and is_locked(self.path)
        found, damaged = self._intact_snapshot(reader)
        if found is not None:
            self._restore(found[1])
        try:
            tail = reader.read(found[0] if found is not None else None)
        except StoreError as error:
            seen = [diagnostic for _, other in damaged for diagnostic in other.diagnostics]
            raise StoreError([*seen, *error.diagnostics]) from error
        if isinstance(reader, Store):
            reader.begin(tail)
        truncated = self._report_torn(reader, tail)
        redone = 0
        dictionary = self._open().dictionary
        for redo in changes_to_redo(tail.entries, self._log, self._inbox, dictionary, has_writer):
            self._redo(redo, unfinished)
            redone += len(redo.updates)
        self._only_loaded = self._only_loaded and not self._inbox.waiting
        if isinstance(reader, Store):
            for entry, problem in damaged:
                _LOG.warning("%s: an earlier snapshot and more of the log are used: %s", self.path, problem)
                reader.forget_snapshot(entry)
            self._mark_done()
        format = reader.manifest.format if found is None else found[0].format
        if isinstance(reader, Store) and format < FORMAT:
            self._migrate()
        problems = tuple(str(other) for _, other in damaged)
        number = found[0].number if found is not None else None
        migrated = format if format < FORMAT else None
        self.recovery = Recovery(number, redone, migrated, truncated, problems, time.perf_counter() - start)

    def _migrate(self) -> None:
        """Writes a snapshot in the format of today, and the log goes on in that format.  Files of the earlier
        one are read until a later snapshot replaces them."""
        _LOG.info("%s is of an earlier format; a snapshot of the format of today is written", self.path)
        self._derive_for_snapshot()
        self._snapshotter.take()

    def _intact_snapshot(
        self, reader: Store | StoreReader
    ) -> tuple[tuple[SnapshotEntry, Snapshot] | None, list[tuple[SnapshotEntry, StoreError]]]:
        """The newest intact snapshot, and those that are damaged."""
        damaged: list[tuple[SnapshotEntry, StoreError]] = []
        for entry in reader.manifest.snapshots:
            try:
                return (entry, Snapshot(self.path, entry)), damaged
            except StoreError as error:
                damaged.append((entry, error))
        return None, damaged

    def _report_torn(self, reader: Store | StoreReader, tail: LogTail) -> int:
        if tail.torn is None or not isinstance(reader, Store):
            return 0
        _LOG.warning(
            "%s: the last record was never finished (%s at byte %s); it is cut off, %s bytes",
            self.path / reader.manifest.segments[-1],
            tail.torn.why,
            f"{tail.torn.start:,}",
            f"{tail.torn_size:,}",
        )
        return tail.torn_size

    def _redo(self, redo: Redo, unfinished: Unfinished) -> None:
        """Applies a change that ended well, or was being applied when the writer ended: then it may have been
        about to be refused."""
        log, number = self._log, redo.number
        first = log.logged_to + 1
        log.logged_to = number
        if not redo.is_done and unfinished == "reject" and log.store is not None:
            log.reject(first, number, RuntimeError("the writer ended before it was applied"))
            return
        try:
            change = change_of(redo, self._open())
            perform(self._open(), change, (), self._options)
            self._note(change)
        except TidalogError as error:
            if redo.is_done or not is_refusal(error, redo):
                raise not_redone(self.path, number, redo.is_done, error) from error
            if log.store is not None:
                log.reject(first, number, error)
        log.applied_to = number


def checked_batch(source: str, batch: int) -> None:
    if not isinstance(source, str) or not source:
        problem, why = f"source={source!r} names no source", "it is the id of a query, a text"
        raise UsageError(BadArgument(problem=problem, why=why, hint='write source="orders"'))
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 0:
        problem, why = f"batch={batch!r} is no batch", "batches of a source have ascending numbers, from 0"
        raise UsageError(BadArgument(problem=problem, why=why, hint="write batch=0"))
