"""Look-ahead: the items that are known to come next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

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
