"""Sources: streams whose items can be inspected, once they have arrived, before they are taken.

Invariant.  `peek(n)` shows what the next calls of `next` will return, as far as it has arrived: it changes
nothing and never waits.  An item is never None, which is what `next` returns at the end.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

CAPACITY: Final = 1024
"""How many items a source holds before a producer has to wait."""
_PATIENCE: Final = 1.0
"""How many seconds closing waits for an iterator to return."""


class SourceClosed(Exception):
    """An item was put into a closed source."""


class Source(Protocol[T_co]):
    def next(self) -> T_co | None:
        """Takes the next item, waiting for it if necessary; None if the stream has ended."""

    def peek(self, count: int) -> Sequence[T_co]:
        """The next items that have arrived, at most `count`.  Never waits, takes nothing."""

    def wait(self, seconds: float, count: int = 1) -> None:
        """Waits until `count` items have arrived, or no more can come or fit, or the time is up."""

    @property
    def ended(self) -> bool:
        """Whether `next` would return None at once.  A stream that may continue has not ended."""


class ListSource(Generic[T]):
    """A source whose items are all present from the beginning."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items
        self._at = 0

    def next(self) -> T | None:
        if self.ended:
            return None
        self._at += 1
        return self._items[self._at - 1]

    def peek(self, count: int) -> Sequence[T]:
        return self._items[self._at : self._at + max(0, count)]

    def wait(self, seconds: float, count: int = 1) -> None:
        """Returns at once: no more items will arrive."""

    @property
    def ended(self) -> bool:
        return self._at >= len(self._items)


class QueueSource(Generic[T]):
    """A source that other threads fill.  It holds at most `capacity` items; then `put` waits."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise ValueError("a queue holds at least one item")
        self.capacity: Final = capacity
        self._items: deque[T] = deque()
        self._closed = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    # --- for producers -----------------------------------------------------------------------------

    def put(self, item: T, timeout: float | None = None) -> None:
        """Adds an item; waits while the queue is full.  Raises `SourceClosed` if the source is or becomes
        closed, and `TimeoutError` if it stays full for `timeout` seconds."""
        if item is None:
            raise TypeError("None stands for the end of a stream and cannot be an item of it")
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._has_capacity(), timeout):
                raise TimeoutError(f"the queue was full for {timeout} seconds")
            if self._closed:
                raise SourceClosed("the source takes no more items")
            self._items.append(item)
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the stream; items that have arrived can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Closes the source; `next` raises the error when all items are taken.  Does nothing if the source is
        already closed."""
        with self._changed:
            if not self._closed:
                self._error, self._closed = error, True
                self._changed.notify_all()

    # --- for consumers -----------------------------------------------------------------------------

    def next(self) -> T | None:
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            if self._error is not None:
                raise self._error
            return None

    def peek(self, count: int) -> Sequence[T]:
        with self._changed:
            return tuple(islice(self._items, max(0, count)))

    def wait(self, seconds: float, count: int = 1) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._items) >= min(count, self.capacity) or self._closed, seconds
            )

    @property
    def ended(self) -> bool:
        with self._changed:
            return self._closed and not self._items and self._error is None

    def discard(self) -> None:
        """Closes the source and drops its items."""
        with self._changed:
            self._error, self._closed = None, True
            self._items.clear()
            self._changed.notify_all()

    def _has_capacity(self) -> bool:
        return len(self._items) < self.capacity


class IteratorSource(Generic[T]):
    """Items of an iterator, which a thread reads ahead: an iterator may block for any time, so `peek` cannot
    call it.  At most `capacity` items are read ahead.

    `next` raises an error of the iterator after the items before it.  The thread ends with the iterator, with
    `close`, or when the source is garbage collected; it calls the `close` of a generator.
    """

    def __init__(self, items: Iterable[T], capacity: int = CAPACITY) -> None:
        self._queue: QueueSource[T] = QueueSource(capacity)
        self._thread = threading.Thread(
            target=_pump, args=(iter(items), self._queue), name="tidalog-source", daemon=True
        )
        weakref.finalize(self, self._queue.discard)
        self._thread.start()

    def next(self) -> T | None:
        return self._queue.next()

    def peek(self, count: int) -> Sequence[T]:
        return self._queue.peek(count)

    def wait(self, seconds: float, count: int = 1) -> None:
        self._queue.wait(seconds, count)

    @property
    def ended(self) -> bool:
        return self._queue.ended

    def close(self) -> None:
        """Ends the stream and drops the items that were read ahead.  An iterator that blocks for more than a
        second is left to its thread."""
        self._queue.discard()
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _pump(items: Iterator[T], queue: QueueSource[T]) -> None:
    """Refers to the queue, not to the source, so that an unused source can be garbage collected."""
    try:
        for item in items:
            queue.put(item)
    except SourceClosed:
        pass
    except BaseException as error:
        queue.fail(error)
    finally:
        if isinstance(items, Generator):
            items.close()
        queue.close()


def source_of(items: Iterable[T]) -> ListSource[T] | IteratorSource[T]:
    """A sequence becomes a list source; a thread reads anything else ahead."""
    return ListSource(items) if isinstance(items, Sequence) else IteratorSource(items)
