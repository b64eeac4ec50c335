"""The lock of a knowledge base: one call at a time.

The arrays of the engine move while it works, so a second thread waits for the first.  The thread that holds
the lock may call again, except while rules run (from a registered function or a progress callback): that is
refused.  What is to happen `after` a call, such as calling subscribers, happens when the lock is free again.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tidalog.api.diagnostics import InUse
from tidalog.engine.interrupts import at_safe_points
from tidalog.model.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Lock:
    def __init__(self, after: Callable[[], None] = lambda: None) -> None:
        self._lock = threading.RLock()
        self._after = after
        self._depth = 0
        self._at_work = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Waits for other threads.  Raises `UsageError` while rules run."""
        is_last = False
        try:
            with self._lock:
                if self._at_work:
                    raise UsageError(InUse())
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                    is_last = self._depth == 0
        finally:
            if is_last:
                self._after()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While a change is applied or rules run: functions of the user must not call back, and Ctrl-C waits
        for a safe point."""
        with at_safe_points():
            before, self._at_work = self._at_work, True
            try:
                yield
            finally:
                self._at_work = before

    def run(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls a function under the lock."""
        with self.held():
            return call(*args, **kwargs)


class HasLock(Protocol):
    @property
    def _lock(self) -> Lock: ...


S = TypeVar("S", bound=HasLock)


def locked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Runs under the knowledge base's lock."""

    @functools.wraps(method)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock.held():
            return method(self, *args, **kwargs)

    return called
