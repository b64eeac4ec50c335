"""The rule dependency graph and its hyper-nodes.

Rule r feeds rule r' if the predicate of r's head occurs in the body of r': positively, or under a negation
or an aggregate (negatively).  A hyper-node is a strongly connected component of that graph.

The graph can have quadratically many edges.  Components are therefore found on the graph of rules *and*
predicates (rule → predicate of its head → rules that read it), which is as large as the program and
connects the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key, strongly_connected, topological_order

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class HyperNode:
    """`positive` and `negative` are the indices of the hyper-nodes it feeds, never its own."""

    index: int
    rules: tuple[str, ...]
    predicates: tuple[str, ...]
    """The predicates that its rules derive."""
    recursive: bool
    positive: frozenset[int]
    negative: frozenset[int]

    @property
    def name(self) -> str:
        return f"hn{self.index + 1}"


@dataclass(frozen=True, slots=True)
class RuleEdges:
    """Pairs of rule names (feeding, fed)."""

    positive: frozenset[Edge]
    negative: frozenset[Edge]


def readers(rules: Sequence[NormalRule]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Which rules read a predicate positively, and which under a negation or an aggregate."""
    positive: dict[str, list[int]] = {}
    negative: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        plain = negative if rule.aggregates else positive
        for predicate in dict.fromkeys(atom.predicate for atom in rule.atoms):
            plain.setdefault(predicate, []).append(number)
        already = {atom.predicate for atom in rule.atoms} if rule.aggregates else set()
        for predicate in dict.fromkeys(atom.predicate for atom in rule.negations):
            if predicate not in already:
                negative.setdefault(predicate, []).append(number)
    return positive, negative


def rule_edges(rules: Sequence[NormalRule]) -> RuleEdges:
    def edges(reading: dict[str, list[int]]) -> frozenset[Edge]:
        return frozenset(
            (rule.name, rules[reader].name)
            for rule in rules
            if rule.head is not None
            for reader in reading.get(rule.head.predicate, ())
        )

    positive, negative = readers(rules)
    return RuleEdges(edges(positive), edges(negative))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rules by hyper-node, in evaluation order."""

    names: list[tuple[str, ...]]
    recursive: list[bool]
    group_of: list[int]
    """rule → its group."""


def rule_groups(rules: Sequence[NormalRule]) -> list[tuple[tuple[str, ...], bool]]:
    """The names of each hyper-node's rules and whether it is recursive, in evaluation order.  The cost is
    proportional to the size of the program."""
    groups = _groups(rules, *readers(rules))
    return list(zip(groups.names, groups.recursive, strict=True))


def hyper_nodes(rules: Sequence[NormalRule]) -> tuple[HyperNode, ...]:
    """The cost is proportional to the number of edges between hyper-nodes."""
    positive, negative = readers(rules)
    groups = _groups(rules, positive, negative)
    derived: list[set[str]] = [set() for _ in groups.names]
    for number, rule in enumerate(rules):
        if rule.head is not None:
            derived[groups.group_of[number]].add(rule.head.predicate)

    def fed(own: int, reading: dict[str, list[int]]) -> frozenset[int]:
        found = {groups.group_of[reader] for p in derived[own] for reader in reading.get(p, ())}
        return frozenset(found - {own})

    return tuple(
        HyperNode(
            at,
            names,
            tuple(sorted(derived[at], key=natural_key)),
            groups.recursive[at],
            fed(at, positive),
            fed(at, negative),
        )
        for at, names in enumerate(groups.names)
    )


def _groups(
    rules: Sequence[NormalRule], positive: dict[str, list[int]], negative: dict[str, list[int]]
) -> _Groups:
    heads = dict.fromkeys(rule.head.predicate for rule in rules if rule.head is not None)
    predicate_node = {predicate: len(rules) + at for at, predicate in enumerate(heads)}
    successors = [[predicate_node[r.head.predicate]] if r.head is not None else [] for r in rules]
    successors += [[*positive.get(p, ()), *negative.get(p, ())] for p in predicate_node]

    components = strongly_connected(successors)
    component_of = [0] * len(successors)
    for number, members in enumerate(components):
        for member in members:
            component_of[member] = number
    names = [sorted((rules[m].name for m in c if m < len(rules)), key=natural_key) for c in components]
    between: list[list[int]] = [[] for _ in components]
    for node, targets in enumerate(successors):
        own = component_of[node]
        between[own].extend(component_of[target] for target in targets if component_of[target] != own)
    # The component of a predicate node holds no rule; the key takes it before the rules that wait for it.
    order = topological_order(between, lambda c: (1, natural_key(names[c][0])) if names[c] else (0, ()))
    kept = [component for component in order if names[component]]
    index = {component: at for at, component in enumerate(kept)}
    return _Groups(
        [tuple(names[component]) for component in kept],
        [len(components[component]) > 1 for component in kept],
        [index[component_of[number]] for number in range(len(rules))],
    )
