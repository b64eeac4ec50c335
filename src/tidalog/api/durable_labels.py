"""What a store remembers of updates that came in batches: their labels, and what tells their content.

Whoever sees a label again can tell an update that comes twice from rows that came too late to be in it.  Only
so many labels are remembered, the last ones; of those before them nobody knows any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from tidalog.model.update import Label

Content = tuple[int, int]
"""Of the rows of an update: how many, and a sum of hashes, so that their order does not matter and an update
that goes on has the sum of its parts."""
Seen = Literal["same", "other", "never"]
"""An update has come with the same content, with another, or never."""
_MOST: Final = 10_000


class KnownLabels:
    """Invariant.  If `complete`, every label that there has been is here; else those before the first are
    forgotten, or were never told."""

    def __init__(self, known: Sequence[tuple[Label, int, int]] = (), *, complete: bool = True) -> None:
        self._contents: dict[Label, Content] = {label: (rows, total) for label, rows, total in known}
        self.complete = complete

    def note(self, label: Label, content: Content | None) -> None:
        """An update has come, or goes on; with no content, nothing will tell it from another."""
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
        """Whether an update with this label has come, with this content; None if nobody knows any more."""
        known = self._contents.get(label)
        if known is not None:
            return "same" if known == content else "other"
        first = next(iter(self._contents), None)
        return "never" if self.complete or (first is not None and _behind(label, first)) else None

    def to_json(self) -> dict[str, object]:
        return {
            "complete": self.complete,
            "known": [[label, *content] for label, content in self._contents.items()],
        }


def _behind(label: Label, first: Label) -> bool:
    return type(label) is type(first) and label > first  # type: ignore[operator]
