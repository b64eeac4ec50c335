"""Positive marks for Backward/Forward: a fact that this update deletes and the next one inserts again.

The change of every update must be exact, so such a fact is deleted, with all that only it supports, and then
inserted again; what can be saved is the joins of its return.  With I0 the facts before this update, I1 those
after it, D2 those that the next update deletes from I1 and I2 those after the next update:

*  Block c meets every instance over I0 that holds a deleted fact.  If a fact is positively marked, these
   instances are kept (R).
*  Suppose that I1 ∖ I0 is empty and that the next update inserts no fact outside I0.  Then I2 ⊆ I0.  The next
   insertion starts from I1 ∖ D2.  An instance over I2 that is not one over I1 ∖ D2 holds a fact of I0 ∖ I1,
   and is in R, or a fact of D2, and is one of those that block c of the next update meets.  So the next
   insertion is the closure under both, in which an instance is applied once its whole body is there, and no
   rule is matched.
*  Otherwise an instance may hold a fact that is younger than R: R is dropped and rules are matched as usual.

The next update need not be the announced one: the suppositions are about the update that arrives.

Counters beside those of `marking`: `marks_positive` are facts of E1⁻ that the announced update inserts,
`revived` are implicit facts that a kept instance inserted; both are `insertions` as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from tidalog.reference.fact_sets import Fact
from tidalog.reference.instances import Instance
from tidalog.reference.maintenance import NetUpdate, Update, net_update
from tidalog.reference.marking import BackwardForwardMarking


class PositiveMarking(BackwardForwardMarking):
    COUNTERS = (*BackwardForwardMarking.COUNTERS, "marks_positive", "revived")

    kept: tuple[frozenset[Fact], tuple[Instance, ...]] | None = None
    """What the previous update deleted, and R."""
    lost: dict[Instance, None] | None = None
    """The instances that this update deletes facts of, if this or the previous update has positive marks."""

    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None:
        before = set(self.facts)
        positive = (
            set(net_update(upcoming[0], self.explicit - set(update.deletions)).insertions)
            if upcoming
            else set()
        )
        positive &= set(update.deletions)
        self.lost = {} if positive or self.kept is not None else None
        super()._maintain(update, upcoming)
        self.counters["marks_positive"] = len(positive)
        self.kept = None
        if positive and self.lost is not None and self.materialisation <= before:
            self.kept = frozenset(before - self.materialisation), tuple(self.lost)

    def _finish_deletions(self, insertions: Sequence[Fact]) -> None:
        """Block e, before which I0 is still whole: block c has met these instances one by one."""
        if self.lost is not None:
            for F in self.D:
                self.lost |= dict.fromkeys(self.program.using(self.facts, F))
        super()._finish_deletions(insertions)

    def _insert(self, facts: Iterable[Fact], derived: Callable[[Instance], None]) -> None:
        new = tuple(facts)
        if self.kept is None or not self.kept[0].issuperset(new):
            super()._insert(new, derived)
            return
        waiting = deque(F for F in new if self.facts.add(F))
        to_come = set(waiting)
        kept = (*self.kept[1], *(self.lost or ()))
        missing = [{F for F in instance.body if F not in self.facts or F in to_come} for instance in kept]
        holding: dict[Fact, list[int]] = {}
        for number, absent in enumerate(missing):
            for F in absent:
                holding.setdefault(F, []).append(number)
        while waiting:
            F = waiting.popleft()
            for number in holding.get(F, ()):
                missing[number].discard(F)
                instance = kept[number]
                if not missing[number] and self.facts.add(instance.head):
                    self.counters["revived"] += 1
                    derived(instance)
                    waiting.append(instance.head)
