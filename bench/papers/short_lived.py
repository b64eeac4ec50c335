"""Streams in which no fact stays: each is deleted one to three updates after it came.

This is where looking at the next update pays most: much of what an update derives is gone with the next.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from bench.papers.streams import Row, Stream, Update

LONGEST_LIFE = 3


def short_lived_edges(size: int, updates: int = 50, nodes: int = 20, seed: int = 7) -> Stream:
    """Edges between `nodes` nodes, for `P_TRANS` and `P_SEQ`; loops are edges."""
    if nodes * nodes < (LONGEST_LIFE + 2) * size:
        raise ValueError(f"{nodes} nodes have too few edges for updates of {size}")
    name = f"short_edges_seed{seed}_size{size}"
    return _short_lived(name, "edge", size, updates, seed, lambda draw: (draw(nodes), draw(nodes)))


def short_lived_ways(size: int, updates: int = 50, nodes: int = 60, ways: int = 30, seed: int = 7) -> Stream:
    """Steps of `ways` ways over `nodes` crossings, for `P_MAP`."""
    if nodes * nodes * ways < (LONGEST_LIFE + 2) * size:
        raise ValueError(f"{ways} ways over {nodes} nodes have too few steps for updates of {size}")
    name = f"short_ways_seed{seed}_size{size}"
    return _short_lived(
        name, "nextInWay", size, updates, seed, lambda draw: (draw(nodes), draw(nodes), nodes + draw(ways))
    )


def _short_lived(
    name: str,
    predicate: str,
    size: int,
    updates: int,
    seed: int,
    draw_row: Callable[[Callable[[int], int]], Row],
) -> Stream:
    """`updates` updates insert `size` new facts each; those after them only delete, until nothing is left."""
    source = random.Random(seed)
    due: list[list[Row]] = [[] for _ in range(updates + LONGEST_LIFE)]
    present: set[Row] = set()
    stream = []
    for number in range(updates + LONGEST_LIFE):
        inserted: dict[Row, None] = {}
        while number < updates and len(inserted) < size:
            row = draw_row(source.randrange)
            if row not in present and row not in inserted:
                inserted[row] = None
                due[number + source.randint(1, LONGEST_LIFE)].append(row)
        deleted = due[number]
        present.difference_update(deleted)
        present.update(inserted)
        stream.append(Update(tuple(deleted), tuple(inserted)))
    while stream and not stream[-1].deleted and not stream[-1].inserted:
        stream.pop()
    return Stream(name, predicate, tuple(stream))
