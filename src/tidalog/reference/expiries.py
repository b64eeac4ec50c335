"""When facts go, by the definition (paper 002): slow, and right by it.

T[f] is the largest of f's expiry as an explicit fact and of what its instances give it, each of which goes
with the first of its facts; the least such T.  A fact is true as long as time is before T.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidalog.model.program import Program
from tidalog.reference.fact_sets import Fact, FactSet
from tidalog.reference.instances import PositiveProgram


def expiries(program: Program, explicit: Mapping[Fact, int], now: int) -> dict[Fact, int]:
    """The expiries of all facts that are true now, by a positive program without facts."""
    rules = PositiveProgram(program)
    found = {fact: time for fact, time in explicit.items() if time > now}
    while True:
        known, changed = FactSet(found), False
        for instance in list(rules.rho(known)):
            time = min(found[fact] for fact in instance.body)
            if time > found.get(instance.head, now):
                found[instance.head], changed = time, True
        if not changed:
            return found


def is_proved(
    program: Program,
    fact: Fact,
    explicit: Mapping[Fact, int],
    order: Mapping[Fact, tuple[int, int]],
    lower: frozenset[str],
) -> bool:
    """Whether a fact is explicit until its expiry, or an instance derives it whose body comes before it.
    `order`: expiry and rank of facts; a fact of a `lower` predicate comes first among those of its expiry."""
    time, rank = order[fact]
    if explicit.get(fact) == time:
        return True

    def comes_before(other: Fact) -> bool:
        own = order[other]
        return own[0] > time or (own[0] == time and (other[0] in lower or own[1] < rank))

    return any(
        all(map(comes_before, instance.body))
        for instance in PositiveProgram(program).deriving(FactSet(order), fact)
    )
