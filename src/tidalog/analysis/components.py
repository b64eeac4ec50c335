"""The predicate graph and its components.

An edge leads from each predicate in the body of a rule to the predicate of its head; it is negative if the
rule reads it under a negation or an aggregate.  Components are ordered by stratum and then by name, so that
the order of the rules makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key, strongly_connected, topological_order


@dataclass(frozen=True, slots=True)
class Component:
    """A strongly connected component of the predicate graph with all rules for its predicates.

    Invariant: whatever a rule of it reads is in this component or in one with a smaller index, and what it
    reads under a negation or an aggregate is in one with a smaller stratum.
    """

    index: int
    predicates: tuple[str, ...]
    rules: tuple[NormalRule, ...]
    recursive: bool
    positive: frozenset[int]
    """Other components that its rules read."""
    negative: frozenset[int]
    """Components that its rules read under a negation or an aggregate: these must be complete first."""
    stratum: int

    @property
    def depends_on(self) -> frozenset[int]:
        return self.positive | self.negative


def build_components(predicates: Iterable[str], rules: Sequence[NormalRule]) -> tuple[Component, ...]:
    names = sorted(predicates, key=natural_key)
    number = {name: at for at, name in enumerate(names)}
    successors: list[set[int]] = [set() for _ in names]
    for rule in rules:
        if rule.head is not None:
            for predicate in read_predicates(rule):
                successors[number[predicate]].add(number[rule.head.predicate])
    cycles = strongly_connected([sorted(targets) for targets in successors])
    return ordered_components([[names[member] for member in members] for members in cycles], rules)


def ordered_components(groups: Sequence[list[str]], rules: Sequence[NormalRule]) -> tuple[Component, ...]:
    """The components of rules whose predicates are already grouped, each group in natural order."""
    group_of = {name: at for at, members in enumerate(groups) for name in members}
    positive: list[set[int]] = [set() for _ in groups]
    negative: list[set[int]] = [set() for _ in groups]
    rules_of: list[list[NormalRule]] = [[] for _ in groups]
    for rule in rules:
        if rule.head is None:
            continue
        own = group_of[rule.head.predicate]
        rules_of[own].append(rule)
        for predicate, is_negative in reads(rule):
            (negative if is_negative else positive)[own].add(group_of[predicate])
    recursive = [at in positive[at] or at in negative[at] for at in range(len(groups))]
    for at in range(len(groups)):
        positive[at].discard(at)
        negative[at].discard(at)

    feeds: list[list[int]] = [[] for _ in groups]
    for at in range(len(groups)):
        for source in positive[at] | negative[at]:
            feeds[source].append(at)
    stratum = [0] * len(groups)
    for at in topological_order(feeds, lambda g: (0, ())):
        below = (stratum[s] + (s in negative[at]) for s in positive[at] | negative[at])
        stratum[at] = max(below, default=0)
    order = topological_order(feeds, lambda g: (stratum[g], natural_key(groups[g][0])))
    index = {group: at for at, group in enumerate(order)}
    return tuple(
        Component(
            at,
            tuple(groups[group]),
            tuple(rules_of[group]),
            recursive[group],
            frozenset(index[source] for source in positive[group]),
            frozenset(index[source] for source in negative[group]),
            stratum[group],
        )
        for at, group in enumerate(order)
    )


def reads(rule: NormalRule) -> Iterator[tuple[str, bool]]:
    """The predicates of a body, and whether each must be complete before the rule can be applied."""
    aggregates = bool(rule.aggregates)
    for atom in rule.atoms:
        yield atom.predicate, aggregates
    for atom in rule.negations:
        yield atom.predicate, True


def read_predicates(rule: NormalRule) -> set[str]:
    return {predicate for predicate, _ in reads(rule)}
