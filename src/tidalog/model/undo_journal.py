"""`UndoJournal`: how changes of Python objects are undone.

The one undo log outside the arrays of the engine, which have their own (`engine.undo_log`): a savepoint has
one, so has an edit of rules, and so has a commit of windows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MISSING: Final = object()


class UndoJournal:
    """Records how to restore what changes.  Invariant: `roll_back` restores everything that was changed only
    through the journal, or after `on_rollback`."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[Callable[[], None] | tuple[dict[Any, Any], Any, Any]] = []

    def on_rollback(self, restore: Callable[[], None]) -> None:
        """Something is about to change; this restores it, after all later changes were."""
        self._steps.append(restore)

    def put(self, entries: dict[K, V], key: K, value: V) -> None:
        self._steps.append((entries, key, entries.get(key, _MISSING)))
        entries[key] = value

    def drop(self, entries: dict[K, V], key: K) -> None:
        self._steps.append((entries, key, entries.pop(key)))

    def before(self, entries: dict[K, V]) -> dict[K, V | None]:
        """The original values of the changed entries of a dictionary; None for new entries."""
        found: dict[K, V | None] = {}
        for step in self._steps:
            if isinstance(step, tuple) and step[0] is entries and step[1] not in found:
                found[step[1]] = None if step[2] is _MISSING else step[2]
        return found

    def roll_back(self) -> None:
        """Restores everything, the last change first."""
        while self._steps:
            step = self._steps.pop()
            if not isinstance(step, tuple):
                step()
                continue
            entries, key, value = step
            if value is _MISSING:
                del entries[key]
            else:
                entries[key] = value
