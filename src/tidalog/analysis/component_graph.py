"""Components of the predicate graph that are kept in step with its rules.

A component has a *place*; what a rule reads stands in a component of a smaller place or in that of its head.
Places are tuples in lexicographic order.  They change only where a new edge points backwards: the search for
a cycle goes forward from the rule's head and backward from what the rule reads, and never leaves the places
between the two (Pearce and Kelly, 2006, with cycles merged instead of refused).  A component that falls apart
gives its place to its pieces, each with one more number behind it.

The edges are not kept: they are read off the rules that derive and read a predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Final

from tidalog.analysis.components import read_predicates
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key, strongly_connected
from tidalog.analysis.undo_journal import Journal

Place = tuple[int, ...]

LONGEST_PLACE: Final = 24
"""Splitting the same predicates again and again makes places longer; beyond this all get new ones."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A component as it stands; `number` is kept for as long as the component is neither merged into one
    with a smaller number nor, on a split, left with the fewer predicates."""

    number: int
    predicates: frozenset[str]
    place: Place


class ComponentGraph:
    """Invariant: the clusters are the strongly connected components of the graph with an edge from each
    predicate that a rule reads to the predicate of its head, and their places are a topological order."""

    def __init__(self) -> None:
        self.rules: dict[str, NormalRule] = {}
        self.derivers: dict[str, dict[str, None]] = {}
        """predicate → names of the rules with it in their head."""
        self.readers: dict[str, dict[str, None]] = {}
        """predicate → names of the rules with it in their body, constraints too."""
        self.clusters: dict[int, Cluster] = {}
        self.cluster_of: dict[str, int] = {}
        self._counters: dict[str, int] = {"cluster": 0, "front": 0, "back": 0}
        self._journal = Journal()

    def load(self, rules: Iterable[NormalRule], groups: Iterable[Iterable[str]]) -> None:
        """The components of a fixed program, in an order in which they can be evaluated."""
        for rule in rules:
            self.rules[rule.name] = rule
            for predicate in read_predicates(rule):
                self.readers.setdefault(predicate, {})[rule.name] = None
            if rule.head is not None:
                self.derivers.setdefault(rule.head.predicate, {})[rule.name] = None
        for predicates in groups:
            number = self._count("cluster")
            self._put(Cluster(number, frozenset(predicates), (self._count("back"),)))

    # --- looking ------------------------------------------------------------------------------------

    def loops(self, rule: NormalRule) -> bool:
        """Whether a rule reads its own component, so that it belongs to the hyper-node that goes round."""
        if rule.head is None:
            return False
        own = self.cluster_of[rule.head.predicate]
        return any(self.cluster_of[p] == own for p in read_predicates(rule))

    def rules_of(self, cluster: Cluster) -> Iterator[NormalRule]:
        for predicate in cluster.predicates:
            for name in self.derivers.get(predicate, ()):
                yield self.rules[name]

    def above(self, number: int) -> Iterator[int]:
        """The clusters that read this one, itself perhaps among them; with repetitions."""
        for predicate in self.clusters[number].predicates:
            for name in self.readers.get(predicate, ()):
                head = self.rules[name].head
                if head is not None:
                    yield self.cluster_of[head.predicate]

    def below(self, number: int) -> Iterator[int]:
        """The clusters that this one reads, itself perhaps among them; with repetitions."""
        for rule in self.rules_of(self.clusters[number]):
            for predicate in read_predicates(rule):
                yield self.cluster_of[predicate]

    # --- changing -----------------------------------------------------------------------------------

    def add_predicate(self, predicate: str, first: bool) -> None:
        """A predicate that no rule has yet.  Where it is put decides no more than how long a later search
        takes: what is only read stands well before all others, what is derived behind them."""
        if predicate in self.cluster_of:
            return
        number = self._count("cluster")
        place = (-self._count("front"),) if first else (self._count("back"),)
        self._put(Cluster(number, frozenset([predicate]), place))

    def drop_predicate(self, predicate: str) -> None:
        """Forgets a predicate that no rule has any more."""
        number = self.cluster_of[predicate]
        assert len(self.clusters[number].predicates) == 1, "what no rule has is in no cycle"
        self._journal.drop(self.clusters, number)
        self._journal.drop(self.cluster_of, predicate)
        for rules in (self.derivers, self.readers):
            if predicate in rules:
                self._journal.drop(rules, predicate)

    def add_rule(self, rule: NormalRule) -> frozenset[int]:
        """Adds a rule.  Gives the numbers of the clusters that it merged, of which the smallest goes on;
        none if it merged none."""
        put = self._journal.put
        reads = read_predicates(rule)
        put(self.rules, rule.name, rule)
        for predicate in sorted(reads, key=natural_key):
            self.add_predicate(predicate, first=True)
            put(self.readers.setdefault(predicate, {}), rule.name, None)
        if rule.head is None:
            return frozenset()
        self.add_predicate(rule.head.predicate, first=False)
        put(self.derivers.setdefault(rule.head.predicate, {}), rule.name, None)
        return self._restore_order(self.cluster_of[rule.head.predicate], {self.cluster_of[p] for p in reads})

    def remove_rule(self, name: str) -> NormalRule:
        """Removes a rule; `split` looks at what that leaves of its component."""
        drop = self._journal.drop
        rule = self.rules[name]
        for predicate in read_predicates(rule):
            drop(self.readers[predicate], name)
        if rule.head is not None:
            drop(self.derivers[rule.head.predicate], name)
        drop(self.rules, name)
        return rule

    def split(self, number: int) -> tuple[int, ...]:
        """Looks for cycles anew inside one cluster; the numbers of what it is now, in topological order."""
        cluster = self.clusters[number]
        members = sorted(cluster.predicates, key=natural_key)
        at = {predicate: index for index, predicate in enumerate(members)}
        successors: list[list[int]] = [[] for _ in members]
        for rule in self.rules_of(cluster):
            assert rule.head is not None
            for predicate in read_predicates(rule) & cluster.predicates:
                successors[at[predicate]].append(at[rule.head.predicate])
        pieces = strongly_connected(successors)[::-1]
        if len(pieces) == 1:
            return (number,)
        largest = max(range(len(pieces)), key=lambda index: len(pieces[index]))
        numbers: list[int] = []
        for index, piece in enumerate(pieces):
            own = number if index == largest else self._count("cluster")
            numbers.append(own)
            self._put(Cluster(own, frozenset(members[m] for m in piece), (*cluster.place, index)))
        if len(cluster.place) >= LONGEST_PLACE:
            self._shorten_places()
        return tuple(numbers)

    def begin(self) -> Journal:
        """What follows is noted in a journal of its own."""
        self._journal = Journal()
        return self._journal

    # --- order --------------------------------------------------------------------------------------

    def _restore_order(self, head: int, sources: Set[int]) -> frozenset[int]:
        """Makes the places right again after a rule that leads from `sources` to `head` was added."""
        clusters = self.clusters
        low = clusters[head].place
        behind = [source for source in sources if clusters[source].place > low]
        if not behind:
            return frozenset()
        high = max(clusters[source].place for source in behind)
        forward = _reach([head], self.above, lambda number: clusters[number].place <= high)
        backward = _reach(behind, self.below, lambda number: clusters[number].place >= low)
        cycle = forward & backward
        places = sorted(clusters[number].place for number in forward | backward)

        def by_place(numbers: Iterable[int]) -> list[int]:
            return sorted(numbers, key=lambda number: clusters[number].place)

        before, after = by_place(backward - cycle), by_place(forward - cycle)
        # The ones before move only towards the front and the ones after only towards the back, so that
        # whatever stands outside the places of the search is still on the right side of them.
        for number, place in zip(before, places, strict=False):
            self._move(number, place)
        for number, place in zip(reversed(after), reversed(places), strict=False):
            self._move(number, place)
        if cycle:
            self._merge(cycle, places[len(before)])
        return frozenset(cycle)

    def _merge(self, cycle: Set[int], place: Place) -> None:
        predicates = frozenset().union(*(self.clusters[number].predicates for number in cycle))
        for number in cycle:
            self._journal.drop(self.clusters, number)
        self._put(Cluster(min(cycle), predicates, place))

    def _move(self, number: int, place: Place) -> None:
        cluster = self.clusters[number]
        if cluster.place != place:
            self._journal.put(self.clusters, number, Cluster(number, cluster.predicates, place))

    def _put(self, cluster: Cluster) -> None:
        self._journal.put(self.clusters, cluster.number, cluster)
        for predicate in cluster.predicates:
            if self.cluster_of.get(predicate) != cluster.number:
                self._journal.put(self.cluster_of, predicate, cluster.number)

    def _shorten_places(self) -> None:
        ordered = sorted(self.clusters.values(), key=lambda cluster: cluster.place)
        for at, cluster in enumerate(ordered, 1):
            self._move(cluster.number, (at,))
        self._journal.put(self._counters, "front", 0)
        self._journal.put(self._counters, "back", len(ordered))

    def _count(self, what: str) -> int:
        self._journal.put(self._counters, what, self._counters[what] + 1)
        return self._counters[what]


def _reach(
    start: Iterable[int], neighbours: Callable[[int], Iterator[int]], within: Callable[[int], bool]
) -> set[int]:
    found = set(start)
    stack = list(found)
    while stack:
        for number in neighbours(stack.pop()):
            if number not in found and within(number):
                found.add(number)
                stack.append(number)
    return found
