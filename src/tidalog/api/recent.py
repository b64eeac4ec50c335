"""`Recent`: what was made last, by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MOST: Final = 256
"""Values that are kept."""


class Recent(Generic[K, V]):
    """Drops what was used least recently."""

    def __init__(self) -> None:
        self._known: dict[K, V] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        found = self._known.pop(key, None)
        if found is None:
            found = make()
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
        self._known[key] = found
        return found

    def clear(self) -> None:
        self._known.clear()
