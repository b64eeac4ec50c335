"""Streams for windows: trees of isIn triples as in the IMaRS paper, heartbeats, a dense digraph.

The paper's generator makes trees, by depth and number.  All their triples are a pool: some are background,
the others come in the stream, in random order and over and over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.generators import random_digraph
from bench.incremental.driver import Rows

BRANCHING = 2
DEPTH = 10
_POOL = 2.2
"""Rows of the pool for each row of the window: about half of the pool is there at any time."""
_BACKGROUND = 0.2
"""Rows of background for each row of the window."""


@dataclass(frozen=True)
class WindowStream:
    """`step` rows come once a second, over and over in the same order, into a window of so many rows.

    Step n takes place at second n and brings `entering(n)`; the window is full from step `seconds` - 1 on.
    """

    background: Rows
    arrivals: Rows
    window: int
    step: int
    nodes: int

    def __post_init__(self) -> None:
        if self.window % self.step:
            raise ValueError(f"a window of {self.window} rows does not slide by {self.step}")

    @property
    def seconds(self) -> int:
        """The length of the window, in seconds and in steps."""
        return self.window // self.step

    def rows(self, first: int, count: int) -> Rows:
        return self.arrivals[np.arange(first, first + count) % len(self.arrivals)]

    def entering(self, number: int) -> Rows:
        return self.rows(number * self.step, self.step)

    def content(self, number: int) -> Rows:
        """What the window holds after a step, without the background; rows that came again occur again."""
        first = max(0, number + 1 - self.seconds)
        return self.rows(first * self.step, (number + 1 - first) * self.step)


def tree_pool(depth: int, number: int, branching: int = BRANCHING, seed: int = 7) -> Rows:
    """Child and parent of `number` complete trees with `depth` levels below their roots, in random order."""
    nodes = sum(branching**level for level in range(depth + 1))
    child = np.arange(1, nodes, dtype=np.int64)
    one = np.stack([child, (child - 1) // branching], axis=1)
    rows = (one[None, :, :] + nodes * np.arange(number)[:, None, None]).reshape(-1, 2)
    return np.random.default_rng(seed).permutation(rows)


def trees(window: int, step: int, depth: int = DEPTH, *, background: int | None = None) -> WindowStream:
    """Trees of which about half are in the window.  `background` rows are taken from the pool; if that is
    not said, one for every five of the window."""
    shared = round(_BACKGROUND * window) if background is None else background
    wanted = round(_POOL * window) - round(_BACKGROUND * window) + shared
    each = sum(BRANCHING**level for level in range(1, depth + 1))
    pool = tree_pool(depth, -(-wanted // each))
    return WindowStream(pool[:shared], pool[shared:], window, step, int(pool.max()) + 1)


def trees_beside(window: int, step: int, background: int, depth: int = DEPTH) -> WindowStream:
    """The same trees whatever the background, which is of other trees."""
    stream = trees(window, step, depth, background=0)
    each = sum(BRANCHING**level for level in range(1, depth + 1))
    others = tree_pool(depth, -(-background // each), seed=8)[:background] + stream.nodes
    nodes = max(stream.nodes, int(others.max()) + 1 if background else 0)
    return WindowStream(others, stream.arrivals, window, step, nodes)


def heartbeats(window: int, step: int, depth: int = DEPTH) -> WindowStream:
    """Every fact comes again before it expires: lives grow, the content stays."""
    stream = trees(window, step, depth)
    return WindowStream(stream.background, stream.arrivals[: window // 2], window, step, stream.nodes)


def dense(window: int, step: int) -> WindowStream:
    """A digraph with five edges for each node, of which most are in one strongly connected part; a small
    one has fewer."""
    nodes = max(window // 5, 40)
    table = random_digraph(nodes, 2 * window)
    rows = np.stack([table["x"].to_numpy(), table["y"].to_numpy()], axis=1)
    return WindowStream(rows[:0], rows, window, step, nodes)


SHAPES = {"trees": trees, "heartbeats": heartbeats, "dense": dense}
