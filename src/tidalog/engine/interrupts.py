"""Ctrl-C at safe points.

Within `at_safe_points` Ctrl-C does not raise at once.  It is noted, and raised by the next call of
`check_interrupt`, or else at the end of the block.  So a commit or a rollback and its log record are never
interrupted halfway.  `anywhere` surrounds user code, which Ctrl-C stops at once; `nowhere` what must come to
its end.

Python calls signal handlers in the main thread alone; in any other thread nothing here does anything.
"""

from __future__ import annotations

import threading

# `signal` wraps these three in look-ups of enumerations, which take several times as long.
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


class _Deferred:
    """The handler of Ctrl-C within `at_safe_points`."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.pending = False
        self.anywhere = False
        """Whether Ctrl-C is passed on at once."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.pending = True
        if self.anywhere:
            self.deliver()

    def deliver(self) -> None:
        """Passes a noted Ctrl-C on, which usually raises `KeyboardInterrupt`."""
        if self.pending:
            self.pending = self.anywhere = False
            self._handler(SIGINT, None)


_deferred: _Deferred | None = None
"""Of the main thread."""


def _of_this_thread() -> _Deferred | None:
    if _deferred is None or threading.current_thread() is not threading.main_thread():
        return None
    return _deferred


@contextmanager
def at_safe_points() -> Iterator[None]:
    """Ctrl-C waits for a safe point, or for the end of the block."""
    global _deferred
    handler = getsignal(SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or _deferred is not None or not callable(handler):
        yield
        return
    deferred = _Deferred(handler)
    signal(SIGINT, deferred)
    _deferred = deferred
    try:
        yield
    finally:
        _deferred = None
        signal(SIGINT, handler)
        deferred.deliver()


def check_interrupt() -> None:
    """A safe point: nothing is half done."""
    found = _of_this_thread()
    if found is not None:
        found.deliver()


@contextmanager
def anywhere() -> Iterator[None]:
    """Ctrl-C is passed on at once, as outside of `at_safe_points`."""
    found = _of_this_thread()
    if found is None:
        yield
        return
    found.deliver()
    found.anywhere = True
    try:
        yield
    finally:
        found.anywhere = False


@contextmanager
def nowhere() -> Iterator[None]:
    """Ctrl-C waits for a safe point after the block."""
    global _deferred
    found = _of_this_thread()
    if found is None:
        yield
        return
    _deferred = None
    try:
        yield
    finally:
        _deferred = found


def interrupt_later() -> None:
    """Ctrl-C has stopped something that others need not wait for: it is raised at the next safe point."""
    found = _of_this_thread()
    if found is not None:
        found.pending = True
