"""What the papers' algorithms have in common: explicit facts, their materialisation, updates and counters.

Invariant between two updates: `facts` is the least model of the program over `explicit`.  Explicit and
implicit are properties of facts, not of predicates: a fact may be explicit and derivable at once, and one
that stops being explicit stays if it is still derivable.

An update is a pair (deletions, insertions).  A fact in both halves ends up explicit, deleting what is not
explicit does nothing, and so does inserting what is.  An update given as sequences keeps its order; sets are
sorted first, so that counters that depend on the order of work are the same in every process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass
from typing import ClassVar

from tidalog.model.program import Program
from tidalog.model.terms import sort_key
from tidalog.reference.clauses import explicit_facts
from tidalog.reference.fact_sets import Difference, Fact, FactSet
from tidalog.reference.instances import Instance, PositiveProgram

Update = tuple[Collection[Fact], Collection[Fact]]
Trace = list[tuple[str, Mapping[str, frozenset[Fact]]]]
"""What happened, in order: the name of a block or step, and the sets right after it."""


@dataclass(frozen=True, slots=True)
class NetUpdate:
    """(E⁻, E⁺) with E⁻ ⊆ E and E⁺ ∩ E = ∅."""

    deletions: tuple[Fact, ...]
    insertions: tuple[Fact, ...]


def in_order(facts: Collection[Fact]) -> tuple[Fact, ...]:
    """Each fact once: sequences as they are, sets sorted."""
    if isinstance(facts, AnySet):
        return tuple(sorted(facts, key=lambda fact: (fact[0], *map(sort_key, fact[1]))))
    return tuple(dict.fromkeys(facts))


def net_update(update: Update, explicit: AnySet[Fact]) -> NetUpdate:
    """What an update does to these explicit facts."""
    deletions, insertions = map(in_order, update)
    inserted = set(insertions)
    return NetUpdate(
        tuple(fact for fact in deletions if fact in explicit and fact not in inserted),
        tuple(fact for fact in insertions if fact not in explicit),
    )


class Maintenance(ABC):
    """Maintains the materialisation of a positive program under a stream of updates."""

    COUNTERS: ClassVar[tuple[str, ...]]

    def __init__(self, program: Program, facts: Iterable[Fact] = (), *, trace: Trace | None = None) -> None:
        self.program = PositiveProgram(program)
        text = ((name, row) for name, rows in explicit_facts(program, {}).items() for row in rows)
        self.explicit: set[Fact] = {*text, *facts}
        self.facts = FactSet()
        self.trace = trace
        self.counters = dict.fromkeys(self.COUNTERS, 0)
        """Of the last update."""
        self.totals = dict.fromkeys(self.COUNTERS, 0)
        """Of all updates; the facts given at the start are not an update."""
        self._insert(in_order(self.explicit | self.program.axioms), lambda instance: None)

    @property
    def materialisation(self) -> set[Fact]:
        return set(self.facts)

    def apply(self, update: Update, upcoming: Sequence[Update] = ()) -> None:
        """Brings the materialisation up to date.  `upcoming` are the updates that are announced next; they
        may change the work but never the result, even if another update comes instead."""
        self.counters = dict.fromkeys(self.COUNTERS, 0)
        self._maintain(net_update(update, self.explicit), upcoming)
        for name, count in self.counters.items():
            self.totals[name] += count

    @abstractmethod
    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None: ...

    def is_given(self, fact: Fact) -> bool:
        """Whether the fact needs no derivation."""
        return fact in self.explicit or fact in self.program.axioms

    def _insert(self, facts: Iterable[Fact], derived: Callable[[Instance], None]) -> None:
        """Adds facts and all that follows, one fact at a time in order of arrival.

        `waiting` are the facts of I that are not yet processed.  An instance is met when the last of its body
        facts is processed, so each is met once; `derived` is called for those that add their head.
        """
        waiting = deque(fact for fact in facts if self.facts.add(fact))
        not_yet = set(waiting)
        done = Difference(self.facts, not_yet)
        while waiting:
            fact = waiting.popleft()
            not_yet.discard(fact)
            for instance in tuple(self.program.using(done, fact)):
                if self.facts.add(instance.head):
                    derived(instance)
                    waiting.append(instance.head)
                    not_yet.add(instance.head)

    def _record(self, name: str, sets: Mapping[str, Iterable[Fact]]) -> None:
        if self.trace is not None:
            self.trace.append((name, {symbol: frozenset(facts) for symbol, facts in sets.items()}))
