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
        self._logged_to = self._applied_to = 0

    @property
    def logged_to(self) -> int:
        """The number of the last change that is logged."""
        return self._logged_to

    @property
    def applied_to(self) -> int:
        """The number of the last change that was applied or refused."""
        return self._applied_to

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
        store, first = self.writable(what), self._logged_to + 1
        store.append(records(first), when)
        self._logged_to += count
        with self.outcome_of(first, self._logged_to):
            yield

    def append_batch(self, what: str, record: list[bytes], count: int) -> tuple[str, int]:
        """Logs `count` updates that are applied later, and returns the file and offset of their record."""
        start = self.writable(what).append([record], "now")
        self._logged_to += count
        return start

    def append_as_one(self, first: int, last: int) -> None:
        """Logs that updates which are logged already are applied as one."""
        self.writable("this").append([as_one(first, last)], "now")

    @contextmanager
    def outcome_of(
        self, first: int, last: int, is_refusal: Callable[[BaseException], bool] = lambda _: True
    ) -> Iterator[None]:
        """Surrounds the code that applies changes which are logged.  If it raises an error that is a refusal,
        they are rejected; after any other error they are still to be applied."""
        try:
            yield
        except BaseException as error:
            if is_refusal(error):
                self.reject(first, last, error)
            raise
        faults.at("applied")
        self._applied_to = last

    def reject(self, first: int, last: int, error: BaseException) -> None:
        """Logs that changes have failed, so that recovery skips them.  A reader only skips them."""
        why = str(error) or type(error).__name__
        header = {"kind": REJECTED, "first": first, "last": last, "why": why}
        if self.store is not None:
            _append_or_give_up(self.store, header, "that a change was refused could not be noted")
        self._applied_to = last

    def end_block(self, number: int) -> None:
        """Logs that the changes of a block, up to a number, are done; without it none of them is."""
        header = {"kind": DONE, "number": number}
        what = "that a block of changes is done could not be noted"
        _append_or_give_up(self.writable("this"), header, what)

    def mark_done(self, number: int) -> None:
        """Logs that changes up to a number are done.  If that fails, the next mark says the same."""
        with contextlib.suppress(StoreError):
            self.writable("this").append([packed({"kind": DONE, "number": number}, {})], "never")

    def sync(self) -> None:
        """Everything appended is on disk, if the policy wants that."""
        if self.store is not None:
            self.store.log.sync()

    # --- recovery -----------------------------------------------------------------------------------

    def read_to(self, number: int) -> None:
        """Changes up to a number were found in the log."""
        self._logged_to = number

    def skip_to(self, number: int) -> None:
        """Changes up to a number need not be applied: they were refused, or a snapshot has them."""
        self._logged_to = self._applied_to = number


def _append_or_give_up(store: Store, header: dict[str, object], failure: str) -> None:
    try:
        store.append([packed(header, {})], "now")
    except BaseException:
        store.log.give_up(failure)
        raise


def as_one(first: int, last: int) -> list[bytes]:
    """The record which says that updates are applied as one."""
    return packed({"kind": AS_ONE, "first": first, "last": last}, {})
