"""The components of the predicate graph, updated as rules are added and removed.

Each component has an *order key*.  A rule reads only components whose key is smaller than that of its head's
component, or that component itself.  Keys are tuples in lexicographic order.  They change only if a new edge
points backwards: the search for a cycle goes forward from the rule's head and backward from the predicates it
reads, and stays between the keys of the two (Pearce and Kelly, 2006, with cycles merged instead of refused).
When a component is split, each part gets the old key with one number appended.

Edges are not stored: they follow from the rules that derive and read a predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

from tidalog.analysis.components import read_predicates
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key, strongly_connected
from tidalog.model.undo_journal import UndoJournal

OrderKey = tuple[int, ...]

LONGEST_KEY: Final = 24
"""Repeated splits make keys longer; beyond this length all components get new keys."""


@dataclass(frozen=True)
class Cluster:
    """The current state of a component.  It keeps its `number` until it is merged into one with a smaller
    number; when it is split, the part with the most predicates keeps the number."""

    number: int
    predicates: frozenset[str]
    order_key: OrderKey

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The predicates in natural order."""
        return tuple(sorted(self.predicates, key=natural_key))


class ComponentGraph:
    """Invariant: the clusters are the strongly connected components of the graph with an edge from each
    predicate that a rule reads to the predicate of its head, and their order keys sort them topologically."""

    def __init__(self) -> None:
        self.rules: dict[str, NormalRule] = {}
        self.derivers: dict[str, dict[str, None]] = {}
        """predicate → names of the rules with it in their head."""
        self.readers: dict[str, dict[str, None]] = {}
        """predicate → names of the rules with it in their body, including constraints."""
        self.clusters: dict[int, Cluster] = {}
        self.cluster_of: dict[str, int] = {}
        self._counters: dict[str, int] = {"cluster": 0, "front": 0, "back": 0}
        self._journal = UndoJournal()

    def load(self, rules: Iterable[NormalRule], groups: Iterable[Iterable[str]]) -> None:
        """Loads the components of a fixed program, given in evaluation order."""
        for rule in rules:
            self.rules[rule.name] = rule
            for predicate in read_predicates(rule):
                self.readers.setdefault(predicate, {})[rule.name] = None
            if rule.head is not None:
                self.derivers.setdefault(rule.head.predicate, {})[rule.name] = None
        for predicates in groups:
            number = self._count("cluster")
            self._put(Cluster(number, frozenset(predicates), (self._count("back"),)))

    # --- reading ------------------------------------------------------------------------------------

    def loops(self, rule: NormalRule) -> bool:
        """Whether a rule reads its own component, and so belongs to the component's recursive hyper-node."""
        if rule.head is None:
            return False
        own = self.cluster_of[rule.head.predicate]
        return any(self.cluster_of[p] == own for p in read_predicates(rule))

    def rules_of(self, cluster: Cluster) -> Iterator[NormalRule]:
        names = chain.from_iterable(filter(None, map(self.derivers.get, cluster.in_order)))
        return map(self.rules.__getitem__, names)

    def above(self, number: int) -> Iterator[int]:
        """The clusters that read this one, perhaps including itself; with repetitions."""
        for predicate in self.clusters[number].predicates:
            for name in self.readers.get(predicate, ()):
                head = self.rules[name].head
                if head is not None:
                    yield self.cluster_of[head.predicate]

    def below(self, number: int) -> Iterator[int]:
        """The clusters that this one reads, perhaps including itself; with repetitions."""
        for rule in self.rules_of(self.clusters[number]):
            for predicate in read_predicates(rule):
                yield self.cluster_of[predicate]

    # --- changing -----------------------------------------------------------------------------------

    def add_predicate(self, predicate: str, first: bool) -> None:
        """Adds a predicate that no rule has yet.  Its key only affects how long a later search takes: a
        predicate that is only read goes before all others, a derived one after them."""
        if predicate in self.cluster_of:
            return
        number = self._count("cluster")
        key = (-self._count("front"),) if first else (self._count("back"),)
        self._put(Cluster(number, frozenset([predicate]), key))

    def drop_predicate(self, predicate: str) -> None:
        """Removes a predicate that no rule has any more."""
        number = self.cluster_of[predicate]
        assert len(self.clusters[number].predicates) == 1, "a predicate without rules is in no cycle"
        self._journal.drop(self.clusters, number)
        self._journal.drop(self.cluster_of, predicate)
        for rules in (self.derivers, self.readers):
            if predicate in rules:
                self._journal.drop(rules, predicate)

    def add_rule(self, rule: NormalRule) -> frozenset[int]:
        """Adds a rule.  Returns the numbers of the clusters that it merged, of which the smallest is kept."""
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
        """Removes a rule; its component may then need a `split`."""
        drop = self._journal.drop
        rule = self.rules[name]
        for predicate in read_predicates(rule):
            drop(self.readers[predicate], name)
        if rule.head is not None:
            drop(self.derivers[rule.head.predicate], name)
        drop(self.rules, name)
        return rule

    def split(self, number: int, lost: Iterable[NormalRule]) -> tuple[int, ...]:
        """Splits a cluster that lost rules into its strongly connected components; their numbers in
        topological order."""
        cluster = self.clusters[number]
        if all(self._stays_connected(cluster, rule) for rule in lost):
            return (number,)
        members = cluster.in_order
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
            self._put(Cluster(own, frozenset(members[m] for m in piece), (*cluster.order_key, index)))
        if len(cluster.order_key) >= LONGEST_KEY:
            self._shorten_keys()
        return tuple(numbers)

    def _stays_connected(self, cluster: Cluster, lost: NormalRule) -> bool:
        """Whether what a lost rule reads of a cluster still leads to its head.  If that holds for all lost
        rules, every path through one of them has another way."""
        assert lost.head is not None
        head = lost.head.predicate
        for start in (read_predicates(lost) & cluster.predicates) - {head}:
            reached, path = {start}, [start]
            while path and head not in reached:
                for name in self.readers.get(path.pop(), ()):
                    found = self.rules[name].head
                    if found is None or found.predicate in reached:
                        continue
                    if found.predicate in cluster.predicates:
                        reached.add(found.predicate)
                        path.append(found.predicate)
            if head not in reached:
                return False
        return True

    def begin(self) -> UndoJournal:
        """Starts a new journal for the changes that follow."""
        self._journal = UndoJournal()
        return self._journal

    # --- order --------------------------------------------------------------------------------------

    def _restore_order(self, head: int, sources: Set[int]) -> frozenset[int]:
        """Restores the topological order after an edge from each of `sources` to `head` was added.  Returns
        the clusters that now lie on one cycle."""
        clusters = self.clusters
        low = clusters[head].order_key
        later = [source for source in sources if clusters[source].order_key > low]
        if not later:
            return frozenset()
        high = max(clusters[source].order_key for source in later)
        forward = _reach([head], self.above, lambda number: clusters[number].order_key <= high)
        backward = _reach(later, self.below, lambda number: clusters[number].order_key >= low)
        cycle = forward & backward
        keys = sorted(clusters[number].order_key for number in forward | backward)

        def in_order(numbers: Iterable[int]) -> list[int]:
            return sorted(numbers, key=lambda number: clusters[number].order_key)

        before, after = in_order(backward - cycle), in_order(forward - cycle)
        # `before` only moves to smaller keys and `after` only to larger ones, so that the order relative to
        # clusters outside the search stays correct.
        for number, key in zip(before, keys, strict=False):
            self._move(number, key)
        for number, key in zip(reversed(after), reversed(keys), strict=False):
            self._move(number, key)
        if cycle:
            self._merge(cycle, keys[len(before)])
        return frozenset(cycle)

    def _merge(self, cycle: Set[int], key: OrderKey) -> None:
        predicates = frozenset().union(*(self.clusters[number].predicates for number in cycle))
        for number in cycle:
            self._journal.drop(self.clusters, number)
        self._put(Cluster(min(cycle), predicates, key))

    def _move(self, number: int, key: OrderKey) -> None:
        cluster = self.clusters[number]
        if cluster.order_key != key:
            self._journal.put(self.clusters, number, Cluster(number, cluster.predicates, key))

    def _put(self, cluster: Cluster) -> None:
        self._journal.put(self.clusters, cluster.number, cluster)
        for predicate in cluster.predicates:
            if self.cluster_of.get(predicate) != cluster.number:
                self._journal.put(self.cluster_of, predicate, cluster.number)

    def _shorten_keys(self) -> None:
        ordered = sorted(self.clusters.values(), key=lambda cluster: cluster.order_key)
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
