"""Strongly connected components and topological order, both without recursion.

A graph is a list of successor lists over nodes 0 … n-1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush

NaturalKey = tuple[tuple[int, int, str], ...]
OrderKey = tuple[int, NaturalKey]

_DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=1 << 16)
def natural_key(name: str) -> NaturalKey:
    """Sorts `p2` before `p10`."""
    parts = _DIGITS.split(name)
    numbered = ((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)
    return (*numbered, (-1, 0, name))


def strongly_connected(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Tarjan's algorithm with an explicit stack; the members of a component in ascending order."""
    unvisited = -1
    count = len(successors)
    order = [unvisited] * count
    low = [0] * count
    next_edge = [0] * count
    on_stack = [False] * count
    stack: list[int] = []
    components: list[list[int]] = []
    clock = 0
    for root in range(count):
        if order[root] != unvisited:
            continue
        path = [root]
        while path:
            node = path[-1]
            if order[node] == unvisited:
                order[node] = low[node] = clock
                clock += 1
                stack.append(node)
                on_stack[node] = True
            if next_edge[node] < len(successors[node]):
                target = successors[node][next_edge[node]]
                if order[target] == unvisited:
                    # The edge stays: it is visited again when the target is done.
                    path.append(target)
                    continue
                if on_stack[target]:
                    low[node] = min(low[node], low[target])
                next_edge[node] += 1
                continue
            path.pop()
            if low[node] == order[node]:
                members: list[int] = []
                while on_stack[node]:
                    member = stack.pop()
                    on_stack[member] = False
                    members.append(member)
                components.append(sorted(members))
    return components


def topological_order(successors: Sequence[Sequence[int]], key: Callable[[int], OrderKey]) -> list[int]:
    """The topological order that always takes the available node with the smallest `key`; it does not depend
    on the order in which nodes and edges are given."""
    waiting_for = [0] * len(successors)
    for targets in successors:
        for target in targets:
            waiting_for[target] += 1
    free = [(key(node), node) for node, count in enumerate(waiting_for) if count == 0]
    heapify(free)
    order: list[int] = []
    while free:
        _, node = heappop(free)
        order.append(node)
        for target in successors[node]:
            waiting_for[target] -= 1
            if waiting_for[target] == 0:
                heappush(free, (key(target), target))
    return order
