"""Links of linked marks: implicit fact → explicit facts of the instance that produced or last proved it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidalog.maintain.marks.pairs import Places


@dataclass
class Links:
    """Both ways.  Kept by hand, one fact at a time: this kind of marks is for comparison, not for speed."""

    facts_of: dict[int, list[int]] = field(default_factory=dict)
    heads_of: dict[int, dict[int, None]] = field(default_factory=dict)

    def take(self, facts: Places, heads: Places) -> None:
        """Notes of an update in order: (0, head) begins what is known about a head anew."""
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

    def heads_of_all(self, facts: Places) -> Places:
        heads = dict.fromkeys(head for fact in facts.tolist() for head in self.heads_of.get(fact, ()))
        return np.array(list(heads), np.uint32)

    def moved(self, before: Places, now: Places) -> Links:
        """The same links of facts that have new places."""
        result = Links()
        if not self.facts_of:
            return result
        place_of = dict(zip(before.tolist(), now.tolist(), strict=True))
        for head, facts in self.facts_of.items():
            if head in place_of:
                kept = [place_of[fact] for fact in facts if fact in place_of]
                result.facts_of[place_of[head]] = kept
                for fact in kept:
                    result.heads_of.setdefault(fact, {})[place_of[head]] = None
        return result
