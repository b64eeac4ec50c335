"""Delete/Rederive: steps DR1 to DR5 of paper 003, section 3.

`filtered` takes out the repeated derivations as the end of that section says.  In DR2 the atoms before the
pivot are matched in I \\ (O ∪ N) and those after it in I \\ O, where O = D \\ N is what earlier rounds have
processed; in DR5 the atoms before the pivot are matched in I \\ N.  Without it all atoms but the pivot are
matched in I, and an instance with several overdeleted facts in its body is derived once for each.

`derived` holds the instances of each step of the last update with how often they were derived.
Counters: `overdeleted` is |D|; DR2, DR4 and DR5 are derivations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from tidalog.model.program import Program
from tidalog.reference.fact_sets import Difference, Fact, Queryable
from tidalog.reference.instances import Instance
from tidalog.reference.maintenance import Maintenance, NetUpdate, Trace, Update


class DRed(Maintenance):
    COUNTERS = ("overdeleted", "DR2", "DR4", "DR5")

    def __init__(
        self,
        program: Program,
        facts: Iterable[Fact] = (),
        *,
        filtered: bool = True,
        trace: Trace | None = None,
    ) -> None:
        self.filtered = filtered
        self.derived: dict[str, Counter[Instance]] = {}
        super().__init__(program, facts, trace=trace)

    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None:
        self.derived = {step: Counter() for step in ("DR2", "DR4", "DR5")}
        self.explicit.difference_update(update.deletions)  # DR1
        overdeleted = self._overdelete(update.deletions)
        for fact in overdeleted:  # DR3
            self.facts.discard(fact)
        A = dict.fromkeys((*filter(self.is_given, overdeleted), *update.insertions))
        self.explicit.update(update.insertions)
        self._record("DR3", {"I": self.facts, "A": A})
        self._rederive(overdeleted, A)
        self._reinsert(A)
        self.counters["overdeleted"] = len(overdeleted)
        self.counters |= {step: instances.total() for step, instances in self.derived.items()}

    def _overdelete(self, deletions: Iterable[Fact]) -> dict[Fact, None]:
        """DR2.  D is everything with a derivation from I that uses a deleted fact."""
        A = dict.fromkeys(deletions)
        D: dict[Fact, None] = {}
        O: dict[Fact, None] = {}
        others = Difference(self.facts, O if self.filtered else ())
        while N := {fact: None for fact in A if fact not in D}:
            D |= N
            A = self._round("DR2", others, N)
            O.update(N)
            self._record("DR2", {"N": N, "D": D, "A": A})
        return D

    def _rederive(self, overdeleted: Iterable[Fact], A: dict[Fact, None]) -> None:
        """DR4: the facts of D that one rule derives from what is left of I."""
        for fact in overdeleted:
            for instance in self.program.deriving(self.facts, fact):
                self.derived["DR4"][instance] += 1
                A[instance.head] = None
        self._record("DR4", {"A": A})

    def _reinsert(self, A: dict[Fact, None]) -> None:
        """DR5: what is rederived and inserted, with all that follows."""
        while N := {fact: None for fact in A if fact not in self.facts}:
            for fact in N:
                self.facts.add(fact)
            A = self._round("DR5", self.facts, N)
            self._record("DR5", {"N": N, "A": A, "I": self.facts})

    def _round(self, step: str, others: Queryable, N: dict[Fact, None]) -> dict[Fact, None]:
        """A: the heads of rules (5) with the pivot in N and the other atoms in `others`, those before the
        pivot outside N if derivations are filtered."""
        A: dict[Fact, None] = {}
        nowhere: Container[Fact] = ()
        for fact in N:
            for instance in self.program.using(others, fact, N if self.filtered else nowhere):
                self.derived[step][instance] += 1
                A[instance.head] = None
        return A
