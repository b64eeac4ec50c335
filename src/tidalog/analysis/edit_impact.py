"""The impact of a rule edit on the graphs: which hyper-nodes and components it changes, which it can reach,
and in what order to visit them.

A hyper-node is *dirty* if the edit removed one of its rules.  *Directly impacted* (DIHN) are, after the edit:
what is left of a dirty hyper-node; the readers of a dirty one that was split or lost all its rules; and each
hyper-node with a new rule, including those merged by it.  The *plan* is everything reachable from these, in
topological order (Xu and Curé, "ZodiacEdge", 2023, Algorithms 2–4; the loop of Algorithm 3 runs over dirty
hyper-nodes).  The readers of a dirty hyper-node that stays whole still read the same hyper-node: they are
reached by its changes, but not directly impacted.

Facts belong to components, so an update visits components; hyper-nodes show what a rule can reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidalog.analysis.component_diff import changed_components
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph
from tidalog.analysis.scc import natural_key, topological_order


@dataclass(frozen=True, slots=True)
class NodeState:
    """A hyper-node before or after the edit."""

    number: int
    rules: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"hn{self.number}"


@dataclass(frozen=True, slots=True)
class NodeMerge:
    before: tuple[NodeState, ...]
    rules: tuple[str, ...]
    """The new rules in it."""
    after: NodeState


@dataclass(frozen=True, slots=True)
class NodeSplit:
    before: NodeState
    """Including the removed rules."""
    after: tuple[NodeState, ...]


@dataclass(frozen=True, slots=True)
class ComponentState:
    """A component before or after the edit."""

    number: int
    predicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComponentVisit:
    """A component, after the edit, that the edit changes or can reach."""

    number: int
    predicates: tuple[str, ...]
    came_from: tuple[ComponentState, ...]
    """The components that its predicates belonged to; empty if all are new."""
    rules_added: tuple[str, ...]
    rules_removed: tuple[str, ...]
    merged: bool
    split: bool
    recursive: bool

    @property
    def direct(self) -> bool:
        """Whether the edit itself changes it; otherwise only deltas of other components reach it."""
        return bool(self.rules_added or self.rules_removed or self.merged or self.split or self.is_new)

    @property
    def is_new(self) -> bool:
        return not self.came_from


@dataclass(frozen=True, slots=True)
class EditImpact:
    """Hyper-nodes and components are those after the edit, unless stated otherwise."""

    added: tuple[NormalRule, ...]
    removed: tuple[NormalRule, ...]
    dirty: tuple[NodeState, ...]
    """Before the edit: the hyper-nodes that lose a rule."""
    dropped: tuple[NodeState, ...]
    """Before the edit: the hyper-nodes that lose all their rules.  Their facts are removed without
    reasoning, unless another rule derives them."""
    splits: tuple[NodeSplit, ...]
    merges: tuple[NodeMerge, ...]
    directly_impacted: tuple[NodeState, ...]
    plan: tuple[NodeState, ...]
    """Every hyper-node that the edit can reach, in evaluation order."""
    visits: tuple[ComponentVisit, ...]
    """Every component that the edit can reach, in evaluation order."""
    gone: tuple[ComponentState, ...]
    """Components whose predicates are no longer in any rule and are not declared."""
    without_rules: tuple[str, ...]
    """Predicates that lost all their rules: their derived facts are removed without reasoning."""


def impact_of_edit(graph: RuleGraph, diff: GraphDiff) -> EditImpact:
    """What a graph's last edit can reach.  The cost is proportional to that, not to the edit."""
    assert graph.is_at(diff), "the graph has been edited since"
    nodes = _Nodes(graph, diff)
    components = _Components(graph, diff)
    impacted = nodes.directly_impacted()
    heads = dict.fromkeys(rule.head.predicate for rule in diff.removed if rule.head is not None)
    return EditImpact(
        added=diff.added,
        removed=diff.removed,
        dirty=tuple(nodes.before(number) for number in nodes.dirty),
        dropped=tuple(nodes.before(number) for number in nodes.dirty if not nodes.left_of(number)),
        splits=tuple(
            NodeSplit(nodes.before(number), nodes.states(left))
            for number in nodes.dirty
            if len(left := nodes.left_of(number)) > 1
        ),
        merges=nodes.merges(),
        directly_impacted=nodes.states(impacted),
        plan=nodes.plan(impacted),
        visits=components.visits(),
        gone=components.gone(),
        without_rules=tuple(sorted((p for p in heads if not graph.derivers(p)), key=natural_key)),
    )


def _naturally(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=natural_key))


def _reached(
    start: Iterable[int], feeds: Callable[[int], set[int]], first_name: Callable[[int], str]
) -> list[int]:
    """Everything reachable, in topological order; ties are broken by name."""
    found = dict.fromkeys(start)
    edges: dict[int, set[int]] = {}
    stack = list(found)
    while stack:
        number = stack.pop()
        edges[number] = feeds(number)
        for target in edges[number]:
            if target not in found:
                found[target] = None
                stack.append(target)
    numbers = list(edges)
    at = {number: index for index, number in enumerate(numbers)}
    successors = [[at[target] for target in edges[number]] for number in numbers]
    keys = [(0, natural_key(first_name(number))) for number in numbers]
    return [numbers[index] for index in topological_order(successors, keys.__getitem__)]


class _Nodes:
    """Hyper-nodes before and after an edit."""

    def __init__(self, graph: RuleGraph, diff: GraphDiff) -> None:
        self.graph = graph
        self.old = diff.old_nodes
        self.left = _grouped(self.old)
        self.added = {rule.name for rule in diff.added}
        self.removed = {rule.name: rule for rule in diff.removed}
        self.dirty = sorted({n for name in self.removed if (n := self.old[name]) is not None})

    def before(self, number: int) -> NodeState:
        return NodeState(number, _naturally(self._rules_before(number)))

    def states(self, numbers: Iterable[int]) -> tuple[NodeState, ...]:
        graph = self.graph
        return tuple(NodeState(n, _naturally(graph.rules_of_node(n))) for n in sorted(numbers))

    def _rules_before(self, number: int) -> set[str]:
        graph = self.graph
        names = set(self.left.get(number, ()))
        if number in graph.node_numbers():
            names.update(name for name in graph.rules_of_node(number) if name not in self.old)
        return names

    def _stays(self, name: str) -> bool:
        return name in self.graph.rules and name not in self.added

    def left_of(self, number: int) -> set[int]:
        """The hyper-nodes that now hold the rules of an old one."""
        return {self.graph.node_of(name) for name in self._rules_before(number) if self._stays(name)}

    def directly_impacted(self) -> set[int]:
        graph = self.graph
        found = {graph.node_of(name) for name in self.added}
        for number in self.dirty:
            left = self.left_of(number)
            found |= left
            if len(left) != 1:
                for name in self._rules_before(number):
                    rule = self.removed.get(name) or graph.rules[name]
                    if rule.head is not None:
                        found.update(graph.node_of(reader) for reader in graph.readers(rule.head.predicate))
        return found

    def plan(self, impacted: set[int]) -> tuple[NodeState, ...]:
        rules: dict[int, tuple[str, ...]] = {}

        def first_name(number: int) -> str:
            rules[number] = _naturally(self.graph.rules_of_node(number))
            return rules[number][0]

        order = _reached(impacted, self.graph.node_feeds, first_name)
        return tuple(NodeState(number, rules[number]) for number in order)

    def merges(self) -> tuple[NodeMerge, ...]:
        found: list[NodeMerge] = []
        for number in sorted({self.graph.node_of(name) for name in self.added}):
            (after,) = self.states([number])
            old = {self._old(name, number) for name in after.rules if name not in self.added}
            new = tuple(name for name in after.rules if name in self.added)
            if len(old) + len(new) > 1:
                found.append(NodeMerge(tuple(self.before(n) for n in sorted(old)), new, after))
        return tuple(found)

    def _old(self, name: str, now: int) -> int:
        old = self.old.get(name, now)
        assert old is not None, "a rule that is not new had a hyper-node"
        return old


class _Components:
    """Components before and after an edit."""

    def __init__(self, graph: RuleGraph, diff: GraphDiff) -> None:
        self.graph, self.diff = graph, diff
        self.old = diff.old_components
        self.left = _grouped(self.old)
        self.added = _by_component(graph, diff.added)
        self.removed = _by_component(graph, diff.removed)

    def before(self, number: int) -> ComponentState:
        names = set(self.left.get(number, ()))
        if number in self.graph.component_numbers():
            stayed = self.graph.predicates_of_component(number)
            names.update(name for name in stayed if name not in self.old)
        return ComponentState(number, _naturally(names))

    def visits(self) -> tuple[ComponentVisit, ...]:
        start = changed_components(self.graph, self.diff)

        def first_name(number: int) -> str:
            return min(self.graph.predicates_of_component(number), key=natural_key)

        return tuple(self._visit(n) for n in _reached(start, self.graph.component_feeds, first_name))

    def _visit(self, number: int) -> ComponentVisit:
        graph = self.graph
        predicates = _naturally(graph.predicates_of_component(number))
        old = {self.old.get(name, number) for name in predicates}
        came_from = tuple(self.before(n) for n in sorted(n for n in old if n is not None))
        return ComponentVisit(
            number,
            predicates,
            came_from,
            self.added.get(number, ()),
            self.removed.get(number, ()),
            merged=len(came_from) > 1 or (bool(came_from) and None in old),
            split=any(not set(state.predicates) <= set(predicates) for state in came_from),
            recursive=graph.is_recursive(number),
        )

    def gone(self) -> tuple[ComponentState, ...]:
        known = self.graph.predicates
        lost = {number: [n for n in names if n not in known] for number, names in self.left.items()}
        return tuple(ComponentState(n, _naturally(names)) for n, names in sorted(lost.items()) if names)


def _by_component(graph: RuleGraph, rules: Sequence[NormalRule]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for rule in rules:
        if rule.head is not None and rule.head.predicate in graph.predicates:
            found.setdefault(graph.component_of(rule.head.predicate), []).append(rule.name)
    return {number: _naturally(names) for number, names in found.items()}


def _grouped(old: Mapping[str, int | None]) -> dict[int, list[str]]:
    """The names by their old number."""
    found: dict[int, list[str]] = {}
    for name, number in old.items():
        if number is not None:
            found.setdefault(number, []).append(name)
    return found
