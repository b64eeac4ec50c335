"""Look-ahead: the items that are known to come next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from tidalog.stream.source import Source

T = TypeVar("T")


def upcoming(source: Source[T], count: int, wait: float = 0.0) -> Sequence[T]:
    """The next items of a source, at most `count`, without taking them.

    Waits at most `wait` seconds, until `count` items have arrived or the stream has ended.
    """
    if count <= 0:
        return ()
    if wait > 0:
        source.wait(wait, count)
    return source.peek(count)


class FirstAlone(Generic[T]):
    """A source that shows nothing while its first item is processed, as for a reader that starts with what
    there is and looks for more only afterwards."""

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
