"""Turns: one call of a knowledge base at a time.

The engine's arrays move while it works, so two threads may not be inside at once: the second one waits.  The
thread that is inside may not come in again while rules run (from a registered function or a callback); that
is refused, since waiting for itself would never end.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tidalog.api.diagnostics import InUse
from tidalog.model.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")


class Turns:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._at_work = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for other threads; a call inside a call of the same thread goes on."""
        with self._lock:
            if self._at_work:
                raise UsageError(InUse())
            yield

    @contextmanager
    def work(self) -> Iterator[None]:
        """While code of the user may be called that must not come back."""
        self._at_work = True
        try:
            yield
        finally:
            self._at_work = False


class HasTurns(Protocol):
    @property
    def _turns(self) -> Turns: ...


S = TypeVar("S", bound=HasTurns)


def in_turn(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that takes a turn."""

    @functools.wraps(method)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._turns.turn():
            return method(self, *args, **kwargs)

    return called
