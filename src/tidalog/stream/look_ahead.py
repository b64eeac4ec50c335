"""Look-ahead: the items that are known to come next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from tidalog.stream.source import Source

T = TypeVar("T")


def upcoming(source: Source[T], count: int, wait: float = 0.0) -> Sequence[T]:
    """The next items of a source, `count` at most, without taking them.

    What is not there is not waited for, unless `wait` says for how many seconds; and then no longer than it
    takes `count` of them to arrive or the stream to end.
    """
    if count <= 0:
        return ()
    if wait > 0:
        source.wait(wait, count)
    return source.peek(count)


class FirstAlone(Generic[T]):
    """A source of which nothing is seen while its first item is at work: as for a reader who starts with what
    there is, and finds out only then that there is more."""

    def __init__(self, source: Source[T]) -> None:
        self._source = source
        self._taken = 0

    def next(self) -> T | None:
        self._taken += 1
        return self._source.next()

    def peek(self, count: int) -> Sequence[T]:
        return self._source.peek(count) if self._taken > 1 else ()

    def wait(self, seconds: float, count: int = 1) -> None:
        if self._taken > 1:
            self._source.wait(seconds, count)

    @property
    def ended(self) -> bool:
        return self._source.ended
