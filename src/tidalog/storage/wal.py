"""The write-ahead log: append the change, apply it, append the outcome.

Invariant.  Changes are applied in the order of the log.  `applied_to` is the number of the last one that was
applied or refused.  A change that fails is logged as rejected before its error is raised, so that recovery
repeats exactly what was done.  Ctrl-C waits for a safe point of the change (`engine.interrupts`): it cannot
come between applying and logging.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidalog.model.errors import StoreError
from tidalog.storage import faults
from tidalog.storage.diagnostics import ReadOnlyStore
from tidalog.storage.records import AS_ONE, DONE, REJECTED, packed
from tidalog.storage.segments import When
from tidalog.storage.store import Store


class WriteAheadLog:
    def __init__(self, path: Path, store: Store | None) -> None:
        self.path = path
        self.store = store
        """None if it is open for reading only, or closed."""
        self.logged_to = self.applied_to = 0

    def writable(self, what: str) -> Store:
        """The store, if it may be written to.  `what` is for the error."""
        if self.store is None:
            raise StoreError(ReadOnlyStore(path=self.path, what=what))
        return self.store

    @contextmanager
    def change(
        self, what: str, count: int, records: Callable[[int], list[list[bytes]]], when: When
    ) -> Iterator[None]:
        """Surrounds the code that applies `count` changes; `records` gives their log records for the first
        number."""
        store = self.writable(what)
        first, last = self.logged_to + 1, self.logged_to + count
        store.append(records(first), when)
        self.logged_to = last
        try:
            yield
        except BaseException as error:
            self.reject(first, last, error)
            raise
        faults.at("applied")
        self.applied_to = last

    def reject(self, first: int, last: int, error: BaseException) -> None:
        """Logs that changes have failed, so that recovery skips them."""
        store = self.writable("this")
        why = str(error) or type(error).__name__
        header = {"kind": REJECTED, "first": first, "last": last, "why": why}
        try:
            store.append([packed(header, {})], "now")
        except BaseException:
            store.log.give_up("that a change was refused could not be noted")
            raise
        self.applied_to = last

    def end_block(self, number: int) -> None:
        """Logs that the changes of a block, up to a number, are done; without it none of them is."""
        store = self.writable("this")
        try:
            store.append([packed({"kind": DONE, "number": number}, {})], "now")
        except BaseException:
            store.log.give_up("that a block of changes is done could not be noted")
            raise

    def mark_done(self, number: int) -> None:
        """Logs that changes up to a number are done.  If that fails, the next mark says the same."""
        with contextlib.suppress(StoreError):
            self.writable("this").append([packed({"kind": DONE, "number": number}, {})], "never")

    def sync(self) -> None:
        """Everything appended is on disk, if the policy wants that."""
        if self.store is not None:
            self.store.log.sync()


def as_one(first: int, last: int) -> list[bytes]:
    """The record which says that updates are applied as one."""
    return packed({"kind": AS_ONE, "first": first, "last": last}, {})
