"""The rule graph and the predicate graph under rule edits.

`RuleGraph` is changed in place, at a cost proportional to the edit: a new rule is a hyper-node of its own
until a cycle merges it with others, and only a hyper-node that loses a rule is searched for cycles again (Xu
and Curé, "ZodiacEdge", 2023, Algorithms 2–4).  Law: after any sequence of edits, the graph is the one that
`hyper_nodes`, `rule_edges` and `build_components` build from the remaining rules.

Hyper-nodes follow from components.  The rules of a component that read it form one hyper-node, its *loop*;
every other rule is a hyper-node by itself.  For two rules feed each other, directly or indirectly, exactly if
the predicates of their heads are in one component and both rules read that component.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tidalog.analysis.component_graph import ComponentGraph, OrderKey
from tidalog.analysis.components import Component, build_components, read_predicates, reads
from tidalog.analysis.hypernodes import Edge, RuleEdges, rule_groups
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key
from tidalog.model.undo_journal import UndoJournal


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """The part of an edit's effect on a graph that must be recorded during the edit."""

    added: tuple[NormalRule, ...]
    removed: tuple[NormalRule, ...]
    old_nodes: dict[str, int | None]
    """The rules whose hyper-node changed, with its number before the edit; None for new rules."""
    old_components: dict[str, int | None]
    """The predicates whose component changed, likewise; None for new predicates."""
    looped: frozenset[int]
    """Components in which a new rule lies on a cycle: only these can violate stratification."""
    journal: UndoJournal = field(repr=False, compare=False)


class RuleGraph:
    """Rules by name, their hyper-nodes and their components.

    Hyper-nodes and components have stable numbers.  A merged one has the smallest number of its parts; after
    a split one part keeps the number, and the others get numbers that were never used.
    """

    def __init__(
        self,
        rules: Sequence[NormalRule] = (),
        predicates: Iterable[str] = (),
        components: Sequence[Component] | None = None,
    ) -> None:
        """`predicates` exist even if no rule has them; `components` are those of the rules, if already known.
        Hyper-nodes start with the numbers that `hyper_nodes` gives them."""
        self._components = ComponentGraph()
        self._node_of: dict[str, int] = {}
        self._nodes: dict[int, dict[str, None]] = {}
        self._loop: dict[int, int] = {}
        """component → its recursive hyper-node."""
        self._declared: dict[str, None] = {}
        self._last = {"node": 0}
        self._journal = UndoJournal()
        self._build(rules, predicates, components)

    # --- reading ------------------------------------------------------------------------------------

    @property
    def rules(self) -> dict[str, NormalRule]:
        """Rules by name.  Read only."""
        return self._components.rules

    @property
    def predicates(self) -> Collection[str]:
        """Every predicate of a rule, and every declared one."""
        return self._components.cluster_of.keys()

    def derivers(self, predicate: str) -> Collection[str]:
        """The names of the rules that derive a predicate."""
        return self._components.derivers.get(predicate, {}).keys()

    def readers(self, predicate: str) -> Collection[str]:
        """The names of the rules that read a predicate."""
        return self._components.readers.get(predicate, {}).keys()

    def node_numbers(self) -> Collection[int]:
        return self._nodes.keys()

    def node_of(self, rule: str) -> int:
        """The number of the hyper-node that a rule belongs to."""
        return self._node_of[rule]

    def rules_of_node(self, number: int) -> Collection[str]:
        return self._nodes[number].keys()

    def node_feeds(self, number: int) -> set[int]:
        """The numbers of the other hyper-nodes that read what a hyper-node derives."""
        heads = {head.predicate for n in self._nodes[number] if (head := self.rules[n].head) is not None}
        return {self._node_of[name] for p in heads for name in self.readers(p)} - {number}

    def rule_edges(self) -> RuleEdges:
        """The rule dependency graph, computed from derivers and readers."""
        positive: set[Edge] = set()
        negative: set[Edge] = set()
        for rule in self.rules.values():
            for predicate, complete in set(reads(rule)):
                edges = negative if complete else positive
                edges.update((name, rule.name) for name in self.derivers(predicate))
        return RuleEdges(frozenset(positive), frozenset(negative))

    def component_numbers(self) -> Collection[int]:
        return self._components.clusters.keys()

    def component_of(self, predicate: str) -> int:
        """The number of the component that a predicate belongs to."""
        return self._components.cluster_of[predicate]

    def predicates_of_component(self, number: int) -> tuple[str, ...]:
        """In natural order."""
        return self._components.clusters[number].in_order

    def rules_of_component(self, number: int) -> Iterator[NormalRule]:
        return self._components.rules_of(self._components.clusters[number])

    def component_feeds(self, number: int) -> set[int]:
        """The numbers of the other components that read a component."""
        return set(self._components.above(number)) - {number}

    def is_recursive(self, number: int) -> bool:
        """Whether a rule of a component reads it."""
        return number in self._loop

    def order_key(self, predicate: str) -> OrderKey:
        """A sort key for predicates: each component comes after everything it reads."""
        return self._components.clusters[self._components.cluster_of[predicate]].order_key

    def component_order_key(self, number: int) -> OrderKey:
        return self._components.clusters[number].order_key

    def components_in_order(self) -> list[int]:
        """Component numbers in an evaluation order, which depends on the history of edits."""
        clusters = self._components.clusters
        return sorted(clusters, key=lambda number: clusters[number].order_key)

    # --- edits --------------------------------------------------------------------------------------

    def change(
        self,
        added: Sequence[NormalRule],
        removed: Iterable[str],
        declared: Iterable[str] = (),
        undeclared: Iterable[str] = (),
    ) -> GraphDiff:
        """Removes rules by name, then adds rules, whose names must then be free.

        Predicates that are `declared` exist without a rule, until they are `undeclared`.  Nothing is checked
        here: a cycle through a negation is a component like any other.
        """
        self._journal = self._components.begin()
        try:
            gone = self._remove(removed)
            looped = self._add(added)
            self._declare(gone, declared, undeclared)
        except BaseException:
            self._journal.roll_back()
            raise
        return GraphDiff(
            tuple(added),
            tuple(gone),
            self._journal.before(self._node_of),
            self._journal.before(self._components.cluster_of),
            frozenset(self.component_of(predicate) for predicate in looped),
            self._journal,
        )

    def is_at(self, diff: GraphDiff) -> bool:
        """Whether a diff is that of the last edit."""
        return diff.journal is self._journal

    def undo(self, diff: GraphDiff) -> None:
        """Undoes the last edit."""
        assert self.is_at(diff), "only the last edit can be undone"
        self._journal.roll_back()
        self._journal = self._components.begin()

    def _remove(self, names: Iterable[str]) -> list[NormalRule]:
        drop = self._journal.drop
        gone: list[NormalRule] = []
        broken: dict[int, list[NormalRule]] = {}
        for name in names:
            rule = self.rules[name]
            number = self._node_of[name]
            if self._components.loops(rule):
                assert rule.head is not None
                broken.setdefault(self.component_of(rule.head.predicate), []).append(rule)
            gone.append(self._components.remove_rule(name))
            drop(self._node_of, name)
            drop(self._nodes[number], name)
            if not self._nodes[number]:
                drop(self._nodes, number)
        for component, rules in broken.items():
            self._separate(component, rules)
        return gone

    def _separate(self, component: int, lost: Sequence[NormalRule]) -> None:
        """Splits a component that lost recursive rules, and its loop with it."""
        pieces = self._components.split(component, lost)
        loop = self._loop[component]
        left = list(self._nodes.get(loop, ()))
        if len(pieces) == 1 and left:
            return
        self._journal.drop(self._loop, component)
        if not left:
            return
        singles: list[list[str]] = []
        rounds: dict[int, list[str]] = {}
        for name in sorted(left, key=natural_key):
            rule = self.rules[name]
            if self._components.loops(rule):
                assert rule.head is not None
                rounds.setdefault(self.component_of(rule.head.predicate), []).append(name)
            else:
                singles.append([name])
        groups = sorted([*singles, *rounds.values()], key=lambda group: natural_key(group[0]))
        self._journal.put(self._nodes, loop, {})
        for at, group in enumerate(groups):
            number = loop if at == 0 else self._new_node()
            self._assign(group, number)
        for piece, group in rounds.items():
            self._journal.put(self._loop, piece, self._node_of[group[0]])

    def _add(self, rules: Iterable[NormalRule]) -> list[str]:
        """Adds rules; returns the heads of those that lie on a cycle."""
        looped: list[str] = []
        for rule in rules:
            assert rule.name not in self.rules, f"there is a rule {rule.name} already"
            merged = self._components.add_rule(rule)
            if rule.head is None or not self._components.loops(rule):
                self._assign([rule.name], self._new_node())
                continue
            looped.append(rule.head.predicate)
            self._join(rule, self.component_of(rule.head.predicate), merged)
        return looped

    def _join(self, rule: NormalRule, component: int, merged: frozenset[int]) -> None:
        """Merges the hyper-nodes that a new rule connects to one cycle."""
        together = {self._loop[number] for number in merged | {component} if number in self._loop}
        if merged:
            # A rule that was not recursive in its old component may be recursive in the merged one.
            loops = self._components.loops
            round_ = [r.name for r in self.rules_of_component(component) if loops(r)]
            together.update(self._node_of[name] for name in round_ if name != rule.name)
        kept = min(together) if together else self._new_node()
        self._assign([rule.name], kept)
        for number in sorted(together - {kept}):
            names = list(self._nodes[number])
            self._journal.drop(self._nodes, number)
            self._assign(names, kept)
        for number in merged - {component}:
            if number in self._loop:
                self._journal.drop(self._loop, number)
        if self._loop.get(component) != kept:
            self._journal.put(self._loop, component, kept)

    def _declare(
        self, gone: Iterable[NormalRule], declared: Iterable[str], undeclared: Iterable[str]
    ) -> None:
        candidates = {predicate for rule in gone for predicate in mentioned(rule)}
        for predicate in undeclared:
            self._journal.drop(self._declared, predicate)
            candidates.add(predicate)
        for predicate in sorted(declared, key=natural_key):
            self._journal.put(self._declared, predicate, None)
            self._components.add_predicate(predicate, first=True)
        for predicate in sorted(candidates, key=natural_key):
            if (
                predicate in self._components.cluster_of
                and predicate not in self._declared
                and not self.derivers(predicate)
                and not self.readers(predicate)
            ):
                self._components.drop_predicate(predicate)

    def _assign(self, names: Iterable[str], number: int) -> None:
        for name in names:
            if self._node_of.get(name) != number:
                self._journal.put(self._node_of, name, number)
            self._journal.put(self._nodes[number], name, None)

    def _new_node(self) -> int:
        number = self._last["node"] + 1
        self._journal.put(self._last, "node", number)
        self._journal.put(self._nodes, number, {})
        return number

    def _build(
        self,
        rules: Sequence[NormalRule],
        predicates: Iterable[str],
        components: Sequence[Component] | None,
    ) -> None:
        """Builds the initial graph as for a fixed program."""
        self._declared = dict.fromkeys(predicates)
        if components is None:
            known = {*self._declared, *(predicate for rule in rules for predicate in mentioned(rule))}
            components = build_components(known, rules)
        self._components.load(rules, [c.predicates for c in components])
        for names, recursive in rule_groups(rules):
            number = self._new_node()
            self._assign(names, number)
            head = self.rules[names[0]].head
            if recursive and head is not None:
                self._loop[self.component_of(head.predicate)] = number


def mentioned(rule: NormalRule) -> set[str]:
    """The predicates of a rule."""
    return read_predicates(rule) | ({rule.head.predicate} if rule.head is not None else set())
