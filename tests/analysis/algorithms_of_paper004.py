"""Algorithms 2–4 of Xu and Curé, "ZodiacEdge" (2023), over plain sets: slow, and close to the text.

A hyper-node is the frozen set of the names of its rules.  Two corrections.  The loop of Algorithm 3 that
begins in line 8 goes over the dirty hyper-nodes; over DIHN, which is empty there, it would do nothing.  And
line 9 adds the successors of a dirty hyper-node only if the structure changes, which is what the examples in
the text do: they add the successors of one that is split, and none of one that merely loses a rule (Fig. 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidalog.analysis import NormalRule
from tidalog.analysis.hypernodes import rule_edges

Node = frozenset[str]
Rules = Mapping[str, NormalRule]


def edges_of(rules: Rules) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {name: set() for name in rules}
    edges = rule_edges(list(rules.values()))
    for source, target in edges.positive | edges.negative:
        found[source].add(target)
    return found


def reachable(edges: Mapping[str, set[str]], start: str) -> set[str]:
    """What one step or more lead to."""
    found: set[str] = set()
    stack = [start]
    while stack:
        for target in edges[stack.pop()] - found:
            found.add(target)
            stack.append(target)
    return found


def nodes_of(rules: Rules) -> dict[str, Node]:
    edges = edges_of(rules)
    reach = {name: reachable(edges, name) for name in rules}
    return {n: frozenset({n} | {m for m in reach[n] if n in reach[m]}) for n in rules}


def successors(rules: Rules, node: Node) -> set[Node]:
    edges, nodes = edges_of(rules), nodes_of(rules)
    return {nodes[target] for name in node for target in edges[name]} - {node}


def algorithm_2(before: Rules, after: Rules) -> set[Node]:
    """DIHN of an insertion: `after` has more rules than `before`."""
    new = after.keys() - before.keys()
    dihn: set[Node] = set()
    single: dict[str, Node] = {**nodes_of(before), **{name: frozenset([name]) for name in new}}
    for node in set(nodes_of(after).values()):
        inner = {single[name] for name in node}
        if len(inner) > 1 or node & new:
            dihn.add(node)
    return dihn


def algorithm_3(before: Rules, after: Rules) -> tuple[set[Node], set[Node]]:
    """Dirty hyper-nodes as they were, and DIHN of a deletion: `after` has fewer rules than `before`."""
    gone = before.keys() - after.keys()
    old, new = nodes_of(before), nodes_of(after)
    dirty = {old[name] for name in gone}
    dihn: set[Node] = set()
    for node in dirty:
        pieces = {new[name] for name in node - gone}
        if len(pieces) != 1:
            for successor in successors(before, node):
                dihn |= {new[name] for name in successor - gone if successor not in dirty}
        dihn |= pieces
    return dirty, dihn


def algorithm_4(rules: Rules, dihn: Iterable[Node]) -> list[Node]:
    visited: set[Node] = set()
    plan: list[Node] = []

    def depth_first_search(node: Node) -> None:
        visited.add(node)
        for target in successors(rules, node):
            if target not in visited:
                depth_first_search(target)
        plan.append(node)

    for node in dihn:
        if node not in visited:
            depth_first_search(node)
    return plan[::-1]


def is_in_order(rules: Rules, plan: list[Node]) -> bool:
    place = {node: at for at, node in enumerate(plan)}
    return all(place[node] < place[target] for node in plan for target in successors(rules, node))
