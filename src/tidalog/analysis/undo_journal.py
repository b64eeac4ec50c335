"""An undo log for dictionaries: a refused edit leaves no trace."""

from __future__ import annotations

from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MISSING: Final = object()


class Journal:
    """Records the old value of each entry.  Invariant: `roll_back` restores every dictionary that was changed
    only through the journal."""

    def __init__(self) -> None:
        self._before: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, entries: dict[K, V], key: K, value: V) -> None:
        self._before.append((entries, key, entries.get(key, _MISSING)))
        entries[key] = value

    def drop(self, entries: dict[K, V], key: K) -> None:
        self._before.append((entries, key, entries.pop(key)))

    def before(self, entries: dict[K, V]) -> dict[K, V | None]:
        """The original values of the changed entries of a dictionary; None for new entries."""
        found: dict[K, V | None] = {}
        for changed, key, value in self._before:
            if changed is entries and key not in found:
                found[key] = None if value is _MISSING else value
        return found

    def roll_back(self) -> None:
        while self._before:
            entries, key, value = self._before.pop()
            if value is _MISSING:
                del entries[key]
            else:
                entries[key] = value
