"""`linked`: links from a fact to the explicit facts of the instance that last produced or proved it.

A fact counts as marked once one of its links is to a DELETED_NEXT fact, however old the link is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tidalog.engine.emit import LINK
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.marks.base import Offsets
from tidalog.maintain.marks.next_update import NextUpdateMarks
from tidalog.maintain.marks.pairs import facts_of, heads_of
from tidalog.model.facts import Ids


@dataclass
class Links:
    """Both ways, one fact at a time: this kind of marks is for comparison, not for speed."""

    facts_of: dict[int, list[int]] = field(default_factory=dict)
    heads_of: dict[int, dict[int, None]] = field(default_factory=dict)

    def add(self, facts: Offsets, heads: Offsets) -> None:
        """The pairs that an update noted, in order: (0, head) drops what is known about a head."""
        for fact, head in zip(facts.tolist(), heads.tolist(), strict=True):
            if fact == 0:
                self.forget(head)
                self.facts_of[head] = []
            else:
                self.facts_of[head].append(fact)
                self.heads_of.setdefault(fact, {})[head] = None

    def forget(self, head: int) -> None:
        for fact in self.facts_of.pop(head, ()):
            heads = self.heads_of.get(fact)
            if heads is not None:
                heads.pop(head, None)
                if not heads:
                    del self.heads_of[fact]

    def heads_of_all(self, facts: Offsets) -> Offsets:
        heads = dict.fromkeys(head for fact in facts.tolist() for head in self.heads_of.get(fact, ()))
        return np.array(list(heads), np.uint32)

    def moved(self, before: Offsets, now: Offsets) -> Links:
        """The same links, of facts whose rows have moved."""
        result = Links()
        if not self.facts_of:
            return result
        new_offset = dict(zip(before.tolist(), now.tolist(), strict=True))
        for head, facts in self.facts_of.items():
            if head in new_offset:
                kept = [new_offset[fact] for fact in facts if fact in new_offset]
                result.facts_of[new_offset[head]] = kept
                for fact in kept:
                    result.heads_of.setdefault(fact, {})[new_offset[head]] = None
        return result


class LinkedMarks(NextUpdateMarks):
    name: ClassVar[str] = "linked"
    observes: ClassVar[int] = LINK

    def __init__(self, engine: EmbeddedEngine, look_ahead: int, *, sparing: bool = False) -> None:
        super().__init__(engine, look_ahead, sparing=sparing)
        self._links = Links()

    def observed(self, component: MaintainedComponent) -> int:
        return self.observes

    def _marked_heads(self, deleted_next: Offsets) -> Offsets:
        pairs = self.engine.log.pairs
        self._links.add(facts_of(pairs), heads_of(pairs))
        return self._links.heads_of_all(deleted_next)

    def finished(self, deleted: Ids) -> None:
        for offset in self._offsets(deleted).tolist():
            self._links.forget(offset)

    def rows_have_moved(self, before: Offsets, now: Offsets) -> None:
        super().rows_have_moved(before, now)
        if len(before):
            self._links = self._links.moved(before, now)
