"""Changes of dictionaries that can be taken back, so that what is refused leaves nothing behind."""

from __future__ import annotations

from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MISSING: Final = object()


class Journal:
    """Notes what each entry was before.  Invariant: `roll_back` gives every dictionary that was changed
    through the journal, and through nothing else since, the entries it had at first."""

    def __init__(self) -> None:
        self._before: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, entries: dict[K, V], key: K, value: V) -> None:
        self._before.append((entries, key, entries.get(key, _MISSING)))
        entries[key] = value

    def drop(self, entries: dict[K, V], key: K) -> None:
        self._before.append((entries, key, entries.pop(key)))

    def before(self, entries: dict[K, V]) -> dict[K, V | None]:
        """What the changed entries of a dictionary were at first; None for those that are new."""
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
