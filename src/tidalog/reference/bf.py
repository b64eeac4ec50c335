"""Backward/Forward: Algorithms 1 to 3 of paper 003, section 4, and insertion.

Lines are those of the paper.  What differs:

*  The recursion of Algorithm 2 is a stack of suspended calls, one iterator over body facts for each.
*  Line 19 is asked after every match of a body, so that nothing is looked for once F is proved.
*  Facts that a rule without atoms derives count as explicit; no update deletes them.

By Theorem 1 no instance is met twice in lines 9 and 27 together; `derived` keeps the instances of the last
update so that this can be tested.  Counters: `checked` is |C|; `backward` counts the matches of line 16,
`saturation` those of line 26, `propagation` those of line 8, `insertions` implicit facts inserted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from tidalog.reference.fact_sets import Difference, Fact, FactSet
from tidalog.reference.instances import Instance
from tidalog.reference.maintenance import Maintenance, NetUpdate, Update


class SetWithNext(FactSet):
    """A set of facts with the paper's `X.next`: each fact is handed out once, in order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._fresh: deque[Fact] = deque()

    def add(self, fact: Fact) -> bool:
        added = super().add(fact)
        if added:
            self._fresh.append(fact)
        return added

    def next(self) -> Fact | None:
        return self._fresh.popleft() if self._fresh else None


class BackwardForward(Maintenance):
    COUNTERS = ("checked", "backward", "saturation", "propagation", "insertions")

    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None:
        self._delete(update.deletions)
        self.explicit.update(update.insertions)
        self._insert(update.insertions, self._count_insertion)

    def _count_insertion(self, instance: Instance) -> None:
        self.counters["insertions"] += 1

    def _delete(self, deletions: Sequence[Fact]) -> None:
        """Algorithm 1."""
        self.C, self.D, self.P = SetWithNext(), SetWithNext(), SetWithNext()  # line 1
        self.V, self.Y, self.O, self.S = FactSet(), FactSet(), FactSet(), FactSet()
        self.derived: list[Instance] = []
        for F in deletions:  # line 2
            self.explicit.discard(F)
            self.D.add(F)
        unprocessed = Difference(self.facts, self.O)
        while (F_or_none := self.D.next()) is not None:  # line 3
            F = F_or_none
            self._check_provability(F)  # line 4
            for G in self.C:  # line 5
                if G not in self.P:
                    self.S.add(G)
            if F not in self.P:  # line 6
                for instance in self.program.using(unprocessed, F):  # lines 7 and 8
                    self.counters["propagation"] += 1
                    self.derived.append(instance)
                    self.D.add(instance.head)  # line 9
                self.O.add(F)  # line 10
            self._record("Algorithm 1", {symbol: getattr(self, symbol) for symbol in "CDPVYOS"})
        for F in self.D:  # line 11
            if F not in self.P:
                self.facts.discard(F)
        self.counters["checked"] = len(self.C)

    def _check_provability(self, F: Fact) -> None:
        """Algorithm 2.  An entry of `calls` is a call that waits in line 18: the body facts it still has to
        check, which ends early once its fact is proved."""
        calls: list[Iterator[Fact]] = [iter((F,))]
        while calls:
            called = next(calls[-1], None)
            if called is None:
                calls.pop()
            elif self.C.add(called):  # line 12
                self._saturate()  # line 13
                if called not in self.P:  # line 14
                    calls.append(self._body_facts(called))

    def _body_facts(self, F: Fact) -> Iterator[Fact]:
        """Lines 15 to 19: the facts for which line 18 is reached, while F is not proved."""
        for instance in self.program.deriving(Difference(self.facts, self.S), F):  # lines 15 and 16
            self.counters["backward"] += 1
            yield from instance.body  # lines 17 and 18
            if F in self.P:  # line 19
                return

    def _saturate(self) -> None:
        """Algorithm 3.  Afterwards P holds every fact of C with a proof whose inner facts are in C."""
        while (F := self.C.next()) is not None:  # line 20
            if self.is_given(F) or F in self.Y:  # line 21
                self.P.add(F)  # line 22
        while (F := self.P.next()) is not None:  # line 23
            if self.V.add(F):  # line 24
                for instance in self.program.using(self.V, F):  # lines 25 and 26
                    self.counters["saturation"] += 1
                    self.derived.append(instance)
                    if instance.head in self.C:  # lines 27 and 28
                        self.P.add(instance.head)
                    else:
                        self.Y.add(instance.head)  # line 29
