"""Sources: a stream of items, of which those that have arrived can be seen before they are taken.

Invariant.  `peek(n)` is what the next calls of `next` will give, as far as it has arrived: looking changes
nothing, and never waits.  An item is never None, which is what `next` gives at the end.
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
"""Items that wait in a source before a producer has to wait."""
_PATIENCE: Final = 1.0
"""Seconds that closing waits for an iterator to come back from what it is doing."""


class SourceClosed(Exception):
    """An item was put into a source that takes no more."""


class Source(Protocol[T_co]):
    def next(self) -> T_co | None:
        """Takes the next item, and waits until there is one; None if the stream has ended."""

    def peek(self, count: int) -> Sequence[T_co]:
        """The next items that are there now, `count` at most.  Never waits, takes nothing."""

    def wait(self, seconds: float, count: int = 1) -> None:
        """Waits until `count` items are there, or no more can come or fit, or the time is up."""

    @property
    def ended(self) -> bool:
        """Whether `next` would give None at once.  A stream that may go on has not ended."""


class ListSource(Generic[T]):
    """Items that are all there from the beginning."""

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
        """What is not there will never be."""

    @property
    def ended(self) -> bool:
        return self._at >= len(self._items)


class QueueSource(Generic[T]):
    """Items that other threads put.  At most `capacity` of them wait; then `put` waits too."""

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
        """Adds an item; waits while the queue is full.  Raises `SourceClosed` if it was closed, before or
        meanwhile, and `TimeoutError` if there was no capacity within `timeout` seconds."""
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
        """No more items will come; those that are there can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Closes the source; `next` raises the error when all items are taken.  One that is closed already
        has ended well."""
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
        """Closes the source and forgets what is in it."""
        with self._changed:
            self._error, self._closed = None, True
            self._items.clear()
            self._changed.notify_all()

    def _has_capacity(self) -> bool:
        return len(self._items) < self.capacity


class IteratorSource(Generic[T]):
    """Items of an iterator, which a thread reads ahead: asking an iterator may take any time, so looking at
    what is there cannot ask it.  At most `capacity` items wait.

    An error of the iterator is raised by `next` after the items that came before it.  The thread ends with
    the iterator, with `close`, or when the source is garbage collected; it calls the `close` of a generator.
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
        """Ends the stream here and forgets what was read ahead.  An iterator that is waiting for something
        just then is left to its thread after a second."""
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
    """Holds the queue alone, not the source, so that a forgotten source can go."""
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
    """A sequence is all there; anything else is read ahead by a thread."""
    return ListSource(items) if isinstance(items, Sequence) else IteratorSource(items)
