"""Counting: every fact of a program without recursion keeps the number of its derivations.

Predicates are processed in an order in which every rule reads earlier ones.  With D the facts deleted so far
and A those added, an update subtracts from a predicate the instances over the old facts with a fact of D in
the body and adds those over the new facts with a fact of A.  No instance is both, and none is met twice: the
atoms before the pivot are matched outside D, or A.  A fact is deleted when its number is 0 and it is not
explicit.

Counters: `lost` and `gained` are instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from tidalog.model.program import Program
from tidalog.reference.fact_sets import Difference, Fact
from tidalog.reference.maintenance import Maintenance, NetUpdate, Trace, Update


class NotCountable(ValueError):
    """A program with recursive derivations."""


class Counting(Maintenance):
    COUNTERS = ("lost", "gained")

    def __init__(self, program: Program, facts: Iterable[Fact] = (), *, trace: Trace | None = None) -> None:
        super().__init__(program, facts, trace=trace)
        order: TopologicalSorter[str] = TopologicalSorter()
        for clause in self.program.clauses:
            order.add(clause.head.predicate, *(atom.predicate for atom in clause.atoms))
        try:
            self._derived = [name for name in order.static_order() if name in self._heads]
        except CycleError as error:
            raise NotCountable(f"{' → '.join(error.args[1])} is a circle") from None
        self.derivations: Counter[Fact] = Counter(i.head for i in self.program.rho(self.facts))

    @property
    def _heads(self) -> set[str]:
        return {clause.head.predicate for clause in self.program.clauses}

    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None:
        self.explicit.difference_update(update.deletions)
        self.explicit.update(update.insertions)
        D: dict[Fact, None] = {}
        A: dict[Fact, None] = {}
        given = [F for F in (*update.deletions, *update.insertions) if F[0] not in self._heads]
        self._settle(given, D, A)
        for name in self._derived:
            changed: dict[Fact, None] = {
                F: None for F in (*update.deletions, *update.insertions) if F[0] == name
            }
            old, new = Difference(self.facts, A), Difference(self.facts, D)
            for F in D:
                for instance in self.program.using(old, F, D):
                    if instance.head[0] == name:
                        self.counters["lost"] += 1
                        self.derivations[instance.head] -= 1
                        changed[instance.head] = None
            for F in A:
                for instance in self.program.using(new, F, A):
                    if instance.head[0] == name:
                        self.counters["gained"] += 1
                        self.derivations[instance.head] += 1
                        changed[instance.head] = None
            self._settle(changed, D, A)
        for F in D:
            self.facts.discard(F)
        self.derivations = +self.derivations

    def _settle(self, facts: Iterable[Fact], D: dict[Fact, None], A: dict[Fact, None]) -> None:
        """Facts whose derivations are final are deleted, added or neither."""
        for F in facts:
            if F in self.explicit or self.derivations[F] > 0:
                if self.facts.add(F):
                    A[F] = None
            elif F in self.facts:
                D[F] = None
