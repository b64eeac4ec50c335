"""`StoreJournal`: what a store keeps of the changes of its knowledge base.

A live change is appended to the log, applied, and its outcome appended; recovery reads the log and applies
the same changes.  Programs that were loaded are known by their digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tidalog.api.change import Change
from tidalog.api.change_records import EARLIER, records_of
from tidalog.api.database import Database
from tidalog.api.sources import ReadProgram, says_nothing_new
from tidalog.lang import print_program
from tidalog.model.terms import Term
from tidalog.storage.inbox import Inbox
from tidalog.storage.records import LOAD, QUERIES
from tidalog.storage.segments import When
from tidalog.storage.snapshotter import Snapshotter
from tidalog.storage.wal import WriteAheadLog


class StoreJournal:
    def __init__(
        self, log: WriteAheadLog, inbox: Inbox, snapshotter: Snapshotter, opened: Callable[[], Database]
    ) -> None:
        self._log, self._inbox, self._snapshotter, self._opened = log, inbox, snapshotter, opened
        self._in_block = False
        self.programs: list[str] = []
        """Digests of the programs that were loaded."""
        self.only_loaded = True
        """Whether only loads of programs have changed the store."""

    # --- changes ------------------------------------------------------------------------------------

    @contextmanager
    def change(self, change: Change, when: When) -> Iterator[None]:
        """Write-ahead: append the change, apply it, append the outcome."""
        dictionary = self._opened().dictionary
        self._log.writable(change.name)
        self._inbox.check_empty(change.name)
        count = len(change.updates)
        in_block = self._in_block

        def records(number: int) -> list[list[bytes]]:
            return records_of(change, number, dictionary, in_block=in_block)

        with self._log.change(change.name, count, records, when):
            yield
        if not self._in_block:
            self.mark_done()

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """If changes fail together, all of them are logged as rejected.  They are done when the last of them
        is: after a crash before that, none of them is applied again.  Some of them may fail by themselves."""
        first, kept = self._log.logged_to + 1, ([*self.programs], self.only_loaded)
        around, self._in_block = self._in_block, True
        try:
            yield
        except BaseException as error:
            if self._log.logged_to >= first:
                self._log.reject(first, self._log.logged_to, error)
            self.programs, self.only_loaded = kept
            raise
        finally:
            self._in_block = around
        if not around and self._log.logged_to >= first:
            self._log.end_block(self._log.applied_to)
            self.mark_done()

    def note(self, change: Change) -> None:
        if change.kind == LOAD:
            self.programs.append(change.digest)
        elif change.kind != QUERIES:
            self.only_loaded = False

    def flush(self) -> None:
        self._log.sync()

    def mark_done(self) -> None:
        """Logs what is done, which is a safe point for a snapshot."""
        self._log.mark_done(self._inbox.done_to(self._log.applied_to))
        if not self._inbox.delivered and self._opened().run is not None and self._snapshotter.is_due:
            self._snapshotter.take_in_background()

    # --- programs -----------------------------------------------------------------------------------

    def has(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        """Whether a program was loaded.  Of those that were loaded in an earlier format no digest of today is
        known: then a program that would add nothing to the rules is one of them."""
        digest = digest_of(read, parameters)
        if digest in self.programs:
            return True
        if not any(known.startswith(EARLIER) for known in self.programs):
            return False
        database = self._opened()
        given = database.environment.parameters
        if not says_nothing_new(database.program, read.program) or any(
            given.get(name) != term for name, term in parameters.items()
        ):
            return False
        self.programs.append(digest)
        return True


def digest_of(read: ReadProgram, parameters: Mapping[str, Term]) -> str:
    """Equal for programs that say the same, whatever their layout, with the same parameters."""
    text = print_program(read.program) + repr(sorted(parameters.items(), key=lambda item: item[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
