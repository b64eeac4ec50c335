"""Deduplication of updates that come in batches: the last labels, each with a hash of its content.

A label that comes again is the same update, or rows of it that came too late.  Only the last labels are
kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from tidalog.model.update import Label

Content = tuple[int, int]
"""The number of rows of an update and the sum of their hashes: their order does not matter, and an update
that comes in parts has the sum of its parts."""
Seen = Literal["same", "other", "never"]
"""An update came with the same content, with other content, or never."""
_MOST: Final = 10_000


class KnownLabels:
    """Invariant.  If `complete`, every label that ever came is here; else those before the first are
    forgotten, or came without a hash."""

    def __init__(self, known: Sequence[tuple[Label, int, int]] = (), *, complete: bool = True) -> None:
        self._contents: dict[Label, Content] = {label: (rows, total) for label, rows, total in known}
        self.complete = complete

    def note(self, label: Label, content: Content | None) -> None:
        """Notes an update or a part of one; without content it cannot be distinguished from another."""
        if content is None:
            self._contents.pop(label, None)
            self.complete = False
            return
        rows, total = self._contents.get(label, (0, 0))
        self._contents[label] = rows + content[0], total + content[1]
        if len(self._contents) > _MOST:
            del self._contents[next(iter(self._contents))]
            self.complete = False

    def seen(self, label: Label, content: Content) -> Seen | None:
        """Whether an update with this label came, and with this content; None if that is forgotten."""
        known = self._contents.get(label)
        if known is not None:
            return "same" if known == content else "other"
        first = next(iter(self._contents), None)
        return "never" if self.complete or (first is not None and _after(label, first)) else None

    def to_json(self) -> dict[str, object]:
        return {
            "complete": self.complete,
            "known": [[label, *content] for label, content in self._contents.items()],
        }


def _after(label: Label, first: Label) -> bool:
    return type(label) is type(first) and label > first  # type: ignore[operator]
